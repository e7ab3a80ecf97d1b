"""One report, every format: what a new kind of result has to bring, and what it gets for that."""

import base64
import csv
import inspect
import io
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from rich.console import Console

import wordveil as wv
from wordveil.evaluation.verdicts import Verdict
from wordveil.report.charts import Chart, Level, Line, Panel
from wordveil.report.page import page_html
from wordveil.report.report import FORMATS, Report, make_report
from wordveil.report.tables import StatTable
from wordveil.report.terminal import show_report


@dataclass(frozen=True)
class Coins:
    """A result of another kind: how often coins of different weights fell on their heads."""

    weights: tuple[float, ...]
    heads: tuple[float, ...]
    is_private: bool = False


@make_report.register
def coins_report(coins: Coins) -> Report:
    line = Line("coins", coins.weights, coins.heads)
    rows = tuple((f"{w:g} g", f"{h:.0%}") for w, h in zip(coins.weights, coins.heads, strict=True))
    is_fair = max(abs(share - 0.5) for share in coins.heads) < 0.1
    return Report(
        "coins",
        "Which coins are <fair>",
        ("Three coins were thrown.", "The <heavy> one is different.", "Use the others."),
        [Verdict("every coin is fair & square", "holds" if is_fair else "does not hold", "at most 0.8")],
        [
            Chart(
                "heads",
                "Heads by weight.",
                (Panel("", (line,), (Level("fair", 0.5),)),),
                "g",
                "heads",
                (0, 1),
            ),
            Chart("again", "The same.", (Panel("", (line,)),), "g", "heads", (0, 1)),
        ],
        [StatTable("Heads & weights", ("weight", "heads"), rows, "100 throws each.")],
        [{"weight": w, "heads": h} for w, h in zip(coins.weights, coins.heads, strict=True)],
        {"throws": 100, "weights": coins.weights, "by": None},
        coins.is_private,
        asdict(coins),
    )


COINS = Coins((2.0, 4.0, 8.0), (0.5, 0.48, 0.8))


def test_another_kind_of_result_needs_less_than_sixty_lines() -> None:
    assert len(inspect.getsource(Coins).splitlines() + inspect.getsource(coins_report).splitlines()) < 60


def test_every_format(tmp_path: Path) -> None:
    paths = make_report(COINS).write(tmp_path)
    names = {"coins.html", "coins.csv", "coins.json", "coins.md", "coins.tex"}
    names |= {f"{stem}.{ending}" for stem in ("heads", "again") for ending in ("png", "svg")}
    assert {path.name for path in paths} == names == {path.name for path in tmp_path.iterdir()}
    assert Coins(**json.loads((tmp_path / "coins.json").read_text())).is_private is False
    rows = list(csv.DictReader(io.StringIO((tmp_path / "coins.csv").read_text())))
    assert [float(row["heads"]) for row in rows] == [0.5, 0.48, 0.8]
    assert "| 8 g | 80% |" in (tmp_path / "coins.md").read_text()
    assert "does not hold" in (tmp_path / "coins.md").read_text()
    assert r"Heads \& weights" in (tmp_path / "coins.tex").read_text()
    assert (tmp_path / "heads.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "heads.svg").read_text()


def test_only_some_formats(tmp_path: Path) -> None:
    assert [path.name for path in make_report(COINS).write(tmp_path, ["md"])] == ["coins.md"]
    with pytest.raises(wv.ParameterError, match=r"'format' parameter of Report\.write must be one of html"):
        make_report(COINS).write(tmp_path / "x", ["md", "doc"])
    assert not (tmp_path / "x").exists()
    with pytest.raises(wv.ParameterError, match=r"Report\.text"):
        make_report(COINS).text("png")


@pytest.mark.parametrize(("is_private", "mode"), [(True, 0o600), (False, 0o644)])
def test_files_of_a_private_report_are_for_their_owner(tmp_path: Path, is_private: bool, mode: int) -> None:
    tmp_path.chmod(0o755)
    paths = make_report(Coins(COINS.weights, COINS.heads, is_private)).write(tmp_path)
    assert len(paths) == 9
    assert {path.stat().st_mode & 0o777 for path in paths} == {mode}
    page = (tmp_path / "coins.html").read_text()
    assert ("not for release" in page) == is_private


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coins.csv").write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        make_report(COINS).write(tmp_path, ["csv"])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"coins.csv": "old"}


def test_the_order_of_a_page() -> None:
    page = make_report(COINS).text("html")
    places = [
        page.index(f'id="{name}"')
        for name in ("summary", "figure-1", "verdicts", "figure-2", "table-1", "settings")
    ]
    assert places == sorted(places)
    for target in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{target}"' in page
    assert page.count("<h1>") == 1
    assert "&lt;heavy&gt;" in page
    assert "<heavy>" not in page
    assert "fair &amp; square" in page


def test_a_page_of_a_site_links_to_its_list() -> None:
    assert '<a href="index.html">' in page_html(make_report(COINS), index="index.html")
    assert "index.html" not in page_html(make_report(COINS))


def test_a_page_is_complete_in_itself() -> None:
    page = make_report(COINS).text("html")
    assert "<script" not in page
    assert "@import" not in page
    assert not re.search(r"(?:src|href|srcset)=[\"']?(?:https?:)?//", page)
    pictures = re.findall(r'(?:src|srcset)="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(pictures) == 4  # two figures, each wide and narrow
    assert all(b"</svg>" in base64.b64decode(picture) for picture in pictures)
    (alt, _) = re.findall(r'<img alt="([^"]+)"', page)
    assert "coins rises from 0.5 to 0.8" in alt
    assert page == make_report(COINS).text("html")  # no date: rendered again, it is the same


def test_the_terminal(tmp_path: Path) -> None:
    out = io.StringIO()
    show_report(Console(file=out, width=80), make_report(COINS), [tmp_path / "coins.html"])
    printed = out.getvalue()
    for part in ("Which coins are <fair>", "100 throws each.", "does not hold: every coin", "coins.html"):
        assert part in printed


def test_no_report_for_something_else() -> None:
    with pytest.raises(wv.ParameterError, match=r"no report for a dict\. Hint"):
        make_report({})


def test_a_report_without_data_writes_its_facts() -> None:
    report = Report("a", "A", ("1.", "2.", "3."), [Verdict("c", "undecided", "n")], facts=[{"x": 1}])
    assert json.loads(report.text("json")) == {
        "settings": {},
        "rows": [{"x": 1}],
        "verdicts": [{"claim": "c", "outcome": "undecided", "evidence": "n"}],
    }
    assert FORMATS == ("html", "csv", "json", "md", "tex", "png", "svg")
