"""The extras of pyproject.toml."""

import re
import tomllib

from .checks import ROOT


def test_all_can_be_installed_from_an_index() -> None:
    """It has every integration, and no package of this repository, which no index may have."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (requirement,) = extras["all"]
    names = re.fullmatch(r"wordveil\[([a-z,]+)\]", requirement).group(1).split(",")  # type: ignore[union-attr]
    assert {"datasets", "duckdb", "polars", "presidio", "sklearn", "spacy"} <= {*names} <= {*extras}
    assert not [package for name in names for package in extras[name] if package.startswith("wordveil")]
