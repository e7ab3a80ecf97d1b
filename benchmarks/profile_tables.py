"""Prints what benchmarks.profiles has measured, a line for each setting."""

from typing import Any

from wordveil.intervals import Share
from wordveil.rounding import at_most, percent_range


def print_tables(record: dict[str, Any]) -> None:
    rows = record["rows"]
    texts = [row for row in rows if "linkage" in row]
    for title, columns in (
        ("guessed, of 1", guess_columns),
        ("words and distances", word_columns),
        ("closeness", closeness_columns),
        ("linked at rank 1: words / both / length", linkage_columns),
        ("accuracy: private to private / private to clean", learning_columns),
    ):
        shown = texts if columns in (linkage_columns, learning_columns) else rows
        names = [f"{row['name']} ({in_short(row['setting'])})" for row in shown]
        table = [columns(row) for row in shown]
        print(f"\n{title}")
        print(f"  {'':48}" + "".join(f"{name:>22}" for name in table[0]))
        for name, cells in zip(names, table, strict=True):
            print(f"  {name:48}" + "".join(f"{cell:>22}" for cell in cells.values()))
    clean = {name: row["clean_to_clean"]["accuracy"]["mean"] for name, row in rows[0]["learning"].items()}
    majority = {name: row["majority"] for name, row in rows[0]["learning"].items()}
    print(f"\naccuracy on clean text {clean}, of the larger class {majority}")
    print(f"timing {record['timing']}")


def in_short(setting: dict[str, Any]) -> str:
    return f"{setting['space']}, λ = {setting['lam']:g}, ε = {setting['epsilon']:g}, {setting['answer']}"


def guess_columns(row: dict[str, Any]) -> dict[str, str]:
    tokens = row["guessed"]["tokens"]
    cells = {"S": f"{tokens['share']:.3f}", "alone": f"{tokens['guess_without_output']:.3f}"}
    cells["95%"] = percent_range(Share(tokens["share"], tokens["low"], tokens["high"]))
    names = ("content", "rank_based", "messages", "uniform")
    cells |= {name: f"{row['guessed'][name]['share']:.3f}" for name in names}
    return cells | {"from answers": f"{row['guessed_from_answers_at_least']['share']:.3f}"}


def word_columns(row: dict[str, Any]) -> dict[str, str]:
    words, limits = row["watched"], row["proven"]
    counts = [words[name] for name in ("above_0.8", "above_0.8_with_confidence", "above_0.5")]
    return {
        "stays, running text": f"{row['unchanged']['running_text']['share']:.3f}",
        "stays, vocabulary": f"{row['unchanged']['vocabulary']['share']:.3f}",
        "over 0.8 / sure / 0.5": " / ".join(map(str, counts)),
        "proven: 1st / 10th": f"{at_most(limits['median_to_nearest'])} / {at_most(limits['median_to_10th'])}",
        "worst case": at_most(limits["worst_case"]),
        "watched: stay / named": f"{words['mean_unchanged']:.3f} / {words['mean_named']:.3f}",
        "ε·d by meaning": at_most(limits["median_to_ten_by_meaning"]),
    }


def closeness_columns(row: dict[str, Any]) -> dict[str, str]:
    return {
        f"{group}: cosine / near": f"{facts['cosine']['share']:.3f} / {facts['near']['share']:.3f}"
        for group, facts in row["closeness"].items()
    } | {
        "constant": " / ".join(f"{facts['constant']:.3f}" for facts in row["closeness"].values()),
    }


def linkage_columns(row: dict[str, Any]) -> dict[str, str]:
    return {
        f"{name}, {padding}": " / ".join(f"{result[how]['share']:.3f}" for how in list(result)[:3])
        for name, results in row["linkage"].items()
        for padding, result in results.items()
    }


def learning_columns(row: dict[str, Any]) -> dict[str, str]:
    return {
        name: " / ".join(
            f"{result[how]['accuracy']['mean']:.3f}" for how in ("private_to_private", "private_to_clean")
        )
        for name, result in row["learning"].items()
    }
