"""`wordveil ledger`: which files were perturbed, when and under what promise."""

import json
from typing import Any, Final

import typer
from rich.table import Table
from rich.text import Text

from wordveil.cli.console import output
from wordveil.cli.options import Json
from wordveil.runs.ledger import Entry, Ledger, ReleaseOutcome
from wordveil.runs.sums import in_words, is_void

__all__ = ["ledger"]

_STATES: Final[dict[ReleaseOutcome | None, str]] = {
    "released": "released",
    "begun": "not finished",
    "nothing": "nothing released",
    None: "not finished",
}


def ledger(as_json: Json = False) -> None:
    """List the files that were perturbed from this account. Private: it names your files.

    It recognises only exact repeats of files. Pipes and frames are not recorded, and calls from Python only
    with ledger=. VOID marks releases that promise nothing, because of a seed or an unsafe choice.
    """
    book = Ledger()
    entries = book.entries()
    if as_json:
        typer.echo(json.dumps([_facts(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    if not entries:
        typer.echo(f"no entries in {book.path}")
        return
    table = Table("no.", "begun", "state", "input", "columns", "promise", "output", box=None)
    for entry in entries:
        table.add_row(
            str(entry.number),
            Text(entry.begun[:16].replace("T", " ")),
            _STATES[entry.outcome],
            Text(entry.source),
            Text(", ".join(entry.columns)),
            Text(in_words(entry.setting) + (", VOID" if is_void(entry.setting) else "")),
            Text(entry.target),
        )
    output().print(table)


def _facts(entry: Entry) -> dict[str, Any]:
    return entry._asdict()
