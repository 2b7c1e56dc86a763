"""A rotation as settings for programs that run models."""

from __future__ import annotations

import re
from typing import Any

from .errors import Error
from .registry import help as entry_of

# Of each rope_type of transformers 5 (modeling_rope_utils.py, ROPE_INIT_FUNCTIONS): ours, and its keys by our options.
_TYPES = {
    "rope": ("default", {}),
    "linear": ("linear", {"factor": "factor"}),
    "dynamic_ntk": ("dynamic", {"factor": "factor"}),
    "yarn": ("yarn", {"factor": "factor", "beta_fast": "beta_fast", "beta_slow": "beta_slow", "original": "original_max_position_embeddings"}),
    "llama3": ("llama3", {"factor": "factor", "low": "low_freq_factor", "high": "high_freq_factor",
                          "original": "original_max_position_embeddings"}),
}


def _rotation(group: dict[str, Any]) -> tuple[str, dict[str, float | str]]:
    """The rotation in a spec, with all its options."""
    for name, given in re.findall(r"(\w+)(?:\(([^()]*)\))?", group["spec"]):
        if name in _TYPES:
            options = {o.name: o.standard for o in entry_of(name).options}
            options |= dict(item.strip().split("=", 1) for item in given.split(",") if item.strip())
            return name, {key: _number(value) for key, value in options.items()}
    raise Error(f"'{group['spec']}' has no rotation that these settings can express; allowed are {', '.join(_TYPES)}", place="spec",
                found=group["spec"], allowed=", ".join(_TYPES))


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


def rope_parameters(group: dict[str, Any], trained: int) -> dict[str, Any]:
    """The dictionary rope_parameters of transformers 5 for a group of layers of an explanation. Raises Error for a rotation that it
    cannot express."""
    name, options = _rotation(group)
    kind, keys = _TYPES[name]
    said = {"rope_type": kind, "rope_theta": options["theta"]} | {theirs: options[ours] for ours, theirs in keys.items()}
    if said.get("original_max_position_embeddings") == 0:
        said["original_max_position_embeddings"] = trained
    if name == "yarn":
        said |= {"attention_factor": group["attention_factor"], "truncate": options["truncate"] == "on"}
    if group["rotary_dim"] != group["head_dim"]:
        said["partial_rotary_factor"] = group["rotary_dim"] / group["head_dim"]
    return {key: int(v) if isinstance(v, float) and key.startswith("original") else v for key, v in said.items()}


def llama_cpp_options(group: dict[str, Any], trained: int) -> list[str]:
    """Options of llama.cpp's programs (common/arg.cpp) that replace the rotation of a GGUF file. Raises Error for a rotation that they
    cannot express."""
    name, options = _rotation(group)
    base = ["--rope-freq-base", f"{options['theta']:g}"]
    if name == "rope":
        return ["--rope-scaling", "none", *base]
    if name not in ("linear", "yarn"):
        raise Error(f"llama.cpp has no option for {name}", place="spec", found=group["spec"], allowed="rope, linear, yarn")
    scaled = ["--rope-scaling", name, *base, "--rope-scale", f"{options['factor']:g}"]
    return scaled + (["--yarn-orig-ctx", str(int(float(options["original"]) or trained))] if name == "yarn" else [])
