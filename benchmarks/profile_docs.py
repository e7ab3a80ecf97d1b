"""Writes what benchmarks.profiles has measured into the tables of docs/choosing.md and docs/maps.md.

    python -m benchmarks.profile_docs

A table stands between two comments with its name. Sentences are not changed: read them again afterwards.
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.doc_tables import write_tables
from wordveil.rounding import at_most

RESULTS = Path("benchmarks/results/profiles.json")
PROFILES = ("gentle", "balanced", "strong")

COLUMNS = {
    "words": """space, answer
ε
S: running text; content; uniform
S, by rank; words of the messages
from answers, at least
content words: cosine, near
uniform words: cosine, near
ε·d to the ten nearest in meaning""",
    "texts": """space, answer
watched words: stay, named, largest; over 0.5
linkage by words and length: SMS, tweets
padded: SMS, tweets
accuracy, private to private: SMS, tweets
private to clean: SMS, tweets""",
}

Row = dict[str, Any]


def main() -> None:
    rows: list[Row] = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    tables = {
        "docs/choosing.md": {"settings": settings_table(rows), "profiles": profiles_table(rows)},
        "docs/maps.md": {"words": words_table(rows), "texts": texts_table(rows)},
    }
    for page, by_name in tables.items():
        write_tables(Path(page), by_name)


def share(value: float) -> str:
    return f"{100.0 * value:.1f}%"


def label(row: Row) -> str:
    setting, name = row["setting"], row["name"]
    lam = ", λ = 1" if setting["lam"] else ""
    return f"{setting['space']}{lam}, `{setting['answer']}`" + (f" (`{name}`)" if name in PROFILES else "")


def compared(rows: list[Row]) -> list[Row]:
    """Return `balanced`, and the settings with a matched S."""
    return [row for row in rows if row["name"] in ("balanced", "matched S")]


def settings_table(rows: list[Row]) -> list[str]:
    header = [
        "| setting | ε | guessed (S) | words that stay, in running text | "
        "mean cosine of content words and answers |",
        "|---|---|---|---|---|",
    ]
    spaces = ("10 axes", "map", "300 dims")
    chosen = [
        row for row in rows if row["setting"]["space"] in spaces and row["name"] not in ("gentle", "strong")
    ]
    lines = [
        f"| {label(row)} | {row['setting']['epsilon']:g} | {share(row['guessed']['tokens']['share'])} | "
        f"{share(row['unchanged']['running_text']['share'])} | "
        f"{row['closeness']['content']['cosine']['share']:.2f} |"
        for row in chosen
    ]
    return header + lines


class Profiles:
    """Lines of the table of profiles: a title, its null, and the values."""

    def __init__(self, rows: list[Row]) -> None:
        by_name = {row["name"]: row for row in rows if row["name"] in PROFILES}
        self.rows = [by_name[name] for name in PROFILES]
        self.first = self.rows[0]

    def line(self, title: str, null: str, values: list[str]) -> str:
        return f"| {title} | {null} | {' | '.join(values)} |"

    def heading(self, title: str) -> str:
        return f"| *{title}* | | | | |"

    def guess(self, title: str, prior: str, key: str = "share") -> str:
        null = self.first["guessed"][prior]["guess_without_output"]
        values = [row["guessed"][prior][key] for row in self.rows]
        if key == "high":
            return self.line(title, "", [f"{at_most(100.0 * value)}%" for value in values])
        shown = f"{100.0 * null:.3f}%" if prior == "uniform" else share(null)
        return self.line(title, shown, [share(value) for value in values])

    def from_answers(self, title: str) -> str:
        null = self.first["guessed"]["tokens"]["guess_without_output"]
        values = [row["guessed_from_answers_at_least"]["share"] for row in self.rows]
        return self.line(title, share(null), [share(value) for value in values])

    def watched(self, title: str, key: str) -> str:
        return self.line(title, "", [str(row["watched"][key]) for row in self.rows])

    def most_exposed(self, title: str) -> str:
        words = [next(iter(row["watched"]["most_exposed"].items())) for row in self.rows]
        return self.line(title, "", [f"`{word}` {value:.0%}" for word, value in words])

    def unchanged(self, title: str) -> str:
        values = [row["unchanged"]["running_text"]["share"] for row in self.rows]
        return self.line(title, "", [share(value) for value in values])

    def linked(self, title: str, data: str, padding: str, how: str) -> str:
        null = f"{100.0 * self.first['linkage'][data][padding]['guessing']:.2f}%"
        values = [row["linkage"][data][padding][how]["share"] for row in self.rows]
        return self.line(title, null, [share(value) for value in values])

    def close(self) -> list[str]:
        facts = [row["closeness"]["content"] for row in self.rows]
        cosines = [f"{group['cosine']['share']:.2f}" for group in facts]
        near = [share(group["near"]["share"]) for group in facts]
        return [
            self.line("content words and answers, mean cosine", f"{facts[0]['constant']:.2f}", cosines),
            self.line(
                "answers among the 100 words closest to the word", share(facts[0]["constant_near"]), near
            ),
        ]

    def accuracy(self, title: str, data: str, how: str) -> str:
        learning = self.first["learning"][data]
        if how == "private_to_private":
            title += f", accuracy (clean text: {learning['clean_to_clean']['accuracy']['mean']:.3f})"
        values = [f"{row['learning'][data][how]['accuracy']['mean']:.3f}" for row in self.rows]
        return self.line(title, f"{learning['majority']:.3f}", values)

    def proven(self, title: str, key: str) -> str:
        return self.line(title, "0", [at_most(row["proven"][key]) for row in self.rows])


def profiles_table(rows: list[Row]) -> list[str]:
    table = Profiles(rows)
    return [
        "| | null | `gentle` | `balanced` | `strong` |",
        "|---|---|---|---|---|",
        table.heading("words: smaller is safer"),
        table.guess("a word of running text is guessed (S)", "tokens"),
        table.guess("its 95% interval ends at", "tokens", "high"),
        table.guess("a content word is guessed", "content"),
        table.from_answers("a word is guessed from the output alone, at least"),
        table.guess("S if words are used by the order of the vectors", "rank_based"),
        table.guess("S for someone who knows the words of the messages", "messages"),
        table.guess("S if all words are equally frequent", "uniform"),
        table.watched("of 153 watched words, recognised over 80% of the time", "above_0.8"),
        table.watched("recognised over 50% of the time", "above_0.5"),
        table.most_exposed("the most exposed one"),
        table.unchanged("words of running text that stay"),
        table.heading("whole texts, the right one of 2,000 is picked: smaller is safer"),
        table.linked("messages, by words and length", "sms", "unpadded", "by_both"),
        table.linked("messages, by length alone", "sms", "unpadded", "by_length"),
        table.linked("messages, padded to 20 words", "sms", "padded", "by_words"),
        table.linked("tweets, by words and length", "tweets", "unpadded", "by_both"),
        table.linked("tweets, by length alone", "tweets", "unpadded", "by_length"),
        table.linked("tweets, padded to 20 words", "tweets", "padded", "by_words"),
        table.heading("use: larger is better"),
        *table.close(),
        table.accuracy("spam among messages", "sms", "private_to_private"),
        table.accuracy("learned from private, used on clean messages", "sms", "private_to_clean"),
        table.accuracy("disasters among tweets", "tweets", "private_to_private"),
        table.accuracy("learned from private, used on clean tweets", "tweets", "private_to_clean"),
        table.heading("proven, the exponent ε·d is at most: smaller is safer"),
        table.proven("from a word to its nearest one, at the median", "median_to_nearest"),
        table.proven("to its 10th nearest, at the median", "median_to_10th"),
        table.proven("to its ten nearest in meaning, at the median", "median_to_ten_by_meaning"),
        table.proven("between any two words", "worst_case"),
    ]


def header(columns: str) -> list[str]:
    names = columns.splitlines()
    return [f"| {' | '.join(names)} |", "|" + " --- |" * len(names)]


def words_table(rows: list[Row]) -> list[str]:
    lines = header(COLUMNS["words"])
    for row in compared(rows):
        s = {name: facts["share"] for name, facts in row["guessed"].items()}
        groups = [row["closeness"][group] for group in ("content", "uniform")]
        close = [f"{group['cosine']['share']:.3f}, {group['near']['share']:.3f}" for group in groups]
        cells = (
            label(row),
            f"{row['setting']['epsilon']:.3g}",
            f"{s['tokens']:.3f}; {s['content']:.3f}; {s['uniform']:.3f}",
            f"{s['rank_based']:.3f}; {s['messages']:.3f}",
            f"{row['guessed_from_answers_at_least']['share']:.3f}",
            *close,
            at_most(row["proven"]["median_to_ten_by_meaning"]),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def texts_table(rows: list[Row]) -> list[str]:
    lines = header(COLUMNS["texts"])
    for row in compared(rows):
        if "linkage" not in row:
            continue
        watched, linkage, learning = row["watched"], row["linkage"], row["learning"]
        means = ", ".join(f"{watched[f'mean_{name}']:.3f}" for name in ("unchanged", "named", "largest"))
        linked = {
            padding: ", ".join(f"{linkage[data][padding][how]['share']:.3f}" for data in ("sms", "tweets"))
            for padding, how in (("unpadded", "by_both"), ("padded", "by_words"))
        }
        accuracy = {
            how: ", ".join(f"{learning[data][how]['accuracy']['mean']:.3f}" for data in ("sms", "tweets"))
            for how in ("private_to_private", "private_to_clean")
        }
        cells = (label(row), f"{means}; {watched['above_0.5']}", *linked.values(), *accuracy.values())
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
