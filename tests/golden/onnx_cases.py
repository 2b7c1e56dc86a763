"""The node tests of two of ONNX's operators, Attention and RotaryEmbedding, as safetensors files.

    python3 tests/golden/onnx_cases.py          (onnx 1.23.2, numpy 2.4.6, ml_dtypes 0.6.0)

Source: the Python package onnx 1.23.2, Copyright (c) ONNX Project Contributors, SPDX-License-Identifier: Apache-2.0
(https://github.com/onnx/onnx). The wheel names no commit; the files that make the numbers are these git blobs:
onnx/backend/test/case/node/attention.py 396ed5b2da3b, onnx/reference/ops/op_attention.py 1c476b038aba,
onnx/backend/test/case/node/rotaryembedding.py 58f1ec686786, onnx/reference/ops/op_rotary_embedding.py 14b2ad40e524.
The package draws its cases when they are asked for, from seeded random numbers, and computes the outputs with its
reference implementation; another BLAS may change the last bits of an output.

onnx/attention.safetensors, 93 cases (opsets 23, 24, 25), onnx/rotary.safetensors, 8 cases (opset 23):
  tensors   "CASE/INPUT" and "CASE/OUTPUT" by the names of the operator's schema: Q (B, H, T, D) or (B, T, H·D), K, V,
            attn_mask, past_key, past_value, nonpad_kv_seqlen -> Y, present_key, present_value;
            X, cos_cache, sin_cache, position_ids -> Y. The fourth output of Attention, for debugging, is left out.
  metadata  "CASE": JSON with op, opset, attributes (those that are given; the others have the schema's defaults), inputs
            and outputs (those that are present), types, and rtol, atol of ONNX's own tests: after rounding to Y's type,
            |y - Y| <= atol + rtol |Y|.
All numbers are stored as float32, which is what gnomon reads. It holds each of them exactly, so rounding to the type that
`types` names (F16, BF16, BOOL, I64) gives back ONNX's own bits; the script checks that. Masks hold -inf.

What the files hold is recomputed here, from the operators' documentation and in double. Each convention has a control:
what a reader might take it for, which must contradict at least one case by more than ONNX's tolerance. The script writes
nothing otherwise. UNSEEN are readings that no case contradicts.
"""

import json
import math
import pathlib
import struct
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

VERSION, COUNTS = "1.23.2", {"Attention": 93, "RotaryEmbedding": 8}
SOURCE = {"source": f"onnx {VERSION}, onnx.backend.test, node tests",
          "licence": "Apache-2.0, Copyright (c) ONNX Project Contributors", "made_by": "tests/golden/onnx_cases.py"}
FOLDER = pathlib.Path(__file__).parent / "onnx"
LEFT_OUT = "qk_matmul_output"
TYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "bool": "BOOL", "int64": "I64"}
BFLOAT16_RTOL = 2.0**-6  # onnx/backend/test/runner: two steps of bfloat16, where the case asks for less
# By how many steps of its type (2^-23, 2^-10, 2^-7, times the largest value of the row) Y may be off the exact one:
# ONNX computes in that type. Found: 1.91 for float32 (2.29 with OPENBLAS_CORETYPE=Nehalem), 0.92 for the others.
STEPS = 3


class Case:
    """One test: its inputs and outputs by the names of the schema, in ONNX's types."""

    def __init__(self, test):
        (node,) = test.model.graph.node
        self.name, self.op, self.opset = test.name, node.op_type, test.model.opset_import[0].version
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        schema = onnx.defs.get_schema(self.op, self.opset, "")
        ((inputs, outputs),) = test.data_sets
        self.inputs = self.named(schema.inputs, node.input, inputs)
        self.outputs = self.named(schema.outputs, node.output, outputs)
        self.outputs.pop(LEFT_OUT, None)
        self.type = self.outputs["Y"].dtype
        self.rtol, self.atol = test.rtol, test.atol
        if self.type == ml_dtypes.bfloat16:
            self.rtol = max(self.rtol, BFLOAT16_RTOL)

    @staticmethod
    def named(formal, given, values):
        """An input that is left out has an empty name, and no value."""
        present = [f.name for f, name in zip(formal, given, strict=False) if name]
        return dict(zip(present, values, strict=True))

    def tensors(self):
        for name, values in {**self.inputs, **self.outputs}.items():
            stored = values.astype("<f4")
            assert np.array_equal(stored.astype(values.dtype), values), f"{self.name}/{name} is not exact in float32"
            yield f"{self.name}/{name}", stored

    def description(self):
        types = {name: TYPES[x.dtype.name] for name, x in {**self.inputs, **self.outputs}.items()}
        return json.dumps({"op": self.op, "opset": self.opset, "attributes": self.attributes,
                           "inputs": list(self.inputs), "outputs": list(self.outputs), "types": types,
                           "rtol": self.rtol, "atol": self.atol})

    def contradicts(self, outputs):
        """Whether ONNX's own test fails for these outputs, which are rounded to its types first."""
        for name, Y in self.outputs.items():
            found, expected = outputs[name].astype(Y.dtype).astype(float), Y.astype(float)
            if found.shape != expected.shape or not np.allclose(found, expected, rtol=self.rtol, atol=self.atol):
                return True
        return False

    def steps_off(self, outputs):
        """The largest error of Y, in steps of its type; the other outputs are copies and must be the same."""
        assert all(np.array_equal(outputs[name], Y) for name, Y in self.outputs.items() if name != "Y"), self.name
        Y = self.outputs["Y"].astype(float)
        step = float(ml_dtypes.finfo(self.type).eps) * np.abs(Y).max(-1, keepdims=True)
        return (np.abs(outputs["Y"] - Y) / np.where(step == 0, 1e-300, step)).max()


def load():
    assert onnx.__version__ == VERSION, f"onnx {onnx.__version__}: the numbers are those of {VERSION}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other operators' cases
        tests = load_model_tests(kind="node")
    found = {op: [] for op in COUNTS}
    for test in tests:
        nodes = test.model.graph.node if test.model is not None else []
        if len(nodes) == 1 and nodes[0].op_type in found and not test.name.endswith("_expanded"):
            found[nodes[0].op_type].append(Case(test))
    assert {op: len(of) for op, of in found.items()} == COUNTS
    return found


def split(x, heads, wrong):
    """(B, T, H·D) to (B, H, T, D); what has four axes already stays."""
    if x.ndim == 4:
        return x
    B, T, C = x.shape
    if wrong == "3-D: tokens and heads not exchanged":
        return x.reshape(B, heads, T, C // heads)
    if wrong == "3-D: head size before heads":
        return x.reshape(B, T, C // heads, heads).transpose(0, 3, 1, 2)
    return x.reshape(B, T, heads, C // heads).transpose(0, 2, 1, 3)


class Attention:
    """The operator as its documentation has it; `wrong` names the one convention that is taken for another. In double;
    with `steps` the result of each operation is rounded to the type of Q, as ONNX's reference does."""

    CONTROLS = [
        "3-D: head size before heads", "3-D: tokens and heads not exchanged", "groups: tiled", "mask: True excludes",
        "mask: of the first batch", "mask: a short one ends with the keys", "bias: before the scale", "bias: ignored",
        "scale: 1/D by default", "scale: of the values' head size", "scale: times 1/sqrt(D)", "scale: on Q and on K",
        "soft-cap: after the bias", "soft-cap: before the scale", "soft-cap: tanh without division",
        "soft-cap: ignored", "causal: ignored", "causal: last query sees the last key",
        "causal: first query sees the first key only", "causal: offset at least 0", "causal: not with a mask",
        "past: after the new keys", "padding: ignored", "padding: at the front", "window: one key less on the left",
        "window: sides exchanged", "window: ignored", "window: counted from key 0",
        "empty row: mean of the values", "empty row: NaN",
    ]
    UNSEEN = ["mask: a short one allows the rest", "logits: without their sign"]
    PRECISIONS = {1: np.float32, 10: np.float16, 11: np.float64, 16: ml_dtypes.bfloat16}

    def __init__(self, case, wrong="", steps=False):
        self.inputs, self.wrong = case.inputs, wrong
        self.attribute = case.attributes.get
        self.type = case.type if steps else np.float64
        asked = self.attribute("softmax_precision") if wrong != "softmax: precision ignored" else None
        self.softmax_type = self.PRECISIONS[asked] if asked and steps else self.type
        if steps and wrong == "softmax: float32 unasked":
            self.softmax_type = np.float32

    def keep(self, x):
        return x.astype(self.type).astype(float)

    def outputs(self):
        with np.errstate(divide="ignore", invalid="ignore"):  # controls make NaN
            q = self.split("Q", "q_num_heads")
            present = {"present_key": self.with_past("K", "past_key"), "present_value": self.with_past("V", "past_value")}
            k, v = (self.shared(x, q.shape[1]) for x in present.values())
            bias = self.bias(k.shape[2])
            s = self.logits(q, k, v, bias)
            s = self.keep(np.where(self.visible(q.shape[2], k.shape[2]), s, -math.inf))
            y = self.keep(self.keep(self.softmax(s)) @ v)
        if self.inputs["Q"].ndim == 3:
            y = y.transpose(0, 2, 1, 3).reshape(*self.inputs["Q"].shape[:2], -1)
        return {"Y": y, **present}

    def split(self, name, heads):
        return split(self.inputs[name].astype(float), self.attribute(heads), self.wrong)

    def with_past(self, name, past):
        new = self.split(name, "kv_num_heads")
        if past not in self.inputs:
            return new
        both = self.inputs[past].astype(float), new
        return np.concatenate(both[::-1] if self.wrong == "past: after the new keys" else both, axis=2)

    def shared(self, x, heads):
        """(B, G, S, D) to (B, H, S, D): query head h reads group h // (H / G)."""
        copies = heads // x.shape[1]
        return np.tile(x, (1, copies, 1, 1)) if self.wrong == "groups: tiled" else np.repeat(x, copies, axis=1)

    def bias(self, S):
        """What is added to the logits (B, H, T, S), to which it is broadcast from the right; -inf after a short mask."""
        mask = self.inputs.get("attn_mask")
        if mask is None or self.wrong == "bias: ignored":
            return 0.0
        if mask.dtype == bool:
            mask = np.where(mask != (self.wrong == "mask: True excludes"), 0.0, -math.inf)
        if self.wrong == "mask: of the first batch" and mask.ndim == 4:
            mask = mask[:1]
        missing = S - mask.shape[-1]
        width = (missing, 0) if self.wrong == "mask: a short one ends with the keys" else (0, missing)
        fill = 0.0 if self.wrong == "mask: a short one allows the rest" else -math.inf
        return np.pad(mask.astype(float), [(0, 0)] * (mask.ndim - 1) + [width], constant_values=fill)

    def positions(self, T, S):
        """Of the queries among the keys, (B or 1, 1, T, 1): after the past, or the last of the keys that are valid."""
        offset = np.array([0])
        if "past_key" in self.inputs:
            offset = np.array([self.inputs["past_key"].shape[2]])
        elif "nonpad_kv_seqlen" in self.inputs:
            offset = self.inputs["nonpad_kv_seqlen"] - T
        if self.wrong == "causal: last query sees the last key":
            offset = np.array([S - T])
        if self.wrong == "causal: first query sees the first key only":
            offset = np.array([0])
        if self.wrong == "causal: offset at least 0":
            offset = np.maximum(offset, 0)
        return offset.reshape(-1, 1, 1, 1) + np.arange(T).reshape(-1, 1)

    def visible(self, T, S):
        """The keys a query may see by causality, window and padding, for all masks; broadcasts to (B, H, T, S)."""
        query, key = self.positions(T, S), np.arange(S)
        allowed = np.ones((1, 1, T, S), dtype=bool)
        skip = self.wrong == "causal: ignored" or (self.wrong == "causal: not with a mask" and "attn_mask" in self.inputs)
        if self.attribute("is_causal", 0) and not skip:
            allowed = allowed & (key <= query)
        left, right = self.attribute("left_window_size", -1), self.attribute("right_window_size", -1)
        if self.wrong == "window: sides exchanged":
            left, right = right, left
        if self.wrong == "window: counted from key 0":
            query = np.arange(T).reshape(-1, 1)
        if left >= 0 and self.wrong != "window: ignored":
            allowed = allowed & (query - key <= left - (self.wrong == "window: one key less on the left"))
        if right >= 0 and self.wrong != "window: ignored":
            allowed = allowed & (key - query <= right)
        if "nonpad_kv_seqlen" in self.inputs and self.wrong != "padding: ignored":
            valid = self.inputs["nonpad_kv_seqlen"].reshape(-1, 1, 1, 1)
            allowed = allowed & (key >= S - valid if self.wrong == "padding: at the front" else key < valid)
        return allowed

    def scale(self, D, value_size):
        given = self.attribute("scale")
        if given is not None:
            return given / math.sqrt(D) if self.wrong == "scale: times 1/sqrt(D)" else given
        if self.wrong == "scale: 1/D by default":
            return 1 / D
        return 1 / math.sqrt(value_size if self.wrong == "scale: of the values' head size" else D)

    def capped(self, s):
        cap = self.attribute("softcap", 0.0)
        if cap == 0 or self.wrong == "soft-cap: ignored":
            return s
        ratio = s if self.wrong == "soft-cap: tanh without division" else self.keep(s / cap)
        return self.keep(cap * self.keep(np.tanh(ratio)))

    def logits(self, q, k, v, bias):
        """The root of the scale is on q and on k, then the cap, then the bias."""
        scale = self.scale(q.shape[-1], v.shape[-1])
        if self.wrong == "soft-cap: before the scale":
            return self.capped(q @ k.swapaxes(-1, -2)) * scale + bias
        if self.wrong == "bias: before the scale":
            return self.capped((q @ k.swapaxes(-1, -2) + bias) * scale)
        root = self.keep(np.array(scale if self.wrong == "scale: on Q and on K" else math.sqrt(scale)))
        s = self.keep(self.keep(q * root) @ self.keep(k * root).swapaxes(-1, -2))
        if self.wrong == "logits: without their sign":
            s = np.abs(s)
        return self.capped(s + bias) if self.wrong == "soft-cap: after the bias" else self.capped(s) + bias

    def softmax(self, s):
        """Over the last axis. A row without any key is zero."""
        keep = lambda x: x.astype(self.softmax_type).astype(float)
        s = keep(s)
        most = s.max(-1, keepdims=True)
        empty = np.isneginf(most)
        e = keep(np.exp(keep(s - np.where(empty, 0.0, most))))
        if self.wrong == "empty row: mean of the values":
            e = np.where(empty, 1.0, e)
        total = keep(e.sum(-1, keepdims=True))
        return keep(e / (total if self.wrong == "empty row: NaN" else np.where(total == 0, 1.0, total)))


class RotaryEmbedding:
    """The operator as its documentation has it; `wrong` names the one convention that is taken for another. In double.
    The tables are random numbers here, not of any angle: the formula holds for each pair cos, sin."""

    CONTROLS = [
        "3-D: head size before heads", "3-D: tokens and heads not exchanged", "pairs: the other kind",
        "pairs: adjacent ones come out in halves", "angle: the other way", "angle: cos and sin exchanged",
        "positions: ignored", "positions: of the first batch", "part: the last channels", "part: the rest is zero",
        "part: pairs across the whole head",
    ]
    UNSEEN = []

    def __init__(self, case, wrong=""):
        self.inputs, self.wrong = case.inputs, wrong
        self.attribute = case.attributes.get

    def outputs(self):
        x = split(self.inputs["X"].astype(float), self.attribute("num_heads"), self.wrong)
        first, second = self.pairs(x.shape[-1])
        cos, sin = self.table("cos_cache", x.shape), self.table("sin_cache", x.shape)
        if self.wrong == "angle: cos and sin exchanged":
            cos, sin = sin, cos
        if self.wrong == "angle: the other way":
            sin = -sin
        y = np.zeros_like(x) if self.wrong == "part: the rest is zero" else x.copy()
        a, b = x[..., first], x[..., second]
        if self.wrong == "pairs: adjacent ones come out in halves":
            first, second = np.arange(len(first)), np.arange(len(first)) + len(first)
        y[..., first], y[..., second] = cos * a - sin * b, sin * a + cos * b
        if self.inputs["X"].ndim == 3:
            y = y.transpose(0, 2, 1, 3).reshape(self.inputs["X"].shape)
        return {"Y": y}

    def pairs(self, D):
        """The channels of the first and of the second members: of (0, 1), (2, 3) …, or of (0, R/2), (1, R/2 + 1) …"""
        R = self.attribute("rotary_embedding_dim", 0) or D
        start = D - R if self.wrong == "part: the last channels" else 0
        if bool(self.attribute("interleaved", 0)) != (self.wrong == "pairs: the other kind"):
            return start + np.arange(0, R, 2), start + np.arange(1, R, 2)
        reach = D // 2 if self.wrong == "part: pairs across the whole head" else R // 2
        return start + np.arange(R // 2), start + np.arange(R // 2) + reach

    def table(self, name, shape):
        """(B, 1, T, R/2): rows of the table by position, or the table itself where it has one row for each token."""
        table, ids = self.inputs[name].astype(float), self.inputs.get("position_ids")
        if ids is not None:
            if self.wrong == "positions: ignored":
                ids = np.tile(np.arange(shape[2]), (shape[0], 1))
            table = table[ids[:1] if self.wrong == "positions: of the first batch" else ids]
        return table[:, None]


def check(operator, cases):
    """Each case agrees with the documentation; each control contradicts some; none of UNSEEN contradicts any."""
    for case in cases:
        outputs = operator(case).outputs()
        assert not case.contradicts(outputs), f"{case.name} is not what the documentation says"
        assert case.steps_off(outputs) <= STEPS, f"{case.name} is {case.steps_off(outputs)} steps off"
    print(f"{operator.__name__}: {len(cases)} cases agree, "
          f"at most {max(case.steps_off(operator(case).outputs()) for case in cases):.2f} steps off")
    for wrong in operator.CONTROLS + operator.UNSEEN:
        against = [case.name for case in cases if case.contradicts(operator(case, wrong).outputs())]
        assert bool(against) == (wrong in operator.CONTROLS), f"{wrong}: contradicted by {against}"
        print(f"  {wrong}: contradicted by {len(against)}{''.join(', first ' + name for name in against[:1])}")


def check_steps(cases):
    """With every operation rounded to float16, the softmax too unless it is asked otherwise, the bits are ONNX's. All
    readings of the softmax's precision are within ONNX's tolerance, so this alone can tell them apart."""
    half = [case for case in cases if case.type == np.float16]
    differ = lambda wrong: [case.name for case in half
                            if np.any(Attention(case, wrong, steps=True).outputs()["Y"] != case.outputs["Y"])]
    assert half and not differ(""), differ("")
    assert differ("softmax: float32 unasked")
    assert not differ("softmax: precision ignored")  # no case shows softmax_precision, not even in bits
    print(f"  float16 in steps: the bits of {len(half)} cases; a softmax in float32 unasked has others in "
          f"{len(differ('softmax: float32 unasked'))}")


def write(path, cases):
    header = {"__metadata__": SOURCE | {case.name: case.description() for case in cases}}
    data = b""
    for case in cases:
        for name, values in case.tensors():
            header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [len(data), len(data) + values.nbytes]}
            data += values.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{path.name}: {len(cases)} cases, {len(header) - 1} tensors, {path.stat().st_size} bytes")


if __name__ == "__main__":
    found = load()
    check(Attention, found["Attention"])
    check_steps(found["Attention"])
    check(RotaryEmbedding, found["RotaryEmbedding"])
    FOLDER.mkdir(exist_ok=True)
    write(FOLDER / "attention.safetensors", found["Attention"])
    write(FOLDER / "rotary.safetensors", found["RotaryEmbedding"])
