"""The result of attacks: how often each succeeds, with an interval, beside what it would reach by chance."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from wordveil.intervals import Share

__all__ = ["Attack", "Attacks", "EasyWord"]


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack at one setting.

    Attributes
    ----------
    group, name : str
        "words", "context", "linkage", "attributes" or "averaging", and which attack of it.
    success : Share
        How often it succeeds, with a 95% interval.
    null : float
        How often the same attacker succeeds without the output.
    count : int
        Words or texts that were attacked.
    setting : dict
        The mechanism and its parameters, and what else was varied.
    """

    group: str
    name: str
    success: Share
    null: float
    count: int
    setting: dict[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Return the attack as one row of facts."""
        facts = {"group": self.group, "attack": self.name, **self.success._asdict()}
        return facts | {"null": self.null, "count": self.count} | self.setting


@dataclass(frozen=True, slots=True)
class EasyWord:
    """A word that is easy to recover, and why."""

    word: str
    named: float
    draws: int
    why: str


@dataclass(frozen=True, slots=True)
class Attacks:
    """All attacks on one or several settings.

    Attributes
    ----------
    settings : dict
        What was attacked, and with how many draws.
    attacks : tuple of Attack
        In the order in which they ran.
    easiest : tuple of EasyWord
        The ten public words that are easiest to recover at the last setting.
    is_private : bool
        Whether texts of a user were attacked: then the result is not for release.
    """

    name: ClassVar[str] = "attack"

    settings: dict[str, Any]
    attacks: tuple[Attack, ...]
    easiest: tuple[EasyWord, ...] = ()
    is_private: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """Return one row of facts per attack; all rows have the same keys."""
        rows = [attack.row() for attack in self.attacks]
        keys = dict.fromkeys(key for row in rows for key in row)
        return [{key: row.get(key) for key in keys} for row in rows]

    def find(self, group: str, name: str) -> list[Attack]:
        """Return the attacks of that group and name."""
        return [attack for attack in self.attacks if (attack.group, attack.name) == (group, name)]

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        facts: dict[str, Any] = {"not_for_release": True} if self.is_private else {}
        words = [{"word": w.word, "named": w.named, "draws": w.draws, "why": w.why} for w in self.easiest]
        return facts | {"settings": self.settings, "attacks": self.rows(), "easiest_words": words}
