"""How long each reader is fuzzed, and with how many examples."""

import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

__all__ = ["Budget"]

_BATCH: Final = 100
_SHRINKING_SECONDS: Final = 20
"""For making a failing example smaller."""
_SETTINGS: Final = settings(
    max_examples=_BATCH,
    derandomize=False,  # new examples each time, also in CI
    deadline=None,
    database=None,  # what is printed is enough to run an example again
    print_blob=True,
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink],
    # Complete files are large and slow to draw, and some strategies reject many of them.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


class Budget:
    """Runs batches of examples until the time is used up, and counts them by outcome."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.outcomes: Counter[str] = Counter()
        self.examples = 0

    def spend(self, strategy: SearchStrategy[Any], example: Callable[[Any], str]) -> None:
        """Try examples; `example` returns the outcome of each in a word.

        To run a printed example again, put its @reproduce_failure above `example`.
        """
        end = time.monotonic() + self._seconds
        failed: set[str] = set()

        def attempt(case: Any) -> None:
            nonlocal end
            if time.monotonic() > end and repr(case) not in failed:
                return
            try:
                outcome = example(case)
            except BaseException:
                if not failed:
                    end = time.monotonic() + _SHRINKING_SECONDS
                failed.add(repr(case))
                raise
            self.examples += 1
            self.outcomes[outcome] += 1

        for name, value in vars(example).items():
            setattr(attempt, name, value)
        batch = _SETTINGS(given(strategy)(attempt))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Generating overly large repr")
            while time.monotonic() < end:
                batch()
        assert self.examples, "no example was tried: give it more time"

    def __str__(self) -> str:
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return f"{self.examples:,} examples ({outcomes})"
