"""A planted mistake: a protection that is taken out of one file, and the tests that must then fail."""

from typing import NamedTuple

__all__ = ["INTEGRATIONS", "LITELLM", "NOTICED", "Mistake"]

INTEGRATIONS, LITELLM = ".venv-integrations", ".venv-litellm"

NOTICED = r"AssertionError|assert |Failed: DID NOT (RAISE|WARN)"
"""How the reason begins for which a test should fail: it has looked, and seen something wrong."""


class Mistake(NamedTuple):
    """A protection, and how to take it out."""

    trap: str
    """What goes wrong without it."""
    file: str
    changes: dict[str, str]
    """New text for old text. Every old text must occur exactly once in the file."""
    tests: tuple[str, ...]
    """Names of tests as pytest writes them. Each of them must fail, with at least one of its parameters."""
    environment: str = INTEGRATIONS
    is_alone: bool = False
    """Whether its tests need the machine for themselves."""
    reason: str = NOTICED
    """A regular expression for how the reason of each failure begins. Anything else is an error in the mistake itself."""

    def applied(self, source: str) -> str:
        """Return the file with the protection taken out."""
        for old, new in self.changes.items():
            if source.count(old) != 1:
                raise ValueError(
                    f"{self.file}: {old!r} occurs {source.count(old)} times, not once. "
                    f"Hint: update the planted mistake {self.trap!r}."
                )
            source = source.replace(old, new)
        return source
