"""The command line program, which the package carries."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

from .errors import Error

PATH = pathlib.Path(os.environ.get("GNOMON", pathlib.Path(__file__).parent / "bin" / "gnomon"))
FAULTS = {2: "usage", 3: "input", 4: "resource", 5: "busy", 70: "bug", 75: "lost"}


def run(*arguments: object, quiet: bool = False) -> str:
    """Runs the program and returns what it prints. What it says of its progress is said on sys.stderr unless `quiet`, so that a
    notebook shows it. Raises Error with its message; KeyboardInterrupt where it was interrupted (the same command goes on)."""
    said = []
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen([PATH, *map(str, arguments)], stdout=printed, stderr=subprocess.PIPE, text=True)
        assert process.stderr
        try:
            for line in process.stderr:
                said = [*said[-9:], line]
                if not quiet:
                    sys.stderr.write(line)
        finally:  # Ctrl-C reaches the program as well, which ends by itself
            code = process.wait()
        printed.seek(0)
        answer = printed.read()
    if code in (130, -2):
        raise KeyboardInterrupt
    if code not in (0, 1):
        told = [line for line in said if line.startswith("gnomon: ")] or said or [f"gnomon {arguments[0]} ended with {code}"]
        raise Error(told[-1].strip().removeprefix("gnomon: "), FAULTS.get(code, "bug"))
    return answer
