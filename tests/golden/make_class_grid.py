"""A drawn grid over all classes of text of transformers that turn: what each does with position when it runs: tests/golden/class_grid.json.

    python3 make_class_grid.py                       writes class_grid.json
    python3 make_class_grid.py --cases 1000 --seed 5 --out FILE
           another one; GNOMON_CLASS_GRID=FILE class_grid_test compares the program with it
    python3 make_class_grid.py --only cohere2 lfm2 --print       of these types alone, and what could not run

transformers 5.23.0, torch 2.15.0. The classes and their files are those of classes.json; class_grid.py draws. A third of the configurations is
saved by transformers and read again. make_classes.py says how a class is watched. `far`: frequencies and factor of each layer at longer
contexts, for the types that change with the length. `refused`: the class raises that error. gnomon is not used.
"""

import argparse
import json
import pathlib
import random
import re

import class_grid
import torch
from class_shapes import shrunk
from make_classes import CONFIG_MAPPING, NOT_OF_TEXT, NoAnswer, layers_of, made, of_text, rotations, saved, told
from resolver_modules import digest, module_of

HERE = pathlib.Path(__file__).parent


def rotary_modules(config):
    """The rotary modules of the text, made alone."""
    module = module_of(config)
    return [c(config) for n, c in vars(module).items() if isinstance(c, type) and c.__module__ == module.__name__ and re.search("Rotary|RoPE", n)
            and not NOT_OF_TEXT.search(n) and issubclass(c, torch.nn.Module)]


class Shape:
    """A class of classes.json with the whole file of its small shape."""

    def __init__(self, recorded, cls):
        self.type, self.cls, self.defaults = recorded["type"], cls, recorded["defaults"]
        config = shrunk(self.type, cls)
        self.whole = {k: v for k, v in saved(config, whole=True).items() if k != "model_type"}
        self.file = {k: v for k, v in told({"model_type": self.type, **self.whole}).items() if k != "model_type"}

    def pairs_of(self, drawn):
        """Turning pairs of each kind of layer, of the file's own rotation with the drawn sizes."""
        plain = {k: v for k, v in drawn.items() if k not in ("rope_parameters", "rope_scaling", "rope_theta")}
        if "rope_parameters" in self.file:
            plain["rope_parameters"] = json.loads(json.dumps(self.file["rope_parameters"]))
        found = {}
        for label, f, _ in rotations(torch.nn.ModuleDict({"rotary": rotary_modules(self.read(plain))[0]})):
            found[label if label != "rotary" else ""] = len(f)
        return found

    def read(self, drawn):
        rest = {k: v for k, v in self.whole.items() if k not in self.file}
        return self.cls(**json.loads(json.dumps({**rest, **drawn})))


def far(config, layers):
    """At longer contexts, for types that change with the length: the same layers, with the frequencies of such a context."""
    said = json.dumps(getattr(config, "rope_parameters", None) or {})
    if "dynamic" not in said and "longrope" not in said:
        return []
    found = []
    for length in (config.max_position_embeddings, 4 * config.max_position_embeddings):
        module = rotary_modules(config)[0]
        kinds = sorted(set(getattr(config, "layer_types", None) or ["full_attention"]))
        at = {}
        for kind in kinds:
            own = f"{kind}_inv_freq" in dict(module.named_buffers())
            module(torch.zeros(1, 2, 1), torch.tensor([[0, length - 1]]), *([kind] if own else []))
            f, a = (getattr(module, f"{kind}_inv_freq"), getattr(module, f"{kind}_attention_scaling")) if own else (module.inv_freq, module.attention_scaling)
            at[kind if own else ""] = {"a": float(f"{float(a):.12g}"), **digest(f.double())}
        found.append({"length": length, "kinds": at})
    return found


def with_far(config, layers):
    """`far` of each group of layers that turns, by the kind of its first layer."""
    types = getattr(config, "layer_types", None)
    for one in far(config, layers):
        for group in layers:
            if not group.get("turned"):
                continue
            kind = types[group["layers"][0]] if types else ""
            at = one["kinds"].get(kind, one["kinds"].get(""))
            if at:
                group.setdefault("far", []).append({"length": one["length"], **at})
    return layers


def line_of(shape, rng):
    drawn = class_grid.draw(rng, shape.file, shape.defaults, shape.pairs_of)
    again = rng.random() < 1 / 3
    line = {"config": {"model_type": shape.type, **drawn}}
    try:
        config = shape.read(drawn)
        if again:
            line |= {"saved": True, "config": told(saved(config))}
            config = shape.cls(**{k: v for k, v in saved(config, whole=True).items() if k != "model_type"})
        line["layers"] = with_far(config, layers_of(config))
    except Exception as error:  # of any kind: what matters is that there is no answer
        line.pop("layers", None)
        line["refused"] = type(error.__cause__ or error).__name__
        line["error"] = " ".join(str(error).split())[:120]
    return line


def shapes(only):
    """The classes that turn, and have a dictionary of RoPE: those whose layers do in classes.json."""
    _, _, inner = of_text()
    for recorded in json.loads((HERE / "classes.json").read_text())["classes"]:
        name = recorded["type"]
        if (only and name not in only) or not recorded["config"].get("rope_parameters") or not any(g.get("turned") for g in recorded["layers"]):
            continue
        try:
            yield Shape(recorded, inner.get(name) or CONFIG_MAPPING[name])
        except Exception as error:  # of any kind: it is told
            print(name, "cannot be drawn from:", type(error).__name__, str(error)[:100])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=1000)
    options.add_argument("--seed", type=int, default=20261126)
    options.add_argument("--only", nargs="*")
    options.add_argument("--print", action="store_true")
    options.add_argument("--out", type=pathlib.Path, default=HERE / "class_grid.json")
    args = options.parse_args()
    all_shapes, lines = list(shapes(args.only)), []
    for n in range(args.cases):
        shape = all_shapes[n % len(all_shapes)]
        rng = random.Random(f"{args.seed} {shape.type} {n // len(all_shapes)}")
        try:
            lines.append(line_of(shape, rng))
        except Exception as error:  # of any kind: nothing was drawn
            print(shape.type, "is not drawn:", type(error).__name__, str(error)[:100], flush=True)
    text = ",\n".join(json.dumps(x, separators=(",", ":")) for x in lines)
    args.out.write_text(f'{{"tokens":11,"cases":[\n{text}\n]}}\n')
    print(len(lines), "configurations of", len(all_shapes), "classes,", sum("refused" in x for x in lines), "refused,", args.out.stat().st_size, "bytes")
    if args.print:
        for x in sorted({(x["config"]["model_type"], x["refused"], x["error"]) for x in lines if "refused" in x}):
            print(" ", *x)


if __name__ == "__main__":
    main()
