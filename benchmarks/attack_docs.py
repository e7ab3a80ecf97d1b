"""Writes what benchmarks.attacks has measured into the tables of docs/audit.md.

    python -m benchmarks.attack_docs

A table stands between two comments with its name. Sentences are not changed: read them again afterwards.
"""

import json
from pathlib import Path
from typing import Any

import wordveil as wv
from benchmarks.doc_tables import write_tables

RESULTS = Path("benchmarks/results/attacks.json")
PAGE = Path("docs/audit.md")
NAMES = ("gentle", "balanced", "strong", "paper, ε = 5", "paper, ε = 10", "paper, ε = 20")
WORDS = (
    "best guess",
    "best guess from answers",
    "the answer itself",
    "surrogate from ε·d alone",
    "topic prior",
)
PROFILES = NAMES[:3]
DATA = {"sms": "messages", "tweets": "tweets"}
RANKS = ("rank 1", "top 10", "mean reciprocal rank")
LINKED = ("likelihood", "surrogate", "learned", "tf-idf and length", "tf-idf", "length alone")
CONTEXT = ("English use", "use in the public text", "context of the public text")

Row = dict[str, Any]


def main() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows, names = record["rows"], [name for name in NAMES if name in record["easiest"]]
    tables = {
        "settings": [settings_line(rows)],
        "words": words_table(rows, names),
        "sms": texts_table(rows, names, "sms"),
        "tweets": texts_table(rows, names, "tweets"),
        "candidates": candidates_table(rows),
        "lengths": lengths_table(rows),
        "ranks": ranks_table(rows, names),
        "topics": topic_table(record["topic_prior"]),
        "easiest": easiest_table(record["easiest"]["balanced"]),
    }
    write_tables(PAGE, tables)


def find(rows: list[Row], name: str, group: str, attack: str, **wanted: Any) -> Row:
    """Return the one row of an attack."""
    matching = [
        row
        for row in rows
        if (row["name"], row["group"], row["attack"]) == (name, group, attack)
        and all(row.get(key) == value for key, value in wanted.items())
    ]
    assert len(matching) == 1, (name, group, attack, wanted, len(matching))
    return matching[0]


def share(row: Row) -> str:
    """Return the success in percent, and its 95% interval."""
    return f"{100.0 * row['share']:.0f}% ({100.0 * row['low']:.0f} to {100.0 * row['high']:.0f})"


def header(first: str, names: list[str]) -> list[str]:
    titles = [f"`{name}`" if name.isalpha() else name for name in names]
    return [f"| {first} | null | {' | '.join(titles)} |", "|" + " --- |" * (len(names) + 2)]


def line(title: str, rows: list[Row]) -> str:
    """Return a line of a table; nulls that differ between the columns stand in the cells."""
    nulls = [f"{100.0 * row['null']:.3g}%" for row in rows]
    if len(set(nulls)) == 1:
        return f"| {title} | {nulls[0]} | {' | '.join(map(share, rows))} |"
    cells = [f"{share(row)}, null {null}" for row, null in zip(rows, nulls, strict=True)]
    return f"| {title} | in the cells | {' | '.join(cells)} |"


def words_table(rows: list[Row], names: list[str]) -> list[str]:
    lines = header("a word of running text, by", names)
    for attack in WORDS:
        lines.append(line(attack, [find(rows, name, "words", attack) for name in names]))
    for count in (2, 4, 8):
        cells = [find(rows, name, "averaging", "best guess", releases=count, data=None) for name in names]
        lines.append(line(f"best guess from {count} releases", cells))
    return lines


def texts_table(rows: list[Row], names: list[str], data: str) -> list[str]:
    most = max(row.get("candidates") or 0 for row in rows)
    on_all: dict[str, Any] = {"data": data, "candidates": most, "words": None}
    lines = header("", names)
    for attack in CONTEXT:
        lines.append(
            line(f"a word, by {attack}", [find(rows, n, "context", attack, data=data) for n in names])
        )
    for attack in LINKED:
        cells = [find(rows, n, "linkage", f"{attack}, rank 1", pad_to=None, **on_all) for n in names]
        lines.append(line(f"the text, by {attack}", cells))
    for rank in ("top 10", "mean reciprocal rank"):
        cells = [find(rows, n, "linkage", f"likelihood, {rank}", pad_to=None, **on_all) for n in names]
        lines.append(line(f"the text, by likelihood, {rank}", cells))
    for attack in ("likelihood", "surrogate", "tf-idf"):
        cells = [find(rows, n, "linkage", f"{attack}, rank 1", pad_to=20, **on_all) for n in names]
        lines.append(line(f"the text, padded to 20 words, by {attack}", cells))
    for count in (2, 8):
        attack = "linkage by tf-idf, rank 1"
        cells = [find(rows, n, "averaging", attack, releases=count, data=data) for n in names]
        lines.append(line(f"the text, by tf-idf over {count} releases", cells))
    for attack in ("posteriors, precision", "posteriors, recall", "answers, precision", "answers, recall"):
        lines.append(
            line(f"a watched word, {attack}", [find(rows, n, "attributes", attack, data=data) for n in names])
        )
    return lines


def settings_line(rows: list[Row]) -> str:
    """Return the sentence that names the settings of the paper that were measured."""
    (setting,) = {
        (row["mechanism"], row["dims"], row["lam"]) for row in rows if row["name"].startswith("paper")
    }
    mechanism, dims, lam = setting
    return (
        f"The paper's settings are those of `{mechanism}` in {dims} dimensions at λ = {lam:g}, with the ε "
        "that the columns name. No other λ of the paper was attacked."
    )


def on_all(rows: list[Row], size: int | None = None, words: str | None = None) -> list[Row]:
    """Return what linkage without padding found among `size` candidates (default: the most)."""
    linked = [row for row in rows if row["group"] == "linkage" and row["pad_to"] is None]
    size = size or max(row["candidates"] for row in linked)
    return [row for row in linked if (row["candidates"], row.get("words")) == (size, words)]


def sizes_of(rows: list[Row]) -> list[int]:
    return sorted({row["candidates"] for row in rows if row["group"] == "linkage"})


def candidates_table(rows: list[Row]) -> list[str]:
    columns = [(name, size) for name in PROFILES for size in sizes_of(rows)]
    titles = [f"`{name}`, N = {size:,}" for name, size in columns]
    lines = [f"| rank 1, by | {' | '.join(titles)} |", "|" + " --- |" * (len(columns) + 1)]
    for data, title in DATA.items():
        for attack in LINKED:
            cells = [
                find(on_all(rows, size), name, "linkage", f"{attack}, rank 1", data=data)
                for name, size in columns
            ]
            lines.append(f"| {title}: {attack} | {' | '.join(map(share, cells))} |")
    nulls = [f"{100.0 * row['null']:.3g}%" for row in cells]
    return [*lines, f"| guessing | {' | '.join(nulls)} |"]


def lengths_table(rows: list[Row]) -> list[str]:
    lines = header("rank 1, by", [*PROFILES])
    for data, title in DATA.items():
        groups = {row["words"] for row in rows if row["data"] == data and row.get("words")}
        for words in sorted(groups, key=lambda words: int(words.split()[0])):
            for attack in ("likelihood", "learned", "tf-idf and length", "length alone"):
                cells = [
                    find(on_all(rows, words=words), name, "linkage", f"{attack}, rank 1", data=data)
                    for name in PROFILES
                ]
                lines.append(line(f"{title} of {words} words: {attack}", cells))
    return lines


def ranks_table(rows: list[Row], names: list[str]) -> list[str]:
    lines = header(" / ".join(RANKS), names)
    for data, title in DATA.items():
        for attack in LINKED:
            cells = [
                [find(on_all(rows), name, "linkage", f"{attack}, {rank}", data=data) for rank in RANKS]
                for name in names
            ]
            nulls = " / ".join(f"{100.0 * row['null']:.2g}" for row in cells[0])
            shares = [" / ".join(f"{100.0 * row['share']:.0f}" for row in cell) + "%" for cell in cells]
            lines.append(f"| {title}: {attack} | {nulls}% | {' | '.join(shares)} |")
    return lines


def topic_table(rows: list[Row]) -> list[str]:
    lines = ["| space | ε | S | S with a topic prior |", "| --- | --- | --- | --- |"]
    for row in rows:
        cells = row["space"], f"{row['epsilon']:.3g}", share(row["plain"]), share(row["topic"])
        lines.append(f"| {' | '.join(cells)} |")
    nulls = f"{100.0 * rows[0]['null']:.1f}%", f"{100.0 * rows[0]['topic_null']:.1f}%"
    return [*lines, f"| without the output | | {' | '.join(nulls)} |"]


def easiest_table(words: list[list[Any]]) -> list[str]:
    unprintable = wv.BlockList.english().words
    shown = [row for row in words if row[0] not in unprintable]
    left_out = len(words) - len(shown)
    head = f"{len(shown)} of the {len(words)} easiest words"
    if left_out:
        head += f" ({left_out} swear word{'s'[: left_out > 1]} left out)"
    lines = [f"{head}:", "", "| word | recovered | why |", "| --- | --- | --- |"]
    return lines + [f"| `{word}` | {100.0 * named:.0f}% | {why} |" for word, named, why in shown]


if __name__ == "__main__":
    main()
