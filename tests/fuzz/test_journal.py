"""The journal and the part of a run that was stopped."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import wordveil as wv
from wordveil.runs.journal import _checksum

from .budget import Budget
from .mutations import altered, damaged, weighted
from .rules import Rules
from .runs import SmallRun

pytestmark = pytest.mark.fuzz


def forged(journal: bytes) -> st.SearchStrategy[bytes]:
    """A journal with one line changed, and a checksum that matches it."""
    lines = journal.splitlines(keepends=True)

    def line(place: int, facts: Any) -> bytes:
        kind = json.loads(lines[place])[0]
        written = json.dumps([kind, facts, _checksum(kind, facts)]).encode() + b"\n"
        return b"".join([*lines[:place], written, *lines[place + 1 :]])

    return st.integers(0, len(lines) - 1).flatmap(
        lambda place: altered(json.loads(lines[place])[1]).map(lambda facts: line(place, facts))
    )


def folders(files: dict[str, bytes]) -> st.SearchStrategy[tuple[bool, dict[str, bytes]]]:
    """Work folders with one damaged file, and whether it was forged to look valid."""
    names = sorted(files)
    name = st.sampled_from([*names, "journal", "journal"])
    honest = name.flatmap(
        lambda chosen: damaged([files[chosen]]).map(lambda data: (False, files | {chosen: data}))
    )
    missing = name.map(lambda chosen: (False, {other: files[other] for other in names if other != chosen}))
    crafty = forged(files["journal"]).map(lambda journal: (True, files | {"journal": journal}))
    return weighted((5, honest), (4, crafty), (1, missing))


def test_journals(
    budget: Budget, rules: Rules, folder: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SmallRun(folder, noisy, monkeypatch)
    stopped, at_the_end = run.stop(), run.stop_at_the_end()

    def example(case: tuple[bool, dict[str, bytes]]) -> str:
        is_forged, files = case
        run.put_back(files)
        resumed = rules.call(lambda: run(resume=True))
        if isinstance(resumed, wv.WordveilError):
            assert not run.target.exists()
        elif not is_forged:
            run.check_complete()
        forced = rules.call(lambda: run(force=True))
        assert not isinstance(forced, wv.WordveilError), forced
        run.check_complete()
        return "refused" if isinstance(resumed, wv.WordveilError) else "resumed"

    budget.spend(folders(stopped) | folders(at_the_end), example)
