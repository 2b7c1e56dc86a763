"""What a model's files say of position, and what a trained model does with it."""

from __future__ import annotations

import html
import json
import pathlib
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core, program, settings
from .arrays import is_torch, numpy_of
from .encoding import Encoding, make
from .errors import Error

_UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}  # relative error of one rounding


def _source(config: Any) -> tuple[str, str]:
    """(path, JSON or ""): a path, a dictionary, or a configuration of transformers."""
    if hasattr(config, "to_dict"):
        config = config.to_dict()
    if isinstance(config, dict):
        return "config.json", json.dumps(config, default=str)
    return str(config), ""


class _Document:
    """JSON that a page shows as well."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.data.get('file', '')!r})"


class Explanation(_Document):
    """What a config.json, a folder or a .gguf file computes from positions: every number is in .data, as `gnomon explain --json`
    prints it."""

    def __init__(self, made: _core.Explanation) -> None:
        super().__init__(json.loads(made.json))
        self._made = made

    @property
    def layers(self) -> list[dict[str, Any]]:
        """Groups of layers that do the same: dictionaries with spec, inv_freq, attention_factor, window ..."""
        return self.data["layers"]

    @property
    def spec(self) -> str:
        """What gnomon.make() takes, of the first group of layers."""
        return self.layers[0]["spec"]

    @property
    def table(self) -> list[dict[str, Any]]:
        """Every number and where it came from: a list of {what, value, key, rule}."""
        return [dict(row, layers=group["layers"]) for group in self.layers for row in group["sources"]] + self.data["sources"]

    @property
    def warnings(self) -> list[str]:
        """What the reader remarked, as sentences."""
        return [f"{r['key']}: {r['says']}" if r.get("key") else r["says"] for r in self.data["remarks"]]

    def __str__(self) -> str:
        return "\n".join(self.data["answer"])

    def _repr_html_(self) -> str:
        return _frame(self._made.page)

    def page(self) -> str:
        """The page of `gnomon inspect --out`, HTML."""
        """The same as a page of HTML that needs no network."""
        return self._made.page

    def encoding(self, layer: int = 0, **sizes: Any) -> Encoding:
        """The encoding of a layer, made for this model."""
        for group in self.layers:
            if layer in group["layers"]:
                own = {name: group[name] for name in ("heads", "kv_heads", "head_dim", "causal", "scale") if group.get(name) is not None}
                return make(group["spec"], **{**own, "length": self.data["trained_length"] or 2048, **sizes})
        raise Error(f"layer: found {layer}; allowed are those of the file", place="layer", found=str(layer))

    def to_hf(self, group: int = 0) -> dict[str, Any]:
        """The rotation of a group of layers as rope_parameters of transformers 5. Raises Error for one that these cannot say."""
        return settings.rope_parameters(self.layers[group], self.data["trained_length"])

    def to_llama_cpp(self, group: int = 0) -> list[str]:
        """The same as options of llama.cpp's programs, for a GGUF file of this model. Raises Error."""
        return settings.llama_cpp_options(self.layers[group], self.data["trained_length"])

    def check(self, module: Any) -> list[dict[str, Any]]:
        """Whether a rotary module of transformers (with inv_freq and attention_scaling), or an array inv_freq, has the numbers of
        the file: a list with a dictionary for each group of layers that turns: layers, error (largest relative difference of a
        frequency), attention_factor (theirs, ours), agrees (within float32 rounding)."""
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

    def differs_from(self, other: Explanation) -> tuple[bool, dict[str, Any]]:
        """(same, what differs): the dictionary of `gnomon explain A B --json`."""
        same, text = _core.differences(self._made, other._made)
        return same, json.loads(text)


def explain(config: Any, *, reader: str = "") -> Explanation:
    """Explains what a model computes from positions. config: a path (config.json, folder, .gguf), a dictionary, or a configuration
    of transformers; reader: "v5" (transformers 5), "v4", "llama.cpp", "vllm" or "naive"; empty: what the file is for."""
    return Explanation(_core.explain(*_source(config), reader))


def lint(config: Any, *, only: Iterable[str] = (), ignore: Iterable[str] = ()) -> dict[str, Any]:
    """What is likely to go wrong with the position settings of a file: a dictionary as `gnomon lint --json` prints it, with
    findings, each with its rule, severity, key, what it means and what to write instead."""
    path, text = _source(config)
    if text:
        return json.loads(_core.lint_json(text, list(only), list(ignore)))
    return json.loads(_core.lint(path, list(only), list(ignore), False))


def extend(config: Any, *, to: int) -> dict[str, Any]:
    """Settings that let a rotary model read `to` tokens, by every method, each with snippets that were read again by the readers:
    a dictionary as `gnomon extend --json` prints it."""
    return json.loads(_core.extend(*_source(config), to))


def check(dump: Any, *, spec: str = "", theta: float = 0.0, positions: Iterable[float] = ()) -> list[dict[str, Any]]:
    """Which convention position numbers of another engine follow. dump: a path to .safetensors, or a dictionary of arrays named
    q_before, q_after, k_before, k_after, cos, sin, inv_freq, bias, slopes, table, positions (shapes: `gnomon check --help`). spec:
    what is expected; theta: one more base to try. Returns a list with a dictionary for each thing in the dump."""
    places = [float(p) for p in positions]
    if not isinstance(dump, dict):
        return json.loads(_core.check_file(str(dump), spec, theta, places))["checked"]
    arrays = []
    for name, x in dump.items():
        kind = str(x.dtype).removeprefix("torch.")
        if is_torch(x):
            x = x.detach().cpu().float()
        arrays.append((name, np.ascontiguousarray(numpy_of(x), np.float32), _UNITS.get(kind, 2.0**-24)))
    return json.loads(_core.check_arrays(arrays, spec, theta, places))["checked"]


class Inspection(_Document):
    """What a trained model does with position: .data as `gnomon inspect --json` prints it; shown as its page in a notebook."""

    def __init__(self, data: dict[str, Any], page: str) -> None:
        super().__init__(data)
        self._page = page

    def page(self) -> str:
        return self._page

    def _repr_html_(self) -> str:
        return _frame(self._page)


def inspect(model: Any, *, text: Any, **options: Any) -> Inspection:
    """Measures what a trained model does with position on a text. model: a folder or file of weights; text: a UTF-8 file; options
    of `gnomon inspect --help`, such as windows=8. Takes minutes; its progress goes to standard error."""
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "inspect.html"
        printed = program.run("inspect", model, "--text", text, "--out", page, "--json", *flags)
        return Inspection(json.loads(printed), page.read_text())


def _frame(page: str) -> str:
    return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:640px;border:0"></iframe>'
