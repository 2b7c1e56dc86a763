"""Attention with a position encoding as an ONNX model, opset 23: for engines that read ONNX.

It uses the standard operators RotaryEmbedding and Attention (github.com/onnx/onnx, docs/Operators.md; both since opset 23). Rotations
become RotaryEmbedding, with their caches as initialisers. Biases, windows and chunks are looked up by position and go into attn_mask.
Causal order, scale, soft cap and groups of queries are attributes of Attention. Needs the package onnx, 1.18 or later.
"""

from __future__ import annotations

import os

import numpy as np
import onnx
from onnx import helper, numpy_helper

from . import _core, arguments
from .arrays import Numbers
from .encoding import Encoding
from .errors import Error
from .tables import BY_POSITION, as_sequence, bias_of_pairs, places_of

OPSET = 23
MOST_BYTES = 2**30  # of a table over pairs of positions; a file of ONNX ends at 2^31


def save(pe: Encoding, path: str | os.PathLike[str], *, length: int | None = None, positions: Numbers | None = None,
         cache: bool = False) -> onnx.ModelProto:
    """Writes model(pe, length=..., positions=..., cache=...) to a file and returns the model. Raises Error as model() does."""
    made = model(pe, length=length, positions=positions, cache=cache)
    onnx.save(made, arguments.path("path", path))
    return made


def model(pe: Encoding, *, length: int | None = None, positions: Numbers | None = None, cache: bool = False) -> onnx.ModelProto:
    """Attention with pe = gnomon.make(...), as an onnx.ModelProto of float32.

    Inputs: q (batch, heads, tokens, head_dim), k (batch, kv_heads, tokens, head_dim) and v (batch, kv_heads, tokens, value_dim). If the
    encoding reads positions, also position_ids (batch, keys) int64, ascending and below `length`. Output: y (batch, heads, tokens,
    value_dim).

    length: number of positions in the tables (None: pe.length). positions (length) or (length, axes): the position of each id, such as
    the coordinates of image patches; None: the id itself.

    cache=True adds inputs past_key and past_value (batch, kv_heads, keys - tokens, ...) and outputs present_key and present_value. They
    hold keys and values after rotation. position_ids are then those of all keys; q, k and v are the last of them. The runtime must count
    causal order from the end of the past, as the operator's documentation says. Learned parameters enter the tables with their current
    values.

    Raises Error that names the parts of the plan without an operator.
    """
    places = places_of(pe, length if positions is None else positions)
    missing = list(dict.fromkeys(_missing(pe, places)))  # in their order, once
    if missing:
        raise Error(f"'{pe.spec}' has no ONNX operators for {'; '.join(missing)}", place="onnx", found=pe.spec)
    graph = _Graph(pe, places, arguments.truth("cache", cache), own_places=positions is None)
    made = helper.make_model(graph.finished(), opset_imports=[helper.make_opsetid("", OPSET)], producer_name="gnomon",
                             producer_version=_core.__version__)
    made.ir_version = helper.find_min_ir_version_for(made.opset_import)
    helper.set_model_props(made, {"spec": pe.spec, "length": str(len(places)), "gnomon": _core.__version__})
    return made


def _missing(pe, places):
    """The parts of the plan without an operator, in words."""
    if pe.reads:
        yield f"what reads {', '.join(pe.reads)}"
        return
    plan = pe.plan(as_sequence(places))
    for step in plan.steps:
        yield from _missing_of_step(step, pe.head_dim)
    more = sorted(set(plan.terms["arrays"]) - BY_POSITION)
    if logits := [name for name in more if name != "value"]:
        yield f"logits of content and position together ({', '.join(logits)})"
    if "value" in more:
        yield "values by distance"
    if np.isfinite(plan.terms["far_from"]):
        yield f"pairs that rotate differently from a distance of {plan.terms['far_from']:g} on"
    if plan.terms["weights"] != "softmax":
        yield "weights by stick-breaking"
    if pe.soft_cap and plan.terms["arrays"]:
        yield "a soft cap of logits with their bias: Attention adds attn_mask after the cap"
    if not (more or plan.joined or plan.far) and _changes_with_length(pe, places):
        yield "tables that change with the length of the sequence; a smaller length may need only one set"


def _missing_of_step(step, head_dim):
    kind = step["kind"]
    if kind == "scale":
        if step["width"] != head_dim:
            yield "a scale on only some channels"
    elif kind != "rotate":
        yield {"softplus": "softplus of q and k",
               "turn_plane": "rotations in a plane across channels", "multiply": "a matrix on blocks of channels", "repeat": "channels that are repeated",
               "widen": "channels that are appended"}[kind]
    elif step["cos"].shape[0] > 1:
        yield "a rotation that differs by head: RotaryEmbedding has one table for all heads"
    elif step["first"]:
        yield f"a rotation from channel {step['first']} on: RotaryEmbedding rotates the first channels"
    elif (step["stride"], step["gap"]) != (2, 1) and step["stride"] != 1:
        yield f"pairs of channels with a gap of {step['gap']} and a stride of {step['stride']}"


def _changes_with_length(pe, places):
    """Whether some tokens of the first half get other logits if the last token follows them."""
    half = len(places) // 2
    if not half:
        return False
    some = np.unique(np.linspace(0, half - 1, 32).astype(int))
    tokens = np.arange(len(some))
    random = np.random.default_rng(0)
    q, k = (random.standard_normal((1, heads, len(some) + 1, pe.head_dim), np.float32) for heads in (pe.heads, pe.kv_heads))
    found = []
    for rows in (some, np.append(some, len(places) - 1)):
        there = as_sequence(places[rows])
        turned_q, turned_k = (x[0, :, :len(some)] for x in pe.rotate(q[:, :, :len(rows)], k[:, :, :len(rows)], there))
        keys = np.repeat(turned_k, pe.heads // pe.kv_heads, 0)
        found.append(np.tril(pe.scale * turned_q @ keys.swapaxes(1, 2) + bias_of_pairs(pe.plan(there), tokens, tokens)))
    return not np.allclose(*found, rtol=1e-4, atol=1e-4)


class _Graph:
    """The nodes and tables of a model while it is built. As in ONNX, values have names."""

    def __init__(self, pe, places, cache, own_places):
        self.pe, self.places, self.cache, self.own_places = pe, places, cache, own_places
        self.plan = pe.plan(as_sequence(places))
        self.nodes, self.tables, self.made = [], [], {}

    def finished(self):
        rows = {role: self._mapped(role, role) for role in "qkv"}
        past = ["past_key", "past_value"] if self.cache else []
        out = ["attended" if self._turns("out") else "y", *(["present_key", "present_value"] if self.cache else [])]
        pe, factor = self.pe, self.pe.scale * self.plan.terms["content_scale"]
        self.nodes.append(helper.make_node("Attention", [*rows.values(), self._mask() or "", *past], out, name="attention",
                                           scale=factor, softcap=float(pe.soft_cap), is_causal=int(pe.causal)))
        self._mapped("attended", "out", last="y")
        inputs, outputs = self._signature()
        return helper.make_graph(self.nodes, "attention", inputs, outputs, self.tables)

    def _signature(self):
        pe, of = self.pe, lambda name, heads, tokens, channels: helper.make_tensor_value_info(
            name, onnx.TensorProto.FLOAT, ["batch", heads, tokens, channels])
        inputs = [of("q", pe.heads, "tokens", pe.head_dim), of("k", pe.kv_heads, "tokens", pe.head_dim),
                  of("v", pe.kv_heads, "tokens", pe.value_dim)]
        outputs = [of("y", pe.heads, "tokens", pe.value_dim)]
        if "ids" in self.made:
            keys = "keys" if self.cache else "tokens"
            inputs.append(helper.make_tensor_value_info("position_ids", onnx.TensorProto.INT64, ["batch", keys]))
        if self.cache:
            sizes = (("key", pe.head_dim), ("value", pe.value_dim))
            inputs += [of(f"past_{what}", pe.kv_heads, "past", size) for what, size in sizes]
            outputs += [of(f"present_{what}", pe.kv_heads, "keys", size) for what, size in sizes]
        return inputs, outputs

    def add(self, op, *inputs, to=None, **attributes):
        """Adds a node; returns the name of its output."""
        to = to or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [to], name=to, **attributes))
        return to

    def table(self, name, array):
        """Adds an initialiser once; returns its name."""
        if name not in self.made:
            self.tables.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
            self.made[name] = name
        return name

    def whole(self, *numbers):
        return self.table(f"whole_{'_'.join(map(str, numbers))}", np.array(numbers, np.int64))

    def ids(self):
        """The positions of the new tokens, (batch, tokens)."""
        if "ids" not in self.made:
            self.made["ids"] = "position_ids"
            if self.cache:
                first = self.add("Shape", "past_key", start=2, end=3)
                self.made["ids"] = self.add("Slice", "position_ids", first, self.whole(2**62), self.whole(1))
        return self.made["ids"]

    def _turns(self, role):
        return any(role in step["roles"] for step in self.plan.steps)

    def _mapped(self, x, role, last=None):
        """x after the steps of its role; the last output is named `last`."""
        steps = [(n, step) for n, step in enumerate(self.plan.steps) if role in step["roles"]]
        for n, step in steps:
            to = last if step is steps[-1][1] else None
            x = self._rotated(x, role, n, to) if step["kind"] == "rotate" else self._scaled(x, n, to)
        return x

    def _rotated(self, x, role, n, to):
        step = self.plan.steps[n]
        interleaved = step["stride"] == 2
        width = step["pairs"] if interleaved else step["gap"]
        # Pairs between those that turn and the other half of theirs stand still: their angle is 0.
        still = width - step["pairs"]
        wide = lambda a, fill: np.pad(np.broadcast_to(a[0], (len(self.places), step["pairs"])), ((0, 0), (0, still)), constant_values=fill)
        back = role == "out"
        sin = -step["sin"] if back else step["sin"]
        caches = self.table(f"cos_{n}", wide(step["cos"], 1)), self.table(f"sin_{n}{'_back' if back else ''}", wide(sin, 0))
        part = {} if 2 * width == (self.pe.value_dim if role in ("v", "out") else self.pe.head_dim) else {"rotary_embedding_dim": 2 * width}
        heads = self.pe.heads if role in ("q", "out") else self.pe.kv_heads
        return self.add("RotaryEmbedding", x, *caches, self.ids(), to=to, interleaved=int(interleaved), num_heads=heads, **part)

    def _scaled(self, x, n, to):
        factor = self.plan.steps[n]["factor"]  # (heads or 1, T or 1)
        by_token = self.table(f"factor_{n}", np.broadcast_to(factor, (len(factor), len(self.places))).T)
        of_heads = self.add("Transpose", self.add("Gather", by_token, self.ids()), perm=[0, 2, 1])
        return self.add("Mul", x, self.add("Unsqueeze", of_heads, self.whole(3)), to=to)

    def _mask(self):
        """attn_mask (batch, heads or 1, tokens, keys): numbers to add, or which pairs are seen; None: no mask."""
        bias = self._bias() if self.plan.terms["arrays"] else None
        seen = self._seen() if "first_key" in self.plan.terms else None
        if bias and seen:
            return self.add("Where", seen, bias, self.table("hidden", np.array(-np.inf, np.float32)))
        return bias or seen

    def _pair(self):
        """The positions of queries (batch, tokens, 1) and of keys (batch, 1, keys)."""
        if "query" not in self.made:
            self.made["query"] = self.add("Unsqueeze", self.ids(), self.whole(2))
            self.made["key"] = self.add("Unsqueeze", "position_ids", self.whole(1))
        return self.made["query"], self.made["key"]

    def _bias(self):
        (query, key), terms, T = self._pair(), self.plan.terms, len(self.places)
        if set(terms["arrays"]) == {"by_distance"} and self.own_places:
            table = self.table("by_distance", terms["arrays"]["by_distance"])
            # A distance below the first of the table is of a key that the causal order hides.
            column = self.add("Sub", self.add("Sub", query, key), self.whole(terms["first_distance"]))
            column = self.add("Max", column, self.whole(0))
        else:
            if self.pe.heads * T * T * 4 > MOST_BYTES:
                raise Error(f"length: found {T}; a table of {self.pe.heads} x {T} x {T} numbers is too large for an ONNX file", place="length",
                            found=str(T))
            bias = bias_of_pairs(self.plan, np.arange(T), np.arange(T)).astype(np.float32)
            table = self.table("by_pair", bias.reshape(self.pe.heads, T * T))
            column = self.add("Add", self.add("Mul", query, self.whole(T)), key)
        return self.add("Transpose", self.add("Gather", table, column, axis=1), perm=[1, 0, 2, 3])

    def _seen(self):
        query, key = self._pair()
        begin, end = (self.add("Gather", self.table(name, self.plan.terms[name][0].astype(np.int64)), query)
                      for name in ("first_key", "end_key"))
        both = self.add("And", self.add("GreaterOrEqual", key, begin), self.add("Less", key, end))
        return self.add("Unsqueeze", both, self.whole(1))
