"""Figures, measured: what is drawn lies where it can be read, in the wide and in the narrow form."""

import re
from itertools import combinations
from typing import Any

import pytest

from wordveil.report.charts import Chart, Cloud, Level, Line, Panel, describe
from wordveil.report.colours import DARK, GREY, INK, PAPER, line_style
from wordveil.report.drawing import chart_png, chart_svg, draw_chart
from wordveil.report.styles import page_style

EPSILONS = (1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0)
BASELINES = Level("unperturbed", 0.98), Level("majority", 0.87), Level("chance", 0.5)


def chart(lines: int = 3, panels: int = 3, *, apart: float = 0.0) -> Chart:
    """Return a chart whose lines meet at the right, or end `apart` from each other."""

    def line(place: int) -> Line:
        y = tuple(x / 40.0 * ((0.78 if apart else 0.9) - apart * place) for x in EPSILONS)
        return Line(f"λ = {place / 4:g}", EPSILONS, y, tuple(v - 0.3 for v in y), tuple(v + 0.3 for v in y))

    drawn = tuple(line(place) for place in range(lines))
    return Chart(
        "u", "Scores.", tuple(Panel(f"score {number}", drawn, BASELINES) for number in range(panels)),
        "ε", "score", (0.0, 1.0), decimals=2,
    )  # fmt: skip


CHARTS = {
    "together": chart(),
    "apart": chart(apart=0.1, panels=1),
    "many lines": chart(lines=8),
    "one line": chart(lines=1, panels=1),
}


def texts_of(figure: Any) -> list[Any]:
    """Return the places of all texts that are shown, in points."""
    texts = [text for axes in figure.axes for text in [*axes.texts, axes._left_title]]
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = zip(axis.get_ticklocs(), axis.get_majorticklabels(), strict=False)
            texts += [label for place, label in ticks if low <= place <= high]  # others are not drawn
    return [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", CHARTS)
def test_no_text_covers_another_or_leaves_the_figure(name: str, narrow: bool) -> None:
    figure = draw_chart(CHARTS[name], narrow=narrow)
    figure.draw_without_rendering()
    legends = [legend.get_window_extent() for legend in figure.legends]
    boxes = [*texts_of(figure), *legends]
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1 + 0.5
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1 + 0.5


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", CHARTS)
def test_a_legend_only_where_ends_meet_and_outside_of_the_panels(name: str, narrow: bool) -> None:
    figure = draw_chart(CHARTS[name], narrow=narrow)
    figure.draw_without_rendering()
    assert len(figure.legends) == (name in ("together", "many lines"))
    for legend in figure.legends:
        assert not any(legend.get_window_extent().overlaps(axes.bbox) for axes in figure.axes)
    labels = {text.get_text() for text in figure.axes[0].texts}
    assert {"unperturbed 0.98", "majority 0.87", "chance 0.50"} <= labels
    assert ("λ = 0" in labels) == (name == "apart")


@pytest.mark.parametrize("narrow", [False, True])
def test_axes_are_shared_include_baselines_and_end_at_the_possible(narrow: bool) -> None:
    figure = draw_chart(CHARTS["together"], narrow=narrow)
    low, high = figure.axes[0].get_ylim()
    assert low <= 0.0 < 1.0 <= high < 1.05
    assert low > -0.05
    for axes in figure.axes:
        assert axes.get_ylim() == (low, high)
        for container in axes.containers:
            for segment in container.lines[2][0].get_segments():
                assert 0.0 <= segment[:, 1].min() <= segment[:, 1].max() <= 1.0 + 1e-12


def test_every_value_of_x_has_a_mark_and_both_ends_a_label() -> None:
    axes = draw_chart(CHARTS["together"], narrow=True).axes[-1]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert list(axes.get_xticks()) == list(EPSILONS)
    assert (labels[0], labels[-1]) == ("1", "40")
    assert axes.get_xscale() == "linear"  # with these values, factors would push those from 20 to 40 together


def test_values_of_x_that_were_measured_have_no_ticks_of_their_own() -> None:
    line = Line("a", (0.30123, 0.41234, 0.87654), (0.1, 0.2, 0.3))
    figure = draw_chart(Chart("f", "Frontier.", (Panel("", (line,)),), "best guess", "cosine"))
    assert 0.41234 not in figure.axes[0].get_xticks()


@pytest.mark.parametrize("narrow", [False, True])
def test_letters_are_large_enough_on_the_screens_they_are_drawn_for(narrow: bool) -> None:
    svg = chart_svg(CHARTS["together"], narrow=narrow)
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])  # type: ignore[index]
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)]
    assert min(sizes) * (358.0 if narrow else 960.0) / width >= 10.0


def test_an_svg_says_what_it_shows_and_has_a_dark_form() -> None:
    svg = chart_svg(CHARTS["together"])
    assert f"<desc>{describe(CHARTS['together'])}</desc>" in svg
    assert "prefers-color-scheme: dark" in svg
    drawn = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg))
    assert drawn <= DARK.keys()
    assert svg == chart_svg(CHARTS["together"])
    assert chart_png(CHARTS["apart"]).startswith(b"\x89PNG")


def test_points_are_one_path() -> None:
    cloud = Cloud("λ = 0", tuple(i / 1000 for i in range(2000)), tuple(float(i % 100) for i in range(2000)))
    line = Line("λ = 0", (0.1, 1.0, 1.9), (10.0, 50.0, 90.0))
    svg = chart_svg(Chart("d", "Points.", (Panel("", (line,), (), (cloud,)),), "distance", "N_w"))
    assert svg.count("<path") < 60
    assert len(svg) < 120_000


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast() -> None:
    """Text has 4.5:1 in both schemes (WCAG AA), lines 3:1 in the dark one; Okabe and Ito's are as they are."""
    for text in (INK, GREY):
        assert contrast(text, PAPER) >= 4.5
        assert contrast(DARK[text], DARK[PAPER]) >= 4.5
    assert all(contrast(DARK[line_style(number)[0]], DARK[PAPER]) >= 3.0 for number in range(6))
    for scheme in re.findall(r":root\{([^}]*)\}", page_style()):
        colours = dict(part.split(":") for part in scheme.strip(";").split(";"))
        for name in ("--ink", "--grey", "--link", "--good", "--warn"):
            for background in ("--paper", "--soft"):
                assert contrast(colours[name], colours[background]) >= 4.5, (name, background)


def test_a_description_has_numbers_and_directions() -> None:
    text = describe(CHARTS["together"])
    assert "all 3 lines rise, from 0.02 to 0.90" in text
    assert "Baselines: unperturbed 0.98, majority 0.87, chance 0.50." in text
    falling = Line("λ = 0", (1.0, 2.0), (9.0, 1.0))
    flat = Line("λ = 1", (1.0, 2.0), (5.0, 5.0))
    words = describe(Chart("x", "", (Panel("", (falling, flat)),), "ε", "S_w", decimals=0))
    assert "λ = 0 falls from 9 to 1; λ = 1 stays at 5." in words
