"""What a figure shows, as plain numbers: drawing it, and saying it in words, come later."""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Chart", "Cloud", "Level", "Line", "Panel"]


@dataclass(frozen=True, slots=True)
class Line:
    """A named line; `low` and `high` are the ends of its intervals, if it has any; some points may be marked.

    `x_low` and `x_high` are the ends of intervals of x, where x is measured too.

    Lines of one `group` have the same colour. Their names begin with that of the group; what follows decides
    the dash.

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
    group: str = ""
    x_low: tuple[float, ...] | None = field(default=None, repr=False)
    x_high: tuple[float, ...] | None = field(default=None, repr=False)


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

    @property
    def x_values(self) -> list[float]:
        """The x of all points of all lines; a shared one is there several times."""
        return [x for line in self.lines for x in line.x]


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
        In two columns on a wide page, one above the other on a phone.
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
    reference : float, optional
        The x at which lines that share no x are compared in words.
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
    reference: float | None = None

    @property
    def line_names(self) -> list[str]:
        """The names of all lines, each once, in the order of their appearance; they decide the styles."""
        return list(dict.fromkeys(line.name for panel in self.panels for line in panel.lines))

    @property
    def groups(self) -> dict[str, str]:
        """The group of each name of a line; empty if the lines have none."""
        lines = [line for panel in self.panels for line in panel.lines]
        return {line.name: line.group for line in lines} if all(line.group for line in lines) else {}
