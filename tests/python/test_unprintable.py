"""What a stranger wrote into a file or a name reaches no terminal as a command and turns no line around: a table of all such
characters, through every command that shows a stranger's words, in text, JSON, SARIF and pages."""

import json
import os
import shutil
import struct
import unicodedata

import numpy
import pytest
from safetensors.numpy import load_file, save_file

from conftest import ROOT, SMALL, gnomon, study_arguments

# Unicode's categories and classes say which: controls, and what has a say in the direction of writing (embeddings, overrides,
# isolates), with the three marks.
TABLE = [chr(c) for c in range(0x2100) if unicodedata.category(chr(c)) == "Cc"
         or unicodedata.bidirectional(chr(c)) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")] + ["\u200e", "\u200f", "\u061c"]
EVIL = "x" + "".join(f"{c}{n % 10}" for n, c in enumerate(TABLE))
IN_A_NAME = "".join(c for c in EVIL if c not in "\0/\n")[:80]
LATE = "y" + "".join(c for c in TABLE if c >= "\x7f")  # of these the others do not take the place


def raw(words):
    """What is in there that may not be; line ends and tabs are the program's own."""
    return sorted({hex(ord(c)) for c in words if c in TABLE and c not in "\n\t"})


def shown(*arguments, codes=(0, 1, 2, 3, 4), **options):
    done = gnomon(*arguments, text=False, **options)  # bytes: text would turn every \r into a line end
    assert done.returncode in codes, done
    for words in (done.stdout.decode(), done.stderr.decode()):
        assert raw(words) == [], (arguments, words)
    return done


def config(where):
    name = "gemma-3.json" if where == "layer_types" else "llama-2.json"
    content = json.loads((ROOT / "docs/examples" / name).read_text())
    inner = content.get("text_config", content)
    if where == "model_type":
        content["model_type"] = EVIL
    if where == "key":
        content[EVIL] = 1
        content["rope_theta" + LATE] = 1
    if where == "rope":
        content["rope_scaling"] = {"rope_type": EVIL, "factor": 2.0, EVIL: 1}
    if where == "layer_types":
        inner["layer_types"] = [EVIL] * inner["num_hidden_layers"]
    if where == "value":
        content["rope_theta"] = EVIL
    if where == "name":
        content["rope_scaling"] = {"rope_type": "linear", "type": LATE, "factor": 2.0}
    return content


def test_the_table_is_whole():
    assert len(TABLE) == 65 + 12 and {"\x1b", "\x9b", "\x7f", "\u202e", "\u2066"} <= set(TABLE)


@pytest.mark.parametrize("where", ["model_type", "key", "rope", "layer_types", "value", "name"])
def test_words_of_a_configuration(where, tmp_path):
    path = tmp_path / f"{IN_A_NAME}.json"
    path.write_text(json.dumps(config(where), ensure_ascii=False))
    assert raw(path.read_text())  # otherwise this tests nothing
    for arguments in (["explain", path], ["explain", path, "--readers"], ["explain", path, "--full"], ["lint", path],
                      ["extend", path, "--to", 16384], ["explain", path, ROOT / "docs/examples/llama-2.json"]):
        shown(*arguments)
    heard = ""
    for arguments in (["explain", path, "--json"], ["explain", path, "--readers", "--json"], ["lint", path, "--json"], ["lint", path, "--sarif"],
                      ["extend", path, "--to", 16384, "--json"]):
        done = shown(*arguments)
        if done.stdout:
            heard += json.dumps(json.loads(done.stdout), ensure_ascii=False)  # still JSON, and the words are whole in it
    assert not heard or any(c in heard for c in TABLE if c >= "\x7f")
    page = tmp_path / "page.html"
    shown("explain", path, "--out", page)
    if page.exists():
        assert raw(page.read_text()) == []


def test_words_of_a_dump(tmp_path):
    source = load_file(ROOT / "tests/golden/dumps/llama.safetensors")
    path = tmp_path / f"{IN_A_NAME}.safetensors"
    save_file({f"{LATE}.{name}" if name.startswith(("q", "k")) else name: array for name, array in source.items()}
              | {LATE: numpy.zeros(3, "f4")}, path)
    for arguments in ([], ["--json"], ["--spec", f"rope{LATE}"]):
        shown("check", path, *arguments)


def test_words_of_a_model_that_is_opened(tmp_path):
    folder = tmp_path / IN_A_NAME
    shutil.copytree(ROOT / "tests/golden/opened/llama", folder)
    ids = tmp_path / f"{LATE}.txt"
    ids.write_text(" ".join(map(str, numpy.random.default_rng(5).integers(0, 20, 4000))))
    page = tmp_path / "page.html"
    arguments = ["inspect", folder, "--ids", ids, "--window", 16, "--windows", 2, "--longest", 64]
    shown(*arguments, "--out", page, codes=[0])
    shown(*arguments, "--json", codes=[0])
    assert raw(page.read_text()) == []
    shown("explain", folder / "model.safetensors")
    # A tensor that nobody knows, of a name as strange.
    whole = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:8 + size])
    first = next(name for name in header if name != "__metadata__")
    header[EVIL] = header.pop(first)
    changed = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(changed)) + changed + whole[8 + size:])
    shown(*arguments)
    shown("lint", folder)


def test_words_of_a_study(text, tmp_path):
    strange = tmp_path / f"{LATE.replace(chr(0x7f), '')}.txt"  # a text's name with U+007F is refused
    strange.write_bytes(text.read_bytes())
    out = tmp_path / f"out {IN_A_NAME}"
    plan = tmp_path / f"{LATE}.toml"
    words = json.dumps("a \u202egnol\u202c sentence \u009b31m")[1:-1]
    plan.write_text(f'[study]\narms = ["none", "sinusoidal"]\nbaseline = "sinusoidal"\n[[prediction]]\nsays = "{words}"\nfrom = "{words}"\n'
                    'measure = "loss"\narm = "none"\nminus = "sinusoidal"\nabove = 0.0\n')
    settings = [w for s in (*SMALL, "study.seeds=1", "tune.seeds=0", "study.budgets=1") for w in ("--set", s)]
    arguments = ["study", plan, "--text", strange, "--out", out, *settings]
    for more in (["--dry-run"], ["--dry-run", "--json"], [], ["--json"]):
        shown(*arguments, *more, codes=[0])
    for verb in ("status", "report"):
        shown("study", verb, out, codes=[0])
        shown("study", verb, out, "--json", codes=[0])
    for name in ("report.html", "results.json", "results.csv"):
        assert raw((out / name).read_text()) == [], name
    shown("study", "compare", out, out)
    shown("claims", "004-16", "--out", tmp_path / f"claims {LATE}", codes=[0])
    shown("claims", "004-16", "--text", strange, "--out", tmp_path / f"claims 2 {LATE}", "--json", codes=[0])


@pytest.mark.parametrize("command", [["explain"], ["lint"], ["check"], ["extend", "--to", "9"], ["inspect", "--ids", "x"], ["study"], ["show"],
                                     ["encodings"], ["claims"], ["help"], ["sample", "--arm"]])
def test_words_of_the_command_line(command, tmp_path):
    shown(*command, IN_A_NAME, cwd=tmp_path)
    shown(*command, f"--{LATE}", cwd=tmp_path)
    assert os.listdir(tmp_path) == []
