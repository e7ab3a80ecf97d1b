"""The colours of pages and figures: each has a light form, which figures are drawn in, and a dark one."""

from typing import Any, Final, NamedTuple

__all__ = ["GREY", "GRID", "INK", "PAPER", "LineStyle", "dark_style", "line_style"]

INK: Final = "#222222"
GREY: Final = "#666666"
GRID: Final = "#dddddd"
PAPER: Final = "#ffffff"

# Okabe and Ito's colours, and a violet as far from each of them as they are from each other, also for the
# colour-blind (in CIELAB, by Machado's matrices). Each has a mark and a dash of its own, so that lines stay
# distinct in grey.
_LINES: Final = (
    ("#111111", "o", "-"),
    ("#0072b2", "s", "--"),
    ("#d55e00", "D", ":"),
    ("#009e73", "^", "-."),
    ("#cc79a7", "v", (0, (5, 1))),
    ("#56b4e9", "P", (0, (1, 1))),
    ("#7711dd", "X", (0, (3, 1, 1, 1))),
)

# Of lines of one group, which share a colour and a mark: the dash, and whether marks are filled, so that
# lines of a single point differ too.
_VARIANTS: Final = (("-", True), ("--", False), (":", True), ("-.", False), ((0, (5, 1)), True))

# In the order of brightness of the light ones, so neighbours stay as distinct as they are on white.
DARK: Final = {
    PAPER: "#16181d",
    INK: "#e8eaed",
    GREY: "#a9afb8",
    GRID: "#3a3f48",
    "#111111": "#ffffff",
    "#0072b2": "#4aa8f0",
    "#d55e00": "#ff8b45",
    "#009e73": "#2fcf9f",
    "#cc79a7": "#eaa5cb",
    "#56b4e9": "#a5dcff",
    "#7711dd": "#8f4dff",
}
"""The dark form of every colour that figures are drawn in."""


class LineStyle(NamedTuple):
    """How a line is drawn."""

    colour: str
    mark: str
    dash: Any
    is_filled: bool = True


def line_style(number: int, variant: int | None = None) -> LineStyle:
    """Return the style of a line; beyond seven, colours repeat with other marks and dashes.

    With a variant, `number` is that of a group of lines, and decides the colour and the mark alone.

    Examples
    --------
    >>> line_style(1)
    LineStyle(colour='#0072b2', mark='s', dash='--', is_filled=True)
    >>> line_style(8)[:3]
    ('#0072b2', 'D', ':')
    >>> line_style(1, 0)[2:], line_style(1, 1)[2:]
    (('-', True), ('--', False))
    """
    cycle = number // len(_LINES)
    colour = _LINES[number % len(_LINES)][0]
    _, mark, dash = _LINES[(number + cycle) % len(_LINES)]
    if variant is None:
        return LineStyle(colour, mark, dash)
    return LineStyle(colour, mark, *_VARIANTS[variant % len(_VARIANTS)])


def dark_style() -> str:
    """Return the CSS that recolours a figure where the reader prefers dark pages; paper stays white."""
    rules = "".join(
        f'[style*="{use}: {light}"]{{{use}:{dark}!important}}'
        for light, dark in DARK.items()
        for use in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark){{{rules}}}"
