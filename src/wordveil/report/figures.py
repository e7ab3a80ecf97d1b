"""The figures of the experiments, in colours, marks and dashes that stay distinct in grey."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.report.output import write_bytes
from wordveil.report.plots import figure_class

__all__ = ["Line", "lines_figure", "save_figure", "scatter_figure", "svg_of"]

# Okabe and Ito's colours, from dark to light, each with its own mark and dash.
_STYLES: Final = (
    ("#000000", "o", "-"),
    ("#0072b2", "s", "--"),
    ("#009e73", "^", "-."),
    ("#d55e00", "D", ":"),
    ("#cc79a7", "v", (0, (5, 1))),
    ("#56b4e9", "P", (0, (1, 1))),
)

_OFFSET: Final = 0.02  # between lines, relative to x: enough to see two, too little to misread a value
_EDGE: Final = 0.02  # beyond 0 and 1, so marks there are not cut off
_MANY_POINTS: Final = 500  # above this, dots are small and faint, so a cloud does not hide the means
_MAX_BINS: Final = 10
_MIN_BIN_SIZE: Final = 20  # a mean over fewer words is mostly noise

Line = tuple[str, Sequence[float], Sequence[float], Sequence[float] | None]
"""A name, the x, the y, and the half-widths of its error bars."""


def lines_figure(
    panels: Sequence[tuple[str, Sequence[Line]]],
    xlabel: str,
    ylabels: Sequence[str],
    *,
    level: Sequence[float | None] | None = None,
    shared: bool = False,
    shares: bool = False,
) -> Any:
    """Return a figure with one panel for each (title, lines), side by side; a level is a grey line across.

    `shared` gives all panels one y axis; `shares` cuts the y axis to [0, 1], however far error bars reach.
    """
    figure = figure_class()(figsize=(4.1 * len(panels), 3.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=shared))
    for number, (panel, (title, lines)) in enumerate(zip(axes, panels, strict=True)):
        for place, (name, x, y, bars) in enumerate(lines):
            colour, mark, dash = _style(place)
            # Shifted a little, so lines and error bars that coincide can still be seen.
            shifted = [value * (1.0 + _OFFSET * (place - (len(lines) - 1) / 2)) for value in x]
            style = {"color": colour, "marker": mark, "linestyle": dash, "markersize": 4, "capsize": 2}
            panel.errorbar(shifted, y, bars, label=name, **style)
        if level is not None and level[number] is not None:
            panel.axhline(level[number], color="#777777", linewidth=1, linestyle="-", label="unperturbed")
        panel.set_xscale("log")
        ticks = sorted({value for _, x, _, _ in lines for value in x})
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
        if shares:
            low, high = panel.get_ylim()
            panel.set_ylim(max(low, -_EDGE), min(high, 1.0 + _EDGE))
        panel.set_title(title)
        panel.set_xlabel(xlabel)
        panel.set_ylabel(ylabels[number])
        panel.grid(color="#dddddd", linewidth=0.5)
    axes[-1].legend(fontsize=8)
    return figure


def scatter_figure(
    groups: Sequence[tuple[str, NDArray[np.float64], NDArray[np.float64]]], xlabel: str, ylabel: str
) -> Any:
    """Return a figure with a cloud of points for each group, and the mean of y in up to ten bins of x."""
    figure = figure_class()(figsize=(7.0, 4.2), layout="constrained")
    panel = figure.subplots()
    for place, (name, x, y) in enumerate(groups):
        colour, mark, dash = _style(place)
        size, alpha = (3, 0.12) if len(x) > _MANY_POINTS else (10, 0.4)
        panel.scatter(x, y, s=size, c=colour, alpha=alpha, linewidths=0, rasterized=True)
        bin_count = max(1, min(_MAX_BINS, len(x) // _MIN_BIN_SIZE))
        edges = np.unique(np.quantile(x, np.linspace(0, 1, bin_count + 1)))
        bin_of = np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(edges) - 2)
        bins = [number for number in range(len(edges) - 1) if (bin_of == number).any()]
        panel.plot(
            [float(x[bin_of == number].mean()) for number in bins],
            [float(y[bin_of == number].mean()) for number in bins],
            color=colour, marker=mark, linestyle=dash, label=f"{name}, mean",
        )  # fmt: skip
    panel.set_xlabel(xlabel)
    panel.set_ylabel(ylabel)
    panel.grid(color="#dddddd", linewidth=0.5)
    panel.legend()
    return figure


def _style(number: int) -> tuple[str, str, Any]:
    """Return a colour, a mark and a dash; beyond six lines, colours repeat with other marks and dashes."""
    cycle = number // len(_STYLES)
    colour = _STYLES[number % len(_STYLES)][0]
    _, mark, dash = _STYLES[(number + cycle) % len(_STYLES)]
    return colour, mark, dash


def save_figure(figure: Any, path: Path, *, private: bool = False) -> list[Path]:
    """Write a figure as PNG and as SVG; return the paths."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=150)
    contents = {".png": png.getvalue(), ".svg": svg_of(figure).encode()}
    return [
        write_bytes(path.with_name(path.name + suffix), data, private=private)
        for suffix, data in contents.items()
    ]


def svg_of(figure: Any) -> str:
    """Return a figure as SVG."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
