"""Completion in the shells themselves, and the manual pages through groff."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time

import pytest

from conftest import gnomon


@pytest.fixture(scope="session")
def share(tmp_path_factory):
    folder = tmp_path_factory.mktemp("share")
    gnomon("completion", "--out", folder, check=0)
    gnomon("manual", "--out", folder / "man1", check=0)
    return folder


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"there is no {program}; scripts/install-deps --test installs it")


@pytest.fixture
def folder(tmp_path):
    for name in ("book.txt", "my plan.toml"):
        (tmp_path / name).touch()
    (tmp_path / "results").mkdir()
    return tmp_path


def by_bash(share, folder, words):
    """What is offered for the last of the words."""
    script = (f"source {shlex.quote(str(share / 'bash-completion/completions/gnomon'))}; "
              f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _gnomon; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "--norc", "-uc", script], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return set(done.stdout.split("\n")) - {""}


def by_fish(share, folder, words):
    line = " ".join(words)
    script = f"source {share / 'fish/vendor_completions.d/gnomon.fish'}; complete -C {shlex.quote(line)}"
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


# The words typed so far, what has to be offered, and what may not be.
OFFERED = [
    ("gnomon", "stu", {"study"}, {"show", "worker"}),
    ("gnomon", "", {"encodings", "study", "completion", "manual", "help"}, {"rank", "worker"}),
    ("gnomon study", "", {"status", "report", "export"}, {"encodings"}),
    ("gnomon study", "--", {"--text", "--preset", "--seeds", "--dry-run"}, {"--slurm"}),
    ("gnomon study export", "--sl", {"--slurm"}, set()),
    ("gnomon study --preset", "add", {"add-vs-concat"}, {"smoke"}),
    ("gnomon study --text", "b", {"book.txt"}, {"results"}),
    ("gnomon study --set", "study.see", {"study.seeds="}, {"study.arms="}),
    ("gnomon show", "ali", {"alibi", "alibi_learned"}, {"rope"}),
    ("gnomon show", "rope+ali", {"rope+alibi"}, {"alibi"}),
    ("gnomon show", "conc", {"concat("}, {"cosine"}),
    ("gnomon encodings", "dyn", {"dynamic_ntk", "dynamic_yarn"}, {"yarn"}),
    ("gnomon encodings --acts", "", {"logits", "qk", "input"}, {"rope"}),
    ("gnomon claims", "004-1", {"004-16"}, {"000"}),
    ("gnomon lint --rule", "theta-tw", {"theta-twice"}, set()),
    ("gnomon explain x --reader", "v", {"v4", "v5", "vllm"}, {"naive"}),
    ("gnomon extend x --way", "ya", {"yarn"}, {"ntk"}),
    ("gnomon completion", "", {"bash", "zsh", "fish"}, set()),
    ("gnomon help", "sam", {"sample"}, {"show"}),
]


@pytest.mark.parametrize("before, typed, offered, not_offered", OFFERED)
@pytest.mark.parametrize("ask", [by_bash, pytest.param(by_fish, marks=needs("fish"))])
def test_what_may_stand_there_is_offered(ask, share, folder, before, typed, offered, not_offered):
    found = ask(share, folder, [*before.split(), typed])
    assert offered <= found and not not_offered & found


@pytest.mark.parametrize("ask", [by_bash, pytest.param(by_fish, marks=needs("fish"))])
def test_folders_are_offered_alone_where_a_folder_stands(ask, share, folder):
    found = {name.rstrip("/") for name in ask(share, folder, ["gnomon", "study", "--out", ""])}
    assert "results" in found and "book.txt" not in found


def test_bash_knows_words_that_it_takes_apart(share, folder):
    """An = ends a word of bash's, and a quotation mark begins one."""
    assert by_bash(share, folder, ["gnomon", "study", "--preset", "=", "smo"]) == {"smoke"}
    assert "smoke" in by_bash(share, folder, ["gnomon", "study", "--preset", "="])
    assert by_bash(share, folder, ["gnomon", "show", "'rope+alib"]) == {"rope+alibi", "rope+alibi_learned"}
    assert by_bash(share, folder, ["gnomon", "study", "my"]) == {"my plan.toml"}


@needs("zsh")
@pytest.mark.parametrize("typed, becomes", [
    ("gnomon stud\t --pres\t smo\t", "study --preset smoke"),
    ("gnomon study exp\t --slu\t", "study export --slurm"),
    ("gnomon show rope+fir\t", "show rope+fire"),
    ("gnomon study --set study.see\t5", "study --set study.seeds=5"),
    ("gnomon study --text boo\t", "study --text book.txt"),
    ("gnomon extend x --way ya\t", "extend x --way yarn"),
])
def test_zsh_completes(share, folder, typed, becomes):
    """In a terminal, as somebody types it; a function in the program's place tells what it was given."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | {"TERM": "dumb", "PS1": "> "})
    try:
        os.write(terminal, f"fpath=({share}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D; "
                           "gnomon() { print -r -- \"TO\"\"LD:$*:\" }; print RE''ADY\n".encode())
        read_until(terminal, "READY")
        for part in re.findall(r"[^\t]+\t?|\t", typed):  # a tab at a time, as hands do
            os.write(terminal, part.encode())
            time.sleep(0.3)
        os.write(terminal, b"\n")
        told = read_until(terminal, "TOLD:.*:")
        assert " ".join(re.search("TOLD:(.*):", told).group(1).split()) == becomes, told
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def read_until(terminal, pattern, seconds=20):
    seen, end = "", time.time() + seconds
    while not re.search(pattern, seen) and time.time() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536).decode(errors="replace")
    assert re.search(pattern, seen), seen
    return seen


@pytest.mark.parametrize("shell, checks", [("bash", ["bash", "-n"]),
                                           pytest.param("zsh", ["zsh", "-n"], marks=needs("zsh")),
                                           pytest.param("fish", ["fish", "-n"], marks=needs("fish"))])
def test_a_script_is_well_formed(shell, checks, tmp_path):
    path = tmp_path / "script"
    path.write_text(gnomon("completion", shell, check=0).stdout)
    done = subprocess.run([*checks, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "%%" not in re.sub(r"\$\{\w+%%", "", path.read_text()), "a part of the frame was not filled"


def test_scripts_are_asked_for_by_name():
    assert "did you mean 'bash' or 'zsh'?" in gnomon("completion", "bsh", check=2).stderr
    assert re.search("bash, zsh(,| and) fish", gnomon("completion", check=2).stderr)  # as $SHELL is none of them, or not set


def flags_in(page):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page))


@needs("groff")
def test_every_manual_page_is_well_formed_and_has_every_flag(share):
    pages = sorted((share / "man1").iterdir())
    commands = {page.stem.removeprefix("gnomon").removeprefix("-") for page in pages}
    listed = re.findall(r"^  (\w+)", gnomon("help", check=0).stdout.split("Subcommands:\n")[1], re.M)
    assert commands == {"", *listed}
    for page in pages:
        done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-c", page], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), page
        # Bold is a letter upon itself, and in print a hyphen is a sign of its own.
        shown = re.sub(".\x08", "", done.stdout).replace("\u2010", "-").replace("\u2212", "-")
        command = page.stem.split("-")[1:]
        help_page = gnomon("help", *command, check=0).stdout
        assert flags_in(help_page) <= flags_in(shown), page
        for name in ("NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS"):
            assert f"\n{name}" in shown, page


def test_a_manual_page_has_the_commands_of_its_command():
    page = gnomon("manual", "study", check=0).stdout
    assert ".SS gnomon study status" in page and "\\-\\-slurm" in page
    assert "unknown command 'stduy'" in gnomon("manual", "stduy", check=2).stderr
