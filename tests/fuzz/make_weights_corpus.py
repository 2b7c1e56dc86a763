"""The seeds of weights of strangers: safetensors and GGUF. Called by make_corpus.py."""

import json
import struct

from seeds import DEEP, NESTED, compact, keep, safetensors, sealed, tensor


def safetensors_seeds():
    data = struct.pack("<6f", 1, -2, float("nan"), float("inf"), 1e-45, 0)
    two = {"__metadata__": {"format": "pt"}, "a": tensor([2, 2], 0, 16), "b": tensor([2], 16, 24)}
    good = sealed(two, data)
    other = {"a": tensor([1], 0, 4)}

    def one(entry, rest=b"\0\0\0\0"):
        return sealed({"a": other["a"] | entry}, rest)

    flipped = bytearray(good)
    flipped[-1] ^= 1
    keep("safetensors", {
        "good-two-tensors": good,
        "good-behind-checksum-number": bytes(flipped),  # with its checksum mended
        "good-nothing": sealed({}, b""),
        "good-empty-tensor": one({"shape": [0, 7], "data_offsets": [0, 0]}, b""),
        "good-scalar": one({"shape": []}),
        "bad-empty": b"",
        "bad-seven-bytes": good[:7],
        "bad-half-header": good[:40],
        "bad-half-data": good[:-5],
        "bad-one-byte-more": good + b"x",
        "bad-header-2-64": b"\xff" * 8 + good[8:],
        "bad-header-2-63": struct.pack("<Q", 2**63) + good[8:],
        "bad-header-limit": struct.pack("<Q", 100_000_001) + good[8:],
        "bad-header-null": safetensors(b"null"),
        "bad-header-list": safetensors(b"[]"),
        "bad-header-two-values": safetensors(b"{}{}"),
        "bad-header-not-utf8": safetensors(b'{"\xff\xfe":1}'),
        "bad-header-nan": safetensors(b'{"a":NaN}'),
        "bad-offset-minus-1": one({"data_offsets": [-1, 3]}),
        "bad-offset-1.5": one({"data_offsets": [0.0, 4.5]}),
        "bad-offset-2-64": safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551616]}}', data[:4]),
        "bad-offset-2-64-less-4": one({"data_offsets": [2**64 - 4, 2**64 - 4]}),
        "bad-offset-1e400": safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1e400]}}', data[:4]),
        "bad-offsets-overlap": sealed({"a": tensor([1], 0, 4), "b": tensor([1], 0, 4)}, data[:4]),
        "bad-offsets-gap": sealed({"a": tensor([1], 0, 4), "b": tensor([1], 8, 12)}, data[:12]),
        "bad-offsets-three": one({"data_offsets": [0, 4, 4]}),
        "bad-offset-text": one({"data_offsets": "0,4"}),
        "bad-shape-minus": one({"shape": [-1, -1]}),
        "bad-shape-product": one({"shape": [2**32, 2**32]}),
        "bad-shape-product-1": one({"shape": [2**63 + 1, 2]}),
        "bad-shape-object": one({"shape": {"x": 1}}),
        "bad-dtype": one({"dtype": "F16"}),
        "bad-dtype-number": one({"dtype": 32}),
        "bad-no-dtype": sealed({"a": {"shape": [1], "data_offsets": [0, 4]}}, data[:4]),
        "bad-metadata-number": safetensors(b'{"__metadata__":{"a":1}}'),
        "bad-metadata-list": safetensors(b'{"__metadata__":[]}'),
        "bad-checksum-text": safetensors({"__metadata__": {"gnomon.sha256": "x"}}),
        "bad-deep-dtype": safetensors(b'{"a":{"dtype":' + b"[" * DEEP + b"]" * DEEP + b"}}"),
        "bad-deep-shape": safetensors(b'{"a":{"dtype":"F32","shape":' + b'{"a":' * NESTED + b"1" + b"}" * NESTED + b"}}"),
        "bad-deep-metadata": safetensors(b'{"__metadata__":' + b"[" * NESTED + b"]" * NESTED + b"}"),
        "bad-deep-open": safetensors(b"[" * NESTED),
        "bad-duplicate-tensor": safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                                            b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', data[:4]),
    })


def weights_seeds():
    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
             "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "C64": 8}
    every, at = {}, 0
    for dtype, size in sizes.items():
        every[dtype] = tensor([3], at, at + 3 * size, dtype)
        at += 3 * size
    good = {"a": tensor([2], 0, 8)}
    eight = b"\0\0\x80\x3f\0\0\0\xc0"

    def index(weight_map, **more):
        return json.dumps({"metadata": {"total_size": 16}, "weight_map": weight_map} | more)

    both = {"a": "1.safetensors", "b": "2.safetensors"}
    keep("weights", {
        "good-every-dtype": safetensors(every, bytes(range(1, at + 1))),
        "good-blanks": safetensors(b"  " + compact(good) + b"  ", eight),
        "good-odd": struct.pack("<Q", len(compact(good)) + 1) + compact(good) + b" " + eight,
        "good-f4": safetensors({"a": tensor([16], 0, 8, "F4")}, eight),
        "good-empty": safetensors({"a": tensor([0, 3], 0, 0), "b": tensor([2], 0, 8)}, eight),
        "good-index": index(both),
        "bad-lfs": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 8\n",
        "bad-zip": b"PK\3\4" + eight,
        "bad-pickle": b"\x80\2}q\0." + eight,
        "bad-dtype": safetensors({"a": tensor([2], 0, 8, "Q8_0")}, eight),
        "bad-f4-half": safetensors({"a": tensor([15], 0, 8, "F4")}, eight),
        "bad-product": safetensors({"a": tensor([2**32, 2**32], 0, 8)}, eight),
        "bad-product-empty": safetensors({"a": tensor([0, 2**62, 2**62], 0, 0)}),
        "bad-trailing": safetensors(good, eight + b"x"),
        "bad-index-above": index({"a": "../1.safetensors"}),
        "bad-index-nul": index({"a": "1.safetensors\0"}),
        "bad-index-missing": index(both | {"c": "1.safetensors"}),
        "bad-index-extra": index({"a": "1.safetensors", "c": "2.safetensors"}),
        "bad-index-exchanged": index({"a": "2.safetensors", "b": "1.safetensors"}),
        "bad-index-number": index({"a": 1}),
        "bad-index-empty": index({}),
        "bad-index-no-map": index(both).replace("weight_map", "weights"),
        "bad-index-deep": '{"weight_map":' + "[" * NESTED + "]" * NESTED + "}",
    })


def gguf_seeds():
    U8, U32, F32, BOOL, STRING, ARRAY, U64 = 0, 4, 6, 7, 8, 9, 10
    pack = struct.pack

    def text(words):
        words = words if isinstance(words, bytes) else words.encode()
        return pack("<Q", len(words)) + words

    def key(name, kind, value):
        return text(name) + pack("<I", kind) + value

    def many(kind, count, values):
        return pack("<IQ", kind, count) + values

    def entry(name, extents, kind, offset):
        return text(name) + pack(f"<I{len(extents)}qiQ", len(extents), *extents, kind, offset)

    def gguf(tensors, keys, rest, data=b"", version=3):
        return padded(b"GGUF" + pack("<IQQ", version, tensors, keys) + rest) + data

    def padded(content, to=32):
        return content + b"\0" * (-len(content) % to)

    keys = [key("general.architecture", STRING, text("llama")), key("general.alignment", U32, pack("<I", 64)),
            key("llama.rope.freq_base", F32, pack("<f", 1e4)), key("flag", BOOL, b"\1"), key("big", U64, b"\xff" * 8),
            key("tokens", ARRAY, many(STRING, 2, text("a") + text(""))), key("flags", ARRAY, many(BOOL, 2, b"\0\1")),
            key("types", ARRAY, many(U8, 3, b"abc")), key("scores", ARRAY, many(F32, 1, pack("<f", -1)))]
    kinds = {"F32": (0, 8, 32), "F16": (1, 8, 16), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24),
             "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210), "I8": (24, 8, 8), "BF16": (30, 8, 16), "IQ4_NL": (20, 32, 18)}
    entries, data = b"", b""
    for name, (kind, numbers, size) in kinds.items():
        entries += entry(name, [numbers, 2], kind, len(data))
        data += padded(bytes((37 * n + size) % 251 for n in range(2 * size)))
    one = entry("a", [8], 0, 0)
    good = gguf(1, 0, one, b"\1" * 32)

    def listed(kind, count, values=b""):
        return gguf(0, 1, key("a", ARRAY, many(kind, count, values)))

    keep("gguf", {
        "good-every-kind": gguf(len(kinds), 0, entries, data),
        "good-keys": b"GGUF" + pack("<IQQ", 3, 0, len(keys)) + b"".join(keys),
        "good-version-2": gguf(1, 0, one, b"\1" * 32, version=2),
        "good-nothing": gguf(0, 0, b""),
        "good-scalar-and-empty": gguf(2, 0, entry("e", [0, 7], 0, 0) + entry("s", [], 0, 0), pack("<f", 1)),
        "bad-empty": b"",
        "bad-magic": b"GGML" + good[4:],
        "bad-version": gguf(1, 0, one, b"\1" * 32, version=1),
        "bad-big-endian": gguf(1, 0, one, b"\1" * 32, version=3 << 24),
        "bad-tensors": gguf(2**63, 0, one, b"\1" * 32),
        "bad-keys": gguf(0, 2**64 - 1, b""),
        "bad-half": good[:60],
        "bad-half-data": good[:-1],
        "bad-trailing": good + b"x",
        "bad-key-long": gguf(0, 1, pack("<Q", 2**64 - 1)),
        "bad-key-twice": gguf(0, 2, key("a", U8, b"x") * 2),
        "bad-key-empty": gguf(0, 1, key("", U8, b"x")),
        "bad-type": gguf(0, 1, key("a", 13, b"x")),
        "bad-list-of-lists": listed(ARRAY, 1, many(U8, 1, b"x")),
        "bad-list-long": listed(U64, 2**61),
        "bad-list-of-texts-long": listed(STRING, 2**61),
        "bad-text-long": gguf(0, 1, key("a", STRING, pack("<Q", 2**63))),
        "bad-truth": gguf(0, 1, key("a", BOOL, b"\2")),
        **{f"bad-alignment-{n}": gguf(1, 1, key("general.alignment", U32, pack("<I", n)) + one, b"\1" * 32) for n in (0, 3, 2**31)},
        "bad-alignment-text": gguf(1, 1, key("general.alignment", STRING, text("32")) + one, b"\1" * 32),
        **{f"bad-tensor-{name}": gguf(1, 0, changed, b"\1" * 64) for name, changed in {
            "name-long": entry("n" * 64, [16], 0, 0), "extents": entry("a", [1] * 4 + [16], 0, 0), "minus": entry("a", [-16], 0, 0),
            "type": entry("a", [16], 42, 0), "removed-type": entry("a", [16], 4, 0), "block": entry("a", [33], 2, 0),
            "product": entry("a", [2**32, 2**32], 0, 0), "product-1": entry("a", [2**63 - 1, 2, 1, 1], 0, 0),
            "product-empty": entry("a", [0, 2**40, 2**40], 0, 0), "size": entry("a", [2**61 - 8], 0, 0),
            "beyond": entry("a", [24], 0, 0), "gap": entry("a", [8], 0, 32), "offset": entry("a", [16], 0, 2**64 - 32)}.items()},
        "bad-tensor-twice": gguf(2, 0, one + entry("a", [8], 0, 32), b"\1" * 64),
        "bad-tensor-overlap": gguf(2, 0, one + entry("b", [8], 0, 0), b"\1" * 32),
    })
