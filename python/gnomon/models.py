"""The position settings in a model's files, and what a trained model does with position."""

from __future__ import annotations

import html
import json
import math
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core, settings
from .arguments import number, whole
from .arrays import is_torch, numpy_of
from .encoding import Encoding, make
from .errors import Error
from .registry import encodings

_UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}  # relative error of one rounding


def _source(config: Any) -> tuple[str, str]:
    """(path, JSON or "") from a path, a dictionary, a configuration of transformers, or a model with one. Raises Error."""
    if hasattr(getattr(config, "config", None), "to_dict"):
        config = config.config
    if hasattr(config, "to_dict"):
        config = config.to_dict()
    if isinstance(config, dict):
        return "config.json", json.dumps(_finite(config), default=_written)
    return _path("config", config, "a path, a dictionary and a configuration of transformers"), ""


def _finite(value: Any) -> Any:
    """A value of a configuration with its infinite numbers as transformers saves them, because JSON has none."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"__float__": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def _written(value: Any) -> Any:
    """What JSON does not know: a number of NumPy is a number, and anything else its text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def _path(name: str, given: Any, allowed: str) -> str:
    """A path as text. Raises Error for anything else."""
    if not isinstance(given, (str, os.PathLike)):
        raise Error(f"{name}: found {type(given).__name__}; allowed are {allowed}", place=name, found=type(given).__name__, allowed=allowed)
    if str(given).lstrip().startswith(("{", "[")):
        raise Error(f"{name}: found JSON; allowed are {allowed}; json.loads() turns it into a dictionary", place=name, found="JSON",
                    allowed=allowed, suggestions=["json.loads()"])
    return str(given)


def _names(given: str | Iterable[str]) -> list[str]:
    """One name, or several."""
    return [given] if isinstance(given, str) else list(given)


class _Document:
    """JSON with a page that shows it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.data.get('file', '')!r})"


class Explanation(_Document):
    """What a model computes from positions, according to its config.json, folder or .gguf file. .data has every number, as in `gnomon
    explain --json`."""

    def __init__(self, made: _core.Explanation, source: tuple[str, str, str]) -> None:
        super().__init__(json.loads(made.json))
        self._made, self._source = made, source

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_again, (self._source, self.data)

    @property
    def layers(self) -> list[dict[str, Any]]:
        """Groups of layers with the same position encoding: dictionaries with spec, inv_freq, attention_factor, window ..."""
        return self.data["layers"]

    @property
    def towers(self) -> list[dict[str, Any]]:
        """Towers for images or sound beside the language model, or the file's own: dictionaries with part, model_type, spec, grid, table,
        axes (axis, channels, inv_freq) and words. One that gnomon does not know has known: False."""
        return self.data["towers"]

    @property
    def spec(self) -> str:
        """The spec of the first group of layers, for gnomon.make(). It leaves out a table of positions beside the words."""
        return self.layers[0]["spec"]

    @property
    def model_spec(self) -> str:
        """The spec of all layers and of the vectors beside the words, for gnomon.make(layer=n): rope, [one, another ...] if layers differ,
        or learned(length=512) for a table of positions. gnomon.transformers.patch() takes the explanation itself, too."""
        return self._of_all([group["spec"] for group in self.layers])

    @property
    def _without_windows(self) -> str:
        """model_spec for a model whose masks have the windows."""
        hide = {entry.name for entry in encodings() if entry.acts == "mask"}
        terms = [re.split(r"\+(?![^()]*\))", _inside(group["spec"])) for group in self.layers]  # no + inside parentheses
        return self._of_all(["+".join(t for t in of_group if t.partition("(")[0] not in hide) or "none" for of_group in terms])

    def _of_all(self, specs: list[str]) -> str:
        """One spec of those of the groups of layers, which stand in turn if they differ."""
        of_layer: dict[int, str] = {}
        for group, spec in zip(self.layers, specs):
            for n in group["layers"]:
                of_layer.setdefault(n, _inside(spec))  # a layer that stands twice has an indexer beside its attention
        inside = [of_layer[n] for n in sorted(of_layer)]
        period = next(p for p in range(1, len(inside) + 1) if all(spec == inside[n % p] for n, spec in enumerate(inside)))
        layers = inside[0] if period == 1 else f"[{', '.join(inside[:period])}]"
        return self.data["input"] + ("" if layers == "none" else f"+{layers}")

    @property
    def table(self) -> list[dict[str, Any]]:
        """Every number with its source: a list of {what, value, key, rule}. A number of a class that gnomon does not know has guessed:
        True, unless the file itself says it."""
        return [dict(row, layers=group["layers"]) for group in self.layers for row in group["sources"]] + self.data["sources"]

    @property
    def guessed(self) -> bool:
        """Whether gnomon does not know the class. Then `guesses` of a group of layers names its members that follow from conventions of
        other classes; the rest stands in the file."""
        return not self.data["known"]

    @property
    def warnings(self) -> list[str]:
        """The remarks of the reader, as sentences."""
        return _sentences(self.data["remarks"])

    @property
    def refused(self) -> list[str]:
        """What transformers 5.23 raises an error for, as sentences: then no model computes these numbers. Empty: it reads and runs the file."""
        return _sentences(self.data["refused"])

    def __str__(self) -> str:
        return "\n".join(self.data["answer"])

    def _repr_html_(self) -> str:
        return _frame(self._made.page)

    def page(self) -> str:
        """The explanation as an HTML page that needs no network."""
        return self._made.page

    def encoding(self, layer: int = 0, **sizes: Any) -> Encoding:
        """The encoding of a layer, with the sizes of this model. It has no soft-cap, because explain() reads settings of position alone: give
        that of Gemma 2 as soft_cap=50. gnomon.transformers.patch() takes it from the model."""
        for group in self.layers:
            if layer in group["layers"]:
                own = {name: group[name] for name in ("heads", "kv_heads", "head_dim", "value_dim", "causal", "scale") if group.get(name) is not None}
                return make(group["spec"], **{**own, "length": self.data["trained_length"] or 2048, **sizes})
        raise Error(f"layer: found {layer}; allowed are the layers of the file", place="layer", found=str(layer))

    def to_hf(self, group: int = 0) -> dict[str, Any]:
        """The rotation of a group of layers as rope_parameters of transformers 5. Raises Error if rope_parameters cannot express it."""
        return settings.rope_parameters(self.layers[group], self.data["trained_length"])

    def to_llama_cpp(self, group: int = 0) -> list[str]:
        """The rotation as options of llama.cpp's programs, for a GGUF file of this model. Raises Error."""
        return settings.llama_cpp_options(self.layers[group], self.data["trained_length"])

    def check(self, module: Any) -> list[dict[str, Any]]:
        """Compares a rotary module of transformers (with inv_freq and attention_scaling), or an array inv_freq, with the numbers of the
        file. Returns a dictionary for each group of rotary layers: layers, error (largest relative difference of a frequency),
        attention_factor (theirs, ours), agrees (within float32 rounding)."""
        inv_freq = getattr(module, "inv_freq", module)
        theirs = np.asarray(numpy_of(inv_freq.detach().cpu() if is_torch(inv_freq) else inv_freq), np.float64)
        factor = float(getattr(module, "attention_scaling", 1.0))
        found = []
        for group in self.layers:
            ours = np.asarray(group.get("inv_freq") or [], np.float64)
            if not ours.size:
                continue
            error = float(np.max(np.abs(theirs - ours) / np.abs(ours))) if theirs.shape == ours.shape else float("inf")
            same_factor = abs(factor - group["attention_factor"]) <= 1e-6 * abs(group["attention_factor"])
            found.append(dict(layers=group["layers"], error=error, attention_factor=(factor, group["attention_factor"]),
                              agrees=error < 2e-6 and same_factor))
        return found

    def differs_from(self, other: Explanation, *, ignore: str | Iterable[str] = ()) -> tuple[bool, dict[str, Any]]:
        """(same, differences): whether both compute the same, and the dictionary of `gnomon explain A B --json`. ignore: quantities that
        are expected to differ, such as "layers", as `gnomon explain --ignore` takes them."""
        same, text = _core.differences(self._made, other._made, _names(ignore))
        return same, json.loads(text)


def _sentences(remarks: list[dict[str, str]]) -> list[str]:
    return [f"{r['key']}: {r['says']}" if r.get("key") else r["says"] for r in remarks]


def explain(config: Any, *, reader: str = "") -> Explanation:
    """Explains what a model computes from positions. config: a path (config.json, folder, .gguf), the name of a model in the cache of
    huggingface_hub ("org/name", "org/name@revision"), a dictionary, a configuration of transformers, or a model with one. reader: "v5"
    (transformers 5.23), "v4", "vllm" (0.33), "vllm-0.24", "sglang", "mlx", "tgi", "naive" or "llama.cpp"; empty: the default reader of this kind of
    file. An explanation can be pickled; unpickling reads the file again."""
    source = (*_source(config), reader)
    return Explanation(_core.explain(*source), source)


def _read_again(source: tuple[str, str, str], data: dict[str, Any]) -> Explanation:
    """Restores an explanation from a pickle or a copy. Raises Error if the file has changed."""
    again = Explanation(_core.explain(*source), source)
    if again.data != data:
        raise Error(f"{source[0]}: it has changed since it was explained; explain it again", fault="input", place=source[0])
    return again


def lint(config: Any, *, only: str | Iterable[str] = (), ignore: str | Iterable[str] = (),
         exceptions: str | os.PathLike[str] = "", transformers: str = "", vllm: str = "") -> dict[str, Any]:
    """Finds position settings that probably go wrong. config: as for explain(), or a list of paths; in a folder every model is checked.
    exceptions: the file of accepted findings; by default .gnomon-lint.json beside the model or above it. transformers, vllm: the
    versions that will read the model, such as "5.4.0"; by default, of transformers, the one that wrote it. Returns the dictionary of
    `gnomon lint --json`. Each of its findings has a file, a rule, a severity, a key, what the setting means, and what to write instead."""
    accepted = _path("exceptions", exceptions, "a path")
    if isinstance(config, (list, tuple)) and config and all(isinstance(path, (str, os.PathLike)) for path in config):
        paths, text = [_path("config", path, "paths") for path in config], ""
    else:
        path, text = _source(config)
        paths = [] if text else [path]
    return json.loads(_core.lint(paths, text, _names(only), _names(ignore), accepted, [str(transformers), str(vllm)]))


def extend(config: Any, *, to: int | str, force: bool = False) -> dict[str, Any]:
    """Plans settings that let a rotary model read `to` tokens, by every method. to: 16384, "16k", or "4x", which is four times the
    longest length that the file names. Raises Error if lint() finds an error in the file, unless `force`. Returns the dictionary of
    `gnomon extend --json`: snippets that the readers have read again, and which method to take."""
    return json.loads(_core.extend(*_source(config), to if isinstance(to, str) else str(whole("to", to)), bool(force)))


def check(dump: Any, *, spec: str = "", theta: float = 0.0, positions: Iterable[float] = ()) -> list[dict[str, Any]]:
    """Finds the convention that the position numbers of another engine follow. Returns a list with a dictionary for each thing in the
    dump.

    dump: a path to .safetensors, or a dictionary of arrays with these names: q_before, q_after, k_before, k_after, cos, sin, inv_freq,
    bias, slopes, table, mask, weights, positions, documents (shapes: docs/check.md).

    spec: the expected spec. theta: another base to try.
    """
    places = [float(p) for p in positions]
    if not isinstance(dump, dict):
        path = _path("dump", dump, "a path and a dictionary of arrays")
        return json.loads(_core.check_file(path, spec, theta, places))["checked"]
    arrays = []
    for name, x in dump.items():
        if not isinstance(name, str):
            raise Error(f"dump: found {name!r}; allowed is a name, such as q_before", place="dump", found=repr(name), allowed="a name")
        x = x if hasattr(x, "dtype") else np.asarray(x)
        kind = str(x.dtype).removeprefix("torch.")
        if kind == "object" or kind == "bool" and name != "mask" or kind.startswith(("complex", "str", "<U", "|S")):
            raise Error(f"{name}: found {kind}; allowed are numbers", place=str(name), found=kind, allowed="numbers")
        if is_torch(x):
            x = x.detach().cpu().float()
        arrays.append((name, np.ascontiguousarray(numpy_of(x), np.float32), _UNITS.get(kind, 2.0**-24)))
    return json.loads(_core.check_arrays(arrays, spec, theta, places))["checked"]


class Inspection(_Document):
    """What a trained model does with position. .data is the output of `gnomon inspect --json`; a notebook shows its page."""

    def __init__(self, data: dict[str, Any], page: str) -> None:
        super().__init__(data)
        self._page = page

    def page(self) -> str:
        """The HTML page of `gnomon inspect --out`."""
        return self._page

    def _repr_html_(self) -> str:
        return _frame(self._page)


def inspect(model: Any, *, text: Any = None, ids: Any = None, window: int = 256, windows: int = 8, longest: int = 2048,
            beyond: float = 0.0, each_head: bool = False, quiet: bool = False) -> Inspection:
    """Measures what a trained model does with position on a text. model: a folder or file of weights, or the name of a model in the
    cache of huggingface_hub. Give either text, a UTF-8 file, or ids, a file of token ids. For the other arguments see `gnomon inspect
    --help`. It takes minutes and runs in this process; an interruption stops it within a layer. Progress goes to standard error unless
    `quiet`."""
    model = _path("model", model, "a folder and a file of weights, as save_pretrained() writes them")
    if (text is None) == (ids is None):
        raise Error("inspect: give exactly one of text and ids", place="text")
    read = _path("text", text, "paths") if ids is None else _path("ids", ids, "paths")
    options = _core.InspectOptions()
    options.window, options.windows, options.longest = whole("window", window), whole("windows", windows), whole("longest", longest)
    options.beyond, options.each_head = number("beyond", beyond), bool(each_head)
    printed, page = _core.inspect(model, read, ids is not None, options, None if quiet else _tell)
    return Inspection(json.loads(printed), page)


def _tell(sentence: str) -> None:
    """Prints progress as the program does, so that a notebook shows it."""
    print(f"gnomon: {sentence}", file=sys.stderr, flush=True)


def _inside(spec: str) -> str:
    """The part of a layer's spec that acts inside attention, without the combination of words and vectors before it."""
    found = re.match(r"(\w+)\([^()]*\)(\+|$)", spec)
    return (spec[found.end():] if found and found[1] in _core.combinations() else spec) or "none"


def _frame(page: str) -> str:
    return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:640px;border:0"></iframe>'
