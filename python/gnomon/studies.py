"""Studies: position encodings trained and compared on your text."""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Iterable
from typing import Any

from . import program
from .arguments import path as path_of
from .arguments import text as text_of
from .errors import Error
from .models import _frame


class Results:
    """The results of a study. .data is its results.json; a notebook shows its report."""

    def __init__(self, folder: Any) -> None:
        self.folder = pathlib.Path(folder)
        self.data = json.loads((self.folder / "results.json").read_text())

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each arm, with all its values that are a number, a text, True, False or None."""
        return [{name: value for name, value in arm.items() if isinstance(value, (str, int, float, bool)) or value is None}
                for arm in self.data["arms"]]

    def to_pandas(self) -> Any:
        """rows() as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """rows() as a polars.DataFrame."""
        import polars
        return polars.DataFrame(self.rows())

    def page(self) -> str:
        """The report as HTML."""
        return (self.folder / "report.html").read_text()

    def _repr_html_(self) -> str:
        return _frame(self.page())

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r})"


class Study:
    """A prepared study, as study() returns it."""

    def __init__(self, arguments: list[str], out: Any) -> None:
        self._arguments, self.out = arguments, pathlib.Path(path_of("out", out))

    def plan(self) -> str:
        """The planned trainings and their cost on this machine, as text. Runs nothing."""
        return program.run("study", *self._arguments, "--out", self.out, "--dry-run", quiet=True)

    def run(self) -> Results:
        """Trains and compares; returns Results. After an interruption, call it again: the study continues, with the same results to the
        last bit. Progress goes to standard error."""
        program.run("study", *self._arguments, "--out", self.out, "--json")
        return Results(self.out)


def study(text: Any = None, *, arms: str | Iterable[str] | None = None, seeds: int | None = None, preset: str | None = None,
          minutes: float | None = None, out: Any = "study", settings: dict[str, Any] | None = None) -> Study:
    """Prepares a study of position encodings on a text (a UTF-8 file) or on a task (settings={"study.data": "copy"}).

    arms: one spec or several. seeds: how many. preset: a prepared study. minutes: its size, in minutes of two cores. out: its folder.
    settings: keys as in study.toml, such as {"model.layers": 2}. Nothing runs before .run(). Raises Error for impossible settings.
    """
    arguments = []
    for flag, value in (("--text", text), ("--preset", preset), ("--minutes", minutes)):
        if value is not None:
            arguments += [flag, str(value)]
    if not isinstance(settings, (dict, type(None))):
        found = type(settings).__name__
        raise Error(f"settings: found {found}; allowed is a dictionary", place="settings", found=found, allowed="a dictionary")
    given = dict(settings or {})
    if arms is not None:
        several = arms if isinstance(arms, Iterable) and not isinstance(arms, str) else [arms]
        given["study.arms"] = ", ".join(text_of("arms", arm) for arm in several)
        if not given["study.arms"]:
            raise Error("arms: found none; allowed is at least one spec", place="arms")
    if seeds is not None:
        given["study.seeds"] = seeds
    for name, value in given.items():
        arguments += ["--set", f"{name}={value}"]
    prepared = Study(arguments, out)
    with tempfile.TemporaryDirectory() as nothing:  # what cannot be is said here
        program.run("study", *arguments, "--out", nothing, "--dry-run", quiet=True)
    return prepared
