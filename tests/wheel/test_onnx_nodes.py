"""The node tests that ONNX has of its operators Attention and RotaryEmbedding (onnx.backend.test, of the installed package), through
gn.attend and Encoding.rotate: their inputs, their outputs, their tolerances. onnx's own evaluator is not asked."""

import functools
import warnings

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", minversion="1.18")

import gnomon as gn  # noqa: E402
from onnx.backend.test.loader import load_model_tests  # noqa: E402

OPERATORS = ("Attention", "RotaryEmbedding")
BFLOAT16_STEPS = 2.0**-6  # what onnx/backend/test/runner allows where a case asks for less
NOT_COVERED = {}  # a case by its name: why gnomon's API cannot compute it


class Case:
    """One test: attributes, inputs and outputs by the names of the operator's schema."""

    def __init__(self, test):
        (node,) = test.model.graph.node
        self.name, self.op = test.name, node.op_type
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        schema = onnx.defs.get_schema(self.op, test.model.opset_import[0].version, "")
        ((inputs, outputs),) = test.data_sets
        self.inputs, self.outputs = self._named(schema.inputs, node.input, inputs), self._named(schema.outputs, node.output, outputs)
        self.rtol, self.atol = test.rtol, test.atol

    @staticmethod
    def _named(formal, given, values):
        """An input that is left out has an empty name, and no value."""
        return dict(zip([f.name for f, name in zip(formal, given) if name], values, strict=True))

    def attribute(self, name, otherwise=0):
        return self.attributes.get(name, otherwise)

    def agrees(self, name, found):
        """Whether ONNX's own comparison passes, after rounding to its number type."""
        wanted = self.outputs[name]
        rtol = max(self.rtol, BFLOAT16_STEPS) if wanted.dtype.name == "bfloat16" else self.rtol
        # What learns its frequencies holds their logarithms in float32, which move an angle by up to 2^-21.
        atol = max(self.atol, 2.0**-20) if self.op == "RotaryEmbedding" else self.atol
        found = np.asarray(found, np.float32).astype(wanted.dtype).astype(np.float64)
        return found.shape == wanted.shape and np.allclose(found, wanted.astype(np.float64), rtol=rtol, atol=atol)


@functools.cache
def node_tests():
    """All node tests, but for those "_expanded": the same numbers by other operators, which an operator's definition is checked with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other operators' cases
        return [t for t in load_model_tests(kind="node") if not t.name.endswith("_expanded")]


def cases():
    return {t.name: t for t in node_tests() if t.name.startswith(("test_attention", "test_rotary_embedding"))}


def heads_first(x, heads):
    """(B, T, heads*D) to (B, heads, T, D); what has four extents already stays."""
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def as_given(y, like):
    return y if like.ndim == 4 else y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)


class AttentionCase:
    """q, k, v of a case, and what gn.attend is told beside them."""

    def __init__(self, case):
        self.case, self.q = case, heads_first(case.inputs["Q"], case.attribute("q_num_heads"))
        self.k, self.v = (self._with_past(new, past) for new, past in (("K", "past_key"), ("V", "past_value")))
        self.queries, self.keys = self.q.shape[2], self.k.shape[2]
        self.mask, self.bias = np.ones((1, 1, self.queries, self.keys), bool), None
        self.padding = None
        self._read_attn_mask()
        self._read_order()

    def _with_past(self, new, past):
        x = heads_first(self.case.inputs[new], self.case.attribute("kv_num_heads"))
        return np.concatenate([self.case.inputs[past], x], 2) if past in self.case.inputs else x

    def _read_attn_mask(self):
        given = self.case.inputs.get("attn_mask")
        if given is None:
            return
        short = [(0, 0)] * (given.ndim - 1) + [(0, self.keys - given.shape[-1])]
        if given.dtype == bool:
            self.mask = np.pad(given, short, constant_values=False)
        else:
            self.bias = np.pad(given.astype(np.float32), short, constant_values=-np.inf)

    def _read_order(self):
        """Causal order and window: of the encoding where queries are the last of the keys, as gnomon has it, else of the mask."""
        attribute, length = self.case.attribute, self.case.inputs.get("nonpad_kv_seqlen")
        left, right = attribute("left_window_size", -1), attribute("right_window_size", -1)
        causal = bool(attribute("is_causal")) or right == 0
        self.spec, self.causal = "none", False
        offset = np.array([self.case.inputs["past_key"].shape[2] if "past_key" in self.case.inputs else 0])
        if length is not None:
            self.padding = np.arange(self.keys) >= length[:, None]
            offset = offset if "past_key" in self.case.inputs else length - self.queries
        if np.all(offset == self.keys - self.queries) and (left < 0 or causal or left == right) and (right <= 0 or left == right):
            self.causal = causal
            self.spec = f"window(size={left + 1})" if left >= 0 else "none"
            return
        ahead = np.arange(self.keys) - (offset[:, None, None, None] + np.arange(self.queries)[:, None])  # of the query
        self.mask = self.mask & ((ahead <= 0) | (not causal)) & ((ahead >= -left) | (left < 0)) & ((ahead <= right) | (right < 0))

    def encoding(self, v, plain=False, capped=True):
        return gn.make("none" if plain else self.spec, heads=self.q.shape[1], kv_heads=self.k.shape[1], head_dim=self.q.shape[3],
                       value_dim=v.shape[3], causal=self.causal and not plain, scale=self.case.attribute("scale"),
                       soft_cap=self.case.attribute("softcap") if capped else 0.0)

    def masks(self):
        return dict(mask=None if self.mask.all() else self.mask, bias=self.bias, padding=self.padding)

    def y(self):
        return as_given(gn.attend(self.q, self.k, self.v, pe=self.encoding(self.v), **self.masks()), self.case.inputs["Q"])

    def matrix(self):
        """qk_matmul_output, (B, heads, queries, keys): weights are what attention makes of values that tell the keys apart, and
        a logit is the logarithm of a weight and that of its row's sum."""
        mode = self.case.attribute("qk_matmul_output_mode")
        apart = np.broadcast_to(np.eye(self.keys, dtype=self.q.dtype), (*self.k.shape[:3], self.keys))
        pe = self.encoding(apart, plain=mode < 2, capped=mode > 0)
        found = gn.attention(self.q, self.k, apart, pe=pe, **(self.masks() if mode >= 2 else {}))
        if mode == 3:
            return found.out
        with np.errstate(divide="ignore"):
            return np.log(found.out) + found.lse[..., None]


def attention(case):
    """Each output of the case by gnomon."""
    a = AttentionCase(case)
    return {name: {"Y": a.y, "present_key": lambda: a.k, "present_value": lambda: a.v, "qk_matmul_output": a.matrix}[name]()
            for name in case.outputs}


def turned(x, numbers, pairing):
    """x (1, heads, 1, D) with pair n multiplied by the complex numbers[n], by rotations of an encoding whose frequencies are learned.
    A number r·exp(ia) is exp(i(a + b)) + exp(i(a - b)) + exp(ia), cos b = (r - 1)/2, and the last is -exp(i(a + pi)): of three
    rotations, two are added and one is taken away, which leaves channels that no pair has as they were."""
    a, b = np.angle(numbers), np.arccos((np.abs(numbers) - 1) / 2)
    pe = gn.make(f"rope_learned(heads=shared, pairing={pairing}, channels={2 * len(numbers)})", heads=x.shape[1], head_dim=x.shape[3])
    (log_frequency,) = pe.parameters().values()
    total = 0
    for sign, angle in ((1, a + b), (1, a - b), (-1, a + np.pi)):
        log_frequency[:] = np.log(np.maximum(np.mod(angle, 2 * np.pi), 1e-12))
        total = total + sign * pe.rotate(x, x, [1])[0]
    return total


def rotary(case, exchanged=False):
    given = case.inputs
    x = heads_first(given["X"], case.attribute("num_heads"))
    numbers = given["cos_cache"] + 1j * given["sin_cache"]
    if "position_ids" in given:
        numbers = numbers[given["position_ids"]]
    pairing = "adjacent" if bool(case.attribute("interleaved")) != exchanged else "halves"
    y = np.concatenate([np.concatenate([turned(x[b:b + 1, :, t:t + 1], numbers[b, t], pairing) for t in range(x.shape[2])], 2)
                        for b in range(x.shape[0])])
    return {"Y": as_given(y, given["X"])}


RUN = [name for name in cases() if name not in NOT_COVERED]


@pytest.mark.parametrize("name", RUN)
def test_node(name):
    case = Case(cases()[name])
    found = (attention if case.op == "Attention" else rotary)(case)
    assert set(found) == set(case.outputs)
    for output, numbers in found.items():
        assert case.agrees(output, numbers), output


def test_no_case_is_left_out():
    """Every case of the two operators in the package, by operator and not by name, is run here or stands in NOT_COVERED."""
    of_operators = {t.name for t in node_tests() if t.model is not None and any(node.op_type in OPERATORS for node in t.model.graph.node)}
    assert of_operators == set(RUN) | set(NOT_COVERED)
    assert len(of_operators) >= 60  # onnx 1.18 had the first of them


@pytest.mark.parametrize("name", ["test_rotary_embedding", "test_rotary_embedding_interleaved"])
def test_the_other_pairing_is_seen(name):
    case = Case(cases()[name])
    assert not case.agrees("Y", rotary(case, exchanged=True)["Y"])


@pytest.mark.parametrize("name, attribute", [("test_attention_4d_causal", "is_causal"), ("test_attention_4d_softcap", "softcap"),
                                             ("test_attention_4d_scaled", "scale"), ("test_attention_local_window", "left_window_size")])
def test_an_attribute_that_is_passed_over_is_seen(name, attribute):
    if name not in cases():
        pytest.skip(f"{name}: of a later onnx")
    case = Case(cases()[name])
    del case.attributes[attribute]
    assert not case.agrees("Y", attention(case)["Y"])


def test_bfloat16_of_numpy():
    case = Case(cases()["test_attention_4d"])
    bfloat16 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
    q, k, v = (case.inputs[name].astype(bfloat16) for name in "QKV")
    y = gn.attend(q, k, v, pe="rope")
    assert y.dtype == bfloat16
    np.testing.assert_array_equal(y, gn.attend(*(x.astype(np.float32) for x in (q, k, v)), pe="rope").astype(bfloat16))
