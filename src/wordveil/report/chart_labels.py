"""The names of lines and baselines: in the margin of each panel, or in a legend above them."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from wordveil.report.charts import Chart, Panel
from wordveil.report.colours import GREY

__all__ = ["add_labels"]

_POINTS: Final = 72.0  # per inch
_LABEL_SIZE: Final = 8.5
_LABEL_GAP: Final = 11.0  # points between the middles of two labels, so they don't touch
_LETTER: Final = 5.8  # points, of DejaVu, the mean
_LEGEND_AROUND: Final = 42.0  # points beside a name in a legend
_LEGEND_MARGIN: Final = 20.0  # points beside a legend
_LEGEND_ROW: Final = 14.5  # points, of a row of a legend


def add_labels(figure: Any, axes: Sequence[Any], chart: Chart, colours: Mapping[str, str]) -> None:
    """Label baselines, and lines if there is room, at the right; else add a legend above the panels."""
    figure.draw_without_rendering()
    ends = [
        _line_ends(panel_axes, chart, panel) for panel_axes, panel in zip(axes, chart.panels, strict=True)
    ]
    # Lines through a cloud of points end before it does, far from labels at the right.
    has_points = any(panel.clouds for panel in chart.panels)
    is_direct = len(chart.line_names) < 2 or (not has_points and all(map(_fit, ends)))
    if not is_direct:
        _add_legend(figure, axes)
    for panel_axes, panel in zip(axes, chart.panels, strict=True):
        labels = _level_labels(chart, panel)
        if is_direct and len(chart.line_names) > 1:
            labels += [(line.y[-1], line.name, colours[line.name]) for line in panel.lines]
        _label_margin(panel_axes, labels)


def _add_legend(figure: Any, axes: Sequence[Any]) -> None:
    """Add a legend above the panels, and the height of its rows, so the panels keep theirs."""
    handles: dict[str, Any] = {}
    for panel_axes in axes:
        for handle, name in zip(*panel_axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    width = figure.get_figwidth() * _POINTS - _LEGEND_MARGIN
    columns = max(1, int(width // (_LEGEND_AROUND + _LETTER * max(map(len, handles)))))
    rows = math.ceil(len(handles) / columns)
    figure.set_figheight(figure.get_figheight() + rows * _LEGEND_ROW / _POINTS)
    style = {"frameon": False, "handlelength": 2.4, "handletextpad": 0.5, "columnspacing": 1.2}
    figure.legend([*handles.values()], [*handles], loc="outside upper left", ncols=columns, **style)
    figure.draw_without_rendering()  # places the panels, whose heights the labels beside them need


def _level_labels(chart: Chart, panel: Panel) -> list[tuple[float, str, str]]:
    """Return the labels of baselines; those that would show the same number share one."""
    names: dict[str, list[str]] = {}
    values: dict[str, float] = {}
    for level in panel.levels:
        shown = f"{level.value:.{chart.decimals}f}"
        names.setdefault(shown, []).append(level.name)
        values.setdefault(shown, level.value)
    return [(values[shown], f"{' = '.join(owners)} {shown}", GREY) for shown, owners in names.items()]


def _line_ends(axes: Any, chart: Chart, panel: Panel) -> list[float]:
    """Return the height of everything that would be labelled at the right of a panel, in points."""
    levels = _level_labels(chart, panel)
    values = [value for value, _, _ in levels] + [line.y[-1] for line in panel.lines]
    return sorted(float(axes.transData.transform((axes.get_xlim()[1], value))[1]) for value in values)


def _fit(heights: list[float]) -> bool:
    return all(high - low >= _LABEL_GAP for low, high in pairwise(heights))


def _label_margin(axes: Any, labels: list[tuple[float, str, str]]) -> None:
    """Write labels at the right of a panel, at their heights, moved apart where they would touch."""
    if not labels:
        return
    labels = sorted(labels)
    bottom, top = axes.get_ylim()
    gap = _LABEL_GAP / axes.bbox.height * (top - bottom)
    heights = [value for value, _, _ in labels]
    for number in range(1, len(heights)):
        heights[number] = max(heights[number], heights[number - 1] + gap)
    heights[-1] = min(heights[-1], top)
    for number in range(len(heights) - 2, -1, -1):
        heights[number] = min(heights[number], heights[number + 1] - gap)
    for height, (_, text, colour) in zip(heights, labels, strict=True):
        axes.annotate(
            text, (1.0, height), (4, 0), ("axes fraction", "data"), "offset points",
            color=colour, fontsize=_LABEL_SIZE, va="center", ha="left", annotation_clip=False,
        )  # fmt: skip
