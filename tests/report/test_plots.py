import sys
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.report.plots import contour, draw_noise


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_a_contour_holds_its_share_of_the_noise(glove: wv.Embedding, lam: float) -> None:
    """n = 50,000 draws: the share inside of the contour is within 5 standard errors (0.011) of what it says."""
    metric = wv.Metric.from_embedding(glove.project(2), lam)
    noise = wv.sample_noise(metric, 3.0, 50_000, wv.insecure_stream(1))
    for share in (0.5, 0.9):
        border = np.asarray(metric.norm(contour(metric, 3.0, share)))
        assert np.ptp(border) < 1e-9
        assert abs((np.asarray(metric.norm(noise)) < border[0]).mean() - share) < 0.012


def test_pictures(glove: wv.Embedding, tmp_path: Path) -> None:
    for name, magic in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml")):
        draw_noise(glove, 3.0, 1.0, ["king", "monday"], (1, 30), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)


@pytest.mark.parametrize(
    ("name", "axes", "told"),
    [
        ("a.pdf", (1, 2), ".png or .svg"),
        ("a.png", (1, 1), "two different"),
        ("a.png", (0, 1), "two different"),
        ("a.png", (1, 301), "of 1 to 300"),
    ],
)
def test_refuses(glove: wv.Embedding, tmp_path: Path, name: str, axes: tuple[int, int], told: str) -> None:
    with pytest.raises(wv.ParameterError, match=told):
        draw_noise(glove, 3.0, 1.0, ["king"], axes, tmp_path / name)


def test_without_the_extra_one_line_says_what_to_install(
    glove: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(wv.MissingExtraError, match=r"wordveil\[plots\]"):
        draw_noise(glove, 3.0, 1.0, ["king"], (1, 2), tmp_path / "a.png")
