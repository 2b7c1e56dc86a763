"""What the package holds looks for libraries where it lies itself, and never in the current folder."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import gnomon as gn

PACKAGE = pathlib.Path(gn.__file__).parent
FOREIGN = '#include <unistd.h>\n__attribute__((constructor)) static void run(void) { (void)!write(1, "FOREIGN", 7); _exit(0); }\n'

pytestmark = pytest.mark.skipif(not shutil.which("readelf") or not shutil.which("cc"), reason="no readelf, or no compiler")


def linked():
    """The package's files and those that auditwheel has put beside it, with what readelf says of each."""
    files = [path for folder in (PACKAGE, PACKAGE.with_name("gnomon.libs")) for path in folder.rglob("*") if path.is_file()]
    return {path: subprocess.run(["readelf", "--dynamic", "--wide", path], capture_output=True, text=True, check=True).stdout
            for path in files if path.read_bytes()[:4] == b"\x7fELF"}


def test_every_runpath_begins_where_the_file_lies():
    found = linked()
    assert {path.name.split(".")[0] for path in found} >= {"_core", "libgnomon_core", "libgnomon_lab", "gnomon"}
    paths = {path: match[1].split(":") for path, said in found.items() if (match := re.search(r"\(R(?:UN)?PATH\).*\[(.*)\]", said))}
    assert len(paths) >= 4
    for path, parts in paths.items():
        assert all(part.startswith("$ORIGIN") for part in parts), (path, parts)


def test_a_library_of_the_current_folder_does_not_run(tmp_path):
    (tmp_path / "foreign.c").write_text(FOREIGN)
    for name in {name for said in linked().values() for name in re.findall(r"Shared library: \[(.*)\]", said)}:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / name, tmp_path / "foreign.c"], check=True)
    for command in ([sys.executable, "-m", "gnomon", "--version"], [sys.executable, "-c", "import gnomon; print(gnomon.make('rope', heads=2, head_dim=8))"],
                    [PACKAGE / "bin" / "gnomon", "--version"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and "FOREIGN" not in done.stdout, done
