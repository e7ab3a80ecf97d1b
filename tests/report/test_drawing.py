"""Figures, measured: what is drawn lies where it can be read, in the wide and in the narrow form."""

import re
from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import pytest

from wordveil.report.chart_words import describe
from wordveil.report.charts import Chart, Cloud, Level, Line, Panel
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


def settings(panels: int) -> Chart:
    """Return a chart with the long titles and labels of attacks on several settings."""
    x = (3.0, 6.0, 12.0)
    lines = tuple(
        Line(f"attack {n} of a text", x, (60.0 + n, 80.0 + n, 100.0), (0.0,) * 3, (100.0,) * 3)
        for n in range(7)
    )
    floors = Level("without the output", 5.4), Level("topic prior, best guess, without output", 8.6)
    return Chart(
        "attacks", "Success.",
        tuple(
            # The last one has fewer lines, which need less room.
            Panel(f"linkage: mahalanobis, {n} dims, λ = 0.25", lines if n < panels - 1 else lines[:2], floors)
            for n in range(panels)
        ),
        "ε", "success, %", (0.0, 100.0),
    )  # fmt: skip


CHARTS = {
    "together": chart(),
    "apart": chart(apart=0.1, panels=1),
    "many lines": chart(lines=8),
    "one line": chart(lines=1, panels=1),
    "settings": settings(6),
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
    assert len(figure.legends) == (name in ("together", "many lines", "settings"))
    for legend in figure.legends:
        assert not any(legend.get_window_extent().overlaps(axes.bbox) for axes in figure.axes)
    labels = {text.get_text() for text in figure.axes[0].texts}
    if name == "settings":
        assert any("\n" in label for label in labels)
        return
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


@pytest.mark.parametrize("panels", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("make", [settings, partial(chart, 8)])
def test_panels_keep_their_width_and_contain_every_point(
    make: Callable[..., Chart], narrow: bool, panels: int
) -> None:
    figure = draw_chart(make(panels=panels), narrow=narrow)
    figure.draw_without_rendering()
    columns = 1 if narrow else min(panels, 2)
    assert len(figure.axes) == panels
    assert len({round(axes.bbox.x0) for axes in figure.axes}) == columns
    for axes in figure.axes:
        assert axes.bbox.width >= 0.4 * figure.bbox.width / columns
        assert axes.bbox.height >= 120.0
        for container in axes.containers:
            line = container.lines[0]
            places = line.get_transform().transform(line.get_xydata())[:, 0]
            assert axes.bbox.x0 + 2.0 <= places.min() <= places.max() <= axes.bbox.x1 - 2.0
            heights = line.get_transform().transform(line.get_xydata())[:, 1]
            assert axes.bbox.y0 <= heights.min() <= heights.max() <= axes.bbox.y1


def test_many_lines_keep_their_order_inside_of_a_narrow_panel() -> None:
    figure = draw_chart(chart(lines=40, panels=1), narrow=True)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    lines = [container.lines[0] for container in axes.containers]
    places = [line.get_transform().transform(line.get_xydata())[:, 0] for line in lines]
    assert all((left < right).all() for left, right in pairwise(places))
    assert axes.bbox.x0 < places[0][0] < places[-1][-1] < axes.bbox.x1


def test_the_lowest_panel_of_a_column_names_x_and_the_first_of_a_row_names_y() -> None:
    axes = draw_chart(chart(panels=3)).axes
    assert [(one.get_xlabel(), one.get_ylabel()) for one in axes] == [
        ("", "score"),
        ("ε", ""),
        ("ε", "score"),
    ]
    shown = [any(label.get_visible() for label in one.get_xticklabels()) for one in axes]
    assert shown == [False, True, True]


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


def test_lines_of_a_group_share_a_colour_and_a_value_of_lambda_a_dash() -> None:
    drawn = tuple(
        Line(f"{space}{lam}", (1.0, 2.0), (0.1, 0.2 + number / 100), group=space)
        for number, space in enumerate(("a", "b", "c", "d"))
        for lam in (", λ = 0", ", λ = 1")
    )
    axes = draw_chart(Chart("g", "Groups.", (Panel("", drawn),), "S", "cosine")).axes[0]
    styles = [(line.get_color(), line.get_linestyle(), line.get_markerfacecolor()) for line in axes.lines]
    assert len({colour for colour, _, _ in styles}) == 4
    assert [dash for _, dash, _ in styles] == ["-", "--"] * 4
    assert all((fill == PAPER) == (dash == "--") for _, dash, fill in styles)


def test_a_single_point_has_no_dash() -> None:
    one, two = Line("one", (1.0,), (0.5,)), Line("two", (1.0, 2.0), (0.5, 0.5))
    single = Chart("p", "", (Panel("", (one, two)),), "S", "cosine", decimals=2)
    assert [line.get_linestyle() for line in draw_chart(single).axes[0].lines] == ["None", "--"]
    assert describe(single).startswith("Line chart of")
    assert describe(Chart("p", "", (Panel("", (one,)),), "S", "cosine")).startswith("Points of")


def test_a_legend_adds_its_own_height() -> None:
    few, many = (draw_chart(chart(lines=count), narrow=True) for count in (2, 12))
    for figure in (few, many):
        figure.draw_without_rendering()
    assert many.get_figheight() > few.get_figheight()
    assert many.axes[0].bbox.height >= 0.97 * few.axes[0].bbox.height


def test_bars_at_the_same_x_are_some_points_apart() -> None:
    places = {}
    for panels in (1, 3):
        figure = draw_chart(chart(lines=2, panels=panels))
        figure.draw_without_rendering()
        lines = [container.lines[0] for container in figure.axes[0].containers]
        places[panels] = [line.get_transform().transform(line.get_xydata())[0, 0] for line in lines]
        assert [list(line.get_xdata()) for line in lines] == [list(EPSILONS)] * 2
    assert all(second - first == pytest.approx(4.0) for first, second in places.values())


def test_equal_baselines_share_a_label() -> None:
    levels = Level("majority", 0.5), Level("chance", 0.5), Level("unperturbed", 0.9)
    line = Line("λ = 0", (1.0, 2.0), (0.5, 0.8))
    axes = draw_chart(Chart("e", "", (Panel("", (line,), levels),), "ε", "recall", decimals=2)).axes[0]
    assert [text.get_text() for text in axes.texts] == ["majority = chance 0.50", "unperturbed 0.90"]


@pytest.mark.parametrize(
    ("x", "ticks"),
    [((0.9, 11.0), [1, 2, 5, 10]), ((1e-6, 9.0), None), ((1e-3, 1e7), None), ((3.1, 4.2), None)],
)
def test_every_decade_of_a_logarithmic_axis_has_the_same_ticks(
    x: tuple[float, ...], ticks: list[float] | None
) -> None:
    line = Line("a", x, (0.1, 0.2))
    figure = draw_chart(Chart("l", "", (Panel("", (line,)),), "ε", "cosine", scale="log"), narrow=True)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    assert ticks is None or list(axes.get_xticks()) == ticks
    assert len(axes.get_xticks()) >= 3 or x[1] < 2 * x[0]
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_the_words_of_a_figure_name_the_best_and_the_worst_line_at_the_reference() -> None:
    lines = tuple(
        Line(f"line {n}", (15.0 + n, 45.0 + n), (0.1 * n, 0.1 * n + 0.3), group="line") for n in range(8)
    )
    words = describe(
        Chart("f", "", (Panel("", lines),), "S, % of words", "cosine", decimals=2, reference=30.0)
    )
    assert "all 8 lines rise" in words
    assert "Near S = 30 the highest is line 7 with 0.78, the lowest line 0 with 0.15." in words


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
    assert all(contrast(DARK[line_style(number)[0]], DARK[PAPER]) >= 3.0 for number in range(7))
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
