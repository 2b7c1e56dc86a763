"""What the tests of the program share: where it is, and a small text and study that end in seconds."""

import atexit
import fcntl
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GNOMON = pathlib.Path(os.environ.get("GNOMON", ROOT / "build" / "dev" / "gnomon")).absolute()

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # programs of two processes of pytest share the cores

sys.path.insert(0, str(ROOT / "tests"))
from own_folder import own_folder  # noqa: E402, F401  the fixture

EMPTY = tempfile.mkdtemp(prefix="gnomon-tests-")
atexit.register(shutil.rmtree, EMPTY, ignore_errors=True)


def outside_the_tree():
    """The current folder of a program: that of the test; an empty one where there is no test yet, and pytest was started in the tree."""
    return EMPTY if pathlib.Path.cwd().is_relative_to(ROOT) else None

SMALL = ["model.layers=1", "model.width=24", "model.heads=2", "model.length=16", "train.steps=40", "train.batch=2",
         "evaluate.score=8", "evaluate.windows=8", "evaluate.points=5", "study.seeds=2", "study.workers=2",
         "study.budgets=0.25, 1", "tune.rates=0.002, 0.004"]


def gnomon(*arguments, check=None, **options):
    """Runs the program; with `check`, its exit code has to be that."""
    here = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # as wide as where nobody says how wide
    options = {"capture_output": True, "text": True, "timeout": 300, "cwd": outside_the_tree(), "env": here} | options
    done = subprocess.run([str(GNOMON), *map(str, arguments)], **options)
    if check is not None:
        assert done.returncode == check, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def start(*arguments, **options):
    """The program running beside the test."""
    return subprocess.Popen([str(GNOMON), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **({"cwd": outside_the_tree()} | options))


def wait_for(condition, seconds=60):
    for _ in range(seconds * 100):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def study_arguments(text, out, *settings):
    flags = [flag for setting in (*SMALL, *settings) for flag in ("--set", setting)]
    return ["study", "--text", str(text), "--out", str(out), *flags]


def results(folder):
    """What is fixed to the bit in results.json: everything but the cost."""
    content = json.loads((pathlib.Path(folder) / "results.json").read_text())
    for arm in content["arms"]:
        del arm["tokens_per_second"], arm["peak_memory_bytes"]
        for run in arm["runs"]:
            del run["cost"]
    return content


def gguf(path, pairs):
    """A GGUF file of metadata alone (ggml, docs/gguf.md)."""
    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()
    kinds = {str: (8, text), int: (4, lambda x: struct.pack("<I", x)), float: (6, lambda x: struct.pack("<f", x))}
    body = b"".join(text(key) + struct.pack("<I", kinds[type(value)][0]) + kinds[type(value)][1](value) for key, value in pairs.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + body)
    return path


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "on", "mat", "a", "dog", "ran", "far", "away", "rain", "fell", "all",
         "night", "we", "sang", ".", ";"]


def tiny_bert(folder, of="bert_bare", mask=None):
    """A BERT of 24 words and 12 positions with a tokeniser for the words of the tests' text. of: a folder of tests/golden/opened;
    mask: the name of its mask token, the 22nd."""
    shutil.copytree(ROOT / "tests/golden/opened" / of, folder)
    words = WORDS + [mask] if mask else WORDS
    special = [{"id": n, "content": words[n], "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
               for n in (0, 1, 2, 3, *range(len(WORDS), len(words)))]
    ends = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    ids = {word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]} for word in ("[CLS]", "[SEP]")}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": ends, "pair": ends, "special_tokens": ids},
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {word: n for n, word in enumerate(words)}}}))
    return folder


def pytest_collection_modifyitems(items):
    """Two processes share the tests by file, so that what a file prepares is prepared once. The longest file begins first: that of
    the quick run of all claims. The other that needs the run comes last, when it is there."""
    items.sort(key=lambda item: (item.path.name != "test_claims.py", item.path.name == "test_claims_page.py"))


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    words = ["the cat sat on the mat. ", "a dog ran far away. ", "rain fell all night; ", "we sang.\n"]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(words[i * i * 7 // 3 % 4] for i in range(3000)))
    return path


@pytest.fixture(scope="session")
def study(text, tmp_path_factory):
    """A finished small study of all eight default arms."""
    out = tmp_path_factory.mktemp("study") / "out"
    done = gnomon(*study_arguments(text, out), check=0)
    return out, done


@pytest.fixture(scope="session")
def bible(tmp_path_factory):
    path = tmp_path_factory.mktemp("bible") / "king-james.txt"
    subprocess.run([ROOT / "scripts" / "king-james", path], check=True)
    return path


@pytest.fixture(scope="session")
def quick(bible, tmp_path_factory):
    """A quick run of all claims, made once for both processes: its folder, what it found and how long it took."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    out, told = shared / "claims", shared / "claims-told.json"
    with open(shared / "claims-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            begin = time.monotonic()
            done = gnomon("claims", "all", "--quick", "--text", bible, "--out", out, "--json", check=0, timeout=900)
            told.write_text(json.dumps([json.loads(done.stdout), time.monotonic() - begin]))
    return out, *json.loads(told.read_text())
