"""Arguments that are no arrays: whole numbers, numbers, truths, texts and paths, or an Error that names the argument."""

from __future__ import annotations

import numbers
import operator
import os

import numpy as np

from .errors import Error


def whole(name: str, n: object, least: int = -2**63, most: int = 2**63 - 1) -> int:
    """n as a Python int. Raises Error for anything else, and for numbers outside the range of the core."""
    try:
        found = None if isinstance(n, (bool, np.bool_)) else operator.index(n)  # type: ignore[arg-type]
    except TypeError:
        found = None
    if found is None or not least <= found <= most:
        beyond = "" if found is None else f" from {least} to {most}"
        raise Error(f"{name}: found {n!r}; allowed is a whole number{beyond}", place=name, found=repr(n), allowed=f"a whole number{beyond}")
    return found


def number(name: str, x: object) -> float:
    """x as a Python float. Raises Error for anything else than a real number."""
    try:
        found = float(x) if isinstance(x, numbers.Real) and not isinstance(x, bool) else None
    except OverflowError:
        found = None
    if found is None:
        raise Error(f"{name}: found {x!r}; allowed is a number", place=name, found=repr(x), allowed="a number")
    return found


def truth(name: str, x: object) -> bool:
    """x as True or False. Raises Error for anything else, such as 1."""
    if not isinstance(x, (bool, np.bool_)):
        raise Error(f"{name}: found {x!r}; allowed are True and False", place=name, found=repr(x), allowed="True, False")
    return bool(x)


def text(name: str, x: object) -> str:
    """x itself, a text. Raises Error for anything else."""
    if not isinstance(x, str):
        raise Error(f"{name}: found {x!r}; allowed is text", place=name, found=repr(x), allowed="text")
    return x


def path(name: str, x: object) -> str:
    """A path as text. Raises Error for what is none, such as the number of an open file."""
    found = os.fspath(x) if isinstance(x, (str, os.PathLike)) else None
    if not isinstance(found, str):
        raise Error(f"{name}: found {x!r}; allowed is a path", place=name, found=repr(x), allowed="a path")
    return found
