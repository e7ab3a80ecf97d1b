"""The ticks of the x axis: every value that was chosen, or round numbers."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from wordveil.report.charts import Chart

__all__ = ["is_log", "set_scale", "set_ticks", "x_values"]

_TICK_GAP: Final = 20.0  # points between the middles of two tick labels
_LETTER, _TICK_SPACE = 5.8, 5.0  # points: the mean width of a letter, and between two labels
_MAX_TICKS, _MAX_DIGITS = 15, 4
_MIN_TICKS: Final = 3  # fewer would not say that an axis is logarithmic
# The first digits of ticks; the first of these that leave room and enough ticks.
_DIGITS: Final = ((1, 2, 5), (1, 3), (1,), tuple(range(1, 10)))


def x_values(chart: Chart) -> list[float]:
    """Return every x of a chart, in ascending order."""
    return sorted({value for panel in chart.panels for value in panel.x_values})


def is_log(values: Sequence[float]) -> bool:
    """Return whether factors separate the values better than differences do.

    Examples
    --------
    >>> is_log([1, 5, 10, 20, 40]), is_log([1, 5, 10, 15, 20, 25, 30, 40])
    (True, False)
    """
    if len(values) < 3 or values[0] <= 0:
        return False
    x = np.asarray(values, dtype=np.float64)
    logs = np.log(x)
    return bool(np.diff(logs).min() / np.ptp(logs) > np.diff(x).min() / np.ptp(x))


def _are_chosen(values: Sequence[float]) -> bool:
    return len(values) <= _MAX_TICKS and all(len(f"{value:g}") <= _MAX_DIGITS for value in values)


def set_scale(axes: Sequence[Any], chart: Chart) -> None:
    """Make the x axis, which all panels share, logarithmic where that separates the values better."""
    values = x_values(chart)
    if chart.scale == "log" or (not chart.scale and _are_chosen(values) and is_log(values)):
        axes[0].set_xscale("log")


def set_ticks(figure: Any, axes: Sequence[Any], chart: Chart) -> None:
    """Mark every x that was chosen, such as an ε; label as many as there is room for, always both ends."""
    values = x_values(chart)
    if chart.scale == "log":
        figure.draw_without_rendering()
        _set_log_ticks(axes)
    if chart.scale or not _are_chosen(values):
        return  # measured, not chosen: matplotlib's ticks are easier to read
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


def _set_log_ticks(axes: Sequence[Any]) -> None:
    """Mark the same digits in every decade: matplotlib's own ticks leave out some where there is room."""
    low, high = axes[0].get_xlim()
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    options = [
        [
            tick
            for decade in range(first, last + 1)
            for digit in digits
            if low <= (tick := digit * 10.0**decade) <= high
        ]
        for digits in _DIGITS
    ]
    # Over many decades, 1 in each second or third of them, and so on.
    options += [
        [
            tick
            for decade in range(-step * (-first // step), last + 1, step)
            if low <= (tick := 10.0**decade) <= high
        ]
        for step in range(2, last - first)
    ]
    ticks = next(
        (option for option in options if _have_room(axes[0], option)), max(options[: len(_DIGITS)], key=len)
    )
    for panel_axes in axes:
        panel_axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel_axes.minorticks_off()


def _have_room(axes: Any, ticks: list[float]) -> bool:
    if len(ticks) < _MIN_TICKS:
        return False
    places = [axes.transData.transform((tick, axes.get_ylim()[0]))[0] for tick in ticks]
    widths = np.array([_LETTER * len(f"{tick:g}") for tick in ticks])
    needed = np.maximum(_TICK_GAP, _TICK_SPACE + 0.5 * (widths[:-1] + widths[1:]))
    return bool((np.diff(places) >= needed).all())
