"""Texts that several tests of attacks share, and how they find one of the attacks."""

from collections.abc import Sequence

from wordveil.evaluation.attacks import Attack

TEXTS = [
    "book a flight to boston", "call me at noon", "the red house is on fire", "tea at noon please", "the house is red",
    "a flight at noon", "call the house now", "book the red house", "tea to me", "please call now me at the house",
]  # fmt: skip


def named(attacks: Sequence[Attack], name: str) -> Attack:
    return next(attack for attack in attacks if attack.name == name)
