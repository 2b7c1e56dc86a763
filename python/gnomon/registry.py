"""The list of encodings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from . import _core
from .arguments import text, truth
from .errors import Error


@dataclass(frozen=True)
class Option:
    """An option of an encoding: a number from least to most, or one of words. standard: its value if a spec does not give it."""

    name: str
    help: str
    standard: str
    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    whole: bool = False


@dataclass(frozen=True)
class Entry:
    """An encoding in the registry. acts: where it acts ("input", "qk", "logits, value", ...). relative: a common shift of all
    positions changes nothing. extrapolates: its authors show it working beyond the trained length."""

    name: str
    title: str
    formula: str
    latex: str
    paper: str
    year: int
    acts: str
    relative: bool
    causal_only: bool
    extrapolates: bool
    pitfall: str
    options: tuple[Option, ...]
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title}", f"  {self.formula}", f"  acts on {self.acts}; {self.paper} ({self.year})",
                 f"  note: {self.pitfall}"]
        for o in self.options:
            takes = " | ".join(o.words) if o.words else f"{o.least:g} to {o.most:g}"
            lines.append(f"  {o.name} = {o.standard}  ({takes}): {o.help}")
        return "\n".join(lines)


def _entry(row: dict) -> Entry:
    known = Option.__dataclass_fields__
    options = tuple(Option(**{**{k: v for k, v in o.items() if k in known}, "words": tuple(o.get("words", ()))}) for o in row["options"])
    known = {name: row[name] for name in Entry.__dataclass_fields__ if name in row}
    return Entry(**{**known, "options": options, "aliases": tuple(row.get("aliases", ()))})


@cache
def encodings() -> tuple[Entry, ...]:
    """All encodings as a tuple of Entry, in the order of the documentation."""
    return tuple(_entry(row) for row in json.loads(_core.encodings_json()))


def search(words: str = "", *, acts: str | None = None, relative: bool | None = None, extrapolates: bool | None = None,
           causal_only: bool | None = None, learned: bool | None = None) -> list[Entry]:
    """The encodings that contain every word in their name, aliases, title, paper, formula, pitfall or options, and pass the filters.

    acts: sites, such as "qk" or "logits, value". learned: whether it has parameters. search("rotary", extrapolates=True) -> a list of
    Entry. Raises Error for an unknown site.
    """
    sites = [site.strip() for site in text("acts", acts).split(",")] if acts else []
    asked = dict(relative=relative, causal_only=causal_only, extrapolates=extrapolates, learned=learned)
    found = set(_core.search(text("words", words), sites, *(None if x is None else truth(name, x) for name, x in asked.items())))
    return [e for e in encodings() if e.name in found]


def help(name: str) -> Entry:  # noqa: A001: the name that one looks for
    """The entry of one encoding: print it to read its formula, options, standard values and pitfall. Raises Error with the nearest
    names for an unknown name."""
    text("name", name)
    for e in encodings():
        if e.name == name:
            return e
    _core.encoding_json(name)  # says what is nearest
    raise Error(f"'{name}' joins words and position, it is not an encoding; gnomon.encodings() lists the encodings", place="name", found=name)
