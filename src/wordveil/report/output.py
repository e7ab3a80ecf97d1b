"""The files of a result: CSV, Markdown, LaTeX and JSON, each written completely or not at all."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordveil.embedding.atomic import atomic_write
from wordveil.errors import ParameterError
from wordveil.evaluation.claims import Verdict
from wordveil.report.plots import figure_class
from wordveil.report.tables import StatTable, facts_csv

__all__ = ["check_folder", "result_json", "result_texts", "write_bytes", "write_texts"]


def check_folder(folder: Path | None) -> None:
    """Raise an error before the work begins if its results could not be written afterwards."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder}: is not a folder. Hint: name another.")
    figure_class()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def write_bytes(path: Path, data: bytes, *, private: bool = False) -> Path:
    """Write a file completely or not at all; only its owner can read a private one."""
    with atomic_write(path, force=True) as file:
        if private:
            Path(file.name).chmod(0o600)
        file.write(data)
    return path


def write_texts(folder: Path, texts: dict[str, str], *, private: bool = False) -> list[Path]:
    """Write texts under their names into a folder; return the paths."""
    return [write_bytes(folder / name, text.encode(), private=private) for name, text in texts.items()]


def result_json(
    settings: dict[str, Any], facts: list[dict[str, Any]], verdicts: Sequence[Verdict] | None = None
) -> str:
    """Return a result for machines; `claims` is left out of experiments that judge none."""
    claims = {} if verdicts is None else {"claims": [asdict(verdict) for verdict in verdicts]}
    return json.dumps({"settings": settings, "rows": facts, **claims}, indent=2)


def result_texts(
    stem: str,
    tables: Sequence[StatTable],
    settings: dict[str, Any],
    facts: list[dict[str, Any]],
    verdicts: Sequence[Verdict] | None = None,
) -> dict[str, str]:
    """Return the texts of a result by file name, in every form except the page."""
    return {
        f"{stem}.csv": facts_csv(facts),
        f"{stem}.md": "\n\n".join(table.markdown() for table in tables) + "\n",
        f"{stem}.tex": "\n\n".join(table.latex() for table in tables) + "\n",
        f"{stem}.json": result_json(settings, facts, verdicts),
    }
