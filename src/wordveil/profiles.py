"""Ready-made settings on the shipped map of the default vectors, chosen by what an attacker gains.

docs/choosing.md shows what each of them is worth. `make bench-profiles` measures it, and a test computes S
again.
"""

import difflib
from dataclasses import dataclass
from typing import Final

from wordveil.block_list import BlockList
from wordveil.embedding import load_embedding
from wordveil.embedding.catalog import MAP_NAME
from wordveil.errors import UnknownNameError
from wordveil.mechanisms import Mechanism, make_mechanism, mechanism_class
from wordveil.mechanisms.answers import AnswerName
from wordveil.nearest.devices import DeviceName

__all__ = ["PROFILES", "Profile", "is_profile", "load_profile"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A setting with a name.

    Attributes
    ----------
    name, help : str
        What it is called, and what it is for.
    most_guessed : float
        The upper limit of S, for English words: how often the best guess of an attacker is right.
    epsilon, mechanism, lam, answer, embedding
        The setting, on a public map of the default vectors.

    Examples
    --------
    >>> PROFILES["balanced"].load().parameters()["answer"]
    'closest'
    """

    name: str
    help: str
    most_guessed: float
    epsilon: float
    mechanism: str = "laplace"
    lam: float = 0.0
    answer: AnswerName = "closest"
    embedding: str = MAP_NAME

    def load(self, *, device: DeviceName = "cpu", blocked: BlockList | None = None) -> Mechanism:
        """Return the mechanism of the profile; it never answers a word of the list `blocked`."""
        vectors = load_embedding(self.embedding)
        return make_mechanism(
            self.mechanism, vectors, self.epsilon, device=device, blocked=blocked, answer=self.answer
        )


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("gentle", "closest to the original, least protected", 0.45, 1.7),
        Profile("balanced", "a start for most data", 0.28, 0.92),
        Profile("strong", "best protected, only the broad topic is left", 0.15, 0.42),
    )
}
"""The profiles by name."""


def load_profile(name: str) -> Profile:
    """Return the profile of that name.

    Examples
    --------
    >>> load_profile("strong").most_guessed
    0.15
    """
    if name in PROFILES:
        return PROFILES[name]
    close = difflib.get_close_matches(str(name), PROFILES, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(PROFILES)}."
    raise UnknownNameError(f"There is no profile of that name. Hint: {hint}")


def is_profile(mechanism: Mechanism) -> bool:
    """Say whether a mechanism has the setting of a profile, on the same vectors, with any block list."""
    setting = mechanism.setting()
    for profile in PROFILES.values():
        expected = {"epsilon": profile.epsilon, "lam": profile.lam, "answer": profile.answer}
        same_class = type(mechanism) is mechanism_class(profile.mechanism)
        if same_class and expected.items() <= setting.items():
            try:
                return mechanism.embedding.fingerprint == load_embedding(profile.embedding).fingerprint
            except UnknownNameError:  # an older version of the package with the vectors
                return False
    return False
