"""One self-contained HTML page: no network, no script; readable on a phone and on paper."""

import base64
import html
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from wordveil.evaluation.claims import Verdict
from wordveil.report.tables import StatTable

__all__ = ["NOT_FOR_RELEASE", "Page"]

_LIBRARIES: Final = ("wordveil", "numpy", "scipy", "scikit-learn", "fasttext-numpy2", "matplotlib")
NOT_FOR_RELEASE: Final = (
    "Computed from the texts themselves, without noise: if they are private, this page is not for release."
)
_STYLE: Final = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
.title { font-weight: 600; margin: 1.2rem 0 0; } .title + .wide table { margin-top: .3rem; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ccc; white-space: nowrap; }
th { white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5rem 0; overflow-x: auto; }
figure img { width: 100%; min-width: 40rem; max-width: 62rem; height: auto; }
figcaption { font-size: .9rem; color: #444; }
.verdict { border-left: .35rem solid #999; padding: .3rem .8rem; margin: .6rem 0; }
.holds { border-color: #0072b2; } .fails { border-color: #d55e00; }
.verdict b { display: block; } footer { margin-top: 3rem; font-size: .8rem; color: #555; }
@media print { body { max-width: none; font-size: 10pt; }
  figure, table, .verdict { break-inside: avoid; }
  .wide, figure { overflow: visible; } figure img { min-width: 0; }
  th, td { white-space: normal; overflow-wrap: anywhere; padding: .2rem .4rem; } }
"""


def _versions() -> dict[str, str]:
    """Return the versions of the libraries behind a result, as far as they are installed."""
    versions = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _plain(value: object) -> str:
    """Return a value of the settings as text; the items of a list are separated by commas."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass
class Page:
    """A page that is filled from top to bottom."""

    title: str
    parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append(f"<p>{html.escape(text)}</p>")

    def table(self, table: StatTable) -> None:
        """Add a table."""
        self.parts.append(table.html())

    def figure(self, svg: str, caption: str) -> None:
        """Add an SVG, embedded in the page; a table on the page should have the same numbers."""
        data = base64.b64encode(svg.encode()).decode()
        text = html.escape(caption)
        image = f'<img alt="{text}" src="data:image/svg+xml;base64,{data}">'
        self.parts.append(f"<figure>{image}<figcaption>{text}</figcaption></figure>")

    def verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Add a section with the paper's claims, whether each holds, and why."""
        self.heading("Does what the paper claims hold here?")
        styles = {True: ("holds", "holds"), False: ("fails", "does not hold"), None: ("", "undecided")}
        for verdict in verdicts:
            style, word = styles[verdict.holds]
            claim, evidence = html.escape(verdict.claim), html.escape(verdict.found)
            self.parts.append(f'<div class="verdict {style}"><b>{claim}: {word}</b>{evidence}</div>')

    def settings(self, facts: dict[str, Any]) -> None:
        """Add the settings and the versions of the libraries."""
        versions = {"Python": platform.python_version(), **_versions()}
        rows = tuple((name, _plain(value)) for name, value in {**facts, **versions}.items())
        self.heading("Settings and versions")
        self.table(StatTable("", ("what", "value"), rows))

    def html(self) -> str:
        """Return the page as HTML."""
        today = datetime.now(UTC).date().isoformat()
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{_STYLE}</style></head><body>"
            f"<h1>{html.escape(self.title)}</h1>{''.join(self.parts)}"
            f"<footer>Made by wordveil on {today}. It needs no network and contains no script.</footer>"
            "</body></html>\n"
        )
