"""One token against many keys in ONNX Runtime, by its operator GroupQueryAttention: the peer of `gnomon bench`, started by run.py.

    python3 onnx_runtime.py CASE fp32 whole THREADS

Reads lines from standard input; for each it times some calls and prints seconds a call. Keys and values stay where they are: what was and what is
are one buffer, and every call writes the last place of it again.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from timed import DECODE, HEAD_DIM, HEADS, KEY_HEADS, serve


def model(keys):
    rows = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    cache = (1, KEY_HEADS, keys, HEAD_DIM)
    given = [rows("q", 1, 1, HEADS * HEAD_DIM), rows("k", 1, 1, KEY_HEADS * HEAD_DIM), rows("v", 1, 1, KEY_HEADS * HEAD_DIM),
             rows("past_k", *cache), rows("past_v", *cache)]
    lengths = [helper.make_tensor_value_info("last", TensorProto.INT32, (1,)), helper.make_tensor_value_info("all", TensorProto.INT32, (1,))]
    made = [rows("out", 1, 1, HEADS * HEAD_DIM), rows("new_k", *cache), rows("new_v", *cache)]
    node = helper.make_node("GroupQueryAttention", [x.name for x in given + lengths], [x.name for x in made], domain="com.microsoft",
                            num_heads=HEADS, kv_num_heads=KEY_HEADS)
    graph = helper.make_graph([node], "decoding", given + lengths, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


def decoding(keys, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model(keys).SerializeToString(), options, providers=["CPUExecutionProvider"])
    random, bound = np.random.default_rng(1), session.io_binding()
    value = lambda *shape: onnxruntime.OrtValue.ortvalue_from_numpy(random.standard_normal(shape, np.float32))
    for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)):
        bound.bind_ortvalue_input(name, value(1, 1, heads * HEAD_DIM))
    for name in ("k", "v"):
        cache = value(1, KEY_HEADS, keys, HEAD_DIM)
        bound.bind_ortvalue_input(f"past_{name}", cache)
        bound.bind_ortvalue_output(f"new_{name}", cache)
    for name, n in (("last", keys - 1), ("all", keys)):
        bound.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(np.array([n], np.int32)))
    bound.bind_ortvalue_output("out", value(1, 1, HEADS * HEAD_DIM))
    return lambda: session.run_with_iobinding(bound)


def main():
    case, _, _, threads = sys.argv[1:]
    call = decoding(DECODE[case], int(threads))
    serve(call, onnxruntime.__version__)


if __name__ == "__main__":
    main()
