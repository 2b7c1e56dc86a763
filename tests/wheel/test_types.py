"""The package's types: mypy finds nothing in a user's file, and finds what is wrong; every public name has types and words."""

import inspect
import pathlib
import subprocess
import sys

import pytest

import gnomon as gn

pytest.importorskip("mypy")
TYPED = pathlib.Path(__file__).with_name("typed.py")


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """A call of mypy. PyTorch and transformers are read once for all tests."""
    read = tmp_path_factory.mktemp("mypy")
    return lambda *files: subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", read, *files], capture_output=True, text=True)


def test_a_users_file_is_typed(tmp_path, mypy):
    done = mypy(TYPED)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(TYPED.read_text() + "pe.rotate(q)\nbad: int = gn.make('rope', heads=2)\n")
    assert mypy(wrong).stdout.count("error:") == 2


WRONG = """
gnt.make("rope", headz=8)
gnt.make("rope")
gnt.make("rope", heads="8")
number: int = module.flat()
module.rotate(q)
gnh.patch(swap, "rope")
gnt.attend(q, k, k, pe=module, sink=q)
gn.torch.make("rope")
gn.onnx.save(gn.make("rope", heads=2), 3)
gn.onnx.model(gn.make("rope", heads=2), length="8")
gn.nothing
"""


def test_a_users_file_of_pytorch_is_typed(tmp_path, mypy):
    pytest.importorskip("onnx")
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(TYPED.with_name("typed_torch.py").read_text() + WRONG)
    first = len(TYPED.with_name("typed_torch.py").read_text().splitlines()) + 2
    found = [int(line.split(":")[1]) for line in mypy(wrong).stdout.splitlines() if "error:" in line]
    assert sorted(set(found)) == list(range(first, first + WRONG.strip().count("\n") + 1)), mypy(wrong).stdout


def test_what_pytorch_users_call_says_what_it_takes():
    pytest.importorskip("transformers")
    import gnomon.torch as gnt
    import gnomon.transformers as gnh
    for call, option in ((gnt.make, "kv_heads"), (gnh.patch, "length")):
        signature = inspect.signature(call)
        assert option in signature.parameters and call.__doc__
        assert not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())
        assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())


@pytest.mark.parametrize("name", [n for n in gn.__all__ if callable(getattr(gn, n)) and n not in ("set_threads", "threads")])
def test_public_names_say_what_they_are(name):
    public = getattr(gn, name)
    assert public.__doc__ and len(public.__doc__) > 30
    if inspect.isfunction(public):
        signature = inspect.signature(public)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
