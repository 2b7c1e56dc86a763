"""The share of a head that turns, beside dictionaries by kind of layer and within them: tests/golden/class_shares.json.

    python3 make_class_shares.py            writes class_shares.json
    python3 make_class_shares.py --only laguna zaya

transformers 5.23.0, torch 2.15.0. For each class of classes.json with a dictionary for each kind of layer: the share 0.5 at the top level, beside
every kind with the type default, linear and proportional; in one dictionary of the type default; and at the top level, with a dictionary that
says 1. What the class does when it runs is written as make_class_grid.py writes it. gnomon is not used.
"""

import argparse
import itertools
import json
import pathlib

from make_class_grid import case_of, of_watcher, shapes
from make_classes import NoAnswer, layers_of, made

HERE = pathlib.Path(__file__).parent
TYPES = {"default": {}, "linear": {"factor": 2.0}, "proportional": {}}


def drawings(file):
    """The files of a class: types of its kinds, and places of the share."""
    rope = file.get("rope_parameters") or {}
    kinds = sorted(k for k, v in rope.items() if isinstance(v, dict))
    def file_with(types, top=None, within=None, share=None):
        plain = {k: {"rope_theta": rope[k].get("rope_theta", 1e4), "rope_type": t} | TYPES[t] for k, t in zip(kinds, types)}
        if within:
            plain[within]["partial_rotary_factor"] = share
        return file | {"rope_parameters": rope | plain} | ({"partial_rotary_factor": top} if top else {})
    for types in itertools.product(TYPES, repeat=len(kinds)):
        yield file_with(types, top=0.5)
    for kind in kinds:
        yield file_with(["default"] * len(kinds), within=kind, share=0.5)
        yield file_with(["linear"] * len(kinds), top=0.5, within=kind, share=1.0)


def answer_of(shape, drawn):
    """What the class does, or the error that it raises."""
    try:
        config = shape.read(drawn)
        return {"layers": layers_of(config, made(config, quick=True))[0]}
    except Exception as error:  # of any kind: what matters is that there is no answer
        if isinstance(error, NoAnswer) or of_watcher(error):
            raise
        return {"refused": type(error.__cause__ or error).__name__, "error": " ".join(str(error).split())[:120]}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", nargs="*")
    options.add_argument("--out", type=pathlib.Path, default=HERE / "class_shares.json")
    args = options.parse_args()
    cases, files = [], {}
    for shape in shapes(args.only):
        if not any(isinstance(v, dict) for v in (shape.file.get("rope_parameters") or {}).values()):
            continue
        files[shape.type] = shape.file
        cases += [{"type": shape.type} | case_of(shape.file, drawn) | answer_of(shape, drawn) for drawn in drawings(shape.file)]
    lines = ",\n".join(json.dumps(x, separators=(",", ":")) for x in cases)
    written = ",\n".join(f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in files.items())
    args.out.write_text(f'{{"files":{{\n{written}}},\n"cases":[\n{lines}\n]}}\n')
    print(len(cases), "configurations of", len(files), "classes,", sum("refused" in x for x in cases), "refused")


if __name__ == "__main__":
    main()
