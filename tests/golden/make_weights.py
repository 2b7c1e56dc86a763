"""Files of weights by their formats' own writers, and what their own readers make of them: weights/.

    python3 tests/golden/make_weights.py        (gguf 0.19.0, safetensors 0.8.0, torch 2.15.0, huggingface_hub 2.4.0)

kinds.gguf has a tensor of random blocks of every type that `gguf` can make, and a key of every type; dtypes.safetensors a
tensor of every dtype that torch has; sharded/ is a model of two files and their index as huggingface_hub writes it; parts/ is one of three GGUF files.
weights.json has the sizes of ggml's blocks, and the numbers as gguf.quants.dequantize and torch's .to(float32) make them, as bytes in hexadecimal.
`wrong` are other readings of the same bytes, which must not come out.
"""

import importlib.metadata
import json
import pathlib
import shutil

import gguf
import huggingface_hub
import numpy as np
import safetensors
import safetensors.torch
import torch
from gguf import GGMLQuantizationType as Type

HERE = pathlib.Path(__file__).parent / "weights"
draw, late_draw = np.random.default_rng(7), np.random.default_rng(8)


# --- GGUF: (bytes of a block, where its scales, which are float16, lie)

BLOCKS = {Type.Q8_0: (34, [0]), Type.Q4_0: (18, [0]), Type.Q4_1: (20, [0, 2]), Type.Q5_0: (22, [0]), Type.Q5_1: (24, [0, 2]),
          Type.Q4_K: (144, [0, 2]), Type.Q6_K: (210, [208])}
LATE = {Type.Q5_K: (176, [0, 2]), Type.MXFP4: (17, [])}  # with numbers of their own, so that those of the others stay
EXPONENTS = [0, 1, 2, 120, 127, 130, 253]  # of MXFP4, whose scale is one byte
PLAIN = {Type.F64: np.float64, Type.F32: np.float32, Type.F16: np.float16, Type.I64: np.int64, Type.I32: np.int32,
         Type.I16: np.int16, Type.I8: np.int8}
SCALES = np.array([0.0123, -3.5, 6e-8, -0.0, 65504, 1, 2.5e-5, 0.75], np.float16)  # a subnormal, the largest
WIDE = {Type.Q4_K: 256, Type.Q5_K: 256, Type.Q6_K: 256}  # numbers of a row; 64 of the others


def random_rows(kind, rows, draw=draw):
    """Rows of blocks: random bytes, but for the scales."""
    size, scales = (BLOCKS | LATE)[kind]
    blocks = draw.integers(0, 256, (rows, WIDE.get(kind, 64) // gguf.GGML_QUANT_SIZES[kind][0], size), np.uint8)
    for at in scales:
        blocks[..., at:at + 2] = draw.choice(SCALES, blocks.shape[:2]).astype("<f2").view(np.uint8).reshape(*blocks.shape[:2], 2)
    if kind == Type.MXFP4:
        blocks[..., 0] = draw.choice(EXPONENTS, blocks.shape[:2])
    return blocks.reshape(rows, -1)


def swapped(kind, rows):
    """What a reader makes of the bytes that takes something for its neighbour."""
    blocks = rows.reshape(-1, (BLOCKS | LATE)[kind][0]).copy()
    if kind == Type.Q8_0:
        d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        return d * blocks[:, 2:].astype(np.float32)  # no signs
    if kind in (Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.MXFP4):  # neighbours share a byte
        right = gguf.quants.dequantize(blocks, kind).reshape(-1, 2, 16)
        return right.transpose(0, 2, 1)
    if kind in (Type.Q4_K, Type.Q5_K):  # scales and minima exchanged
        blocks[:, 4:12] = np.concatenate([blocks[:, 8:12], blocks[:, 4:8]], axis=1)
    else:  # high bits of the neighbouring group
        blocks[:, 128:192] = np.roll(blocks[:, 128:192], 32, axis=1)
    return gguf.quants.dequantize(blocks, kind)


def plain_rows(kind):
    if kind in (Type.F64, Type.F32, Type.F16):
        x = draw.normal(size=(3, 8)) * 10.0 ** draw.integers(-6, 5, (3, 8))
        x[0, :5] = [np.nan, np.inf, -np.inf, -0.0, 1e-45]
        with np.errstate(over="ignore"):
            return x.astype(PLAIN[kind])
    bounds = np.iinfo(PLAIN[kind])
    return draw.integers(bounds.min, bounds.max, (3, 8), PLAIN[kind], endpoint=True)


def case(file, name, stored, numbers, wrong=None):
    numbers = np.asarray(numbers, "<f4")
    entry = {"file": file, "name": name, "stored": stored, "shape": list(numbers.shape), "bytes": numbers.tobytes().hex()}
    return entry | ({} if wrong is None else {"wrong": np.asarray(wrong, "<f4").tobytes().hex()})


def write_gguf(path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint8("key.u8", 200), writer.add_int8("key.i8", -100), writer.add_uint16("key.u16", 60000)
    writer.add_int16("key.i16", -30000), writer.add_uint32("key.u32", 4000000000), writer.add_int32("key.i32", -2000000000)
    writer.add_uint64("key.u64", 2**64 - 1), writer.add_int64("key.i64", -2**63), writer.add_float32("key.f32", 0.1)
    writer.add_float64("key.f64", 0.1), writer.add_bool("key.bool", True), writer.add_string("key.text", "Größe\n")
    writer.add_array("list.u32", [1, 2, 3]), writer.add_array("list.i32", [-1, 2]), writer.add_array("list.f32", [0.5, -2.0])
    writer.add_array("list.bool", [True, False, True]), writer.add_array("list.text", ["a", "", "日本"])
    cases = []
    for kind in PLAIN:
        rows = plain_rows(kind)
        writer.add_tensor(kind.name, rows)
        with np.errstate(over="ignore"):
            cases.append(case("kinds.gguf", kind.name, kind.name, rows.astype(np.float32)))
    bf16 = draw.integers(0, 2**16, (2, 3, 8), np.uint16)
    writer.add_tensor("BF16", bf16.view(np.uint8), raw_dtype=Type.BF16)
    cases.append(case("kinds.gguf", "BF16", "BF16", gguf.quants.dequantize(bf16.view(np.uint8), Type.BF16),
                      bf16.view(np.float16).astype(np.float32)))
    for kind in BLOCKS:
        rows = random_rows(kind, 2)
        writer.add_tensor(kind.name, rows, raw_dtype=kind)
        cases.append(case("kinds.gguf", kind.name, kind.name, gguf.quants.dequantize(rows, kind), swapped(kind, rows)))
    line = random_rows(Type.Q4_1, 1)[0]  # one extent: a row is a number
    writer.add_tensor("line", line, raw_dtype=Type.Q4_1)
    cases.append(case("kinds.gguf", "line", "Q4_1", gguf.quants.dequantize(line, Type.Q4_1)))
    for kind in LATE:
        rows = random_rows(kind, 2, late_draw)
        writer.add_tensor(kind.name, rows, raw_dtype=kind)
        cases.append(case("kinds.gguf", kind.name, kind.name, gguf.quants.dequantize(rows, kind), swapped(kind, rows)))
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    return cases


def write_parts(folder):
    """A model in three files; the first, which has no tensor, has the metadata."""
    folder.mkdir()
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama", split_max_tensors=2, small_first_shard=True)
    for name, n in (("block_count", 2), ("embedding_length", 64), ("context_length", 128), ("attention.head_count", 2)):
        writer.add_uint32(f"llama.{name}", n)
    rows = {f"blk.{n}.attn_norm.weight": late_draw.normal(size=(4, 8)).astype(np.float32) for n in range(3)}
    for name, x in rows.items():
        writer.add_tensor(name, x)
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    return [case("parts/model-00001-of-00003.gguf", name, "F32", x) for name, x in rows.items()]


# --- safetensors

def write_dtypes(path):
    codes = torch.arange(256, dtype=torch.uint8).reshape(16, 16)
    floats = torch.tensor([[0.1, -2.5e-8, 3e4], [float("nan"), float("-inf"), -0.0]], dtype=torch.float64)
    whole = torch.tensor([-2**63, -129, -1, 0, 1, 2**24 + 1, 2**63 - 1])
    tensors = {"F64": floats * 1e9, "F32": floats.float(), "F16": floats.half(), "BF16": floats.bfloat16(),
               "I64": whole, "I32": whole.to(torch.int32), "I16": whole.to(torch.int16), "I8": whole.to(torch.int8),
               "U64": whole.view(torch.uint64), "U32": whole.to(torch.int32).view(torch.uint32),
               "U16": whole.to(torch.int16).view(torch.uint16), "U8": codes, "BOOL": torch.tensor([True, False, True]),
               "F8_E4M3": codes.view(torch.float8_e4m3fn), "F8_E5M2": codes.view(torch.float8_e5m2)}
    unread = {"F8_E8M0": codes.view(torch.float8_e8m0fnu), "F8_E4M3FNUZ": codes.view(torch.float8_e4m3fnuz),
              "C64": torch.ones(2, dtype=torch.complex64)}
    shapes = {"scalar": torch.tensor(7.5), "empty": torch.zeros(3, 0, 2)}
    safetensors.torch.save_file({name: x.clone() for name, x in (tensors | unread | shapes).items()}, path, {"format": "pt"})
    wrong = {"F16": floats.half().view(torch.bfloat16), "BF16": floats.bfloat16().view(torch.float16),
             "F8_E4M3": codes.view(torch.float8_e4m3fnuz), "F8_E5M2": codes.view(torch.float8_e5m2fnuz),
             "U64": whole, "U8": codes.view(torch.int8)}
    stored = dict.fromkeys(shapes, "F32")
    return [case("dtypes.safetensors", name, stored.get(name, name), x.to(torch.float32),
                 wrong[name].to(torch.float32) if name in wrong else None) for name, x in (tensors | shapes).items()]


def write_sharded(folder):
    tensors = {f"layers.{n}.weight": torch.from_numpy(draw.normal(size=(3, 4)).astype(np.float32)) for n in range(4)}
    tensors["embedding.weight"] = torch.from_numpy(draw.normal(size=(5, 4))).bfloat16()
    folder.mkdir()
    huggingface_hub.save_torch_state_dict(tensors, folder, max_shard_size=110)
    assert (folder / "model.safetensors.index.json").exists()
    return [case("sharded", name, "BF16" if x.dtype == torch.bfloat16 else "F32", x.float()) for name, x in tensors.items()]


shutil.rmtree(HERE, ignore_errors=True)
HERE.mkdir()
cases = write_gguf(HERE / "kinds.gguf") + write_dtypes(HERE / "dtypes.safetensors") + write_sharded(HERE / "sharded")
cases += write_parts(HERE / "parts")
for c in cases:
    assert c.get("wrong") != c["bytes"], c["name"]
content = {"source": f"gguf {importlib.metadata.version('gguf')}, safetensors {safetensors.__version__}, "
                     f"torch {torch.__version__}, huggingface_hub {huggingface_hub.__version__}",
           "made_by": "tests/golden/make_weights.py",
           "sizes": [[kind.name, int(kind), *gguf.GGML_QUANT_SIZES[kind]] for kind in Type], "cases": cases}
(HERE / "weights.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")
print(len(cases), "cases")
