"""Shared by all tests: the default vectors, an empty home folder, and the real data where it is available."""

import gc
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import wordveil as wv

from .samples import SMALL_WORDS

_PACKAGE = str(Path(wv.__file__).parent)

# The same examples every time in CI; new ones on a developer's machine, which is how new bugs are found.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.delenv("WORDVEIL_DEBUG", raising=False)


@pytest.fixture(scope="session")
def glove() -> wv.Embedding:
    return wv.load_embedding()


@pytest.fixture(scope="session")
def small() -> wv.Embedding:
    """A vocabulary so small that tests show everything around it."""
    return wv.Embedding(SMALL_WORDS, np.random.default_rng(4).normal(size=(len(SMALL_WORDS), 3)), public=True)


@pytest.fixture(scope="session")
def same(small: wv.Embedding) -> wv.Perturber:
    """At this ε no word of the vocabulary ever changes, so everything around the words can be compared."""
    return wv.Perturber(wv.Mahalanobis(small, 1e9))


@pytest.fixture(scope="session")
def noisy(small: wv.Embedding) -> wv.Perturber:
    """At this ε all words of the vocabulary are nearly equally likely."""
    return wv.Perturber(wv.Mahalanobis(small, 0.01))


@pytest.fixture
def ledger(tmp_path: Path) -> wv.Ledger:
    """An empty ledger of this test alone."""
    return wv.Ledger(tmp_path / "state" / "ledger.sqlite")


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = os.environ.get("WORDVEIL_TEST_DATA")
    if not folder:
        pytest.skip("WORDVEIL_TEST_DATA is not set: the real data sets are not shipped with the project")
    return Path(folder)


@pytest.fixture(scope="session")
def train_fasttext() -> Callable[..., None]:
    """Train a small fastText model and save it.

    The library does not clear its memory, and some fits stop with a NaN: a process of its own is given memory that
    the C library of Linux has cleared (the complement of 255 is 0), and elsewhere it is tried again.
    """
    code = """
import sys, fasttext
text, path, options = sys.argv[1], sys.argv[2], dict(pair.split("=") for pair in sys.argv[3:])
options = {name: int(value) for name, value in options.items()}
fasttext.train_unsupervised(text, minCount=1, epoch=1, thread=1, verbose=0, **options).save_model(path)
"""

    def train(text: Path, path: Path, **options: int) -> None:
        pairs = [f"{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-c", code, str(text), str(path), *pairs]
        for _ in range(20):
            ran = subprocess.run(
                command, env={**os.environ, "MALLOC_PERTURB_": "255"}, capture_output=True, text=True
            )
            if ran.returncode == 0 and np.isfinite(fasttext_numbers(path)).all():
                return
        raise RuntimeError(f"fastText has failed 20 times in a row: {ran.stderr}")

    def fasttext_numbers(path: Path) -> Any:
        import fasttext

        return np.asarray(fasttext.load_model(str(path)).get_input_matrix())

    return train


@pytest.fixture(scope="session")
def check_sealed() -> Callable[[BaseException, str], None]:
    """A check that fails if a text can be reached from an exception."""

    def check(error: BaseException, secret: str) -> None:
        assert error.__context__ is None
        assert error.__cause__ is None
        for thing in _reachable(error):
            if isinstance(thing, str | bytes):
                text = thing if isinstance(thing, str) else thing.decode("utf-8", "replace")
                assert secret not in text

    return check


def _reachable(error: BaseException) -> Iterator[object]:
    """Yield everything that an exception refers to: its arguments, its causes, and the frames it passed."""
    seen: dict[int, object] = {}  # what is no longer referred to could have its id again
    waiting: list[object] = [error.args, vars(error), error.__context__, error.__cause__]
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            waiting.extend(trace.tb_frame.f_locals.values())
        trace = trace.tb_next
    skipped = (type, types.ModuleType, types.FunctionType, types.FrameType)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, skipped):
            continue
        seen[id(thing)] = thing
        yield thing
        if isinstance(thing, BaseException):
            waiting.extend((thing.args, vars(thing), thing.__context__, thing.__cause__))
            waiting.extend(getattr(thing, name, None) for name in ("object", "doc"))
        elif isinstance(thing, list | tuple | dict | set):
            waiting.extend(gc.get_referents(thing))
        elif isinstance(thing, np.ndarray):
            waiting.extend(thing.ravel().tolist() if thing.dtype.kind in "OSU" else ())
        else:
            waiting.extend(_texts_of(thing))


def _texts_of(thing: object) -> Iterator[object]:
    """Yield the texts of a column, a data set or a Doc of other libraries."""
    for name in ("to_pylist", "to_list"):
        if callable(convert := getattr(thing, name, None)):
            yield convert()
            return
    yield getattr(thing, "text", None)
