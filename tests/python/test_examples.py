"""Every command that README.md, a page of docs or a --help shows is run, in an empty folder with a text book.txt, the slow ones made
small."""

import json
import re
import shlex
import subprocess

import pytest

from conftest import GNOMON, ROOT, SMALL, gnomon, tiny_bert

FINDS_QUICKLY = "000-02"  # a claim that trains one model
RELEASE = "build/release/gnomon"


# What of docs is not run here, and why.
NOT_RUN = {
    "sh study/submit.sh": "sbatch of a cluster; tests/cluster does it",
    "srun ": "the same",
    "build/models/smollm2.gguf": "a model that `make models` fetches",
    "head ": "makes the text that such a line reads",
}


def fenced(page):
    """Lines of the blocks that a shell reads, by the block's kind; continued ones joined, comments taken off."""
    for kind, content in re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        for line in content.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if line:
                yield kind, line


def in_readme():
    found = list(fenced(ROOT / "README.md"))
    assert {kind for kind, _ in found} <= {"sh", "cpp", "c", "python", ""}, "a block of a kind that no test reads"
    return [line for kind, line in found if kind == "sh"]


def in_docs():
    lines = [(kind, line) for page in sorted((ROOT / "docs").glob("*.md")) for kind, line in fenced(page)]
    lines = [line for kind, line in lines if kind == "sh" or line.startswith("gnomon ")]
    assert all(any(part in line for line in lines) for part in NOT_RUN), "what is not run is not there"
    lines = [line for line in lines if not any(part in line for part in NOT_RUN)]
    assert len(lines) >= 8 and all(line.startswith("gnomon ") for line in lines)
    return lines


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


def commands():
    found = []
    for line in in_readme():
        if line.startswith("make "):
            steps = run_by_make(line)
            assert steps or line in ("make models", "make test", "make wheel", "make site"), f"{line}: runs no gnomon"
            found += steps
        else:
            assert line.startswith(RELEASE + " "), f"{line}: not the program that make builds"
            found.append(line)
    for command in all_commands():
        examples = in_help(command)
        assert examples and all(e.startswith("gnomon " + " ".join(command)) for e in examples), command
        found += examples
    found += in_docs()
    return list(dict.fromkeys(found))


def made_small(line):
    """The same command, with little to train. Whatever is not known to be quick or made so here is an error."""
    program, subcommand, *rest = shlex.split(line)
    if subcommand in ("check", "completion", "encodings", "explain", "extend", "help", "inspect", "lint", "manual", "show"):
        return line
    small = "".join(f" --set '{setting}'" for setting in (*SMALL, "study.seeds=1"))
    if subcommand == "study" and rest and rest[0] in ("status", "report", "compare", "work"):  # of studies that there are
        folders = {"study", "other", *re.findall(r"--out (\S+)", line)}
        return "".join(f"{program} study --text book.txt --quiet --set study.arms=none --out {out} {small} && "
                       for out in sorted(folders)) + line
    if subcommand == "study" and "--preset" in rest:  # whose arms need heads of 16 and some width
        return line + small + " --set model.width=64 --set model.heads=4"
    if subcommand == "study":
        return line + small
    if subcommand == "sample":  # of a study that there is
        first = f"{program} study --text book.txt --quiet" + "".join(f" --set '{setting}'" for setting in (*SMALL, "study.seeds=1"))
        return f"{first} --set 'study.arms=none, rope' --set study.baseline=none && {line}"
    if subcommand == "claims" and ("--text" not in rest or "--model" in rest):
        return line
    if subcommand == "claims":
        known = {c["id"] for c in json.loads(gnomon("claims", "--json", check=0).stdout)}
        assert rest[0] in known | {name[:3] for name in known} | {"all"}, line
        return line.replace(f"claims {rest[0]} ", f"claims {FINDS_QUICKLY} ", 1) + (" --quick" if "--quick" not in rest else "")
    raise AssertionError(f"{line}: this test knows no way to run it")


@pytest.fixture
def folder(text, tmp_path):
    for name in (RELEASE, "bin/gnomon"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).symlink_to(GNOMON)
    for name in ("book.txt", "kj.txt", "build/text/king-james.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.read_bytes())
    (tmp_path / "plan.toml").write_text('[study]\ntext = "book.txt"\n')
    (tmp_path / "dump.safetensors").write_bytes((ROOT / "tests/golden/dumps/llama.safetensors").read_bytes())
    (tmp_path / "ids.txt").write_text(" ".join(str(n * n % 19) for n in range(9000)))
    tiny_bert(tmp_path / "build/models/minilm")
    (tmp_path / "docs").mkdir()
    (tmp_path / "model").mkdir()
    for name in ("config.json", "model/config.json"):
        (tmp_path / name).write_text('{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 512}')
    (tmp_path / "docs/examples").symlink_to(ROOT / "docs/examples")
    return tmp_path


@pytest.mark.parametrize("line", commands())
def test_an_example_runs(line, folder):
    done = subprocess.run(["bash", "-c", f"PATH={folder}/bin:$PATH; {made_small(line)}"], cwd=folder, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, f"{made_small(line)}\n{done.stdout}\n{done.stderr}"
    for option, name in re.findall(r"(--out|>) (\S+)", line):
        assert (folder / name).exists() != ("--dry-run" in line), name


def test_readme_and_help_show_commands_of_every_kind():
    shown = commands()
    assert len(shown) >= 20
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
    assert "144 runs or more" in done.stdout
    asked = gnomon("study", "--text", text, "--out", tmp_path / "out", "--dry-run", "--set", "model.block=bert",
                   "--set", "study.arms=none, sinusoidal, concat(sinusoidal)", check=2)
    assert "arm 'concat(sinusoidal)'" in asked.stderr


@pytest.mark.parametrize("arms, baseline, code, told", [
    ("none, rope", None, 0, "study.baseline: sinusoidal is no arm, so the first is the baseline: none"),
    ("none, sinusoidal", None, 0, ""),
    ("none, rope", "sinusoidal", 2, "study.baseline 'sinusoidal'"),
    ("none, rope", "rope", 0, ""),
    ("", None, 2, "study.arms: found 0"),
])
def test_a_baseline_that_nobody_set_is_an_arm(text, tmp_path, arms, baseline, code, told):
    chosen = ["--set", f"study.baseline={baseline}"] if baseline else []
    done = gnomon("study", "--text", text, "--out", tmp_path / "out", "--dry-run", "--set", f"study.arms={arms}", *chosen, check=code)
    assert told in done.stderr
    assert ("so the first" in done.stderr) == ("so the first" in told)
