"""Writes what benchmarks.family and `wordveil frontier` have measured into the tables of docs/family.md.

    python -m benchmarks.family_docs

A table stands between two comments with its name. Sentences are not changed: read them again afterwards.
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.doc_tables import write_tables
from benchmarks.frontier_docs import accuracy_of, line, read
from wordveil.rounding import at_most

RESULTS = Path("benchmarks/results/family.json")
PAGE = Path("docs/family.md")

Row = dict[str, Any]


def main() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    tables = {}
    for dims, facts in record["dims"].items():
        tables[f"speed-{dims}"] = speed_table(facts["speed"])
        if facts["rows"]:
            tables[f"equal-{dims}"] = equal_table(facts["rows"])
    tables["texts"] = texts_table(read("mechanisms-sms"), read("mechanisms-tweets"))
    write_tables(PAGE, tables)


def share(value: float) -> str:
    return f"{100.0 * value:.1f}%"


def cosine(value: Row) -> str:
    return f"{value['share']:.2f} ({value['low']:.2f} to {value['high']:.2f})"


def equal_table(rows: list[Row]) -> list[str]:
    names = (
        "mechanism",
        "ε",
        "S",
        "content words: cosine",
        "near",
        "stay",
        "cosine in dense places",
        "middle",
        "sparse",
        "rare words: stay, recognised",
        "watched words: stay, named",
        "proven, to the 10th nearest",
        "proven, any two",
    )
    lines = [f"| {' | '.join(names)} |", "|" + " --- |" * len(names)]
    null = rows[0]["content"]
    nothing = ("*always one word*", "", "", f"{null['constant']:.2f}", share(null["constant_near"]))
    lines.append(f"| {' | '.join((*nothing, *('',) * 8))} |")
    for row in rows:
        content, dense = row["content"], row["by_density"]
        cells = (
            row["name"],
            f"{row['setting']['epsilon']:.3g}",
            share(row["guessed"]["share"]),
            cosine(content["cosine"]),
            share(content["near"]["share"]),
            share(content["unchanged"]["share"]),
            *(cosine(dense[name]) for name in ("dense", "middle", "sparse")),
            f"{share(row['rare']['unchanged'])}, {share(row['rare']['recognised'])}",
            f"{share(row['watched']['unchanged'])}, {share(row['watched']['named'])}",
            at_most(row["proven"]["median_to_10th"]),
            at_most(row["proven"]["worst_case"], 0),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def texts_table(messages: list[Row], tweets: list[Row]) -> list[str]:
    """Return accuracy and linkage of each mechanism on both data sets, and how exposed watched words are."""
    header = (
        "mechanism",
        "ε",
        "S",
        "watched words recognised",
        "SMS: accuracy",
        "linked",
        "tweets: accuracy",
        "linked",
    )
    lines = [line(*header), line(*["---"] * len(header))]
    others = {(row["mechanism"], row["lam"]): row for row in tweets}
    for row in messages:
        other = others[row["mechanism"], row["lam"]]
        name = "laplace" if (row["mechanism"], row["lam"]) == ("mahalanobis", 0.0) else row["mechanism"]
        label = name if name == "laplace" else f"{name}, λ = {row['lam']:g}"
        texts = [cell for part in (row, other) for cell in (accuracy_of(part), share(part["linkage"]))]
        lines.append(
            line(label, f"{row['epsilon']:.3g}", share(row["attack"]), share(row["watched"]), *texts)
        )
    for label, accuracy, linkage in (
        ("unperturbed text", "accuracy_unperturbed", ""),
        ("most frequent label; length alone", "accuracy_majority", "linkage_by_length"),
    ):
        cells = [
            cell
            for part in (messages[0], tweets[0])
            for cell in (f"{part[accuracy]:.3f}", share(part[linkage]) if linkage else "")
        ]
        lines.append(line(label, "", "", "", *cells))
    return lines


def speed_table(facts: Row) -> list[str]:
    header = "mechanism", "ε", "µs per word", "the first time", "processor time", "to mahalanobis, λ = 1"
    lines = [line(*header), line(*["---"] * len(header))]
    for name, times in facts["microseconds"].items():
        epsilon = facts["epsilons"].get(name, facts["epsilons"]["exponential"])
        cells = f"{epsilon:.3g}", f"{times['again']:.1f}", f"{times['first']:.0f}"
        lines.append(line(name, *cells, *processor_cells(times)))
    return lines


def processor_cells(times: dict[str, float]) -> tuple[str, str]:
    """Return the processor time, and the ratio of it; older measurements have neither."""
    if "processor" not in times:
        return "", ""
    return f"{times['processor']:.1f}", f"{times['processor_to_mahalanobis']:.2f}"


if __name__ == "__main__":
    main()
