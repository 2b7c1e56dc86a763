"""Writes the seeds of the fuzz targets: good-* have to be accepted, bad-* refused (corpus_test.cpp). What fuzzing found
later stands beside them under the same names; this script leaves it alone.

    python3 tests/fuzz/make_corpus.py build/dev/gnomon
"""

import copy
import hashlib
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).parent / "corpus"
DEEP = 100_000  # brackets: more than a recursive reader has stack for
NESTED = 1000   # more than anyone needs
WORDS = "the cat sat on the mat. a dog ran far away. rain fell all night; we sang.\n" * 40

# The shape of checkpoint.cpp.
TINY = ["study.arms=none", "study.baseline=none", "study.seeds=1", "study.budgets=1", "tune.seeds=0", "model.layers=1", "model.width=4", "model.heads=1",
        "model.feed_forward=1", "model.length=4", "model.tied=true", "train.steps=10", "train.batch=1",
        "evaluate.lengths=1", "evaluate.score=4", "evaluate.windows=1", "evaluate.points=5"]


def keep(target, seeds):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


# --- safetensors

def compact(header):
    return json.dumps(header, separators=(",", ":")).encode()


def safetensors(header, data=b""):
    """With the header as it is: a dict, or bytes that are no JSON."""
    header = header if isinstance(header, bytes) else compact(header)
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def with_checksum(header, data):
    """The header with gnomon.sha256 over itself without it, and the data; the metadata sorted, as gnomon writes them."""
    header = copy.deepcopy(header)
    metadata = header.pop("__metadata__", {})
    metadata.pop("gnomon.sha256", None)
    metadata = dict(sorted(metadata.items()))
    digest = hashlib.sha256(compact({"__metadata__": metadata} | header) + data).hexdigest()
    return {"__metadata__": dict(sorted((metadata | {"gnomon.sha256": digest}).items()))} | header


def sealed(header, data):
    return safetensors(with_checksum(header, data), data)


def tensor(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def read_safetensors(path):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + length]), content[8 + length:]


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


# --- checkpoints, results

def state(**changes):
    curve = [[2, 5.5, 5.4], [4, 5.3, 5.2]]
    return {"step": 4, "loss_sum": 0.0, "loss_count": 0, "training_seconds": 0.5, "curve": curve} | changes


def checkpoint_seeds(model):
    weights, numbers = read_safetensors(model)
    weights.pop("__metadata__")
    header, data = {}, b""
    for prefix in ("model.", "optimiser.m.", "optimiser.v."):
        for name, entry in weights.items():
            begin, end = entry["data_offsets"]
            piece = numbers[begin:end] if prefix == "model." else bytes(end - begin)
            header[prefix + name] = tensor(entry["shape"], len(data), len(data) + len(piece))
            data += piece

    def checkpoint(words, tensors=None, key="fuzz", numbers=None):
        words = words if isinstance(words, str) else json.dumps(words, separators=(",", ":"))
        return sealed({"__metadata__": {"gnomon.key": key, "gnomon.state": words}} | (tensors or header), numbers or data)

    def renamed(old, new):
        return {new if name == old else name: entry for name, entry in header.items()}

    good = checkpoint(state())
    first = next(iter(header))
    flipped = bytearray(good)
    flipped[-9] ^= 1
    keep("checkpoint", {
        "good-step-4": good,
        "good-behind-checksum-number": bytes(flipped),
        "good-first-step": checkpoint(state(step=0, curve=[])),
        "nan-weights": checkpoint(state(), numbers=struct.pack("<f", float("nan")) * (len(data) // 4)),
        "bad-key": checkpoint(state(), key="another"),
        "bad-tensor-missing": checkpoint(state(), renamed(first, "model.another")),
        "bad-tensor-shape": checkpoint(state(), header | {first: header[first] | {"shape": header[first]["shape"][::-1]}}),
        "bad-half": good[:len(good) // 2],
        **{f"bad-state-{name}": checkpoint(words) for name, words in {
            "text": "x", "empty": "", "null": "null", "list": "[]", "number": "7",
            "step-minus": state(step=-1), "step-1.5": json.dumps(state(step=1.5)), "step-1e18": state(step=10**18),
            "step-2-64": state(step=2**64), "step-text": state(step="4"), "step-beyond": state(step=11),
            "no-curve": {"step": 4}, "curve-text": state(curve="x"), "curve-short": state(curve=[[1]]),
            "curve-object": state(curve={"a": [1, 2, 3]}), "count-minus": state(loss_count=-1),
            "sum-text": state(loss_sum="0"), "deep": '{"curve":' + "[" * NESTED + "]" * NESTED + "}",
        }.items()},
    })


def result_seeds(result):
    text = result.read_text()
    good = json.loads(text)

    def changed(**changes):
        return json.dumps(good | changes, indent=1) + "\n"  # as gnomon ends it: result.cpp puts a seal there

    keep("result", {
        "good-run": text,
        "good-behind-seal": re.sub(r'"parameters": (\d+)', r'"parameters": \g<1>1', text),
        "good-failed": changed(failure="the loss was not finite at step 3", nats=None, by_length=[], by_position=[]),
        "bad-empty": "",
        "bad-null": "null",
        "bad-list": "[1]",
        "bad-half": text[:len(text) // 2],
        "bad-seed-text": changed(seed="1"),
        "bad-curve-text": changed(curve="x"),
        "bad-curve-short": changed(curve=[[1]]),
        "bad-length-null": changed(by_length=[None]),
        "bad-length-without-nats": changed(by_length=[{"factor": 1, "tokens": 4}]),
        "bad-cost-list": changed(cost=[]),
        "bad-not-utf8": text.encode().replace(b"none", b"\xff\xfe\xfd\xfc"),
        "bad-deep-curve": changed(curve=0).replace('"curve": 0', '"curve": ' + "[" * (DEEP // 2) + "]" * (DEEP // 2)),
        "bad-deep-key": changed(key=0).replace('"key": 0', '"key": ' + '{"a":' * NESTED + "1" + "}" * NESTED),
        "bad-deep-open": "[" * NESTED,
        # Accepted or not, they may not crash: JSON of today says so less sharply than it could.
        "point-nan": changed(curve=[[1, None, None]]),
        "duplicate-key": text.replace('"seed"', '"seed": 2,\n "seed"', 1),
        "seed-1.5": changed(seed=1.5),
        "seed-2-64": changed(seed=2**64),
        "seed-minus": changed(seed=-1),
        "parameters-1e400": changed(parameters=0).replace('"parameters": 0', '"parameters": 1e400'),
        "nats-1e300": changed(nats=1e300),
    })


# --- what people write

def toml_seeds(resolved):
    deep = "[" * 5000
    prediction = "[[prediction]]\nsays = 'x'\nmeasure = 'growth'\narm = 'rope'\nlength = 2\n"
    keep("toml", {
        "good-resolved": re.sub('text = ".*"', 'text = "t.txt"', resolved.read_text()),
        "good-empty": "",
        "good-some": '[study]\narms = ["none", "rope(theta=500)+alibi"]\nbaseline = "none"\n[train]\nsteps = 7\n',
        "good-quotes": "[study]\ntext = 'a \"b\" \\ c'\n",
        "good-numbers": "[train]\nlearning_rate = 1e-3\nclip = 2\n[evaluate]\nlengths = [1, 1.5]\n",
        "bad-section": "[stduy]\nseeds = 1\n",
        "bad-key": "[study]\nsede = 1\n",
        "bad-no-section": "seeds = 1\n",
        "bad-type": '[train]\nsteps = "7"\n',
        "bad-twice": "[train]\nsteps = 1\nsteps = 2\n",
        "bad-nan": "[train]\nlearning_rate = nan\n",
        "bad-inf": "[evaluate]\nlengths = [1, inf]\n",
        "bad-huge": "[model]\nwidth = 9223372036854775807\nheads = 9223372036854775807\n",
        "bad-beyond-int64": "[model]\nwidth = 9223372036854775808\n",
        "bad-minus": "[model]\nlayers = -1\n",
        "bad-list-mixed": '[evaluate]\nlengths = [1, "2"]\n',
        "bad-spec": '[study]\narms = ["rop"]\n',
        "bad-not-utf8": b"[study]\ntext = '\xff\xfe'\n",
        "bad-nul": b"[study]\ntext = 'a\0b'\n",
        "bad-deep": "[study]\narms = " + deep,
        "bad-open-string": '[study]\ntext = "abc',
        "good-predictions": prediction + "above = 0\n" + prediction + "minus = 't5'\nwithin = 1e-3\nafter = 3\n",
        "bad-prediction-key": prediction + "abvoe = 0\n",
        "bad-prediction-type": prediction + "above = [0]\n",
        "bad-prediction-unbounded": prediction,
        "bad-prediction-nan": prediction + "above = nan\n",
        "bad-prediction-arm": prediction + "above = 0\nminus = 'rop'\n",
        "bad-prediction-line-end": prediction + 'above = 0\nfrom = "a\\nb"\n',
        "bad-prediction-single": prediction.replace("[[prediction]]", "[prediction]") + "above = 0\n",
        "bad-prediction-numbers": "prediction = [1, 2]\n",
        "bad-prediction-mixed": "prediction = [{says = 'x'}, 2]\n",
        "good-parts": "[study]\nseeds = 2\n[[part]]\nname = 'a'\n[part.study]\ndata = 'copy'\n[[part]]\nname = 'b-2'\n[[part.prediction]]\n"
                      "says = 'x'\nmeasure = 'right'\narm = 'rope'\nexactly = 0.5\n",
        "bad-part-name": "[[part]]\nname = '../a'\n",
        "bad-part-twice": "[[part]]\nname = 'a'\n[[part]]\nname = 'a'\n",
        "bad-part-table": "[part]\nname = 'a'\n",
        "bad-part-number": "part = [1]\n",
        "bad-part-nested": "[[part]]\nname = 'a'\n[[part.part]]\nname = 'b'\n",
        "newline-in-text": '[study]\ntext = "a\\nb\\tc\\u0007d"\n',
    })


def spec_seeds(encodings):
    lists = ["rope+window(size=4)", "none"]
    good = ["none", "sinusoidal(layout=halves, frequencies=tensor2tensor)", "concat(sinusoidal, width=4)", "project(learned)",
            "gate(learned, kind=scalar)+[fox]", "[" + ", ".join(lists) + "]", "rope+randomised(most=2048)", "t5(buckets=8)",
            "add(none, scale=off)+rope", "rope(theta=1e+05, pairing=adjacent)", "longrope(short=1/1.1/1.2/1.3)"]
    bad = ["", " ", "(", "rop", "rope(", "rope()x", "rope(theta)", "rope(theta=)", "rope(theta=nan)", "rope(theta=1e999)",
           "rope(theta=-0)", "rope(theta=10, theta=20)", "[", "[]", "[[rope]]", "[rope]+[rope]", "rope+", "+rope", "concat(",
           "concat(concat(sinusoidal))", "sinusoidal+learned", "t5(buckets=9223372036854775807)", "t5(buckets=1e18)",
           "window(size=-1)", "window(size=99999999999999999999)", "none(x=1)", "\u2026", "rope\0", "((((((((((((((((",
           "alibi(slopes=)", "e+e+e", "longrope(short=////)", "mrope(sections=0/0/0)", "rope+" * 2000]
    keep("spec", {f"good-{i:02}": spec for i, spec in enumerate(good)} |
         {f"bad-{i:02}": spec for i, spec in enumerate(bad)} |
         {f"entry-{entry['name']}": entry["name"] for entry in encodings})


# --- data of a study

def vocabulary(merges, form="gnomon byte pairs 1"):
    content = json.dumps({"format": form, "merges": merges}, separators=(",", ":"))[:-1]
    return f'{content},\n "sha256": "{hashlib.sha256(content.encode()).hexdigest()}"\n}}\n'


def vocabulary_seeds():
    good = vocabulary([[97, 98], [256, 99], [32, 257]])
    changed = {"symbol-later": [[97, 98], [257, 99]], "symbol-minus": [[97, -1]], "symbol-1.5": [[97, 1.5]], "symbol-2-64": [[97, 2**64]],
               "symbol-text": [["a", "b"]], "three": [[97, 98, 99]], "none": [], "object": {"97": 98}, "number": 7, "null": None,
               "merge-twice": [[97, 98], [97, 98]], "bytes-twice": [[97, 98], [98, 99], [256, 99], [97, 257]],
               "doubling": [[97, 97]] + [[n, n] for n in range(256, 300)]}
    keep("vocabulary", {
        "good-three": good,
        "good-behind-seal": good.replace("97", "96"),
        "bad-empty": "",
        "bad-half": good[:30],
        "bad-format": vocabulary([[97, 98]], "gnomon byte pairs 2"),
        "bad-format-number": vocabulary([[97, 98]], 1),
        "bad-blank": good.replace("97,98", "97, 98"),
        "bad-not-utf8": good.encode().replace(b"pairs", b"\xff\xfe\xfd\xfc"),
        "bad-key": good.replace('"format"', '"more":1,"format"'),
        "bad-deep": good.replace("[97,98]", "[" * NESTED + "]" * NESTED),
        **{f"bad-{name}": vocabulary(merges) for name, merges in changed.items()},
    })


def lines_seeds():
    sums = "".join(f"{n}+{n}=\t{2 * n}\n" for n in range(100))
    keep("lines", {
        "good-sums": sums,
        "good-windows": sums.replace("\n", "\r\n"),
        "good-no-last-end": sums[:-1],
        "good-tongues": sums + "Größe\tсила\n日本\t国\n",
        "good-same-question": sums + "1+1=\ttwo\n",
        "bad-empty": "",
        "bad-one-line": "1+1=\t2\n",
        "bad-empty-line": "\n" + sums,
        "bad-no-tab": sums + "3+4=7\n",
        "bad-two-tabs": sums + "3\t+4=\t7\n",
        "bad-no-question": sums + "\t7\n",
        "bad-no-answer": sums + "3+4=\t\n",
        "bad-long": sums + "9" * 20 + "+1=\t" + "9" * 20 + "\n",
        "bad-nul": sums + "3+4=\0\t7\n",
        "bad-not-utf8": sums.encode() + b"3\xff4=\t7\n",
        "bad-byte-order-mark": b"\xef\xbb\xbf" + sums.encode(),
    })


def tokens_seeds():
    def headed(magic, version, count, ids=b""):
        return struct.pack("<256i", magic, version, count, *[0] * 253) + ids

    keep("tokens", {
        "good-nanogpt": struct.pack("<5H", 0, 1, 50256, 255, 256),
        "good-wide": struct.pack("<3I", 0, 50256, 1),
        "good-llm.c": headed(20240520, 1, 3, struct.pack("<3H", 7, 8, 9)),
        "good-llm.c-wide": headed(20240801, 7, 2, struct.pack("<2I", 7, 50256)),
        "bad-empty": b"",
        "bad-one-byte": b"x",
        "bad-three-bytes": b"\0\0\0",
        "bad-beyond": struct.pack("<3H", 0, 50257, 1),
        "bad-header-alone": headed(20240520, 1, 0),
        "bad-header-half": headed(20240520, 1, 3, struct.pack("<3H", 7, 8, 9))[:500],
        "bad-header-version": headed(20240520, 2, 1, b"\0\0"),
        "bad-header-more": headed(20240520, 1, 4, struct.pack("<3H", 7, 8, 9)),
        "bad-header-minus": headed(20240520, 1, -506)[:12],
        "bad-header-odd": headed(20240801, 7, 1, b"\0\0\0"),
    })


# --- lint

def lint_seeds(rules):
    """A rule of each theme, by its failing example."""
    first = {rule["id"].split("-")[0]: rule["fails"] for rule in reversed(rules)}
    keep("lint", {f"good-{theme}": example for theme, example in first.items()})
    keep("lint", {"good-empty": "{}", "good-one-line": json.dumps(json.loads(rules[0]["fails"])), "good-crlf": rules[0]["fails"].replace("\n", "\r\n"),
                  "good-escaped": '{"model_type": "ll\\u0061ma", "\\"a.b\\"": {"}": "{"}, "rope_scaling": {"r\\u006fpe_type": "yarn"}}',
                  "good-huge-numbers": '{"model_type": "llama", "hidden_size": 1e300, "num_hidden_layers": 9223372036854775807, "rope_theta": 1e-300}',
                  "bad-list": "[]", "bad-cut": rules[0]["fails"][:-1], "bad-twice": '{"rope_theta": 1, "rope_theta": 2}',
                  "bad-deep": '{"a": ' + "[" * NESTED + "]" * NESTED + "}"})



def dictionaries(encodings):
    """Words that a mutation would not hit upon, in libFuzzer's form."""
    words = {"spec": {e["name"] for e in encodings} | {o["name"] + "=" for e in encodings for o in e["options"]} |
             set("()[]+,=/") | {"concat(", "project(", "gate(", "mixture(", "multiply(", "every_layer(", "queries_keys("},
             "json": {'"dtype":"F32"', '"shape":[', '"data_offsets":[', '"__metadata__":{', '"gnomon.sha256":"', '"gnomon.key":',
                      '"gnomon.state":', '\\"step\\":', '\\"curve\\":', '"curve":', '"by_length":', '"nats":', "null", "true", "-1",
                      "1e400", "18446744073709551616", "[[[[", "{}", '"a":', "NaN"}}
    for name, all_words in words.items():
        escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in sorted(all_words))
        (CORPUS.parent / f"{name}.dict").write_text("".join(f'"{word}"\n' for word in escaped))


def main(program):
    encodings = json.loads(subprocess.run([program, "encodings", "--json"], check=True, capture_output=True).stdout)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "text.txt").write_text(WORDS)
        flags = [flag for setting in TINY for flag in ("--set", setting)]
        subprocess.run([program, "study", "--text", folder / "text.txt", "--out", folder / "out", *flags], check=True,
                       capture_output=True)
        run = next((folder / "out" / "runs").iterdir())
        checkpoint_seeds(run / "model.safetensors")
        result_seeds(run / "result.json")
        toml_seeds(folder / "out" / "study.toml")
    safetensors_seeds()
    lint_seeds(json.loads(subprocess.run([program, "lint", "--rules", "--json"], check=True, capture_output=True).stdout))
    spec_seeds(encodings)
    vocabulary_seeds()
    lines_seeds()
    tokens_seeds()
    dictionaries(encodings)


if __name__ == "__main__":
    main(sys.argv[1])
