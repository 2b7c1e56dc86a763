"""Byte-pair encoding by code that is not gnomon's: vocabulary.json.

    python3 tests/golden/make_vocabulary.py        (tokenizers 0.23.3)

Two writings that have to agree before anything is written: Hugging Face's `tokenizers` (its trainer and its encoder, in Rust),
and algorithm 1 of Sennrich, Haddow and Birch 2016 (arXiv 1508.07909, section 3.2) word by word, which counts all pairs anew
before every merge. Bytes go into `tokenizers` as the 256 characters of Latin-1, so that its ids are bytes too and its ties
(the smallest pair of ids) are ours. `wrong` are merges of other conventions, which must not come out.
"""

import collections
import json
import pathlib
import random
import re

import tokenizers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

LETTERS, BLANKS, LONGEST = "A-Za-z\u0080-\u00ff", " \\t\\n\\v\\f\\r", 256
PIECES = (f" ?[{LETTERS}]+| ?[0-9]+| ?[^{BLANKS}0-9{LETTERS}]+|[{BLANKS}]+(?= [^{BLANKS}])|[{BLANKS}]+")


# --- Hugging Face

def trained(text, size, split=True):
    tokenizer = Tokenizer(models.BPE())
    if split:
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False,
                                  max_token_length=LONGEST + 1,  # theirs stays below it
                                  initial_alphabet=[chr(b) for b in range(256)])
    tokenizer.train_from_iterator([text.decode("latin-1")], trainer)
    ids = tokenizer.get_vocab()
    assert all(ids[chr(b)] == b for b in range(256))
    return tokenizer, [[ids[a], ids[b]] for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]


# --- The paper

def naive(text, size, pieces=PIECES, tie=min, least=2):
    found = re.findall(pieces, text.decode("latin-1"), re.S) if pieces else [text.decode("latin-1")]
    assert "".join(found) == text.decode("latin-1")
    words = collections.Counter(tuple(ord(c) for c in piece) for piece in found)
    merges, width = [], [1] * 256
    while len(width) < size:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                if width[pair[0]] + width[pair[1]] <= LONGEST:
                    pairs[pair] += count
        if not pairs or max(pairs.values()) < least:
            break
        best = tie(pair for pair, count in pairs.items() if count == max(pairs.values()))
        merged = collections.Counter()
        for word, count in words.items():
            merged[joined(word, best, len(width))] += count
        words = merged
        merges.append(list(best))
        width.append(width[best[0]] + width[best[1]])
    return merges


def joined(word, pair, symbol):
    out, at = [], 0
    while at < len(word):
        here = word[at:at + 2] == pair
        out.append(symbol if here else word[at])
        at += 2 if here else 1
    return tuple(out)


def encoded(text, merges):
    ids = []
    for piece in re.findall(PIECES, text.decode("latin-1"), re.S):
        word = tuple(ord(c) for c in piece)
        for n, pair in enumerate(merges):
            word = joined(word, tuple(pair), 256 + n)
        ids += word
    return ids


# --- Cases

PROSE = """Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in Liberty, and \
dedicated to the proposition that all men are created equal.

Now we are engaged in a great civil war, testing whether that nation, or any nation so conceived and so dedicated, can long \
endure. We are met on a great battle-field of that war. We have come to dedicate a portion of that field, as a final resting \
place for those who here gave their lives that that nation might live. It is altogether fitting and proper that we should do \
this.

But, in a larger sense, we can not dedicate -- we can not consecrate -- we can not hallow -- this ground. The brave men, living \
and dead, who struggled here, have consecrated it, far above our poor power to add or detract.
"""
TONGUES = """Füße größer als Flüße, süß wie Müsli; naïve façade, déjà vu à la carte.
Москва слезам не верит, и слезам верит Москва.
日本語日本人日本国、中国語中国人。
😀😃😀😄 😀😃\u00a0π≈3,14159 und π² ≈ 9,8696\u2028Ende
"""
CODE = """for (int i = 0; i < 10; ++i) {
    sum += a[i] * b[i];    // 10 products
    if (sum >= 1000) {
        return sum % 1000;
    }
}
for (int j = 0; j < 20; ++j) {
\tsum -= a[j] * b[j];\t\t// 20  products\r
\tif (sum <= -1000)  return -1;\r
}\f \v  \n\n   end   """
draw = random.Random(7)


def cases():
    of = lambda alphabet, n: bytes(draw.choice(alphabet) for _ in range(n))
    letters = of(b"ab", 700) + b" " + of(b"abc", 300) + b" aaaa aaaaa aaaaaaa " + b"a" * 100
    yield "prose", PROSE.encode(), 460, b"The fathers of that nation have not dedicated a battle, 1863."
    yield "tongues", TONGUES.encode(), 330, "Größe, слеза и 日本 😀\u00a0".encode()
    yield "code", CODE.encode(), 340, b"\n\n    if (sum) {\r\n\t\treturn  a[10];   }  "
    yield "ties and overlaps", letters, 400, b"aaa aab abab bbbb caaaaaaab" + of(b"abc", 50)
    yield "any bytes", of(bytes([0, 10, 32, 97, 98, 127, 128, 194, 255]), 1500), 500, bytes(range(256)) * 2
    yield "long symbols", b"=" * 3000 + b"\n" + b"=" * 1500 + b" -" + b"=" * 300, 275, b"=" * 700


def case(name, text, size, other):
    tokenizer, merges = trained(text, size)
    assert merges == naive(text, size), name
    pieces = [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text.decode("latin-1"))]
    assert pieces == re.findall(PIECES, text.decode("latin-1"), re.S), name
    ids = {part: tokenizer.encode(part.decode("latin-1")).ids for part in (text, other)}
    assert all(found == encoded(part, merges) for part, found in ids.items()), name
    across = trained(text, size, split=False)[1]
    assert across == naive(text, size, pieces=None), name
    wrong = {"across pieces": across, "ties by the largest pair": naive(text, size, tie=max),
             "ties by the pair that came first": naive(text, size, tie=lambda pairs: next(iter(pairs))),
             "blanks apart from words": naive(text, size, pieces=f"[{LETTERS}]+|[0-9]+|[^{BLANKS}0-9{LETTERS}]+|[{BLANKS}]+")}
    return {"name": name, "text_hex": text.hex(), "size": 256 + len(merges), "pieces": [len(piece) for piece in pieces],
            "merges": merges, "ids": ids[text], "other_hex": other.hex(), "other_ids": ids[other],
            "all": len(naive(text, 1 << 16)), "wrong": {k: v for k, v in wrong.items() if v != merges}}


content = {"source": f"tokenizers {tokenizers.__version__} (Hugging Face), and algorithm 1 of arXiv 1508.07909",
           "made_by": "tests/golden/make_vocabulary.py", "cases": [case(*c) for c in cases()]}
path = pathlib.Path(__file__).parent / "vocabulary.json"
path.write_text(json.dumps(content, separators=(",", ":")) + "\n")
for c in content["cases"]:
    print(f"{c['name']:20} {len(c['merges'])} merges of {c['all']}, {len(c['pieces'])} pieces; differ: {', '.join(c['wrong'])}")
