"""Charts drawn by matplotlib (extra `plots`): wide for a page, narrow for a phone, each light and dark."""

import html
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final

import numpy as np

from wordveil.report.charts import Chart, Cloud, Line, Panel, describe
from wordveil.report.colours import GREY, GRID, INK, PAPER, dark_style, line_style
from wordveil.report.plots import figure_class

__all__ = ["chart_png", "chart_svg", "draw_chart", "svg_of"]

# A page shows a wide figure at up to 960 pixels, and a phone a narrow one at about 350: at these widths in
# points, ten-point letters are then 12 pixels high or more.
_WIDE, _NARROW = 760.0, 285.0
_PANEL_HEIGHT: Final = 220.0  # points
_AROUND: Final = 62.0  # points above and below the panels: the legend, the titles and the x axis
_POINTS: Final = 72.0  # per inch
_DPI: Final = 150  # of a PNG: sharp at the width of a page
_FONT_SIZE: Final = 10.0
_LABEL_SIZE: Final = 8.5
_LABEL_GAP: Final = 11.0  # points between the middles of two labels, so they don't touch
_LETTER: Final = 5.8  # points, of DejaVu, the mean
_LEGEND_AROUND: Final = 42.0  # points beside a name in a legend
_TICK_GAP: Final = 20.0  # points between the middles of two tick labels
_MAX_TICKS, _MAX_DIGITS = 15, 4
_DODGE: Final = 0.007  # of the width, between lines with intervals: enough to see two, too little to misread
_EDGE: Final = 0.03  # of the height, beyond the possible range, so marks there are not cut off
_RING: Final = 11.0  # points: around a mark, without touching it
_DOT: Final = 1e-3  # of the width: the length of a dot, which SVG draws as a round stroke


def draw_chart(chart: Chart, *, narrow: bool = False) -> Any:
    """Return a chart as a matplotlib figure: panels share both axes, and nothing covers a line.

    Baselines are labelled at the right of each panel. So are the lines, if their ends are far enough apart;
    otherwise a legend stands above the panels.
    """
    count = len(chart.panels)
    rows, columns = (count, 1) if narrow else (1, count)
    size = (
        _NARROW if narrow else _WIDE,
        _AROUND + rows * (_PANEL_HEIGHT if rows == 1 else 0.8 * _PANEL_HEIGHT),
    )
    with _drawing_style():
        figure = figure_class()(
            figsize=(size[0] / _POINTS, size[1] / _POINTS), dpi=_POINTS, layout="constrained", facecolor=PAPER
        )
        axes = [*np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True)).ravel()]
        limits = _y_limits(chart)
        for panel_axes, panel in zip(axes, chart.panels, strict=True):
            _draw_panel(panel_axes, chart, panel)
            panel_axes.set_ylim(limits)
        for panel_axes in axes if not narrow else axes[-1:]:
            panel_axes.set_xlabel(chart.xlabel)
        for panel_axes in axes[:1] if not narrow else axes:
            panel_axes.set_ylabel(chart.ylabel)
        _set_ticks(figure, axes, chart)
        _add_labels(figure, axes, chart, narrow=narrow)
    return figure


def chart_svg(chart: Chart, *, narrow: bool = False) -> str:
    """Return a chart as SVG that says in words what it shows, and is dark where the reader prefers that."""
    with _drawing_style():
        text = svg_of(draw_chart(chart, narrow=narrow), chart.caption)
    head = f"<desc>{html.escape(describe(chart))}</desc><style>{dark_style()}</style>"
    # Matplotlib lists a dozen fonts at every text; DejaVu's letters, which it measured, are wider than most.
    text = re.sub(r"font-family: [^;\"]*", "font-family: system-ui, sans-serif", text)
    return re.sub(r"(<svg [^>]*>)", lambda match: match[1] + head, text, count=1)


def chart_png(chart: Chart) -> bytes:
    """Return the wide form of a chart as PNG."""
    out = io.BytesIO()
    with _drawing_style():
        draw_chart(chart).savefig(out, format="png", dpi=_DPI)
    return out.getvalue()


def svg_of(figure: Any, title: str | None = None) -> str:
    """Return any figure as SVG, without the date."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None} | ({} if title is None else {"Title": title}))
    return out.getvalue()


@contextmanager
def _drawing_style() -> Iterator[None]:
    """Draw text as text, in the colours that the dark style knows."""
    from matplotlib import rc_context

    colours = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    options: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "wordveil",
        "font.size": _FONT_SIZE,
        "axes.titlesize": _FONT_SIZE,
        "axes.facecolor": PAPER,
        "axes.edgecolor": GREY,
        "axes.spines.top": False,
        "axes.spines.right": False,
        **colours,
    }
    with rc_context(options):
        yield


def _y_limits(chart: Chart) -> tuple[float, float]:
    """Return one range for all panels, which has room for every line, interval, point and baseline."""
    values = [value for panel in chart.panels for value in _y_values(chart, panel)]
    low, high = min(values), max(values)
    edge = _EDGE * ((high - low) or 1.0)
    return low - edge, high + edge


def _y_values(chart: Chart, panel: Panel) -> Iterator[float]:
    yield from (level.value for level in panel.levels)
    yield from (value for cloud in panel.clouds for value in cloud.y)
    for line in panel.lines:
        yield from line.y
        for ends in (line.low, line.high):
            yield from (_clipped(chart, value) for value in ends or ())


def _clipped(chart: Chart, value: float) -> float:
    """Return a value within the possible range; an interval by Student's t may reach beyond it."""
    low, high = chart.limits or (-np.inf, np.inf)
    return min(max(value, low), high)


def _draw_panel(axes: Any, chart: Chart, panel: Panel) -> None:
    names = chart.line_names
    for level in panel.levels:
        axes.axhline(level.value, color=GREY, linewidth=1, linestyle=(0, (4, 2)), zorder=1.5)
    for cloud in panel.clouds:
        _draw_cloud(axes, cloud, line_style(names.index(cloud.name))[0])
    for line in panel.lines:
        place = names.index(line.name)
        colour, mark, dash = line_style(place)
        style = {"color": colour, "marker": mark, "linestyle": dash, "markersize": 4, "linewidth": 1.4}
        x = _dodged(chart, line, place - (len(names) - 1) / 2)
        axes.errorbar(x, line.y, _bars(chart, line), label=line.name, capsize=2, elinewidth=1, **style)
        if any(line.marked or ()):
            points = [(a, b) for a, b, marked in zip(x, line.y, line.marked or (), strict=True) if marked]
            ring = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.2}
            axes.plot(*zip(*points, strict=True), "o", markersize=_RING, label="_", **ring)
    axes.set_title(panel.title, loc="left")
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _draw_cloud(axes: Any, cloud: Cloud, colour: str) -> None:
    """Draw all points as one path of dots: a thirtieth of the size of as many marks in an SVG."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x, y = np.asarray(cloud.x), np.asarray(cloud.y)
    length = _DOT * (float(np.ptp(x)) or 1.0)
    vertices = np.stack([np.column_stack([x, y]), np.column_stack([x + length, y])], axis=1).reshape(-1, 2)
    path = Path(vertices, np.tile([Path.MOVETO, Path.LINETO], len(x)))
    path.should_simplify = False
    axes.add_patch(
        PathPatch(path, fill=False, edgecolor=colour, linewidth=2, alpha=0.3, capstyle="round", zorder=1.2)
    )


def _bars(chart: Chart, line: Line) -> Any:
    """Return the lengths of the intervals below and above a line, within the possible range."""
    if line.low is None or line.high is None:
        return None
    below = [max(0.0, y - _clipped(chart, low)) for y, low in zip(line.y, line.low, strict=True)]
    above = [max(0.0, _clipped(chart, high) - y) for y, high in zip(line.y, line.high, strict=True)]
    return [below, above]


def _dodged(chart: Chart, line: Line, place: float) -> list[float]:
    """Return the x of a line, moved a little if lines have intervals, so those that coincide can be seen."""
    if chart.scale or not any(other.low for panel in chart.panels for other in panel.lines):
        return list(line.x)
    ticks = _x_values(chart)
    if len(ticks) > 1 and _is_log(ticks):
        factor = (ticks[-1] / ticks[0]) ** (_DODGE * place)
        return [value * factor for value in line.x]
    width = (ticks[-1] - ticks[0]) or 1.0
    return [value + width * _DODGE * place for value in line.x]


def _x_values(chart: Chart) -> list[float]:
    return sorted({value for panel in chart.panels for line in panel.lines for value in line.x})


def _is_log(values: Sequence[float]) -> bool:
    """Return whether factors separate the values better than differences do.

    Examples
    --------
    >>> _is_log([1, 5, 10, 20, 40]), _is_log([1, 5, 10, 15, 20, 25, 30, 40])
    (True, False)
    """
    if len(values) < 3 or values[0] <= 0:
        return False
    x = np.asarray(values, dtype=np.float64)
    logs = np.log(x)
    return bool(np.diff(logs).min() / np.ptp(logs) > np.diff(x).min() / np.ptp(x))


def _set_ticks(figure: Any, axes: Sequence[Any], chart: Chart) -> None:
    """Mark every x that was chosen, such as an ε; label as many as there is room for, always both ends."""
    values = _x_values(chart)
    if chart.scale:
        _set_round_ticks(axes, chart)
        return
    if len(values) > _MAX_TICKS or any(len(f"{value:g}") > _MAX_DIGITS for value in values):
        return  # measured, not chosen: matplotlib's ticks are easier to read
    if _is_log(values):
        axes[0].set_xscale("log")
    figure.draw_without_rendering()
    places = [axes[0].transData.transform((value, axes[0].get_ylim()[0]))[0] for value in values]
    kept = [0]
    for number in range(1, len(values) - 1):
        if places[number] - places[kept[-1]] >= _TICK_GAP <= places[-1] - places[number]:
            kept.append(number)
    kept.append(len(values) - 1)
    labels = [f"{value:g}" if number in kept else "" for number, value in enumerate(values)]
    for panel_axes in axes:
        panel_axes.set_xticks(values, labels)
        panel_axes.minorticks_off()


def _set_round_ticks(axes: Sequence[Any], chart: Chart) -> None:
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    if chart.scale == "log":
        axes[0].set_xscale("log")  # shared by all panels
        axes[0].xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes[0].xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes[0].xaxis.set_minor_formatter(NullFormatter())


def _add_labels(figure: Any, axes: Sequence[Any], chart: Chart, *, narrow: bool) -> None:
    """Label baselines, and lines if there is room, at the right; else add a legend above the panels."""
    figure.draw_without_rendering()
    ends = [_line_ends(panel_axes, panel) for panel_axes, panel in zip(axes, chart.panels, strict=True)]
    # Lines through a cloud of points end before it does, far from labels at the right.
    has_points = any(panel.clouds for panel in chart.panels)
    is_direct = len(chart.line_names) < 2 or (not has_points and all(map(_fit, ends)))
    if not is_direct:
        handles, names = axes[0].get_legend_handles_labels()
        for panel_axes in axes[1:]:
            for handle, name in zip(*panel_axes.get_legend_handles_labels(), strict=True):
                if name not in names:
                    handles.append(handle)
                    names.append(name)
        width = (_NARROW if narrow else _WIDE) - 2 * _FONT_SIZE
        columns = max(1, int(width // (_LEGEND_AROUND + _LETTER * max(map(len, names)))))
        style = {"frameon": False, "handlelength": 2.4, "handletextpad": 0.5, "columnspacing": 1.2}
        figure.legend(handles, names, loc="outside upper left", ncols=columns, **style)
    for panel_axes, panel in zip(axes, chart.panels, strict=True):
        labels = [
            (level.value, f"{level.name} {level.value:.{chart.decimals}f}", GREY) for level in panel.levels
        ]
        if is_direct and len(chart.line_names) > 1:
            labels += [
                (line.y[-1], line.name, line_style(chart.line_names.index(line.name))[0])
                for line in panel.lines
            ]
        _label_margin(panel_axes, labels)


def _line_ends(axes: Any, panel: Panel) -> list[float]:
    """Return the height of everything that would be labelled at the right of a panel, in points."""
    values = [level.value for level in panel.levels] + [line.y[-1] for line in panel.lines]
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
