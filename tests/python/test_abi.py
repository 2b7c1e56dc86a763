"""The C interface as a linker sees it: names with a version, and no change that a program compiled earlier would notice."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
loader = importlib.machinery.SourceFileLoader("abi", str(ROOT / "scripts" / "abi"))
abi = importlib.util.module_from_spec(importlib.util.spec_from_loader("abi", loader))
loader.exec_module(abi)


def exported(library):
    told = subprocess.run(["nm", "--dynamic", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in told.splitlines()]


def test_each_function_of_the_header_is_exported_with_the_version_of_its_interface():
    libraries = [ROOT / "build" / "dev" / f"libgnomon_{part}.so" for part in ("core", "lab")]
    found = [name for library in libraries for name in exported(library) if name.startswith("gnomon_")]
    number = re.search(r"#define GNOMON_ABI_VERSION (\d+)", abi.HEADER.read_text())[1]
    assert sorted(found) == sorted(f"{name}@@GNOMON_{number}" for name in abi.declared(abi.HEADER))
    assert len(found) > 30


def check(header):
    return subprocess.run([ROOT / "scripts" / "abi", "check", "--header", header], capture_output=True, text=True, check=False)


def test_the_interface_is_that_of_the_last_release():
    same = check(abi.HEADER)
    assert same.returncode == 0, same.stdout + same.stderr


@pytest.mark.parametrize(("was", "becomes", "told"), [
    ("  float soft_cap;", "  int64_t more;\n  float soft_cap;", "data member insertion"),
    ("  double scale;", "  int64_t scale;", "type of 'double scale' changed"),
    ("GNOMON_LOST = 75", "GNOMON_LOST = 76", "from value '75' to '76'"),
    ("gnomon_set_threads(int threads)", "gnomon_set_threads(int64_t threads)", "parameter 1 of type 'int' changed"),
    ("GNOMON_API void gnomon_text_free(char* text);", "", "Removed function")])
def test_a_change_that_compiled_programs_would_notice_is_told(tmp_path, was, becomes, told):
    header = tmp_path / "gnomon.h"
    assert abi.HEADER.read_text().count(was) >= 1
    header.write_text(abi.HEADER.read_text().replace(was, becomes, 1))
    changed = check(header)
    assert changed.returncode != 0 and told in changed.stdout


def test_a_new_function_is_none(tmp_path):
    header = tmp_path / "gnomon.h"
    header.write_text(abi.HEADER.read_text().replace("GNOMON_API void gnomon_text_free", "GNOMON_API void gnomon_new(char* text);\nGNOMON_API void gnomon_text_free", 1))
    assert check(header).returncode == 0
