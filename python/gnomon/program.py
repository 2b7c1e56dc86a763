"""The command line program in this package."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

from .errors import Error

PATH = pathlib.Path(os.environ.get("GNOMON", pathlib.Path(__file__).parent / "bin" / "gnomon"))
FAULTS = {2: "usage", 3: "input", 4: "resource", 5: "busy", 70: "bug", 75: "lost"}


PATIENCE = 60  # seconds that a program has to end after an interruption: a training ends after the step that it is in


def run(*arguments: object, quiet: bool = False) -> str:
    """Runs the program and returns its output. Its progress goes to sys.stderr unless `quiet`, so that a notebook shows it. Raises Error
    with the program's message, and KeyboardInterrupt after an interruption (the same command then continues)."""
    said: list[str] = []
    with tempfile.TemporaryFile("w+") as printed:
        # A group of its own: of two interruptions, one from the terminal and one from here, the second would end it without saving.
        process = subprocess.Popen([PATH, *map(str, arguments)], stdout=printed, stderr=subprocess.PIPE, text=True, process_group=0)
        try:
            with _ends_with_us(process):
                _listen(process, said, quiet)
        except BaseException:
            _interrupt(process)
            raise
        printed.seek(0)
        answer = printed.read()
    code = process.returncode
    if code in (130, -2):
        raise KeyboardInterrupt
    if code not in (0, 1):
        told = [line for line in said if line.startswith("gnomon: ")] or said or [f"gnomon {arguments[0]} ended with {code}"]
        raise Error(told[-1].strip().removeprefix("gnomon: "), FAULTS.get(code, "bug"))
    return answer


def _listen(process: subprocess.Popen[str], said: list[str], quiet: bool) -> None:
    """Reads the program's messages until it ends, and keeps the last lines."""
    assert process.stderr
    for line in process.stderr:
        said[:] = [*said[-9:], line]
        if not quiet:
            sys.stderr.write(line)
    process.wait()


@contextlib.contextmanager
def _ends_with_us(process: subprocess.Popen[str]) -> Iterator[None]:
    """Passes SIGHUP and SIGTERM on to the program, which gets no signals from the terminal, before they end this process."""
    def tell(number: int, _: object) -> None:
        process.send_signal(number)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    here = threading.current_thread() is threading.main_thread()  # others cannot set what a signal does
    told = [n for n in (signal.SIGHUP, signal.SIGTERM) if here and signal.getsignal(n) is signal.SIG_DFL]
    for number in told:
        signal.signal(number, tell)
    try:
        yield
    finally:
        for number in told:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(process: subprocess.Popen[str]) -> None:
    """Passes an interruption on and waits for the program to end. A second interruption, or too long a wait, kills it."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=PATIENCE)  # reads on: a program whose words nobody reads would stand still
    except BaseException:
        process.kill()
        process.communicate()
        raise KeyboardInterrupt from None
