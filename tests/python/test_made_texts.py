"""scripts/texts: the texts that results are told of. Here the one that needs no download is made."""

import hashlib
import os
import subprocess

from conftest import ROOT


def texts(*arguments, **options):
    return subprocess.run([ROOT / "scripts" / "texts", *arguments], capture_output=True, text=True, **options)


def test_it_says_what_they_are_and_under_which_licence():
    said = texts().stdout.splitlines()
    assert [line.split()[0] for line in said] == ["king-james", "eigen", "english", "code", "digits", "russian"]
    assert all(any(word in line for word in ("public domain", "MPL", "GPL", "BSD", "CC-BY")) for line in said)


def test_a_text_is_the_one_that_is_told_of(tmp_path):
    assert texts("king-james", tmp_path / "a" / "text").returncode == 0
    found = hashlib.sha256((tmp_path / "a" / "text").read_bytes()).hexdigest()
    assert found in (ROOT / "scripts" / "texts").read_text()
    assert texts("latin", tmp_path / "b").returncode == 1 and not (tmp_path / "b").exists()


def test_another_text_is_not_written(tmp_path):
    """As from a package that has moved on."""
    bible = tmp_path / "bible"
    bible.write_text("#!/bin/sh\necho 'Gen1:1 At first'\n")
    bible.chmod(0o755)
    done = texts("king-james", tmp_path / "text", env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1 and "found 9 bytes" in done.stderr and not (tmp_path / "text").exists()
