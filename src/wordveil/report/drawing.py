"""Charts drawn by matplotlib (extra `plots`): wide for a page, narrow for a phone, each light and dark."""

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from wordveil.report.chart_labels import add_labels
from wordveil.report.chart_ticks import is_log, set_ticks, x_values
from wordveil.report.chart_words import describe
from wordveil.report.charts import Chart, Cloud, Line, Panel
from wordveil.report.colours import GREY, GRID, INK, PAPER, LineStyle, dark_style, line_style
from wordveil.report.plots import figure_class

__all__ = ["chart_png", "chart_svg", "draw_chart", "svg_of"]

# A page shows a wide figure at up to 960 pixels, and a phone a narrow one at about 350: at these widths in
# points, ten-point letters are then 12 pixels high or more.
_WIDE, _NARROW = 760.0, 285.0
_PANEL_HEIGHT: Final = 220.0  # points
_AROUND: Final = 48.0  # points above and below the panels: the titles and the x axis
_POINTS: Final = 72.0  # per inch
_DPI: Final = 150  # of a PNG: sharp at the width of a page
_FONT_SIZE: Final = 10.0
_EDGE: Final = 0.03  # of the height, beyond the possible range, so marks there are not cut off
_DODGE: Final = 4.0  # points between lines with intervals, so their bars and caps stay apart
_DODGED: Final = 0.8  # of the room between two x, at most, so each bar stays with its own x
_AXIS: Final = 60.0  # points beside a panel, about: the labels at its left and at its right
_MARGIN: Final = 0.05  # of the width, beside the first and the last x
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
        limits, styles = _y_limits(chart), _line_styles(chart)
        width = size[0] / columns - _AXIS
        for panel_axes, panel in zip(axes, chart.panels, strict=True):
            moves = _dodges(chart, panel, width)
            # Room for what is moved aside, beside matplotlib's own margin.
            panel_axes.margins(x=_MARGIN + max(moves.values(), default=0.0) / width)
            _draw_panel(panel_axes, chart, panel, styles, moves)
            panel_axes.set_ylim(limits)
        for panel_axes in axes if not narrow else axes[-1:]:
            panel_axes.set_xlabel(chart.xlabel)
        for panel_axes in axes[:1] if not narrow else axes:
            panel_axes.set_ylabel(chart.ylabel)
        set_ticks(figure, axes, chart)
        colours = {name: style.colour for name, style in styles.items()}
        add_labels(figure, axes, chart, colours)
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
    axes: Any, chart: Chart, panel: Panel, styles: dict[str, LineStyle], moves: dict[str, float]
) -> None:
    from matplotlib.transforms import ScaledTranslation

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
        drawn = axes.errorbar(line.x, line.y, label=line.name, **bars, **style).get_children()
        if any(line.marked or ()):
            points = [
                (a, b) for a, b, marked in zip(line.x, line.y, line.marked or (), strict=True) if marked
            ]
            ring = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.2}
            drawn += axes.plot(*zip(*points, strict=True), "o", markersize=_RING, label="_", **ring)
        if moves[line.name]:  # afterwards, so the limits of the axes are those of the numbers
            move = ScaledTranslation(moves[line.name] / _POINTS, 0.0, axes.figure.dpi_scale_trans)
            for artist in drawn:
                artist.set_transform(axes.transData + move)
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


def _x_bars(line: Line) -> Any:
    """Return the lengths of the intervals at the left and at the right of a line."""
    if line.x_low is None or line.x_high is None:
        return None
    left = [max(0.0, x - low) for x, low in zip(line.x, line.x_low, strict=True)]
    return [left, [max(0.0, high - x) for x, high in zip(line.x, line.x_high, strict=True)]]


def _dodges(chart: Chart, panel: Panel, width: float) -> dict[str, float]:
    """Return how many points each line is moved aside, if lines have intervals and share their x.

    The bars of one x stay together: with many lines or near x, they are moved less.
    """
    names, ticks = [line.name for line in panel.lines], x_values(chart)
    shares_x = len({*panel.x_values}) < len(panel.x_values)
    if not shares_x or not any(line.low for line in panel.lines):
        return dict.fromkeys(names, 0.0)
    is_logarithmic = is_log(ticks) if not chart.scale else chart.scale == "log"
    places = np.log(ticks) if is_logarithmic else np.array(ticks)
    gap = width * np.diff(places).min() / np.ptp(places) if len(places) > 1 else width
    step = min(_DODGE, _DODGED * gap / len(names))
    return {name: float(step * (number - (len(names) - 1) / 2)) for number, name in enumerate(names)}
