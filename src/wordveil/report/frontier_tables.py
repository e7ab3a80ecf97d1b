"""The tables of a frontier: settings near one attack, and privacy and closeness at every setting."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from wordveil.evaluation.frontier_claims import At, at_attack, curve_of
from wordveil.evaluation.frontier_rings import is_promised
from wordveil.report.grids import Row, values_of
from wordveil.report.tables import StatTable
from wordveil.rounding import at_most

__all__ = [
    "NO_GUARANTEE",
    "curve_names",
    "frontier_tables",
    "full_names",
    "group_names",
    "interpolated",
    "nearest_to",
    "ranked",
]

NO_GUARANTEE: Final = "no guarantee"
"""In the name of a setting that promises nothing between some words."""
_KINDS: Final = {"tokens": "running text", "content": "content words", "uniform": "uniform words"}
_CLOSENESS: Final = {
    "cosine": "mean cosine of word and answer",
    "near_10": "answers among the 10 words nearest to the word",
    "near_100": "answers among the 100 words nearest to the word",
}


def frontier_tables(rows: Sequence[Row], attack: float) -> list[StatTable]:
    """Return the settings near that attack, what texts are worth, privacy and closeness."""
    texts = [_text_table(rows)] if "accuracy" in rows[0] else []
    closeness = [_closeness_table(rows, kind) for kind in _KINDS]
    return [_compared(rows, attack), *texts, _privacy_table(rows), *closeness]


def curve_names(rows: Sequence[Row]) -> list[str]:
    """Return the name of the line of each row: its group, and λ if this differs between the rows.

    Examples
    --------
    >>> rows = [{"space": "10 axes", "mechanism": "mahalanobis", "lam": lam} for lam in (0.0, 1.0)]
    >>> curve_names([*rows, rows[0] | {"options": "answer_prior=f98e07"}])
    ['10 axes, λ = 0', '10 axes, λ = 1', '10 axes, λ = 0']
    """
    return [f"{group}{lam}" for group, lam in zip(group_names(rows), _lams(rows), strict=True)]


def group_names(rows: Sequence[Row]) -> list[str]:
    """Return the name that the lines of all λ share: their space, and what else differs between the rows."""
    several = len(values_of(rows, "mechanism")) > 1
    names = []
    for row in rows:
        parts = [row["space"].removeprefix("map ") if row["space"] != "map" else "map"]
        if several and row["mechanism"] != "mahalanobis":
            parts.append(row["mechanism"])
        if not is_promised(dict(row)):
            parts.append(NO_GUARANTEE)
        names.append(", ".join(parts))
    vectors = [str(row.get("vectors") or "").partition("[")[0] for row in rows]  # [k]: the axes of the space
    for values in (vectors, [_options(row) for row in rows]):
        names = _distinguished(names, _lams(rows), values)
    return names


def _lams(rows: Sequence[Row]) -> list[str]:
    several = len(values_of(rows, "lam")) > 1
    return [f", λ = {row['lam']:g}" if several and row.get("lam") is not None else "" for row in rows]


def _options(row: Row) -> str:
    """Return the options of a setting without those that only follow from its answer."""
    parts = str(row.get("options") or "").split(", ")
    return ", ".join(part for part in parts if not part.startswith("answer_"))


def _distinguished(names: list[str], lams: list[str], values: list[str]) -> list[str]:
    """Return names with the value appended where one name, with its λ, stands for several values."""
    different: dict[tuple[str, str], set[str]] = {}
    for name, lam, value in zip(names, lams, values, strict=True):
        different.setdefault((name, lam), set()).add(value)
    return [
        f"{name}, {value}" if value and len(different[name, lam]) > 1 else name
        for name, lam, value in zip(names, lams, values, strict=True)
    ]


def nearest_to(rows: Sequence[Row], attack: float) -> list[Row]:
    """Return the setting of each line whose S is nearest to this."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(curve_of(dict(row)), []).append(row)
    return [min(group, key=lambda row: abs(row["attack"] - attack)) for group in groups.values()]


def full_names(rows: Sequence[Row]) -> list[str]:
    """Return the names of lines with their answers, if these differ."""
    several = len(values_of(rows, "answer")) > 1
    return [
        f"{name}, {row['answer']}" if several and row["answer"] else name
        for name, row in zip(curve_names(rows), rows, strict=True)
    ]


Column = tuple[str, Callable[[Row], str]]


def _percent(key: str) -> Callable[[Row], str]:
    return lambda row: "" if row.get(key) is None else f"{100.0 * row[key]:.1f}%"


def _number(key: str, decimals: int) -> Callable[[Row], str]:
    return lambda row: "" if row.get(key) is None else f"{row[key]:.{decimals}f}"


def _bound(key: str, decimals: int) -> Callable[[Row], str]:
    """Return the text of a proven upper bound, which is rounded up."""
    return lambda row: "" if row.get(key) is None else at_most(row[key], decimals)


def _table(
    title: str, rows: Sequence[Row], columns: Sequence[Column], note: str, below: Any = ()
) -> StatTable:
    names = full_names(rows)
    head: list[Column] = [("ε", lambda row: f"{row['epsilon']:g}"), ("S", _percent("attack"))]
    lines = [
        (name, *(cell(row) for _, cell in (*head, *columns))) for name, row in zip(names, rows, strict=True)
    ]
    lines += [(name, *[""] * len(head), *cells) for name, cells in below]
    return StatTable(title, ("setting", *(name for name, _ in (*head, *columns))), tuple(lines), note)


def ranked(rows: Sequence[Row], attack: float) -> list[tuple[Row, At | None]]:
    """Return the setting of each line whose S is nearest to this, and how close the line is at this S itself.

    Lines are in the order of that closeness; those that don't reach this S come last.
    """
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(curve_of(dict(row)), []).append(row)
    near = [(row, at_attack(groups[curve_of(dict(row))], attack)) for row in nearest_to(rows, attack)]
    return sorted(near, key=lambda pair: (pair[1] is None, -_closeness(*pair)))


def _closeness(row: Row, at: At | None) -> float:
    return float(row["cosine_content"]) if at is None else at.value


def interpolated(at: At | None) -> str:
    """Return a value between measured settings with its interval, or nothing.

    Examples
    --------
    >>> interpolated(At(0.6123, 0.0321, 0.3))
    '0.61 ± 0.03'
    """
    return "" if at is None else f"{at.value:.2f} ± {at.reach:.2f}"


def _compared(rows: Sequence[Row], attack: float) -> StatTable:
    """Return one setting of each line, that with the nearest S, in order of closeness at the same S."""
    placed = ranked(rows, attack)
    near, at = [row for row, _ in placed], {id(row): at for row, at in placed}
    columns: list[Column] = [
        (f"cosine, content, at S = {100 * attack:g}%", lambda row: interpolated(at.get(id(row)))),
        ("cosine, content", _number("cosine_content", 2)),
        ("100 nearest, content", _percent("near_100_content")),
        ("cosine, tokens", _number("cosine_tokens", 2)),
        ("ε·d in meaning", _bound("exponent", 1)),
        ("ε·diameter", _bound("exponent_worst", 0)),
        ("watched words", _percent("watched")),
        ("from answers", _percent("answers_attack")),
        ("N_w", _number("n_w", 1)),
    ]
    if "accuracy" in near[0]:
        columns[:0] = [("accuracy", _number("accuracy", 3)), ("linked", _percent("linkage"))]
    texts = " Answers that tell nothing leave the most frequent label and the length of a text."
    note = (
        "For each line the setting whose S is nearest, in the order of the first column: closeness on the "
        "line at that S itself, ± its 95% interval, widened by that of S. ε·d in meaning is the proven "
        "exponent between a word and the ten words nearest to it by cosine in all dimensions, at the median."
        f"{texts if 'accuracy' in near[0] else ''}{_unpromised_note(rows)}"
    )
    return _table(
        f"For each line the setting nearest to S = {100 * attack:g}%, in order of closeness at that S",
        near,
        columns,
        note,
        _null_rows(near, columns),
    )


def _unpromised_note(rows: Sequence[Row]) -> str:
    if all(is_promised(dict(row)) for row in rows):
        return ""
    return f" {NO_GUARANTEE.capitalize()}: nothing is promised between some words, whatever ε is."


def _null_rows(rows: Sequence[Row], columns: Sequence[Column]) -> list[tuple[str, list[str]]]:
    """Return the two null answers below a table, where a column has a value for them."""
    names = {
        "cosine, content": ("cosine_content", 2),
        "100 nearest, content": ("near_100_content", 0),
        "cosine, tokens": ("cosine_tokens", 2),
    }

    texts = {"accuracy": _number("accuracy_majority", 3), "linked": _percent("linkage_by_length")}

    def cell(null: str, column: str) -> str:
        if column in texts:
            return texts[column](rows[0])
        if column not in names:
            return ""
        key, decimals = names[column]
        return (_number(f"{null}_{key}", 2) if decimals else _percent(f"{null}_{key}"))(rows[0])

    nulls = [
        (name, [cell(null, column) for column, _ in columns])
        for null, name in (("constant", "always the same answer"), ("random", "a random answer"))
    ]
    if "accuracy" not in rows[0]:
        return nulls
    others = {
        "unperturbed text": {"accuracy": _number("accuracy_unperturbed", 3)(rows[0])},
        "chance": {
            "accuracy": _number("accuracy_chance", 3)(rows[0]),
            "linked": f"{100 * rows[0]['linkage_by_guessing']:.2f}%",
        },
    }
    return nulls + [
        (name, [cells.get(column, "") for column, _ in columns]) for name, cells in others.items()
    ]


def _text_table(rows: Sequence[Row]) -> StatTable:
    columns: list[Column] = [
        ("accuracy", _number("accuracy", 3)),
        ("95% interval", lambda row: f"{row['accuracy_low']:.3f} to {row['accuracy_high']:.3f}"),
        ("linked", _percent("linkage")),
        ("its interval", lambda row: f"{100 * row['linkage_low']:.1f}% to {100 * row['linkage_high']:.1f}%"),
    ]
    first = rows[0]
    below = [
        (name, [f"{first[f'accuracy_{key}']:.3f}", "", linked, ""])
        for name, key, linked in (
            ("unperturbed text", "unperturbed", ""),
            ("most frequent label; length alone", "majority", _percent("linkage_by_length")(first)),
            ("chance", "chance", f"{100 * first['linkage_by_guessing']:.2f}%"),
        )
    ]
    note = (
        f"Linked: the right one of {first['linkage_candidates']:,} originals is picked by words and length."
    )
    return _table("What texts are still worth, and how often they are linked", rows, columns, note, below)


def _privacy_table(rows: Sequence[Row]) -> StatTable:
    columns: list[Column] = [
        ("its interval", lambda row: f"{100 * row['attack_low']:.1f}% to {100 * row['attack_high']:.1f}%"),
        ("S, content", _percent("attack_content")),
        ("from answers", _percent("answers_attack")),
        ("content, from answers", _percent("answers_attack_content")),
        ("watched words", _percent("watched")),
        ("watched above half", lambda row: f"{row['watched_above_half']}"),
        ("N_w", _number("n_w", 1)),
        ("N_w, 95th percentile", _number("n_w_p95", 0)),
        ("ε·d in meaning", _bound("exponent", 1)),
        ("its 95th percentile", _bound("exponent_p95", 1)),
        ("ε·diameter", _bound("exponent_worst", 0)),
    ]
    note = (
        "S is the success of the best guess by someone who sees what the answer is made from (bounds by "
        "draws where a mechanism has no closed form); from answers, that of someone who sees only answers, "
        "at least. "
        "Watched words: how often words on sensitive topics are recognised, on average, and how many of "
        f"{rows[0]['watched_words']} in more than half of the draws. N_w in % of draws."
    )
    return _table("Privacy at every setting", rows, columns, note)


def _closeness_table(rows: Sequence[Row], kind: str) -> StatTable:
    columns: list[Column] = [
        ("cosine", _number(f"cosine_{kind}", 3)),
        ("95% interval", lambda row: f"{row[f'cosine_{kind}_low']:.3f} to {row[f'cosine_{kind}_high']:.3f}"),
        ("10 nearest", _percent(f"near_10_{kind}")),
        ("100 nearest", _percent(f"near_100_{kind}")),
        ("unchanged", _percent(f"unchanged_{kind}")),
    ]
    first = rows[0]
    below = [
        (
            name,
            [
                _number(f"{null}_cosine_{kind}", 3)(first),
                "",
                *(_percent(f"{null}_near_{near}_{kind}")(first) for near in (10, 100)),
                "",
            ],
        )
        for null, name in (("constant", "always the same answer"), ("random", "a random answer"))
    ]
    note = "; ".join(_CLOSENESS.values()).capitalize() + ". Cosines are those in all dimensions."
    return _table(f"Closeness: {_KINDS[kind]}", rows, columns, note, below)
