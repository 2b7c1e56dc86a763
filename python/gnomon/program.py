"""The command line program, which the package carries."""

from __future__ import annotations

import os
import pathlib
import subprocess

from .errors import Error

PATH = pathlib.Path(os.environ.get("GNOMON", pathlib.Path(__file__).parent / "bin" / "gnomon"))
FAULTS = {2: "usage", 3: "input", 4: "resource", 5: "busy", 70: "bug", 75: "lost"}


def run(*arguments: object, quiet: bool = False) -> str:
    """Runs the program and returns what it prints. Its progress goes to standard error unless `quiet`. Raises Error with its
    message; KeyboardInterrupt where it was interrupted (the same command goes on)."""
    done = subprocess.run([PATH, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE if quiet else None, text=True)
    if done.returncode in (130, -2):
        raise KeyboardInterrupt
    if done.returncode not in (0, 1):
        said = (done.stderr or f"gnomon {arguments[0]} ended with {done.returncode}").strip().removeprefix("gnomon: ")
        raise Error(said, FAULTS.get(done.returncode, "bug"))
    return done.stdout
