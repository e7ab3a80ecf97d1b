"""Judges the claims of the frontiers under docs/experiments/ again; writes the tables of docs/frontier.md.

    python -m benchmarks.frontier_docs

A table stands between two comments with its name. Sentences are not changed: read them again afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.doc_tables import write_tables
from wordveil.evaluation.frontier_claims import frontier_claims
from wordveil.evaluation.results import load_result
from wordveil.report.frontier_tables import full_names, interpolated, nearest_to, ranked
from wordveil.report.output import json_lines
from wordveil.rounding import at_most

RESULTS: Final = Path("docs/experiments")
PAGE: Final = Path("docs/frontier.md")

Row = Mapping[str, Any]


def main() -> None:
    for path in sorted([*RESULTS.glob("frontier-*.json"), *RESULTS.glob("mechanisms-*.json")]):
        result = load_result(path)
        claims = frontier_claims(result.rows(), result.settings["reference_attack"])
        path.write_text(json_lines(replace(result, claims=claims).to_dict()), encoding="utf-8")
    tables = {name: texts_table(nearest_to(read(f"frontier-{name}"), 0.3)) for name in ("sms", "tweets")}
    write_tables(PAGE, {"words": words_table(read("frontier-glove")), **tables})


def read(name: str) -> list[dict[str, Any]]:
    return load_result(RESULTS / f"{name}.json").rows()


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def words_table(rows: Sequence[Row]) -> list[str]:
    names = dict(zip(map(id, rows), full_names(rows), strict=True))
    header = (
        "setting",
        "ε",
        "S",
        "cosine, content, at S = 30%",
        "100 nearest",
        "cosine, tokens",
        "ε·d in meaning",
        "N_w",
    )
    lines = [line(*header), line(*["---"] * len(header)).replace(" ", "")]
    for row, at in ranked(rows, 0.3):
        numbers = (
            interpolated(at),
            f"{row['near_100_content']:.0%}",
            f"{row['cosine_tokens']:.2f}",
        )
        ends = at_most(row["exponent"]), f"{row['n_w']:.0f}%"
        lines.append(line(names[id(row)], f"{row['epsilon']:g}", f"{row['attack']:.1%}", *numbers, *ends))
    for null, name in (("constant", "always the same answer"), ("random", "a random answer")):
        first = rows[0]
        cosine, tokens = first[f"{null}_cosine_content"], first[f"{null}_cosine_tokens"]
        cells = f"{cosine:.2f}", f"{first[f'{null}_near_100_content']:.0%}", f"{tokens:.2f}"
        lines.append(line(name, "", "", *cells, "", ""))
    return lines


def texts_table(rows: Sequence[Row]) -> list[str]:
    header = "setting", "ε", "S", "accuracy (95% interval)", "linked"
    lines = [line(*header), line(*["---"] * len(header)).replace(" ", "")]
    for label, row in zip(full_names(rows), rows, strict=True):
        cells = f"{row['epsilon']:g}", f"{row['attack']:.1%}", accuracy_of(row), f"{row['linkage']:.1%}"
        lines.append(line(label, *cells))
    first = rows[0]
    lines.append(line("unperturbed text", "", "", f"{first['accuracy_unperturbed']:.3f}", ""))
    nulls = f"{first['accuracy_majority']:.3f}", f"{first['linkage_by_length']:.1%}"
    lines.append(line("most frequent label; length alone", "", "", *nulls))
    return lines


def accuracy_of(row: Row) -> str:
    return f"{row['accuracy']:.3f} ({row['accuracy_low']:.3f} to {row['accuracy_high']:.3f})"


if __name__ == "__main__":
    main()
