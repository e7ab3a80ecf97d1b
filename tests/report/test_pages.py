"""Every page of the documentation, and one of each other report, in a real browser: wide and narrow, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.evaluation.frontier_experiment import frontier
from wordveil.evaluation.results import Result, load_result
from wordveil.evaluation.tuning import tune
from wordveil.report.report import make_report

from .browser import Browser, chromium, open_browser

EXPERIMENTS = Path(__file__).parent.parent.parent / "docs" / "experiments"
RESULTS = {path.stem: path for path in sorted(EXPERIMENTS.glob("*.json"))}
SCREENS = [(width, dark) for width in (1280, 390) for dark in (False, True)]

needs_browser = pytest.mark.skipif(
    chromium() is None,
    reason="NO BROWSER: no page was looked at. Install Chromium or Chrome (Debian: apt install chromium)",
)

# What a reader would see as broken, as a list of complaints.
COMPLAINTS = """(() => {
  const complaints = [];
  if (document.scrollingElement.scrollWidth > innerWidth)
    complaints.push(`the page is ${document.scrollingElement.scrollWidth} pixels wide`);
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && !element.closest(".scroll"))
      complaints.push(`${element.tagName} ends at ${box.right}`);
  }
  for (const image of document.images)
    if (!image.complete || !image.naturalWidth) complaints.push("a picture is missing");
  for (const box of document.querySelectorAll(".scroll")) {
    const cue = box.previousElementSibling;
    const isShown = cue.classList.contains("cue") && getComputedStyle(cue).display !== "none";
    if (box.scrollWidth > box.clientWidth + 1 && !isShown) complaints.push("a table scrolls without a cue");
  }
  for (const element of document.querySelectorAll("[src], [srcset], [href], script, iframe, object")) {
    const target = element.getAttribute("src") ?? element.getAttribute("srcset") ?? element.getAttribute("href");
    if (!/^(data:|#)/.test(target ?? "")) complaints.push(`${element.tagName} is not in the page`);
  }
  return complaints;
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    executable = chromium()
    assert executable is not None
    with open_browser(executable, tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, small: wv.Embedding) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    results = {name: load_result(path) for name, path in RESULTS.items()} | measured(small)
    for name, result in results.items():
        (folder / f"{name}.html").write_text(make_report(result).text("html"), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in results}


def measured(small: wv.Embedding) -> dict[str, Result]:
    """Return a small frontier with texts and without, and a setting for a goal."""
    texts = ["book a flight to boston", "call me at noon please", "the red house is on fire now"] * 8
    data = texts, ["travel", "call", "fire"] * 8
    little: dict[str, Any] = {"draws": 100, "answers": ["nearest"], "cache": False}
    few = little | {"word_draws": 2, "epsilons": [1.0, 3.0]}
    return {
        "frontier": frontier([small, small.project(2)], mechanisms=["mahalanobis", "vickrey"], **few),
        "frontier-texts": frontier(small, data=data, lams=[0.0], repetitions=2, linked=20, **few),
        "tuning": tune([small, small.project(2)], max_attack=0.5, lams=[0.0, 1.0], **little),
        "tuning-texts": tune(small, max_linkage=0.4, data=data, repetitions=2, lams=[0.0], **little),
    }


@needs_browser
@pytest.mark.parametrize(("width", "dark"), SCREENS)
def test_nothing_overflows_and_every_figure_is_there(
    browser: Browser, pages: dict[str, Path], width: int, dark: bool
) -> None:
    for name, page in pages.items():
        browser.show(page, width, dark=dark)
        assert browser.run(COMPLAINTS) == [], name
        figures = browser.run("document.images.length")
        assert figures >= 1, name
        # The narrow form has its panels below each other, or fewer points of width for the same letters.
        shapes: list[Any] = browser.run("[...document.images].map(i => [i.naturalWidth, i.clientWidth])")
        assert all((natural < 500) == (width == 390) for natural, _ in shapes), name
        assert all(shown >= (330 if width == 390 else 900) for _, shown in shapes), name
        background = browser.run("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(22, 24, 29)" if dark else "rgb(255, 255, 255)"), name


@needs_browser
@pytest.mark.parametrize("width", [769, 844, 961])
def test_tables_that_scroll_have_a_cue_beside_the_limits_too(
    browser: Browser, pages: dict[str, Path], width: int
) -> None:
    for name, page in pages.items():
        browser.show(page, width, dark=False)
        assert browser.run(COMPLAINTS) == [], name


@needs_browser
@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<div style="width:2000px">wide</div>', "pixels wide"),
        ('<img src="absent.svg">', "a picture is missing"),
        ('<img src="absent.svg">', "IMG is not in the page"),
        ("<script>1</script>", "SCRIPT is not in the page"),
        ('<p>no cue</p><div class="scroll" style="overflow:auto"><p style="width:3000px">x</p></div>', "cue"),
    ],
)
def test_a_broken_page_is_complained_about(
    browser: Browser, tmp_path: Path, body: str, complaint: str
) -> None:
    head = '<!doctype html><meta name="viewport" content="width=device-width">'
    (tmp_path / "broken.html").write_text(f"{head}{body}")
    browser.show(tmp_path / "broken.html", 390, dark=False)
    assert any(complaint in text for text in browser.run(COMPLAINTS))


def test_the_site_links_every_page() -> None:
    index = (EXPERIMENTS / "index.md").read_text(encoding="utf-8")
    assert len(RESULTS) >= 8
    for name in RESULTS:
        assert f'href="{name}.html"' in index


def test_the_repository_keeps_results_and_no_renderings() -> None:
    assert {path.suffix for path in EXPERIMENTS.rglob("*") if path.is_file()} == {".json", ".md"}
