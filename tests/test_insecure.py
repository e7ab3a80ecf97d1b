"""Noise from a seed is always reported, and nothing falls back to it."""

import io
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.runs import perturb_pipe

SEEDED = "The noise comes from a seed"


class Watching(wv.Laplace):
    """Remembers every stream that it gets for private words: those for measuring are public, and seeded."""

    streams: list[wv.Stream]

    def __init__(self, embedding: wv.Embedding) -> None:
        super().__init__(embedding, 1.0)
        object.__setattr__(self, "streams", [])

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        if (ids == self.embedding.id_of("tea")).all():
            self.streams.append(stream)
        return np.asarray(stream.normals((len(ids),)) * 1e6, dtype=np.int64) % len(self.embedding)


def texts(perturber: wv.Perturber, folder: Path, source: Any = None) -> object:
    return perturber.perturb(["tea " * 40], stream=source and source.stream())


def one_text(perturber: wv.Perturber, folder: Path, source: Any = None) -> object:
    return perturber("tea " * 40, stream=source and source.stream())


def words(perturber: wv.Perturber, folder: Path, source: Any = None) -> object:
    return perturber.mechanism.perturb_words(["tea"] * 40, stream=source and source.stream())


def file(perturber: wv.Perturber, folder: Path, source: Any = None) -> object:
    (folder / "in.txt").write_text("tea " * 40)
    options: dict[str, Any] = {"perturber": perturber, "key": source, "force": True}
    return wv.perturb_file(folder / "in.txt", folder / "out.txt", **options).output.read_text()


def frame(perturber: wv.Perturber, folder: Path, source: Any = None) -> object:
    table = pd.DataFrame({"m": ["tea " * 40]})
    return wv.perturb_frame(table, perturber=perturber, text="m", key=source)["m"][0]


def pipe(perturber: wv.Perturber, folder: Path, source: Any = None) -> object:
    out = io.BytesIO()
    layout = wv.Layout("text")
    perturb_pipe(io.BytesIO(b"tea " * 40), out, "in", perturber=perturber, layout=layout, key=source)
    return out.getvalue()


WAYS = [texts, one_text, words, file, frame, pipe]


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_from_python_raises_a_warning(way: Any, small: wv.Embedding, tmp_path: Path) -> None:
    with pytest.warns(wv.PrivacyWarning, match=SEEDED) as caught:
        way(wv.Perturber(Watching(small)), tmp_path, wv.insecure_key(1))
    assert caught[0].filename == __file__  # it points at the line that chose the seed


@pytest.mark.parametrize("way", WAYS)
def test_the_default_is_secure_even_with_clock_and_generators_fixed(
    way: Any, small: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the clock stopped and every ordinary generator seeded, two runs still share nothing."""
    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"):
        monkeypatch.setattr(time, name, lambda: 1_000_000_000)
    mechanism = Watching(small)
    answers = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002  # what an attacker would wish for
        answers.append(way(wv.Perturber(mechanism), tmp_path))
    assert answers[0] != answers[1]
    assert mechanism.streams
    assert all(stream.secure for stream in mechanism.streams)


@pytest.mark.parametrize("wrong", [7, "key", object()])
def test_bad_sources_of_noise_are_refused(wrong: Any, small: wv.Embedding, tmp_path: Path) -> None:
    perturber = wv.Perturber(Watching(small))
    with pytest.raises(wv.ParameterError, match="'stream' parameter of perturb must be a Stream"):
        perturber.perturb(["tea"], stream=wrong)
    with pytest.raises(wv.ParameterError, match="'key' parameter of perturb_file must be a RunKey"):
        wv.perturb_file(tmp_path / "in.txt", tmp_path / "out.txt", perturber=perturber, key=wrong)
    with pytest.raises(wv.ParameterError, match="'key' parameter of perturb_frame must be a RunKey"):
        wv.perturb_frame(pd.DataFrame({"m": ["tea"]}), perturber=perturber, text="m", key=wrong)
