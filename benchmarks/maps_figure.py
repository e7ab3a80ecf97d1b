"""The figure and the tables of docs/maps.md, from benchmarks/results/profiles.json.

python -m benchmarks.maps_figure
"""

import json
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path("benchmarks/results/profiles.json")
FIGURE: Final = Path("docs/maps")
COLOURS: Final = {"10 axes": "#777777", "UMAP": "#0072b2", "map": "#d55e00", "300 dims": "#009e73"}
MARKS: Final = {"nearest": "o", "closest": "s"}


def main() -> None:
    rows = json.loads(RESULTS.read_text())["rows"]
    equal = [row for row in rows if row["name"] in ("S of balanced", "balanced")]
    draw(equal)
    print(first_table(equal))
    print()
    print(second_table([row for row in equal if "linkage" in row]))


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw how near answers are against how often watched words are recognised, at equal S."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "wordveil"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    for row in rows:
        setting = row["setting"]
        x, y = row["watched"]["mean_largest"], row["closeness"]["content"]["near"]["share"]
        mark = MARKS[setting["answer"]]
        if setting["space"] not in COLOURS:  # a map that was fitted again, with another seed
            axes.scatter(x, y, s=40, facecolors="none", edgecolors=COLOURS["map"], marker=mark)
            continue
        axes.scatter(x, y, s=60, color=COLOURS[setting["space"]], marker=mark)
        lam = ", λ = 1" if setting["lam"] else ""
        label = f"{setting['space']}{lam}, {setting['answer']}"
        axes.annotate(label, (x, y), xytext=(7, -3), textcoords="offset points", fontsize=9)
    null = rows[0]["closeness"]["content"]["constant_near"]
    axes.axhline(null, color="#bbbbbb", linestyle="--", linewidth=1)
    axes.annotate("always the same word", (0.0, null), xytext=(6, 4), textcoords="offset points", fontsize=9)
    widest = max(row["watched"]["mean_largest"] for row in rows)
    axes.set(xlim=(0.0, 1.4 * widest), ylim=(0.0, 1.0))  # room for the labels
    axes.set_xlabel("words on sensitive topics: recognised, mean of 153 (left is safer)")
    axes.set_ylabel("content words: answers among\nthe 100 closest (up is closer)")
    axes.set_title("At the same S, the success of the best guess (hollow: other seeds)")
    for suffix in ("png", "svg"):
        metadata = {"Date": None} if suffix == "svg" else {}
        figure.savefig(FIGURE.with_suffix(f".{suffix}"), dpi=130, metadata=metadata)


def first_table(rows: list[dict[str, Any]]) -> str:
    header = (
        "space, answer", "ε", "S: running text; content; uniform", "S, by rank; words of the messages",
        "from answers, at least",
        "content words: cosine, near", "uniform words: cosine, near", "ε·d to the ten nearest in meaning",
    )  # fmt: skip
    return markdown(header, [first_row(row) for row in rows])


def first_row(row: dict[str, Any]) -> tuple[str, ...]:
    guessed, close = row["guessed"], row["closeness"]
    return (
        name(row),
        f"{row['setting']['epsilon']:g}",
        "; ".join(f"{guessed[group]['share']:.3f}" for group in ("tokens", "content", "uniform")),
        f"{guessed['rank_based']['share']:.3f}; {guessed['messages']['share']:.3f}",
        f"{row['guessed_from_answers_at_least']['share']:.3f}",
        f"{close['content']['cosine']['share']:.3f}, {close['content']['near']['share']:.3f}",
        f"{close['uniform']['cosine']['share']:.3f}, {close['uniform']['near']['share']:.3f}",
        f"{row['proven']['median_to_ten_by_meaning']:.1f}",
    )


def second_table(rows: list[dict[str, Any]]) -> str:
    header = (
        "space, answer", "watched words: stay, named, largest; over 0.5",
        "linkage by words and length: SMS, tweets", "padded: SMS, tweets",
        "accuracy, private to private: SMS, tweets", "private to clean: SMS, tweets",
    )  # fmt: skip
    return markdown(header, [second_row(row) for row in rows])


def second_row(row: dict[str, Any]) -> tuple[str, ...]:
    words = row["watched"]
    means = ", ".join(f"{words[key]:.3f}" for key in ("mean_unchanged", "mean_named", "mean_largest"))
    return (
        name(row),
        f"{means}; {words['above_0.5']}",
        *(
            ", ".join(
                f"{row['linkage'][data][padding]['by_both']['share']:.3f}" for data in ("sms", "tweets")
            )
            for padding in ("unpadded", "padded")
        ),
        *(
            ", ".join(f"{row['learning'][data][how]['accuracy']['mean']:.3f}" for data in ("sms", "tweets"))
            for how in ("private_to_private", "private_to_clean")
        ),
    )


def name(row: dict[str, Any]) -> str:
    setting = row["setting"]
    lam = ", λ = 1" if setting["lam"] else ""
    return f"{setting['space']}{lam}, `{setting['answer']}`" + (
        " (`balanced`)" if row["name"] == "balanced" else ""
    )


def markdown(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
