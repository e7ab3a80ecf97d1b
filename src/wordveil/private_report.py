"""Counts about the private input."""

from dataclasses import dataclass, fields

__all__ = ["PrivateReport"]


@dataclass(slots=True)
class PrivateReport:
    """Counts about the private input. Not for release: they are functions of the private text.

    Attributes
    ----------
    texts, tokens : int
        Texts, and the words in them.
    unknown : int
        Words outside of the vocabulary.
    kept, dropped, masked : int
        Words that unsafe choices have copied verbatim, dropped or masked.
    padded, truncated : int
        Words that padding has added and cut off.
    """

    texts: int = 0
    tokens: int = 0
    unknown: int = 0
    kept: int = 0
    dropped: int = 0
    masked: int = 0
    padded: int = 0
    truncated: int = 0

    def __str__(self) -> str:
        """Return the counts, marked as private."""
        counts = ", ".join(f"{field.name} {getattr(self, field.name):,}" for field in fields(self))
        return f"private report, not for release: {counts}"

    def add(self, other: "PrivateReport") -> None:
        """Add the counts of another report to this one."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
