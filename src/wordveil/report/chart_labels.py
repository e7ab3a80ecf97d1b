"""The names of lines and baselines: in the margin of each panel, or in a legend above them."""

import math
import operator
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from wordveil.report.charts import Chart, Panel
from wordveil.report.colours import GREY

__all__ = ["LETTER", "add_labels", "wrapped"]

_POINTS: Final = 72.0  # per inch
_LABEL_SIZE: Final = 8.5
_LABEL_GAP: Final = 11.0  # points between the middles of two labels, so they don't touch
LETTER: Final = 5.8  # points, of DejaVu at ten points, the mean
_LABEL_SHARE: Final = 0.4  # of the width of a column, at most: the rest is for the panel
_LEGEND_AROUND: Final = 42.0  # points beside a name in a legend
_LEGEND_MARGIN: Final = 20.0  # points beside a legend
_LEGEND_ROW: Final = 14.5  # points, of a row of a legend

_Label = tuple[float, str, str]  # its height in numbers of the y axis, its text and its colour


def wrapped(text: str, letters: float) -> str:
    """Return a text in the fewest lines of up to that many letters, of about equal length; words stay whole.

    Examples
    --------
    >>> print(wrapped("topic prior, without output 8.6", 30))
    topic prior,
    without output 8.6
    """

    def lines(width: int) -> list[str]:
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)

    most = max(1, int(letters))
    count = len(lines(most))
    return "\n".join(next((tried for n in range(1, most) if len(tried := lines(n)) <= count), lines(most)))


def add_labels(
    figure: Any, axes: Sequence[Any], chart: Chart, colours: Mapping[str, str], width: float
) -> None:
    """Label baselines, and lines if there is room, at the right; else add a legend above the panels.

    `width` is that of a column of panels, in points.
    """
    figure.draw_without_rendering()
    letters = _LABEL_SHARE * width / (LETTER * _LABEL_SIZE / 10.0)
    levels = [_level_labels(chart, panel, letters) for panel in chart.panels]
    lines = [
        [(line.y[-1], wrapped(line.name, letters), colours[line.name]) for line in panel.lines]
        for panel in chart.panels
    ]
    # Lines through a cloud of points end before it does, far from labels at the right.
    has_points = any(panel.clouds for panel in chart.panels)
    has_room = not has_points and all(map(_fit, axes, map(operator.add, levels, lines)))
    if len(chart.line_names) > 1 and not has_room:
        _add_legend(figure, axes)
    for panel_axes, of_levels, of_lines in zip(axes, levels, lines, strict=True):
        is_direct = len(chart.line_names) > 1 and has_room
        _label_margin(panel_axes, of_levels + of_lines if is_direct else of_levels)


def _add_legend(figure: Any, axes: Sequence[Any]) -> None:
    """Add a legend above the panels, and the height of its rows, so the panels keep theirs."""
    handles: dict[str, Any] = {}
    for panel_axes in axes:
        for handle, name in zip(*panel_axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    width = figure.get_figwidth() * _POINTS - _LEGEND_MARGIN
    columns = max(1, int(width // (_LEGEND_AROUND + LETTER * max(map(len, handles)))))
    rows = math.ceil(len(handles) / columns)
    figure.set_figheight(figure.get_figheight() + rows * _LEGEND_ROW / _POINTS)
    style = {"frameon": False, "handlelength": 2.4, "handletextpad": 0.5, "columnspacing": 1.2}
    figure.legend([*handles.values()], [*handles], loc="outside upper left", ncols=columns, **style)
    figure.draw_without_rendering()  # places the panels, whose heights the labels beside them need


def _level_labels(chart: Chart, panel: Panel, letters: float) -> list[_Label]:
    """Return the labels of baselines; those that would show the same number share one."""
    names: dict[str, list[str]] = {}
    values: dict[str, float] = {}
    for level in panel.levels:
        shown = f"{level.value:.{chart.decimals}f}"
        names.setdefault(shown, []).append(level.name)
        values.setdefault(shown, level.value)
    return [
        (values[shown], wrapped(f"{' = '.join(owners)} {shown}", letters), GREY)
        for shown, owners in names.items()
    ]


def _distances(labels: Sequence[_Label]) -> list[float]:
    """Return how many points must be between the middles of a label and the one below it."""
    lines = [text.count("\n") + 1 for _, text, _ in labels]
    return [_LABEL_GAP * (one + other) / 2.0 for one, other in pairwise(lines)]


def _fit(axes: Any, labels: Sequence[_Label]) -> bool:
    """Return whether labels of a panel would not touch each other at their heights."""
    labels = sorted(labels)
    heights = [float(axes.transData.transform((axes.get_xlim()[1], value))[1]) for value, _, _ in labels]
    return all(
        high - low >= gap for (low, high), gap in zip(pairwise(heights), _distances(labels), strict=True)
    )


def _label_margin(axes: Any, labels: Sequence[_Label]) -> None:
    """Write labels at the right of a panel, at their heights, moved apart where they would touch."""
    if not labels:
        return
    labels = sorted(labels)
    bottom, top = axes.get_ylim()
    point = (top - bottom) / axes.bbox.height
    gaps = [point * gap for gap in _distances(labels)]
    heights = [value for value, _, _ in labels]
    for number, gap in enumerate(gaps, 1):
        heights[number] = max(heights[number], heights[number - 1] + gap)
    heights[-1] = min(heights[-1], top - 0.5 * point * _LABEL_GAP * labels[-1][1].count("\n"))
    for number in range(len(heights) - 2, -1, -1):
        heights[number] = min(heights[number], heights[number + 1] - gaps[number])
    for height, (_, text, colour) in zip(heights, labels, strict=True):
        axes.annotate(
            text, (1.0, height), (4, 0), ("axes fraction", "data"), "offset points",
            color=colour, fontsize=_LABEL_SIZE, va="center", ha="left", annotation_clip=False,
        )  # fmt: skip
