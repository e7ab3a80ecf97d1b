"""What a chart shows in words: the text alternative of a figure."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from wordveil.report.charts import Chart, Line, Panel

__all__ = ["describe"]

_FLAT: Final = 0.02  # of the range of a chart: a smaller change is not called a rise or a fall
_MOST_NAMES: Final = 6  # of lines that are summed up in one sentence


def describe(chart: Chart) -> str:
    """Return what a chart shows in words: the directions, both ends, the largest difference, the baselines.

    Examples
    --------
    >>> from wordveil.report.charts import Level
    >>> lines = Line("λ = 0", (1.0, 10.0), (0.0, 90.0)), Line("λ = 1", (1.0, 10.0), (0.0, 60.0))
    >>> panel = Panel("median", lines, (Level("chance", 1.0),))
    >>> print(describe(Chart("n", "N_w against ε.", (panel,), "ε", "N_w, % of draws", decimals=0)))
    Line chart of N_w, % of draws, against ε (1 to 10).
    Median: λ = 0 rises from 0 to 90; λ = 1 rises from 0 to 60.
    They differ most at ε = 10: λ = 0 has 90, λ = 1 has 60.
    Baseline: chance 1.
    """
    every_x = [x for panel in chart.panels for x in panel.x_values]
    has_lines = any(len(line.x) > 1 for panel in chart.panels for line in panel.lines)
    head = f"{'Line chart' if has_lines else 'Points'} of {chart.ylabel}, against {chart.xlabel}"
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
        names = f" ({', '.join(line.name for line in lines)})" if len(lines) <= _MOST_NAMES else ""
        return f"all {len(lines)} lines {directions[0][:-1]}, from {first} to {last}{names}"
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
    """Return a sentence about the reference, or the x at which lines that share any are furthest apart."""
    if chart.reference is not None:
        return _at_reference(chart, lines, chart.reference)
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
    return [f"They differ most at {_symbol(chart)} = {x:.3g}: {numbers}."]


def _at_reference(chart: Chart, lines: Sequence[Line], x: float) -> list[str]:
    """Return a sentence about the best and the worst line there, read between measured points."""
    values = [(float(np.interp(x, line.x, line.y)), line.name) for line in lines if line.x]
    (low, low_name), (high, high_name) = min(values), max(values)
    decimals = chart.decimals
    return [
        f"Near {_symbol(chart)} = {x:g} the highest is {high_name} with {high:.{decimals}f}, the lowest "
        f"{low_name} with {low:.{decimals}f}."
    ]


def _symbol(chart: Chart) -> str:
    """Return the label of the x axis without its unit."""
    return chart.xlabel.partition(",")[0]
