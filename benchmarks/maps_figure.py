"""The figure of docs/maps.md, from benchmarks/results/profiles.json.

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
    equal = [row for row in rows if row["name"] in ("matched S", "balanced")]
    draw(equal)


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
    axes.set_title("At about the same S, the success of the best guess")
    for suffix in ("png", "svg"):
        metadata = {"Date": None} if suffix == "svg" else {}
        figure.savefig(FIGURE.with_suffix(f".{suffix}"), dpi=130, metadata=metadata)


if __name__ == "__main__":
    main()
