"""What a figure shows, as plain numbers: drawing it, and saying it in words, come later."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["Chart", "Cloud", "Level", "Line", "Panel", "describe"]

_FLAT: Final = 0.02  # of the range of a chart: a smaller change is not called a rise or a fall


@dataclass(frozen=True, slots=True)
class Line:
    """A named line; `low` and `high` are the ends of its intervals, if it has any; some points may be marked.

    Examples
    --------
    >>> Line("λ = 0", (1.0, 10.0), (0.2, 0.9)).y
    (0.2, 0.9)
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    marked: tuple[bool, ...] | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """A baseline: one value for every x, such as the accuracy of the majority class."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Cloud:
    """Points behind the line of the same name."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: lines, baselines and points."""

    title: str
    lines: tuple[Line, ...]
    levels: tuple[Level, ...] = ()
    clouds: tuple[Cloud, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of panels with the same axes.

    Attributes
    ----------
    name : str
        The stem of its files.
    caption : str
        What it shows and how to read it.
    panels : tuple of Panel
        Side by side on a wide page, one above the other on a phone.
    xlabel, ylabel : str
        With their units.
    limits : pair of float, optional
        The possible range of y; intervals end there, and so does the axis.
    decimals : int
        How many decimals y has in words.
    scale : str
        "linear" or "log" if the x of lines differ: the axis then has round numbers. By default all lines
        share the same few x, and the axis has these.
    mark : str
        What marked points have in common.
    """

    name: str
    caption: str
    panels: tuple[Panel, ...]
    xlabel: str
    ylabel: str
    limits: tuple[float, float] | None = None
    decimals: int = 1
    scale: Literal["", "linear", "log"] = ""
    mark: str = ""

    @property
    def line_names(self) -> list[str]:
        """The names of all lines, each once, in the order of their appearance; they decide the styles."""
        return list(dict.fromkeys(line.name for panel in self.panels for line in panel.lines))


def describe(chart: Chart) -> str:
    """Return what a chart shows in words: the directions, both ends, the largest difference, the baselines.

    Examples
    --------
    >>> lines = Line("λ = 0", (1.0, 10.0), (0.0, 90.0)), Line("λ = 1", (1.0, 10.0), (0.0, 60.0))
    >>> panel = Panel("median", lines, (Level("chance", 1.0),))
    >>> print(describe(Chart("n", "N_w against ε.", (panel,), "ε", "N_w, % of draws", decimals=0)))
    Line chart of N_w, % of draws, against ε (1 to 10).
    Median: λ = 0 rises from 0 to 90; λ = 1 rises from 0 to 60.
    They differ most at ε = 10: λ = 0 has 90, λ = 1 has 60.
    Baseline: chance 1.
    """
    every_x = [x for panel in chart.panels for line in panel.lines for x in line.x]
    head = f"Line chart of {chart.ylabel}, against {chart.xlabel}"
    if every_x:
        head += f" ({min(every_x):.3g} to {max(every_x):.3g})"
    return f"{head}. {' '.join(_describe_panel(chart, panel) for panel in chart.panels)}"


def _describe_panel(chart: Chart, panel: Panel) -> str:
    values = [y for line in panel.lines for y in line.y]
    flat = _FLAT * (max(values) - min(values)) if values else 0.0
    lines = _describe_lines([line for line in panel.lines if line.y], flat, chart.decimals)
    sentences = [f"{panel.title[:1].upper()}{panel.title[1:]}: {lines}." if panel.title else f"{lines}."]
    if len(panel.lines) > 1:
        sentences += _largest_difference(chart, panel.lines)
    marked = [line.name for line in panel.lines if any(line.marked or ())]
    if marked:
        sentences.append(f"{chart.mark[:1].upper()}{chart.mark[1:]}: {', '.join(marked)}.")
    if panel.levels:
        levels = ", ".join(f"{level.name} {level.value:.{chart.decimals}f}" for level in panel.levels)
        sentences.append(f"{'Baselines' if len(panel.levels) > 1 else 'Baseline'}: {levels}.")
    return " ".join(sentences)


def _describe_lines(lines: Sequence[Line], flat: float, decimals: int) -> str:
    """Return a sentence for each line, or one for all if more than two go the same way."""
    directions = [_direction(line, flat) for line in lines]
    if len(lines) > 2 and len(set(directions)) == 1 and directions[0] in ("rises", "falls"):
        first = _range([line.y[0] for line in lines], decimals)
        last = _range([line.y[-1] for line in lines], decimals)
        return f"all {len(lines)} lines {directions[0][:-1]}, from {first} to {last}"
    return "; ".join(
        _describe_line(line, direction, decimals) for line, direction in zip(lines, directions, strict=True)
    )


def _direction(line: Line, flat: float) -> str:
    if len(line.y) == 1:
        return "is"
    change = line.y[-1] - line.y[0]
    return "stays" if abs(change) <= flat else "rises" if change > 0.0 else "falls"


def _describe_line(line: Line, direction: str, decimals: int) -> str:
    if direction in ("is", "stays"):
        return f"{line.name} {direction} at {_range(line.y, decimals)}"
    return f"{line.name} {direction} from {line.y[0]:.{decimals}f} to {line.y[-1]:.{decimals}f}"


def _range(values: Sequence[float], decimals: int) -> str:
    low, high = f"{min(values):.{decimals}f}", f"{max(values):.{decimals}f}"
    return low if low == high else f"between {low} and {high}"


def _largest_difference(chart: Chart, lines: Sequence[Line]) -> list[str]:
    """Return a sentence about the x at which the lines are furthest apart, if they share any x."""
    shared = sorted(set.intersection(*(set(line.x) for line in lines)))
    if not shared:
        return []
    at = {x: [(line.y[line.x.index(x)], line.name) for line in lines] for x in shared}
    x = max(shared, key=lambda value: max(at[value])[0] - min(at[value])[0])
    (low, low_name), (high, high_name) = min(at[x]), max(at[x])
    if f"{low:.{chart.decimals}f}" == f"{high:.{chart.decimals}f}":
        return []
    numbers = (
        f"{high_name} has {high:.{chart.decimals}f}, {low_name} has {low:.{chart.decimals}f}"
        if len(lines) < 3
        else f"from {low:.{chart.decimals}f} ({low_name}) to {high:.{chart.decimals}f} ({high_name})"
    )
    return [f"They differ most at {chart.xlabel} = {x:.3g}: {numbers}."]
