"""The colours of pages and figures: each has a light form, which figures are drawn in, and a dark one."""

from typing import Any, Final

__all__ = ["GREY", "GRID", "INK", "PAPER", "dark_style", "line_style"]

INK: Final = "#222222"
GREY: Final = "#666666"
GRID: Final = "#dddddd"
PAPER: Final = "#ffffff"

# Okabe and Ito's colours, each with a mark and a dash of its own, so lines stay distinct in grey.
_LINES: Final = (
    ("#111111", "o", "-"),
    ("#0072b2", "s", "--"),
    ("#d55e00", "D", ":"),
    ("#009e73", "^", "-."),
    ("#cc79a7", "v", (0, (5, 1))),
    ("#56b4e9", "P", (0, (1, 1))),
)

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
}
"""The dark form of every colour that figures are drawn in."""


def line_style(number: int) -> tuple[str, str, Any]:
    """Return a colour, a mark and a dash; beyond six lines, colours repeat with other marks and dashes.

    Examples
    --------
    >>> line_style(1)
    ('#0072b2', 's', '--')
    >>> line_style(7)
    ('#0072b2', 'D', ':')
    """
    cycle = number // len(_LINES)
    colour = _LINES[number % len(_LINES)][0]
    _, mark, dash = _LINES[(number + cycle) % len(_LINES)]
    return colour, mark, dash


def dark_style() -> str:
    """Return the CSS that recolours a figure where the reader prefers dark pages; paper stays white."""
    rules = "".join(
        f'[style*="{use}: {light}"]{{{use}:{dark}!important}}'
        for light, dark in DARK.items()
        for use in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark){{{rules}}}"
