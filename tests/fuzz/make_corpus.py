"""Writes the seeds of the fuzz targets: good-* have to be accepted, bad-* refused (corpus_test.cpp). What fuzzing found
later stands beside them under the same names; this script leaves it alone.

    python3 tests/fuzz/make_corpus.py build/dev/gnomon
"""

import hashlib
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from make_weights_corpus import gguf_seeds, safetensors_seeds, weights_seeds
from seeds import CORPUS, DEEP, NESTED, keep, read_safetensors, sealed, tensor

WORDS = "the cat sat on the mat. a dog ran far away. rain fell all night; we sang.\n" * 40

# The shape of checkpoint.cpp.
TINY = ["study.arms=none", "study.baseline=none", "study.seeds=1", "study.budgets=1", "tune.seeds=0", "model.layers=1", "model.width=4", "model.heads=1",
        "model.feed_forward=1", "model.length=4", "model.tied=true", "train.steps=10", "train.batch=1",
        "evaluate.lengths=1", "evaluate.score=4", "evaluate.windows=1", "evaluate.points=5"]


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


# --- tokenisers of strangers

def tokenizer(model, **parts):
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                       "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model} | parts, ensure_ascii=False)


def tokenizer_seeds():
    bytes_of = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    bpe = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
           "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "1": 5},
           "merges": [["a", "b"], ["Ġ", "ab"]]}
    end = {"id": 6, "content": "<end>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    pieces = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
              "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4, "##é": 5, "e": 6}}
    bert = {"normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"}}

    def split(expression, **changes):
        cut = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False} | changes
        return tokenizer(bpe, pre_tokenizer={"type": "Sequence", "pretokenizers": [cut, bytes_of | {"use_regex": False}]})

    def pairs(**changes):
        return tokenizer(bpe | changes, pre_tokenizer=bytes_of)

    def added(*tokens):
        return tokenizer(bpe, pre_tokenizer=bytes_of, added_tokens=list(tokens))

    keep("tokenizer", {
        "good-bytes": tokenizer(bpe, pre_tokenizer=bytes_of, decoder=bytes_of, added_tokens=[end]),
        "good-old-merges": pairs(merges=["#version: 0.2", "a b", "Ġ ab"]),
        "good-form-c": tokenizer(bpe, pre_tokenizer=bytes_of, normalizer={"type": "NFC"}, added_tokens=[end | {"normalized": True}]),
        "good-split": split(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
        "good-slow-split": split(r"(?:(?:a|b)*(?:a|b)*)*(?:a|b)c"),
        "good-bert": tokenizer(pieces, **bert, post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
                               decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}),
        "good-template": tokenizer(pieces, **bert, post_processor={
            "type": "TemplateProcessing", "pair": [], "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                                                                 {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}}}),
        "bad-empty": "", "bad-list": "[]", "bad-version": tokenizer(bpe, pre_tokenizer=bytes_of, version="2.0"),
        "bad-unigram": tokenizer({"type": "Unigram", "vocab": []}),
        "bad-no-bytes": tokenizer(bpe), "bad-metaspace": tokenizer(bpe, pre_tokenizer={"type": "Metaspace"}),
        "bad-normalizer": tokenizer(bpe, pre_tokenizer=bytes_of, normalizer={"type": "NFKC"}),
        "bad-dropout": pairs(dropout=0.1), "bad-fallback": pairs(byte_fallback=True), "bad-suffix": pairs(end_of_word_suffix="</w>"),
        "bad-merge-unknown": pairs(merges=[["a", "c"]]), "bad-merge-makes-none": pairs(merges=[["b", "a"]]),
        "bad-merge-twice": pairs(merges=[["a", "b"], ["a", "b"]]), "bad-merge-of-three": pairs(merges=[["a", "b", "a"]]),
        "bad-merge-spaces": pairs(merges=["a b c"]), "bad-merge-number": pairs(merges=[7]),
        "bad-id-twice": pairs(vocab={"a": 0, "b": 0}, merges=[]), "bad-id-minus": pairs(vocab={"a": -1}, merges=[]),
        "bad-id-2-22": pairs(vocab={"a": 1 << 22}, merges=[]), "bad-id-text": pairs(vocab={"a": "0"}, merges=[]),
        "bad-unknown": pairs(unk_token="?"), "bad-vocab-list": pairs(vocab=["a"], merges=[]),
        "bad-added-id": added(end | {"id": 9}), "bad-added-twice": added(end, end | {"id": 7}), "bad-added-empty": added(end | {"content": ""}),
        "bad-added-word": added(end | {"single_word": True}), "bad-added-long": added(end | {"content": "x" * 1001}),
        "bad-added-other-id": added(end | {"content": "a"}),
        "bad-split-empty": split("a*"), "bad-split-open": split("(a"), "bad-split-lazy": split("a+?b"), "bad-split-back": split(r"(a)\1"),
        "bad-split-class": split("[[a]b]"), "bad-split-class-open": split("[a"), "bad-split-escape": split("a\\"), "bad-split-script": split(r"\p{Han}+"),
        "bad-split-long": split("a" * 2001), "bad-split-large": split("(?:(?:(?:a{999}){999}){999}){999}"), "bad-split-fold": split("(?i:ss)"),
        "bad-split-deep": split("(" * 900 + "a" + ")" * 900), "bad-split-behavior": split("a", behavior="Contiguous"),
        "bad-split-text": split("a", pattern={"String": "a"}),
        "bad-pieces-cut": tokenizer(pieces), "bad-pieces-unknown": tokenizer(pieces | {"unk_token": "?"}, **bert),
        "bad-pieces-length": tokenizer(pieces | {"max_input_chars_per_word": 10**6}, **bert),
        "bad-ends": tokenizer(pieces, **bert, post_processor={"type": "BertProcessing", "sep": ["[SEP]", 99], "cls": ["[CLS]", 1]}),
        "bad-template-pair": tokenizer(pieces, **bert, post_processor={
            "type": "TemplateProcessing", "single": [{"Sequence": {"id": "B", "type_id": 0}}], "pair": [], "special_tokens": {}}),
        "bad-deep": tokenizer(bpe, normalizer=0).replace('"normalizer": 0', '"normalizer": ' + '{"a":' * NESTED + "1" + "}" * NESTED),
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
                      "1e400", "18446744073709551616", "[[[[", "{}", '"a":', "NaN", '"weight_map":', '"1.safetensors"', '"BF16"', '"F8_E4M3"'},
             "gguf": {"GGUF", "general.alignment", "general.architecture", "tokenizer.ggml.tokens", "llama.context_length"}}
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
    weights_seeds()
    gguf_seeds()
    lint_seeds(json.loads(subprocess.run([program, "lint", "--rules", "--json"], check=True, capture_output=True).stdout))
    spec_seeds(encodings)
    vocabulary_seeds()
    lines_seeds()
    tokens_seeds()
    tokenizer_seeds()
    dictionaries(encodings)


if __name__ == "__main__":
    main(sys.argv[1])
