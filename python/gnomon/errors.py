"""What every refusal of gnomon is."""


class Error(ValueError):
    """A spec, an array or a file that cannot be. The message names the place, what was found and what is allowed.

    fault: "usage", "input" (a file), "resource", "busy", "lost" or "bug". place, found, allowed: the parts of the message
    that are known apart, else empty. suggestions: what was probably meant, the nearest first.
    """

    def __init__(self, message, fault="usage", place="", found="", allowed="", suggestions=()):
        super().__init__(message)
        self.fault, self.place, self.found, self.allowed = fault, place, found, allowed
        self.suggestions = tuple(suggestions)

    @property
    def suggestion(self):
        """The nearest of the suggestions, or None."""
        return self.suggestions[0] if self.suggestions else None

    def __reduce__(self):
        return type(self), (*self.args, self.fault, self.place, self.found, self.allowed, self.suggestions)
