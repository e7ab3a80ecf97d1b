"""Counts of words, and lists of watched words: what somebody gives to describe an attacker."""

import gzip
from pathlib import Path
from typing import Final

import pytest
from hypothesis import strategies as st

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.cli.setting import watched_topics
from wordveil.word_counts import read_counts

from .budget import Budget
from .mutations import damaged
from .rules import SECRET, Rules

pytestmark = pytest.mark.fuzz

_COUNTS: Final = (
    f"tea\t900\nnoon\t90.5\n{SECRET}\t10\nthe\t1e3\n".encode(),
    b"tea,900\nnoon,0\ncall me,3\n",
    b"tea 900\nboston 1e199\nfire 1e-300\n",
    gzip.compress(f"tea\t900\n{SECRET}\t1\n".encode(), mtime=0),
)
_LISTS: Final = (f"tea\nred house\n{SECRET}\nfire-house\n".encode(), b"tea\r\nnoon\r\n")


def test_counts(budget: Budget, rules: Rules, folder: Path, noisy: wv.Perturber, small: wv.Embedding) -> None:
    path = folder / "counts.txt"

    def example(case: tuple[bytes, bool]) -> str:
        path.write_bytes(case[0])
        prior = rules.call(lambda: wv.Prior.from_counts(small, read_counts(path), public=case[1]))
        if isinstance(prior, wv.WordveilError):
            return "refused"
        success = guess_rate(noisy.mechanism, prior, draws=20).success
        assert 0.0 <= success.low <= success.share <= success.high <= 1.0
        return "measured"

    budget.spend(st.tuples(damaged(_COUNTS), st.booleans()), example)


def test_watched_words(budget: Budget, rules: Rules, folder: Path, small: wv.Embedding) -> None:
    path = folder / "words.txt"

    def example(data: bytes) -> str:
        path.write_bytes(data)
        topics = rules.call(lambda: watched_topics(path, small))
        return "refused" if isinstance(topics, wv.WordveilError) else "read"

    budget.spend(damaged(_LISTS), example)
