"""The package's types: mypy finds nothing in a user's file, and finds what is wrong; every public name has types and words."""

import inspect
import pathlib
import subprocess
import sys

import pytest

import gnomon as gn

pytest.importorskip("mypy")
TYPED = pathlib.Path(__file__).with_name("typed.py")


def mypy(*arguments):
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "/dev/null", *map(str, arguments)], capture_output=True, text=True)


def test_a_users_file_is_typed(tmp_path):
    done = mypy(TYPED)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(TYPED.read_text() + "pe.rotate(q)\nbad: int = gn.make('rope', heads=2)\n")
    assert mypy(wrong).stdout.count("error:") == 2


@pytest.mark.parametrize("name", [n for n in gn.__all__ if callable(getattr(gn, n)) and n not in ("set_threads", "threads")])
def test_public_names_say_what_they_are(name):
    public = getattr(gn, name)
    assert public.__doc__ and len(public.__doc__) > 30
    if inspect.isfunction(public):
        signature = inspect.signature(public)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
