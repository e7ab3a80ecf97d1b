"""The figure of the noise, drawn by matplotlib (extra `plots`) without a display."""

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from wordveil.embedding import Embedding
from wordveil.errors import MissingExtraError, ParameterError
from wordveil.metric import Metric

__all__ = ["draw_noise", "figure_class"]

_FORMATS: Final = (".png", ".svg")
_SHARES: Final = (0.5, 0.9)  # of the noise inside the contours: the middle, and nearly all of it
_DPI: Final = 150  # sharp at the width of a page
_TITLE_HEIGHT: Final = 0.07  # of the figure: a panel's own title and the gaps around it
_BLUE, _ORANGE, _GREY = "#0072b2", "#d55e00", "#bbbbbb"  # distinct for colour-blind readers and in grey


def draw_noise(
    embedding: Embedding, epsilon: float, lam: float, words: list[str], axes: tuple[int, int], path: Path
) -> None:
    """Draw Figure 1 of the paper from real vectors: round noise beside shaped noise, at the same ε.

    The vectors are projected onto two of their principal axes, counted from 1, the strongest. Contours around
    each word contain half and nine tenths of the noise of a mechanism on these two axes. In m dimensions the
    noise has the same shape and is about m/2 times as long.
    """
    if path.suffix.lower() not in _FORMATS:
        raise ParameterError(f"{path}: the figure must be a .png or .svg file.")
    if axes[0] == axes[1] or not all(1 <= axis <= embedding.dim for axis in axes):
        raise ParameterError(
            f"The axes of the figure must be two different numbers from 1 to {embedding.dim}."
        )
    make_figure = figure_class()
    from wordveil.report.labels import label_points

    plane = _plane(embedding, axes)
    figure = make_figure(figsize=(11, 4.4), dpi=_DPI, layout="compressed")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for panel, value, colour in zip(panels, (0.0, lam), (_BLUE, _ORANGE), strict=True):
        _draw_panel(panel, plane, Metric.from_embedding(plane, value), epsilon, words, colour)
        panel.set_xlabel(f"principal axis {axes[0]}")
        panel.set_ylabel(f"principal axis {axes[1]}")
    label_points(figure, panels, {word: plane.vector(word) for word in words})
    figure.suptitle(
        f"Mechanisms on these two axes at the same ε = {epsilon:g}: "
        "where half (solid) and 90% (dashed) of the noise falls",
        y=panels[0].get_position().y1 + _TITLE_HEIGHT,
        va="bottom",
    )
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    figure.savefig(path, dpi=_DPI, bbox_inches="tight", metadata=metadata)


def _plane(embedding: Embedding, axes: tuple[int, int]) -> Embedding:
    directions = embedding.spectrum.axes[:, [-axis for axis in axes]]
    return Embedding(embedding.words, embedding.vectors @ directions, public=embedding.public)


def figure_class() -> Any:
    """Return matplotlib's Figure; raise an error that names the extra if it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plots", "Drawing a figure") from None
    return Figure


def _draw_panel(
    panel: Any, plane: Embedding, metric: Metric, epsilon: float, words: list[str], colour: str
) -> None:
    panel.scatter(*plane.vectors.T, s=1.5, c=_GREY, linewidths=0, rasterized=True)
    for word in words:
        centre = plane.vector(word)
        for share, style in zip(_SHARES, ("-", "--"), strict=True):
            panel.plot(*(centre + contour(metric, epsilon, share)).T, style, color=colour, linewidth=1.2)
    panel.set_aspect("equal")
    name = "Laplace" if metric.lam == 0.0 else "Mahalanobis"
    panel.set_title(f"{name}, λ = {metric.lam:g}")


def contour(metric: Metric, epsilon: float, share: float) -> NDArray[np.float64]:
    """Return the closed curve around 0 that contains this share of two-dimensional noise."""
    radius = float(gammaincinv(2.0, share)) / epsilon
    angles = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.column_stack((np.cos(angles), np.sin(angles)))
    return np.asarray(radius * circle * np.sqrt(metric.scales) @ metric.axes.T)
