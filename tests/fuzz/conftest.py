"""The budget and the rules of each test, and a summary line for each."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from .budget import Budget
from .rules import Rules

_BUDGETS: Final = pytest.StashKey[dict[str, Budget]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_BUDGETS] = {}


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> Budget:
    tests = sum(item.get_closest_marker("fuzz") is not None for item in request.session.items)
    budgets = request.config.stash[_BUDGETS]
    return budgets.setdefault(request.node.name, Budget(float(os.environ.get("FUZZ_SECONDS", "60")) / tests))


@pytest.fixture
def rules(capfd: pytest.CaptureFixture[str], check_sealed: Callable[[BaseException, str], None]) -> Rules:
    return Rules(capfd, check_sealed)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the disk would find no bugs."""
    monkeypatch.setattr(os, "fsync", lambda number: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for one example at a time."""
    path = tmp_path / "example"
    path.mkdir()
    return path


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name, budget in sorted(config.stash[_BUDGETS].items()):
        terminalreporter.write_line(f"{name}: {budget}")
