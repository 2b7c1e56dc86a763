"""Tokenisers by code that is not gnomon's: tokenizers.json.

    python3.11 tests/golden/make_tokenizers.py        (tokenizers 0.23.3; Python 3.11, whose unicodedata is Unicode 14)

Small vocabularies are trained here by Hugging Face's `tokenizers`, and give the ids of some hundred lines: all categories of
Unicode, scripts, emoji, marks, blanks, contractions, numbers, added tokens. `wrong` are changes of the tokenizer.json (JSON merge
patches) with the number of lines whose ids they change: another normaliser, another way of cutting. `characters` are digests of
what `tokenizers` makes of every character of Unicode 14, one after the other. Characters that Unicode 14 does not assign are in no line.
"""

import hashlib
import json
import pathlib
import random
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

assert unicodedata.unidata_version == "14.0.0"
ASSIGNED = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
BY_CATEGORY = {}
for character in ASSIGNED:
    BY_CATEGORY.setdefault(unicodedata.category(character), []).append(character)

PROSE = """In the beginning was the word. Four score and seven years ago, our fathers brought forth on this continent a new nation.
It's not that we'll never know; they've said I'm wrong, he'd say you're right, don't they? In 1863 there were 1234567 of them.
The position of a word in a sentence is what the position of a sentence is not: nothing is without its surroundings."""
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
ODD = ["don't I'LL can''t THEY'VE 'ſ ’s 're", "İstanbul ıI ß ẞ ﬁﬂ ſt ΑΣΣ ὈΔΥΣΣΕΎΣ ǅ", "e\u0301 \xe9 A\u030a \u212b q\u0323\u0307 q\u0307\u0323 \u1e9b\u0323",
       "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪 1️⃣ ❤️", "한국어 각 \u1100\u1161\u11a8 뷁", "中文字と日本語テキスト한字", "עִבְרִית العربية हिन्दी ไทย", "a\u200db \u200b \ufeff \ufffd \u00ad \u180e",
       "\x00 \x01\x7f\x85 \u2028\u2029", "½ Ⅷ ٣ 二 ① 𝟘 x² 10³", "\U00011935\U00011930 \U00011938 \u0301\u0327\u0334 a\u1ac0\u0327\u0301 a\U00010eab\u0334",
       " " * 40 + "x", "\n" * 20, "\t\t a \t", " \u3000\xa0\x0b\x0c ", "a" * 120, "é" * 100, "é" * 101, "", " ", "  ", "x  ", " x", "\r\n\r\n x", "1234567 89 0",
       "<|end|>", "a<|end|>b <|end|> <|end|", "<|end|><|end|>", "x <mask> y\t<mask>", "<mask>  <mask>", "Caf\xe9 cafe\u0301 CAF\xc9", "[CLS] [SEP] [MASK [MASK]", " . ? ! , n't 'm do not 's"]


def lines():
    r = random.Random(1)
    words = PROSE.split()
    others = [category for category in BY_CATEGORY if category != "Co"]
    drawn = [" ".join(r.choices(members, k=4)) + "".join(r.choices(members, k=4)) for members in BY_CATEGORY.values()]
    pieces = [lambda: r.choice(words), lambda: r.choice(words).upper(), lambda: str(r.randrange(10 ** r.randint(1, 9))),
              lambda: "".join(r.choice(BY_CATEGORY[r.choice(others)]) for _ in range(r.randint(1, 3))),
              lambda: r.choice("aeinoAEIO") + "".join(r.choices(BY_CATEGORY["Mn"], k=r.randint(1, 3))),
              lambda: r.choice(r.choice([line for line in ODD if 0 < len(line) < 40]).split(" ")),
              lambda: r.choice(["\t", "\n", "\r\n", "  \n ", " " * r.randint(2, 9), "\u3000 ", "\xa0"]),
              lambda: "".join(r.choices("!?.,;:-()[]{}<>@#$%^&*_+=|~`\"\\/'", k=r.randint(1, 4)))]
    mixed = ["".join(r.choice(pieces)() + r.choice(["", " ", " "]) for _ in range(r.randint(2, 7))) for _ in range(180)]
    return ODD + drawn + PROSE.split("\n")[:1] + mixed


def byte_pairs(name, size, splits, changes=(), **options):
    """A BPE trained on PROSE and the lines, whose tokenizer.json is changed before it is used."""
    tokenizer = Tokenizer(models.BPE(**options.pop("model", {})))
    tokenizer.normalizer = options.pop("normalizer", None)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits) if len(splits) > 1 else splits[0]
    tokenizer.decoder = decoders.ByteLevel()
    all_bytes = options.pop("all_bytes", True)
    alphabet = pre_tokenizers.ByteLevel.alphabet() if all_bytes else []
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet,
                                  special_tokens=options.pop("special", ["<|end|>"]))
    tokenizer.train_from_iterator([PROSE] * 3 + (LINES if all_bytes else []), trainer)
    tokenizer.add_tokens(options.pop("added", []))
    tokenizer.post_processor = options.pop("processor", None)
    return case(name, tokenizer, changes, **options)


def word_pieces(name, normalizer, processor, changes):
    """Of the common characters of ODD and the words of PROSE, their beginnings and their ends. (The trainer's order varies.)"""
    def normal(text):
        return normalizer.normalize_str(text)
    common = sorted({c for c in normal("".join(ODD)) if c not in " \t\n" and unicodedata.category(c) not in ("Mn", "So", "Cn")})
    words = sorted({word for line in (PROSE, ODD[0]) for word in normal(line).split() if word.isalpha()})
    parts = [word[:n] for word in words for n in (2, 3, len(word))] + ["##" + word[-n:] for word in words for n in (1, 2, 3, 4)]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + common + ["##" + c for c in common[::2]] + ["##\u0301", "##\u0327"] + parts
    vocabulary = {token: n for n, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.add_special_tokens(tokens[:5])
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processor
    return case(name, tokenizer, changes)


def digest(texts):
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def patched(document, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        merged[key] = patched(merged.get(key), value)
        if value is None:
            del merged[key]
    return merged


def encoded(document):
    tokenizer = Tokenizer.from_str(json.dumps(document))
    return tokenizer, [tokenizer.encode(line).ids for line in LINES]


def case(name, tokenizer, changes, gguf=None, edit=lambda document: None):
    document = json.loads(tokenizer.to_str())
    document["model"]["merges"] = document["model"].get("merges", [])
    edit(document)
    tokenizer, ids = encoded(document)
    wrong = []
    for patch in changes:
        complete = patched({"normalizer": None, "post_processor": None} | document, patch)
        for key in ("normalizer", "post_processor"):
            complete.setdefault(key, None)
        different = sum(a != b for a, b in zip(ids, encoded(complete)[1]))
        assert different, (name, patch)
        wrong.append({"patch": patch, "lines": different})
    decoded = [tokenizer.decode(line, skip_special_tokens=False) for line in ids]
    # Theirs takes é in the name of an added token for a byte (decoders/byte_level.rs).
    names_are_ascii = all(token["content"].isascii() for token in document["added_tokens"])
    return {"name": name, "gguf": gguf, "tokenizer": document, "ids": ids, "wrong": wrong,
            "bare": tokenizer.encode(LINES[0], add_special_tokens=False).ids,
            "decoded": digest(text.replace("\ufffd", "") for text in decoded) if names_are_ascii else None}


def without_every_third_merge(document):
    """So that some tokens are made by no merge, and come out whole or not at all."""
    model = document["model"]
    used = {part for merge in model["merges"] for part in merge}
    model["merges"] = [m for n, m in enumerate(model["merges"]) if n % 3 or "".join(m) in used]


def cases():
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    yield byte_pairs("gpt-2", 480, [byte_level], [
        {"normalizer": {"type": "NFC"}}, {"pre_tokenizer": {"add_prefix_space": True}}, {"pre_tokenizer": {"use_regex": False}}],
        gguf="gpt-2", added=[AddedToken("ago", normalized=True), AddedToken("ago, our", normalized=True)])
    yield byte_pairs("smollm", 480, [digits, byte_level], [
        {"pre_tokenizer": alone}, {"normalizer": {"type": "NFC"}}, {"model": {"ignore_merges": True}}], gguf="smollm",
        edit=without_every_third_merge)
    yield byte_pairs("qwen2", 480, [pre_tokenizers.Split(Regex(QWEN2), "isolated"), bare_bytes], [
        {"normalizer": None}, {"pre_tokenizer": alone}], gguf="qwen2", normalizer=normalizers.NFC(),
        added=[AddedToken("cafe\u0301", normalized=True)])
    yield byte_pairs("llama-bpe", 480, [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), bare_bytes], [
        {"model": {"ignore_merges": False}}, {"post_processor": None}, {"normalizer": {"type": "NFC"}}], gguf="llama-bpe",
        model={"ignore_merges": True}, edit=without_every_third_merge,
        processor=processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing("<|end|> $A", None, [("<|end|>", 0)])]))
    yield byte_pairs("unusual", 300, [pre_tokenizers.Split(Regex(r"[\r\n\p{Cc}]+|\s{3,5}"), "removed"),
                                     pre_tokenizers.Split(Regex(r"[^\p{P}]+|\p{P}{2}"), "removed", invert=True),
                                     pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=True)], [
        {"model": {"fuse_unk": False}}, {"model": {"unk_token": None}}], all_bytes=False, special=["<|end|>", "<unk>"],
        model={"unk_token": "<unk>", "fuse_unk": True},
        added=[AddedToken("<mask>", lstrip=True, rstrip=True, special=True, normalized=False)],
        processor=processors.RobertaProcessing(("<|end|>", 0), ("<unk>", 1)))
    ends = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    yield word_pieces("bert uncased", normalizers.BertNormalizer(), ends, [
        {"normalizer": {"strip_accents": False}}, {"normalizer": {"lowercase": False}},
        {"normalizer": {"handle_chinese_chars": False}}, {"normalizer": {"clean_text": False}},
        {"model": {"max_input_chars_per_word": 99}}, {"post_processor": None}])
    yield word_pieces("bert cased", normalizers.BertNormalizer(strip_accents=False, lowercase=False),
                      processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)), [
        {"normalizer": {"lowercase": True}}, {"normalizer": {"strip_accents": True}}, {"normalizer": None}])


def characters():
    """SHA-256 of the characters that are something, or of what becomes of each."""
    def parts(cutter, character):
        return len(cutter.pre_tokenize_str("a" + character + "b"))

    def removed_by(pattern):
        cutter = pre_tokenizers.Split(Regex(pattern), "removed")
        return [c for c in ASSIGNED if len(cutter.pre_tokenize_str("\x01" + c + "\x01")) == 2]

    def bert(**options):
        rest = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False) | options
        return normalizers.BertNormalizer(**rest)

    cutter, digits, clean = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits(True), bert(clean_text=True)
    ranges = []
    for c in map(ord, ASSIGNED):
        if ranges and ranges[-1] == c - 1:
            ranges[-1] = c
        else:
            ranges += [c, c]
    return {"assigned": ranges,
            "blank": digest(c for c in ASSIGNED if parts(cutter, c) == 2),
            "punctuation": digest(c for c in ASSIGNED if parts(cutter, c) == 3),
            "hidden": digest(c for c in ASSIGNED if clean.normalize_str("a" + c + "b") == "ab"),
            "ideograph": digest(c for c in ASSIGNED if bert(handle_chinese_chars=True).normalize_str(c) != c),
            "number": digest(c for c in ASSIGNED if parts(digits, c) == 3),
            r"\s": digest(removed_by(r"\s")), r"\p{L}": digest(removed_by(r"\p{L}")), r"\p{N}": digest(removed_by(r"\p{N}")),
            "lower": digest(map(bert(lowercase=True).normalize_str, ASSIGNED)),
            "stripped": digest(map(bert(strip_accents=True).normalize_str, ASSIGNED)),
            "composed": digest(map(normalizers.NFC().normalize_str, ASSIGNED)),
            "composed with marks": digest(normalizers.NFC().normalize_str("a\u0327" + c + "\u0301\u0334") for c in ASSIGNED),
            "stripped after marks": digest(bert(strip_accents=True).normalize_str("\U0001d165" + c + "\u093e") for c in ASSIGNED)}


LINES = lines()
golden = {"source": f"tokenizers {tokenizers.__version__} (Hugging Face)", "made_by": "tests/golden/make_tokenizers.py",
          "lines": LINES, "cases": list(cases()), "characters": characters()}
path = pathlib.Path(__file__).parent / "tokenizers.json"
path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
print(path, path.stat().st_size, "bytes,", len(LINES), "lines,", [(c["name"], [w["lines"] for w in c["wrong"]]) for c in golden["cases"]])
