"""What is installed to build and to test: known versions and bytes of what pip brings, no more than is needed of what apt brings."""

import os
import re
import subprocess

import pytest

from conftest import ROOT

LOCKS = [ROOT / "python/requirements.txt", ROOT / "tests/python/requirements.txt", ROOT / "tests/wheel/alone.txt", ROOT / "tests/wheel/requirements.txt",
         ROOT / "docs/site/requirements.txt", ROOT / "packaging/requirements.txt"]
APT = """#!/bin/sh
echo "$0 $*" >> {log}
[ "$2" != "" ] || exit 9
case "$*" in *update*)
  if [ "$(grep -c update {log})" -le {refusals} ]; then echo "E: {why}" >&2; exit 100; fi
esac
"""


def names(lines):
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in lines if re.match(r"\w", line)}


def test_every_file_of_requirements_is_locked():
    sources = {p for pattern in ("*/requirements.in", "*/*/requirements.in", "*/*/alone.in") for p in ROOT.glob(pattern) if "build" not in p.parts}
    assert {p.with_suffix(".txt") for p in sources} == set(LOCKS)
    assert not [p for p in ROOT.glob("*/**/requirements*.txt") if p not in LOCKS and "build" not in p.relative_to(ROOT).parts]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_lock_names_versions_and_bytes(lock):
    rows = lock.read_text().replace("\\\n", " ").splitlines()[1:]
    for row in rows:
        assert re.fullmatch(r"[\w.-]+==[\w.]+( ; [^\\]+?)? ( *--hash=sha256:[0-9a-f]{64})+", row), row
    asked = names(lock.with_suffix(".in").read_text().splitlines())
    assert asked and asked <= names(rows)


def test_pip_is_told_to_look():
    """Each line that installs names a lock and asks for hashes, or takes a wheel that was built here from no index."""
    lines = [line for path in (ROOT / "Makefile", *(p for p in (ROOT / "scripts").iterdir() if p.is_file()))
             for line in path.read_text().splitlines() if "pip install" in line and not line.lstrip().startswith(("#", '"""'))]
    assert len(lines) >= 5
    for line in lines:
        locked = "--require-hashes" in line and "--only-binary :all:" in line and "-r " in line
        assert locked or "--no-index" in line or "needs uv" in line, line


def installed(tmp_path, *words, refusals=0, why="", left=None):
    """What install-deps asks apt-get for where nothing is there yet."""
    commands = {"apt-get": APT.format(log=tmp_path / "log", refusals=refusals, why=why), "dpkg-query": "#!/bin/sh\nexit 1\n", "id": "#!/bin/sh\necho 0\n",
                "sleep": "#!/bin/sh\n"}
    for name, content in commands.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    done = subprocess.run([ROOT / "scripts/install-deps", *words], env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True)
    asked = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
    return done, asked


def test_a_wheel_asks_for_nothing_that_it_does_not_need(tmp_path):
    done, asked = installed(tmp_path, "--wheel")
    assert done.returncode == 0, done.stderr
    assert not re.search("chromium|zsh|fish|valgrind|clang|bible|gtest|slurm|dnnl|curl|ccache", asked[-1]) and "python3-dev" in asked[-1] and "libhwy-dev" in asked[-1]
    makefile = (ROOT / "Makefile").read_text()
    for target in ("$(WHEEL_VENV)", "$(SITE_VENV)", "wheel"):
        recipe = re.search(rf"^{re.escape(target)}:.*\n((\t.*\n)+)", makefile, re.M)[1]
        assert re.findall(r"install-deps.*", recipe) == ["install-deps --wheel"], target


@pytest.mark.parametrize("words", [[], ["--core"], ["--test"], ["--cluster"], ["--torture"]])
def test_who_installs_waits_for_who_does(tmp_path, words):
    done, asked = installed(tmp_path, *words, refusals=3, why="Could not get lock /var/lib/apt/lists/lock. It is held by process 7")
    assert done.returncode == 0, done.stderr
    assert sum("update" in line for line in asked) == 4 and re.search(r"install .*-o DPkg::Lock::Timeout=\d{3}", asked[-1])


def test_what_apt_cannot_do_is_told_at_once(tmp_path):
    done, asked = installed(tmp_path, refusals=10**6, why="Could not resolve 'deb.debian.org'")
    assert done.returncode == 4 and "deb.debian.org" in done.stderr and len(asked) == 1
    done, _ = installed(tmp_path, "--tset")
    assert done.returncode == 2 and "--test" in done.stderr
