import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import wordveil as wv
from wordveil.report.plots import contour, draw_noise


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_a_contour_holds_its_share_of_the_noise(glove: wv.Embedding, lam: float) -> None:
    """n = 50,000 draws: the share inside the contour is within 5 standard errors (0.011) of the stated one."""
    metric = wv.Metric.from_embedding(glove.project(2), lam)
    noise = wv.sample_noise(metric, 3.0, 50_000, wv.insecure_stream(1))
    for share in (0.5, 0.9):
        border = np.asarray(metric.norm(contour(metric, 3.0, share)))
        assert np.ptp(border) < 1e-9
        assert abs((np.asarray(metric.norm(noise)) < border[0]).mean() - share) < 0.012


def test_file_formats(glove: wv.Embedding, tmp_path: Path) -> None:
    for name, magic in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml")):
        draw_noise(glove, 3.0, 1.0, ["king", "monday"], (1, 30), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)


FIVE = ["king", "monday", "boston", "diabetes", "software"]
EIGHT = [*FIVE, "queen", "tuesday", "hardware"]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that the test saves; none is written."""
    saved: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: saved.append(figure))
    return saved


@pytest.mark.parametrize(
    ("epsilon", "lam", "words", "axes"),
    [
        *[(epsilon, lam, FIVE, (1, 30)) for epsilon in (1.0, 3.0, 10.0, 20.0, 100.0) for lam in (0.5, 1.0)],
        *[(epsilon, 1.0, EIGHT, (1, 30)) for epsilon in (1.0, 3.0, 20.0, 100.0)],
        *[(epsilon, 1.0, ["king"], (1, 30)) for epsilon in (1.0, 100.0)],
        *[(epsilon, 1.0, FIVE, (2, 1)) for epsilon in (1.0, 20.0)],
        (0.01, 1.0, EIGHT, (1, 2)),
    ],
)
def test_labels_cover_nothing(
    glove: wv.Embedding,
    figures: list[Any],
    epsilon: float,
    lam: float,
    words: list[str],
    axes: tuple[int, int],
) -> None:
    draw_noise(glove, epsilon, lam, words, axes, Path("a.png"))
    (figure,) = figures
    for dpi in (72, 150):  # the resolutions of an SVG and of a PNG
        figure.dpi = dpi
        figure.draw_without_rendering()
        for panel in figure.axes:
            check_panel(panel, len(words))


def check_panel(panel: Any, words: int) -> None:
    """Labels touch no contour and no other label, and the panel contains all labels and contours."""
    boxes = [text.get_window_extent() for text in panel.texts]
    contours = [line.get_transform().transform_path(line.get_path()) for line in panel.lines]
    assert (len(boxes), len(contours)) == (words, 2 * words)
    assert not any(contour.intersects_bbox(box, filled=False) for contour in contours for box in boxes)
    assert not any(box.overlaps(other) for box, other in combinations(boxes, 2))
    points = np.concatenate([box.corners() for box in boxes] + [contour.vertices for contour in contours])
    assert panel.bbox.count_contains(points) == len(points)


def test_a_flat_panel_is_widened(figures: list[Any]) -> None:
    words = ["one", "two", "three"]
    flat = wv.Embedding(words, [[0.0, 0.0], [1.0, 0.001], [2.0, 0.0]])
    draw_noise(flat, 1000.0, 0.0, words, (1, 2), Path("a.png"))
    for panel in figures[0].axes:
        check_panel(panel, 3)
        assert np.ptp(panel.get_ylim()) > 10 * panel.dataLim.height


def test_too_many_labels(glove: wv.Embedding, figures: list[Any]) -> None:
    with pytest.raises(wv.ParameterError, match=r"no room for 41 labels\. Hint"):
        draw_noise(glove, 1.0, 1.0, list(glove.words[:41]), (1, 30), Path("a.png"))


def test_a_long_word_is_cut(figures: list[Any]) -> None:
    words = ["x" * 500, "y", "z"]
    draw_noise(
        wv.Embedding(words, [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), 3.0, 1.0, words, (1, 2), Path("a.png")
    )
    assert [text.get_text() for text in figures[0].axes[0].texts] == ["x" * 23 + "…", "y", "z"]


@pytest.mark.parametrize(
    ("name", "axes", "message"),
    [
        ("a.pdf", (1, 2), ".png or .svg"),
        ("a.png", (1, 1), "two different"),
        ("a.png", (0, 1), "two different"),
        ("a.png", (1, 301), "from 1 to 300"),
    ],
)
def test_refuses(glove: wv.Embedding, tmp_path: Path, name: str, axes: tuple[int, int], message: str) -> None:
    with pytest.raises(wv.ParameterError, match=message):
        draw_noise(glove, 3.0, 1.0, ["king"], axes, tmp_path / name)


def test_without_the_extra_the_error_says_what_to_install(
    glove: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(wv.MissingExtraError, match=r"wordveil\[plots\]"):
        draw_noise(glove, 3.0, 1.0, ["king"], (1, 2), tmp_path / "a.png")
