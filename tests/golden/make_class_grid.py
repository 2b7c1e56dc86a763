"""A drawn grid over all classes of text of transformers that turn: what each does with position when it runs: tests/golden/class_grid.json.

    python3 make_class_grid.py                       writes class_grid.json
    python3 make_class_grid.py --cases 3000 --seed 5 --out FILE
           another one; GNOMON_CLASS_GRID=FILE class_grid_test compares the program with it
    python3 make_class_grid.py --only cohere2 lfm2 --print       of these types alone, and what could not run

transformers 5.23.0, torch 2.15.0. The classes and their files are those of classes.json; class_grid.py draws. A third of the configurations is
saved by transformers and read again. make_classes.py says how a class is watched. gnomon is not used.

`files`: the file of each class. A case is one of them `with` other keys and `without` some. `far`: frequencies and factor of a group of layers
at longer contexts, for the types that change with the length; none are said where they stay. `refused`: the class raises that error.
"""

import argparse
import json
import multiprocessing
import pathlib
import random
import re
import traceback

import class_grid
import torch
from class_shapes import shrunk
from class_spy import NotShared
from make_classes import CONFIG_MAPPING, NoAnswer, layers_of, made, of_text, of_text_by_name, reread, rotations, saved, told
from resolver_modules import digest, module_of

HERE = pathlib.Path(__file__).parent


def without_type(file):
    return {k: v for k, v in file.items() if k != "model_type"}


def rotary_module(config):
    """The rotary module of the text, made alone."""
    module = module_of(config)
    return next(c for n, c in vars(module).items() if isinstance(c, type) and c.__module__ == module.__name__ and re.search("Rotary|RoPE", n)
                and of_text_by_name(c, config) and issubclass(c, torch.nn.Module))(config)


class Shape:
    """A class of classes.json with the whole file of its small shape."""

    def __init__(self, recorded, cls):
        self.type, self.cls, self.defaults = recorded["type"], cls, recorded["defaults"]
        self.whole = without_type(saved(shrunk(self.type, cls), whole=True))
        self.file = told(self.whole)

    def pairs_of(self, drawn):
        """Turning pairs of each kind of layer, of the file's own rotation with the drawn sizes."""
        plain = {k: v for k, v in drawn.items() if k not in ("rope_parameters", "rope_scaling", "rope_theta")}
        plain["rope_parameters"] = self.file["rope_parameters"]
        config = self.read(plain)
        found = rotations(torch.nn.ModuleDict({"rotary": rotary_module(config)}), config)
        return {label if label != "rotary" else "": len(f) for label, f, _ in found}

    def read(self, drawn):
        rest = {k: v for k, v in self.whole.items() if k not in self.file}
        return reread(self.cls, json.loads(json.dumps({**rest, **drawn})))


def positions_of(module, length):
    """The first and the last of a context: one stream, or as many as the module wants."""
    streams = max(3, len(module.mrope_section)) if hasattr(module, "mrope_section") else 1
    ids = torch.tensor([[0, length - 1]])
    return ids if streams == 1 else ids.expand(streams, 1, 2)


def at_length(config, length):
    """By kind of layer ("": all) the frequencies and the factor of such a context."""
    module, found = rotary_module(config), {}
    for name in [n for n, _ in module.named_buffers() if n.endswith("inv_freq") and "original" not in n and "long" not in n]:
        kind = name.removesuffix("inv_freq").removesuffix("_")
        module(torch.zeros(1, 2, 1), positions_of(module, length), *([kind] if kind else []))
        factor = getattr(module, f"{kind}_attention_scaling" if kind else "attention_scaling", 1.0)
        found[kind] = {"a": float(f"{float(factor):.12g}"), **digest(getattr(module, name).double())}
    return found


def with_far(config, layers):
    """`far` of each group of layers that turns, by the kind of its first layer."""
    said = json.dumps(getattr(config, "rope_parameters", None) or {})
    if "dynamic" not in said and "longrope" not in said:
        return layers
    types = getattr(config, "layer_types", None)
    longest = class_grid.longest_of({name: getattr(config, name, None) for name in class_grid.LONGEST})
    for length in (longest, 4 * longest):
        found = at_length(config, length)
        for group in layers:
            own = found.get(types[group["layers"][0]] if types else "", found.get(""))
            if group.get("turned") and own:
                group.setdefault("far", []).append({"length": length, **({} if own == group["f"] else own)})
    return layers


def case_of(file, config):
    """As a difference from the file of its class."""
    found = {"with": {k: v for k, v in config.items() if k not in file or file[k] != v or type(file[k]) is not type(v)}}
    gone = [k for k in file if k not in config]
    return found | ({"without": gone} if gone else {})


def line_of(shape, seed, n):
    rng = random.Random(f"{seed} {shape.type} {n}")
    drawn = class_grid.draw(rng, shape.file, shape.defaults, shape.pairs_of)
    again, line = rng.random() < 1 / 3, {"type": shape.type}
    try:
        config = shape.read(drawn)
        if again:
            line["saved"], drawn = True, without_type(saved(config))
            config = reread(shape.cls, saved(config, whole=True))
        return line | case_of(shape.file, drawn) | {"layers": with_far(config, layers_of(config, made(config, quick=True))[0])}
    except Exception as error:  # of any kind: what matters is that there is no answer
        if not isinstance(error, NotShared) and (isinstance(error, (NoAnswer, ArithmeticError)) or of_watcher(error)):
            raise NoAnswer(f"{error}: {json.dumps(drawn)}") from error
        return line | case_of(shape.file, drawn) | {"refused": type(error.__cause__ or error).__name__, "error": " ".join(str(error).split())[:120]}


def of_watcher(error):
    """Whether these scripts raise it, and not the class, whose functions they surround."""
    frames = [(pathlib.Path(frame.filename), frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    last = next(path for path, name in reversed(frames)
                if (path.parent == HERE and name not in ("__torch_function__", "turn")) or {"transformers", "huggingface_hub"} & set(path.parts))
    return last.parent == HERE


def shapes(only):
    """The classes that have a dictionary of RoPE and layers that turn."""
    _, _, inner = of_text()
    for recorded in json.loads((HERE / "classes.json").read_text())["classes"]:
        name = recorded["type"]
        if "file" in recorded or (only and name not in only):
            continue
        if recorded["config"].get("rope_parameters") and any(g.get("turned") for g in recorded["layers"]):
            yield Shape(recorded, inner.get(name) or CONFIG_MAPPING[name])


ALL = []


def answer(task):
    seed, n = task
    shape = ALL[n % len(ALL)]
    try:
        return line_of(shape, seed, n // len(ALL))
    except Exception as error:  # of any kind: nothing was drawn, or nothing was seen
        return f"{shape.type}: {type(error).__name__} {error}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=1000)
    options.add_argument("--seed", type=int, default=20261126)
    options.add_argument("--only", nargs="*")
    options.add_argument("--print", action="store_true")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--out", type=pathlib.Path, default=HERE / "class_grid.json")
    args = options.parse_args()
    ALL.extend(shapes(args.only))
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        found = list(pool.imap(answer, [(args.seed, n) for n in range(args.cases)], chunksize=8))
    lines = [x for x in found if isinstance(x, dict)]
    for unseen in (x for x in found if isinstance(x, str)):
        print("no answer:", unseen[:300])
    if args.print:
        for x in sorted({(x["type"], x["refused"], x["error"]) for x in lines if "refused" in x}):
            print(" ", *x)
    text = ",\n".join(json.dumps(x, separators=(",", ":")) for x in lines)
    files = ",\n".join(f"{json.dumps(s.type)}:{json.dumps(s.file, separators=(',', ':'))}" for s in ALL)
    args.out.write_text(f'{{"tokens":11,"files":{{\n{files}}},\n"cases":[\n{text}\n]}}\n')
    print(len(lines), "configurations of", len(ALL), "classes,", sum("refused" in x for x in lines), "refused,", len(found) - len(lines), "without answer,",
          args.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
