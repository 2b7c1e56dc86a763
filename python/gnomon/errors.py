"""What every refusal of gnomon is."""

from __future__ import annotations

from collections.abc import Iterable


class Error(ValueError):
    """A spec, an array or a file that cannot be. The message names the place, what was found and what is allowed.

    fault: "usage", "input" (a file), "resource", "busy", "lost" or "bug". place, found, allowed: the parts of the message
    that are known apart, else empty. suggestions: what was probably meant, the nearest first.
    """

    def __init__(self, message: str, fault: str = "usage", place: str = "", found: str = "", allowed: str = "",
                 suggestions: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.fault, self.place, self.found, self.allowed = fault, place, found, allowed
        self.suggestions = tuple(suggestions)

    @property
    def suggestion(self) -> str | None:
        """The nearest of the suggestions, or None."""
        return self.suggestions[0] if self.suggestions else None

    def __reduce__(self) -> tuple:
        return type(self), (*self.args, self.fault, self.place, self.found, self.allowed, self.suggestions)
