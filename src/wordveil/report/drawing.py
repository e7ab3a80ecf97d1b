"""Charts drawn by matplotlib (extra `plots`): wide for a page, narrow for a phone, each light and dark."""

import html
import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from wordveil.report.chart_labels import LETTER, add_labels, wrapped
from wordveil.report.chart_ticks import set_scale, set_ticks, x_values
from wordveil.report.chart_words import describe
from wordveil.report.charts import Chart, Cloud, Line, Panel
from wordveil.report.colours import GREY, GRID, INK, PAPER, LineStyle, dark_style, line_style
from wordveil.report.plots import figure_class

__all__ = ["chart_png", "chart_svg", "draw_chart", "svg_of"]

# A page shows a wide figure at up to 960 pixels, and a phone a narrow one at about 350: at these widths in
# points, ten-point letters are then 12 pixels high or more.
_WIDE, _NARROW = 760.0, 285.0
_COLUMNS: Final = 2  # of a wide figure: with the labels beside them, more panels would be too narrow
_PANEL_HEIGHT: Final = 220.0  # points
_AROUND: Final = 48.0  # points above and below the panels: the titles and the x axis
_POINTS: Final = 72.0  # per inch
_DPI: Final = 150  # of a PNG: sharp at the width of a page
_FONT_SIZE: Final = 10.0
_EDGE: Final = 0.03  # of the height, beyond the possible range, so marks there are not cut off
_DODGE: Final = 4.0  # points between lines with intervals, so their bars and caps stay apart
_DODGED: Final = 0.8  # of the room between two x, at most, so each bar stays with its own x
_AXIS: Final = 50.0  # points at the left of a panel, about: the labels of the y axis
_MARGIN: Final = 0.05  # of the width, beside the first and the last x
_RING: Final = 11.0  # points: around a mark, without touching it
_DOT: Final = 1e-3  # of the width: the length of a dot, which SVG draws as a round stroke


def draw_chart(chart: Chart, *, narrow: bool = False) -> Any:
    """Return a chart as a matplotlib figure: panels share both axes, and nothing covers a line.

    Panels stand in one column if narrow, else in up to two. Baselines are labelled at the right of each
    panel. So are the lines, if their ends are far enough apart; otherwise a legend stands above the panels.
    """
    count = len(chart.panels)
    columns = 1 if narrow else min(count, _COLUMNS)
    rows = math.ceil(count / columns)
    size = (
        _NARROW if narrow else _WIDE,
        _AROUND + rows * (_PANEL_HEIGHT if rows == 1 else 0.8 * _PANEL_HEIGHT),
    )
    width = size[0] / columns
    with _drawing_style():
        figure = figure_class()(
            figsize=(size[0] / _POINTS, size[1] / _POINTS), dpi=_POINTS, layout="constrained", facecolor=PAPER
        )
        axes = _add_axes(figure, chart, rows, columns)
        styles = _line_styles(chart)
        drawn = [
            _draw_panel(panel_axes, chart, panel, styles, width)
            for panel_axes, panel in zip(axes, chart.panels, strict=True)
        ]
        axes[0].set_ylim(_y_limits(chart))
        set_scale(axes, chart)
        colours = {name: style.colour for name, style in styles.items()}
        add_labels(figure, axes, chart, colours, width)
        _place_lines(figure, axes, chart, drawn)
        set_ticks(figure, axes, chart)
    return figure


def _add_axes(figure: Any, chart: Chart, rows: int, columns: int) -> list[Any]:
    """Return axes for all panels, row by row; those at the left and at the bottom of a column have labels."""
    axes: list[Any] = []
    for number in range(count := len(chart.panels)):
        shared = {"sharex": axes[0], "sharey": axes[0]} if axes else {}
        panel_axes = figure.add_subplot(rows, columns, number + 1, **shared)
        is_left, is_bottom = number % columns == 0, number + columns >= count
        panel_axes.tick_params(labelleft=is_left, labelbottom=is_bottom)
        panel_axes.set_xlabel(chart.xlabel if is_bottom else "")
        panel_axes.set_ylabel(chart.ylabel if is_left else "")
        axes.append(panel_axes)
    return axes


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


def _line_styles(chart: Chart) -> dict[str, LineStyle]:
    """Return the style of each line by its name: one of its own, or that of its group and its place there."""
    groups = chart.groups
    if not groups:
        return {name: line_style(number) for number, name in enumerate(chart.line_names)}
    numbers = list(dict.fromkeys(groups.values()))
    # What follows the name of the group, so that the same λ has the same dash in every group.
    rest = {name: name.removeprefix(group) for name, group in groups.items()}
    variants = list(dict.fromkeys(rest.values()))
    return {name: line_style(numbers.index(groups[name]), variants.index(rest[name])) for name in groups}


def _draw_panel(
    axes: Any, chart: Chart, panel: Panel, styles: dict[str, LineStyle], width: float
) -> dict[str, list[Any]]:
    """Draw a panel in a column of that width; return what was drawn for each line."""
    artists: dict[str, list[Any]] = {}
    for level in panel.levels:
        axes.axhline(level.value, color=GREY, linewidth=1, linestyle=(0, (4, 2)), zorder=1.5)
    for cloud in panel.clouds:
        _draw_cloud(axes, cloud, styles[cloud.name].colour)
    for line in panel.lines:
        colour, mark, dash, is_filled = styles[line.name]
        style = {"color": colour, "linewidth": 1.4}
        style |= {"marker": mark, "markersize": 4, "markerfacecolor": colour if is_filled else PAPER}
        style["linestyle"] = dash if len(line.x) > 1 else "none"
        bars = {"yerr": _bars(chart, line), "xerr": _x_bars(line), "capsize": 2, "elinewidth": 1}
        drawn = [*axes.errorbar(line.x, line.y, label=line.name, **bars, **style).get_children()]
        if any(line.marked or ()):
            points = [
                (a, b) for a, b, marked in zip(line.x, line.y, line.marked or (), strict=True) if marked
            ]
            ring = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.2}
            drawn += axes.plot(*zip(*points, strict=True), "o", markersize=_RING, label="_", **ring)
        artists[line.name] = drawn
    axes.set_title(wrapped(panel.title, (width - _AXIS) / LETTER), loc="left")
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    return artists


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


def _x_bars(line: Line) -> Any:
    """Return the lengths of the intervals at the left and at the right of a line."""
    if line.x_low is None or line.x_high is None:
        return None
    left = [max(0.0, x - low) for x, low in zip(line.x, line.x_low, strict=True)]
    return [left, [max(0.0, high - x) for x, high in zip(line.x, line.x_high, strict=True)]]


def _place_lines(figure: Any, axes: list[Any], chart: Chart, drawn: list[dict[str, list[Any]]]) -> None:
    """Move lines that share their x aside, and give the x axis room for that, now that widths are known."""
    from matplotlib.transforms import ScaledTranslation

    figure.draw_without_rendering()
    width = min(panel_axes.bbox.width for panel_axes in axes)
    is_logarithmic = axes[0].get_xscale() == "log"
    furthest = 0.0
    for panel_axes, panel, artists in zip(axes, chart.panels, drawn, strict=True):
        moves = _dodges(panel, x_values(chart), width, is_logarithmic=is_logarithmic)
        furthest = max(furthest, *moves.values(), 0.0)
        for name, points in moves.items():
            if points:
                move = ScaledTranslation(points / _POINTS, 0.0, figure.dpi_scale_trans)
                for artist in artists[name]:
                    artist.set_transform(panel_axes.transData + move)
    ends = [end for panel_axes in axes for end in panel_axes.dataLim.intervalx if np.isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    if low == high:
        return  # one x, which matplotlib places in the middle
    if is_logarithmic:
        low, high = math.log10(low), math.log10(high)
    margin = _MARGIN * width + furthest
    room = (high - low) * margin / (width - 2.0 * margin)
    limits = low - room, high + room
    axes[0].set_xlim([10.0**end for end in limits] if is_logarithmic else limits)


def _dodges(panel: Panel, ticks: list[float], width: float, *, is_logarithmic: bool) -> dict[str, float]:
    """Return how many points each line is moved aside, if lines have intervals and share their x.

    The bars of one x stay together: with many lines or near x, they are moved less.
    """
    names = [line.name for line in panel.lines]
    shares_x = len({*panel.x_values}) < len(panel.x_values)
    if not shares_x or not any(line.low for line in panel.lines):
        return dict.fromkeys(names, 0.0)
    places = np.log(ticks) if is_logarithmic else np.array(ticks)
    room = max(width / 2.0, (1.0 - 2.0 * _MARGIN) * width - _DODGE * (len(names) - 1))
    gap = room * np.diff(places).min() / np.ptp(places) if len(places) > 1 else room
    step = min(_DODGE, _DODGED * gap / len(names))
    return {name: float(step * (number - (len(names) - 1) / 2)) for number, name in enumerate(names)}
