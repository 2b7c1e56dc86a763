"""What faults and signals share: the program and the small text of the other tests, a folder in memory, the shim."""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
from conftest import own_folder, text  # noqa: E402, F401  fixtures

FULL = os.environ.get("GNOMON_TORTURE") == "full"


@pytest.fixture
def in_memory():
    """A folder that costs no disk: an fsync to a busy disk takes longer than the whole small study."""
    where = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="gnomon-torture-", dir=where) as folder:
        yield pathlib.Path(folder)


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "faults.so"
    source = pathlib.Path(__file__).parent / "faults.c"
    subprocess.run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-shared", "-fPIC",
                    str(source), "-o", str(library)], check=True)
    return library
