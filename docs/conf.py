"""Sphinx: Markdown pages, the reference from the docstrings, and a page for each result of an experiment."""

from pathlib import Path

from sphinx.application import Sphinx

import wordveil
from wordveil.evaluation.results import load_result
from wordveil.report.page import page_html

project = "wordveil"
author = "The Wordveil authors"
release = wordveil.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"


def render_results(app: Sphinx, error: Exception | None) -> None:
    """Render the results under experiments/ as pages of the site; nothing is computed again."""
    if error is not None or app.builder.format != "html":
        return
    for path in sorted((Path(app.srcdir) / "experiments").glob("*.json")):
        report = wordveil.make_report(load_result(path))
        page = Path(app.outdir) / "experiments" / f"{path.stem}.html"
        page.write_text(page_html(report, index="index.html"), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Render the results when the site has been built."""
    app.connect("build-finished", render_results)
