"""Labels beside points of a figure: none covers a curve, a point or another label.

Import it only after `figure_class` has found matplotlib.
"""

from typing import Any, Final

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from wordveil.errors import ParameterError

__all__ = ["label_points"]

Points = NDArray[np.floating[Any]]

_FONT_SIZE: Final = 9  # smaller than the axis labels, and still readable at the width of a page
_MAX_LETTERS: Final = 24  # about half the width of a panel, even if letters are as wide as they are high
_PAD: Final = 2.0  # points around a label: more than its size differs between resolutions
_STEP: Final = 4.0  # points between candidate places: half a letter, too little to notice
_DIRECTIONS: Final = np.array([(np.cos(angle), np.sin(angle)) for angle in np.arange(16) * np.pi / 8])
_WIDENING: Final = 0.2  # of the longer axis, on each side: about two rows of labels
_MAX_LABELS: Final = 40  # take some ten seconds to place; more would be unreadable
_MAX_WIDENINGS: Final = 4  # by then the panels are almost three times as wide as what they show
_DARK: Final = "#444444"
_BELOW_CURVES: Final = 1.5  # matplotlib draws lines at 2 and clouds of points at 1


def label_points(figure: Any, panels: Any, points: dict[str, Points]) -> None:
    """Label the same points in each panel, as close as there is room, and fix the layout of the figure.

    A thin line below the curves connects a label with its point. The panels share their limits, which are
    widened until all labels fit.
    """
    texts = [[_text(panel, word) for word in points] for panel in panels]
    places = np.array(list(points.values()))
    for _ in range(_MAX_WIDENINGS if len(points) <= _MAX_LABELS else 0):
        figure.draw_without_rendering()  # sets the sizes of panels and texts, which are unknown until then
        rooms = [_Room(panel, places, own) for panel, own in zip(panels, texts, strict=True)]
        if all(room.holds_all for room in rooms):
            break
        _widen(panels[0])
    else:
        raise ParameterError(f"The figure has no room for {len(points)} labels. Hint: name fewer words.")
    figure.set_layout_engine("none")  # a second layout could move the curves below the labels
    for room in rooms:
        room.draw()


def _text(panel: Any, word: str) -> Any:
    label = word if len(word) <= _MAX_LETTERS else f"{word[: _MAX_LETTERS - 1]}…"
    white = {"boxstyle": f"square,pad={_PAD / 2 / _FONT_SIZE}", "fc": "white", "ec": "none", "alpha": 0.8}
    text = panel.text(0.0, 0.0, label, fontsize=_FONT_SIZE, ha="center", va="center", bbox=white)
    text.set_in_layout(False)
    return text


def _widen(panel: Any) -> None:
    """Widen both axes equally, so a flat panel becomes high enough for a label."""
    limits = np.array([panel.get_xlim(), panel.get_ylim()])
    margin = _WIDENING * np.ptp(limits, axis=1).max()
    panel.set(xlim=limits[0] + (-margin, margin), ylim=limits[1] + (-margin, margin))


class _Room:
    """A panel in pixels, with a place for each label, as far as there is room."""

    def __init__(self, panel: Any, places: Points, texts: list[Any]) -> None:
        self._panel, self._texts = panel, texts
        self._points: Points = panel.transData.transform(places)
        self._curves = [line.get_transform().transform_path(line.get_path()) for line in panel.lines]
        self._boxes: list[Any] = []
        self._leaders: list[Any] = []
        self.holds_all = all(self._place(*pair) for pair in zip(texts, self._points, strict=True))

    def _place(self, text: Any, point: Points) -> bool:
        """Take the nearest free place, if possible with a leader that crosses no label; False if none."""
        crossed: list[tuple[Any, Any]] = []
        for box in self._candidates(point, text.get_window_extent()):
            if _touches(box, self._curves):
                continue
            leader = Path([point, np.clip(point, box.min, box.max)])
            if not self._is_crossed(box, leader):
                return self._take(box, leader)
            crossed.append((box, leader))
        return bool(crossed) and self._take(*crossed[0])

    def _take(self, box: Any, leader: Any) -> bool:
        self._boxes.append(box)
        self._leaders.append(leader)
        return True

    def _is_crossed(self, box: Any, leader: Any) -> bool:
        return _touches(box, self._leaders) or any(_touches(other, [leader]) for other in self._boxes)

    def _candidates(self, point: Points, extent: Any) -> list[Any]:
        """Return boxes around a point that cover neither a point nor a label, the nearest first."""
        pixels = self._panel.figure.dpi / 72.0
        half = extent.size / 2.0 + _PAD * pixels
        farthest = float(np.hypot(*self._panel.bbox.size))
        distances = np.arange(_STEP * pixels, farthest, _STEP * pixels)
        middles = point + ((distances[:, None, None] + half) * _DIRECTIONS).reshape(-1, 2)
        low, high = middles - half, middles + half
        inside = ((low >= self._panel.bbox.min) & (high <= self._panel.bbox.max)).all(axis=1)
        taken_low = np.array([*self._points, *(box.min for box in self._boxes)])
        taken_high = np.array([*self._points, *(box.max for box in self._boxes)])
        overlaps = ((low[:, None] <= taken_high) & (high[:, None] >= taken_low)).all(axis=2).any(axis=1)
        return [Bbox([low[i], high[i]]) for i in np.flatnonzero(inside & ~overlaps)]

    def draw(self) -> None:
        """Move the labels to their places, and draw the points with the lines that lead to them."""
        to_data = self._panel.transData.inverted().transform
        for text, box in zip(self._texts, self._boxes, strict=True):
            text.set_position(to_data((box.min + box.max) / 2.0))
        lines = [to_data(leader.vertices) for leader in self._leaders]
        self._panel.add_collection(
            LineCollection(lines, colors=_DARK, linewidths=0.7, zorder=_BELOW_CURVES), autolim=False
        )
        self._panel.scatter(*to_data(self._points).T, s=4, c=_DARK, linewidths=0, zorder=_BELOW_CURVES)


def _touches(box: Any, paths: list[Any]) -> bool:
    return any(path.intersects_bbox(box, filled=False) for path in paths)
