"""Every command that README.md, a page of docs or a --help shows is run, the slow ones made small. Those of a page run one after
the other in one folder, as a reader types them; an example of a --help runs in a folder of its own with what it speaks of."""

import json
import re
import shlex
import subprocess

import pytest

from conftest import GNOMON, ROOT, SMALL, gnomon, tiny_bert

FINDS_QUICKLY = "000-02"  # a claim that trains one model
RELEASE = "build/release/gnomon"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NO_GNOMON = ["make models", "make test", "make wheel", "make site"]  # what they make is tested elsewhere


# What of docs is not run here, and why.
NOT_RUN = {
    "sh bible/submit.sh": "sbatch of a cluster; tests/cluster does it",
    "srun ": "the same",
    "org/name": "a model of the Hub; test_hub.py and test_download.py have a server for one",
    "build/models/smollm2.gguf": "a model that `make models` fetches",
    "build/text/english.txt": "a text of packages that are downloaded; test_scaling.py trains several sizes",
    "build/text/digits.txt": "images of a package that is downloaded; test_images.py has some of its own",
    "lint models --fix --write": "it changes files of the reader; lint_fix_test.cpp does it",
}


def fenced(page):
    """Lines of the blocks that a shell reads, by the block's kind; continued ones joined, comments taken off."""
    for kind, content in re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        for line in content.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if line:
                yield kind, line


def lines_of(page):
    """What a reader of the page types, in order."""
    found = list(fenced(page))
    kinds = {"sh", "cpp", "c", "python", "json", "toml", "yaml", ""} | ({"js"} if page.name == "javascript.md" else set())  # tests/web runs them
    assert {kind for kind, _ in found} <= kinds, "a block of a kind that no test reads"
    lines = [line for kind, line in found if kind == "sh" or line.startswith(("gnomon ", "head "))]
    return [line for line in lines if not any(part in line for part in NOT_RUN)]


def subcommands(*command):
    """Those of the program, or of a command."""
    listed = gnomon("help", *command, check=0).stdout.split("Subcommands:\n")
    return re.findall(r"^  (\S+)", listed[1].split("Examples:")[0], re.M) if len(listed) > 1 else []


def all_commands(*command):
    """Of every one its words: ["study", "status"]."""
    below = [[*command, name] for name in subcommands(*command)]
    return below + [deeper for words in below for deeper in all_commands(*words)]


def in_help(command):
    footer = gnomon(*command, "--help", check=0).stdout.split("Examples:\n")[1]
    return [line.strip() for line in footer.splitlines() if line.startswith("  ")]


def run_by_make(line):
    """What the target of a line `make TARGET` would run of gnomon, or nothing for one that runs the tests themselves."""
    planned = subprocess.run(["make", "-n", *shlex.split(line)[1:]], cwd=ROOT, capture_output=True, text=True)
    assert planned.returncode == 0, planned.stderr
    return [step for step in planned.stdout.splitlines() if step.startswith(RELEASE)]


def steps_of(line):
    """The commands that a line of a page comes to."""
    if not line.startswith("make "):
        return [line]
    steps = run_by_make(line)
    assert steps or line in NO_GNOMON, f"{line}: runs no gnomon"
    return steps


def in_helps():
    found = []
    for command in all_commands():
        examples = in_help(command)
        assert examples and all(e.startswith("gnomon " + " ".join(command)) for e in examples), command
        found += examples
    return list(dict.fromkeys(found))


QUICK = ("check", "completion", "encodings", "explain", "extend", "help", "inspect", "lint", "manual", "show", "sample")
READS = ("status", "report", "archive", "compare", "work")  # verbs of study, on one that is there
LITTLE = "".join(f" --set '{setting}'" for setting in (*SMALL, "study.seeds=1"))


def made_small(line):
    """The same command, with little to train. Whatever is not known to be quick or made so here is an error."""
    program, subcommand, *rest = shlex.split(line)
    if program == "head" or subcommand in QUICK:
        return line
    if subcommand == "bench":
        return line.replace(" --quick", " decode.1k --quick")
    if subcommand == "study" and rest and rest[0] in READS:
        return line
    if subcommand == "study" and "--preset" in rest:  # whose arms need heads of 16 and some width
        return line + LITTLE + " --set model.width=64 --set model.heads=4 --set tune.seeds=0 --set study.budgets=1"
    if subcommand == "study":
        return line + LITTLE
    if subcommand == "claims" and ("--text" not in rest or "--model" in rest):
        return line
    if subcommand == "claims":
        known = {c["id"] for c in json.loads(gnomon("claims", "--json", check=0).stdout)}
        assert rest[0] in known | {name[:3] for name in known} | {"all"}, line
        return line.replace(f"claims {rest[0]} ", f"claims {FINDS_QUICKLY} ", 1) + (" --quick" if "--quick" not in rest else "")
    raise AssertionError(f"{line}: this test knows no way to run it")


def with_its_studies(line):
    """An example of a --help that reads a study, after those that it reads."""
    _, subcommand, *rest = shlex.split(line)
    reads = subcommand == "sample" or (rest and rest[0] in READS)
    named = [word for word in rest[1:3] if re.fullmatch("[a-z]+", word)] if subcommand == "study" else []
    first = [f"gnomon study --text book.txt --quiet --out {out}{LITTLE} --set 'study.arms=none, rope' --set study.baseline=none"
             for out in named or ["study"]]
    if "--from" in rest:
        first.append("gnomon study archive study > archive.json")
    return " && ".join([*(first if reads else []), made_small(line)])


def run(line, folder):
    done = subprocess.run(["bash", "-c", f"PATH={folder}/bin:$PATH; {line}"], cwd=folder, capture_output=True, text=True, timeout=300)
    found = " lint " in line and "broken" in line and "--fix" not in line  # lint ends with 1 where it has found an error,
    found |= bool(re.search(r" explain \S*llama-3.1.json \S*llama-2.json", line))  # explain where two files differ
    assert done.returncode == found, f"{line}\n{done.stdout}\n{done.stderr}"
    for option, name in re.findall(r"(--out|--write|>) (\S+)", line):
        assert (folder / name).exists() or "--dry-run" in line, name
    return done


@pytest.fixture
def clone(text, tmp_path):
    """What a reader of README has: the clone, built, with the text that `make study` fetches and the model of `make models`."""
    for name in (RELEASE, "bin/gnomon"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).symlink_to(GNOMON)
    for name in ("docs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build/text").mkdir()
    (tmp_path / "build/text/king-james.txt").write_bytes(text.read_bytes())
    tiny_bert(tmp_path / "build/models/minilm")
    return tmp_path


@pytest.fixture
def folder(clone, text):
    """And what the examples of a --help speak of."""
    (clone / "book.txt").write_bytes(text.read_bytes())
    (clone / "plan.toml").write_text('[study]\ntext = "book.txt"\n')
    (clone / "dump.safetensors").write_bytes((ROOT / "tests/golden/dumps/llama.safetensors").read_bytes())
    (clone / "ids.txt").write_text(" ".join(str(n * n % 19) for n in range(9000)))
    (clone / "model").mkdir()
    for name in ("config.json", "model/config.json", "target.json", "draft.json"):
        (clone / name).write_text('{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 512}')
    return clone


@pytest.mark.parametrize("page", [page for page in PAGES if lines_of(page)], ids=lambda page: page.name)
def test_a_page_runs_from_its_first_line_to_its_last(page, clone):
    for line in lines_of(page):
        for step in steps_of(line):
            assert page.name != "README.md" or step.startswith(RELEASE + " "), f"{line}: not the program that make builds"
            done = run(made_small(step), clone)
            assert "this command does not have" not in done.stderr, f"{line}: would not run without --dry-run"
    assert not (ROOT / "page.html").exists()


@pytest.mark.parametrize("line", in_helps())
def test_an_example_of_a_help_runs(line, folder):
    run(with_its_studies(line), folder)


def test_a_folder_that_is_taken_is_told_before_and_refused(clone):
    """The control of the test above: the same study line without a folder of its own."""
    begun = f"{RELEASE} study --text build/text/king-james.txt{LITTLE}"
    run(begun, clone)
    other = begun + " --set train.batch=3"
    assert "this command does not have" in run(other + " --dry-run", clone).stderr
    assert "this command does not have" not in run(begun + " --dry-run", clone).stderr
    with pytest.raises(AssertionError, match="this command does not have"):
        run(other, clone)


def test_readme_and_help_show_commands_of_every_kind():
    shown = [step for page in PAGES for line in lines_of(page) for step in steps_of(line)] + in_helps()
    assert len(shown) >= 20
    assert all(any(part in line for page in PAGES for _, line in fenced(page)) for part in NOT_RUN), "what is not run is not there"
    for subcommand in subcommands():
        assert sum(f"gnomon {subcommand}" in line for line in shown) >= 3, subcommand


@pytest.mark.parametrize("line", ["gnomon worker 1", "gnomon claims 009 --text book.txt", "python3 x.py"])
def test_what_is_not_known_is_an_error(line):
    with pytest.raises(AssertionError):
        made_small(line)


def test_standard_arms_that_a_block_cannot_take_are_left_out(text, tmp_path):
    done = gnomon("study", "--text", text, "--out", tmp_path / "out", "--dry-run", "--set", "model.block=bert")
    assert "study.arms: concat(sinusoidal) is left out: model.tied: the head has width 64" in done.stderr
    assert done.stderr.count("left out") == 1
    assert "at least 144 runs" in done.stdout
    asked = gnomon("study", "--text", text, "--out", tmp_path / "out", "--dry-run", "--set", "model.block=bert",
                   "--set", "study.arms=none, sinusoidal, concat(sinusoidal)", check=2)
    assert "arm 'concat(sinusoidal)'" in asked.stderr


@pytest.mark.parametrize("arms, baseline, code, told", [
    ("none, rope", None, 0, "study.baseline: sinusoidal is not an arm, so the first arm is the baseline: none"),
    ("none, sinusoidal", None, 0, ""),
    ("none, rope", "sinusoidal", 2, "study.baseline 'sinusoidal'"),
    ("none, rope", "rope", 0, ""),
    ("", None, 2, "study.arms: found 0"),
])
def test_a_baseline_that_nobody_set_is_an_arm(text, tmp_path, arms, baseline, code, told):
    chosen = ["--set", f"study.baseline={baseline}"] if baseline else []
    done = gnomon("study", "--text", text, "--out", tmp_path / "out", "--dry-run", "--set", f"study.arms={arms}", *chosen, check=code)
    assert told in done.stderr
    assert ("so the first arm" in done.stderr) == ("so the first arm" in told)
