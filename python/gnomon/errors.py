"""The exception of gnomon."""

from __future__ import annotations

from collections.abc import Iterable


class Error(ValueError):
    """An impossible spec, array or file. The message names the place, what was found and what is allowed.

    fault: "usage", "input" (a file), "resource", "busy", "lost" or "bug". place, found, allowed: parts of the message, or empty.
    suggestions: likely intended values, the nearest first.
    """

    def __init__(self, message: str, fault: str = "usage", place: str = "", found: str = "", allowed: str = "",
                 suggestions: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.fault, self.place, self.found, self.allowed = fault, place, found, allowed
        self.suggestions = tuple(suggestions)

    @property
    def suggestion(self) -> str | None:
        """The nearest suggestion, or None."""
        return self.suggestions[0] if self.suggestions else None

    def __reduce__(self) -> tuple:
        return type(self), (*self.args, self.fault, self.place, self.found, self.allowed, self.suggestions)
