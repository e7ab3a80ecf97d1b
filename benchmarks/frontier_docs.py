"""Writes the results of `wordveil frontier` under docs/experiments/ into the tables of docs/frontier.md.

    python -m benchmarks.frontier_docs

A table stands between two comments with its name. Sentences are not changed: read them again afterwards.
"""

import re
from pathlib import Path
from typing import Any, Final

from wordveil.evaluation.results import load_result
from wordveil.report.frontier_tables import full_names, nearest_to

RESULTS: Final = Path("docs/experiments")
PAGE: Final = Path("docs/frontier.md")
TEXTS: Final = {"sms": "SMS", "tweets": "tweets"}

Row = dict[str, Any]


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = {"words": words_table(read("frontier-glove"))}
    tables |= {name: texts_table(name) for name in TEXTS}
    for name, lines in tables.items():
        marks = rf"(<!-- {name} -->\n\n).*?(\n\n<!-- end of {name} -->)"
        block = "\n".join(lines)
        text, count = re.subn(marks, lambda match: match[1] + block + match[2], text, flags=re.DOTALL)  # noqa: B023  # called at once
        assert count == 1, name
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)


def read(name: str) -> list[Row]:
    return load_result(RESULTS / f"{name}.json").rows()


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def words_table(rows: list[Row]) -> list[str]:
    names = dict(zip(map(id, rows), full_names(rows), strict=True))
    near = sorted(nearest_to(rows, 0.3), key=lambda row: -row["cosine_content"])
    header = "setting", "ε", "S", "cosine, content", "100 nearest", "cosine, tokens", "ε·d in meaning", "N_w"
    lines = [line(*header), line(*["---"] * len(header)).replace(" ", "")]
    for row in near:
        numbers = (
            f"{row['cosine_content']:.2f}",
            f"{row['near_100_content']:.0%}",
            f"{row['cosine_tokens']:.2f}",
        )
        ends = f"{row['exponent']:.1f}", f"{row['n_w']:.0f}%"
        lines.append(line(names[id(row)], f"{row['epsilon']:g}", f"{row['attack']:.1%}", *numbers, *ends))
    for null, name in (("constant", "always the same answer"), ("random", "a random answer")):
        first = rows[0]
        cosine, tokens = first[f"{null}_cosine_content"], first[f"{null}_cosine_tokens"]
        cells = f"{cosine:.2f}", f"{first[f'{null}_near_100_content']:.0%}", f"{tokens:.2f}"
        lines.append(line(name, "", "", *cells, "", ""))
    return lines


def texts_table(data: str) -> list[str]:
    header = "setting", "ε", "S", "accuracy (95% interval)", "linked"
    lines = [line(*header), line(*["---"] * len(header)).replace(" ", "")]
    for name in (f"frontier-{data}", f"frontier-{data}-nearest"):
        rows = read(name)
        for label, row in zip(full_names(rows), rows, strict=True):
            answer = row["answer"]
            full = label if label.endswith(answer) else f"{label}, {answer}"
            interval = f"{row['accuracy']:.3f} ({row['accuracy_low']:.3f} to {row['accuracy_high']:.3f})"
            lines.append(
                line(full, f"{row['epsilon']:g}", f"{row['attack']:.1%}", interval, f"{row['linkage']:.1%}")
            )
    first = rows[0]
    lines.append(line("unperturbed text", "", "", f"{first['accuracy_unperturbed']:.3f}", ""))
    by_length = f"{first['linkage_by_length']:.1%}"
    lines.append(
        line("most frequent label; length alone", "", "", f"{first['accuracy_majority']:.3f}", by_length)
    )
    return lines


if __name__ == "__main__":
    main()
