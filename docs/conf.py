"""Sphinx: Markdown pages and the reference from the docstrings."""

import wordveil

project = "wordveil"
author = "The Wordveil authors"
release = wordveil.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
exclude_patterns = ["experiments/*/*"]  # made by commands, and linked to as they are
autodoc_member_order = "bysource"
autodoc_typehints = "description"
