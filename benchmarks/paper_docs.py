"""Keeps the results of `wordveil experiment paper` for the documentation: docs/experiments/*.json.

    wordveil experiment paper --out DIR --sms SMSSpamCollection.tsv --tweets train.csv
    python -m benchmarks.paper_docs DIR

The result of all experiments refers to those of the parts by their names, so each number is kept once. The
tables of accuracies in docs/experiments/index.md follow; sentences are not changed: read them again.
"""

import argparse
import json
from pathlib import Path
from typing import Any, Final

from benchmarks.doc_tables import write_tables
from wordveil.report.utility_report import score_cell

RESULTS: Final = Path("docs/experiments")
NAMES: Final = {
    ("privacy", "glove-840b-300d"): "privacy-glove",
    ("density", "sms-spam"): "density-sms",
    ("density", "disaster-tweets"): "density-disaster",
    ("utility", "sms-spam"): "utility-sms",
    ("utility", "disaster-tweets"): "utility-tweets",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    paper = json.loads((folder / "paper.json").read_text(encoding="utf-8"))
    for part in paper["parts"]:
        write(NAMES[part["kind"], part["name"]], part)
    write("paper", paper | {"parts": [NAMES[part["kind"], part["name"]] for part in paper["parts"]]})
    tables = {name: accuracies(f"utility-{name}") for name in ("tweets", "sms")}
    write_tables(RESULTS / "index.md", {f"{name}-accuracy": table for name, table in tables.items()})


def accuracies(name: str) -> list[str]:
    """Return a table of accuracies: a line for each kind of test text and λ, a column for each ε."""
    facts = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    epsilons, lams = facts["settings"]["epsilons"], facts["settings"]["lams"]
    cells = {
        (row["tested_on"], row["lam"], row["epsilon"]): score_cell(row)
        for row in facts["rows"]
        if row["statistic"] == "accuracy" and row["lam"] is not None
    }
    lines = [
        f"| accuracy | {' | '.join(f'ε = {epsilon:g}' for epsilon in epsilons)} |",
        "|---" * (len(epsilons) + 1) + "|",
    ]
    for tested_on in facts["settings"]["tested_on"]:
        for lam in lams:
            row = " | ".join(cells[tested_on, lam, epsilon] for epsilon in epsilons)
            lines.append(f"| {tested_on}, λ = {lam:g} | {row} |")
    return lines


def write(name: str, facts: dict[str, Any]) -> None:
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
