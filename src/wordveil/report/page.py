"""A report as one self-contained HTML page: no network, no script; readable on a phone and on paper."""

import base64
import html
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from wordveil.report.chart_words import describe
from wordveil.report.charts import Chart
from wordveil.report.setting_labels import labelled_settings
from wordveil.report.styles import NARROW, page_style
from wordveil.report.tables import StatTable, escaped, outcome_cell

if TYPE_CHECKING:
    from wordveil.report.report import Report

__all__ = ["NOT_FOR_RELEASE", "excerpt_html", "page_html"]

NOT_FOR_RELEASE: Final = (
    "Computed from the texts themselves, without noise: if they are private, this page is not for release."
)


def page_html(report: "Report", *, index: str = "") -> str:
    """Return the page of a report: summary, main figure, verdicts, more figures, tables, settings.

    `index` is the address of a list of pages that it links to, if it is part of a site.
    """
    back = f'<p><a href="{html.escape(index)}">All experiments</a></p>' if index else ""
    title = escaped(report.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{page_style()}</style></head><body>"
        f'<main class="page">{back}<h1>{title}</h1>{_contents(report)}{_summary(report)}'
        f"{''.join(_figure(chart) for chart in report.charts[:1])}{_verdicts(report)}"
        f"{_figures(report)}{_tables(report)}{_settings(report)}"
        f"<footer>Rendered by wordveil {version('wordveil')}. "
        "This page needs no network and contains no script.</footer></main></body></html>\n"
    )


def excerpt_html(report: "Report") -> str:
    """Return the title, the summary, the verdicts and the main table, for a notebook."""
    sentences = [*report.summary, *([NOT_FOR_RELEASE] if report.is_private else [])]
    paragraphs = "".join(f"<p>{escaped(sentence)}</p>" for sentence in sentences)
    tables = report.all_tables()[: 2 if report.verdicts or report.claims else 1]
    return f"<div><h2>{escaped(report.title)}</h2>{paragraphs}{''.join(map(_plain, tables))}</div>"


def _plain(table: StatTable) -> str:
    """Return a table without the box, the cue and the classes of a page."""
    rows = "".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    head = "".join(f"<th>{escaped(name)}</th>" for name in table.columns)
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<p><b>{escaped(table.title)}</b></p>{body}"


def _contents(report: "Report") -> str:
    links = {
        "summary": "Summary",
        "figure-1": "Main figure" if report.charts else "",
        "verdicts": "Verdicts" if report.verdicts else "",
        "figure-2": "More figures" if len(report.charts) > 1 else "",
        "tables": "Tables" if report.tables else "",
        "settings": "Settings",
    }
    items = "".join(f'<li><a href="#{place}">{name}</a></li>' for place, name in links.items() if name)
    tables = "".join(
        f'<li><a href="#table-{number}">{escaped(table.title)}</a></li>'
        for number, table in enumerate(report.tables, 1)
    )
    title = f"{len(report.tables)} table{'s'[: len(report.tables) > 1]}"
    listed = f"<details><summary>{title}</summary><ul>{tables}</ul></details>" if tables else ""
    return f'<nav aria-label="Contents"><ul>{items}</ul>{listed}</nav>'


def _summary(report: "Report") -> str:
    sentences = "".join(f"<p>{escaped(sentence)}</p>" for sentence in report.summary)
    warning = f'<p class="private">{escaped(NOT_FOR_RELEASE)}</p>' if report.is_private else ""
    return f'<section class="summary" id="summary">{sentences}{warning}</section>'


def _figure(chart: Chart, number: int = 1) -> str:
    """Return both forms of a figure, embedded in the page, and what it shows in words."""
    from wordveil.report.drawing import chart_svg

    wide, narrow = (_embedded(chart_svg(chart, narrow=is_narrow)) for is_narrow in (False, True))
    words, caption = escaped(describe(chart)), escaped(chart.caption)
    return (
        f'<figure id="figure-{number}"><picture><source media="{NARROW}" srcset="{narrow}">'
        f'<img alt="{words}" src="{wide}"></picture>'
        f"<figcaption>{caption}<details><summary>The figure in words</summary>{words}</details></figcaption>"
        "</figure>"
    )


def _embedded(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _figures(report: "Report") -> str:
    figures = [_figure(chart, number) for number, chart in enumerate(report.charts[1:], 2)]
    return f"<h2>More figures</h2>{''.join(figures)}" if figures else ""


def _verdicts(report: "Report") -> str:
    if not report.verdicts:
        return ""
    if report.claims is not None:
        table = report.claims.html()
        return f'<section class="verdicts" id="verdicts"><h2>Does it hold here?</h2>{table}</section>'
    rows = "".join(
        f"<tr><td>{escaped(verdict.claim)}</td>{outcome_cell(verdict.outcome)}"
        f"<td>{escaped(verdict.evidence)}</td></tr>"
        for verdict in report.verdicts
    )
    names = "".join(f'<th scope="col">{name}</th>' for name in ("claim", "verdict", "numbers"))
    table = f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<section class="verdicts" id="verdicts"><h2>Does it hold here?</h2>{table}</section>'


def _tables(report: "Report") -> str:
    tables = [_table(table, number) for number, table in enumerate(report.tables, 1)]
    return f'<h2 id="tables">Tables</h2>{"".join(tables)}' if tables else ""


def _table(table: StatTable, number: int) -> str:
    return f'<section id="table-{number}">{table.html()}</section>'


def _settings(report: "Report") -> str:
    rows = "".join(
        f"<tr><td>{escaped(name)}</td><td>{escaped(value)}</td></tr>"
        for name, value in labelled_settings(report.settings)
    )
    table = f"<table><tbody>{rows}</tbody></table>"
    return f'<section class="settings" id="settings"><h2>Settings</h2>{table}</section>'
