"""Writes what `make bench-peers` has measured into the tables of README.md and docs/family.md.

    python -m benchmarks.peer_docs

A table stands between two comments with its name. Sentences are not changed: read them again afterwards.
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.doc_tables import write_tables

RESULTS = Path("benchmarks/results/peers.json")
README = Path("README.md")
FAMILY = Path("docs/family.md")
FAMILY_NAMES = ("vickrey", "exponential", "tem", "custext")
OURS = "wordveil"

Record = dict[str, Any]


def main() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    write_tables(README, {"peers": peers_table(record)})
    write_tables(FAMILY, {"peers": family_table(record["rows"])})


def peers_table(record: Record) -> list[str]:
    """Return the mechanism of the paper, ours and theirs, with what was seen of the peers' noise."""
    rows, peers = record["rows"], record["peers"]
    pypantera, mldp = (f"{name} {peers[name]['versions'][name]}" for name in ("pypantera", "mldp-text"))
    variance = about(peers["pypantera"], "variance")
    moment = about(peers["mldp-text"], "second_moment")
    batch = f"{record['words']['wordveil_batch']:,} words at once"
    shown = [
        (f"{OURS}, {batch}", "wordveil (batch)", "tested on every run"),
        (f"{OURS}, one word per call", "wordveil (one word per call)", ""),
        (pypantera, "pypantera", f"variance of the radius {variance}"),
        (
            f"{mldp}, with FAISS",
            "mldp-text (FAISS)",
            f"second moment {moment}; unknown words are kept verbatim",
        ),
        (f"{mldp}, exact", "mldp-text (exact)", ""),
    ]
    return [
        "| | ms per word | relative to ours | its noise, relative to the paper's law |",
        "|---|---|---|---|",
        *(
            f"| {title} | {rows[name]['ms_per_word']:.3g} | {rows[name]['times_batch']:,.0f} | {note} |"
            for title, name, note in shown
        ),
    ]


def about(peer: Record, name: str) -> str:
    law = peer["facts"]["noise_law"]
    digits = 2 if name == "variance" else 3
    return f"{law[name]:.{digits}f} ± {law[f'{name}_standard_error']:.{digits}f}"


def family_table(rows: dict[str, Record]) -> list[str]:
    """Return milliseconds per word of the other mechanisms, ours in both ways and the peers'."""
    return [
        "| mechanism | wordveil, at once | one word per call | pypantera | mldp-text |",
        "|---|---|---|---|---|",
        *(
            f"| `{name}` | {milliseconds(rows, f'wordveil: {name} (batch)')} | "
            f"{milliseconds(rows, f'wordveil: {name} (one word per call)')} | "
            f"{milliseconds(rows, f'pypantera: {name}')} | {milliseconds(rows, f'mldp-text: {name}')} |"
            for name in FAMILY_NAMES
        ),
    ]


def milliseconds(rows: dict[str, Record], name: str) -> str:
    row = rows.get(name)
    if row is None:
        return "has none"
    return f"{row['ms_per_word']:.2g}" if "ms_per_word" in row else "fails"


if __name__ == "__main__":
    main()
