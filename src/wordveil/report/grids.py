"""Rows of facts over ε and other settings, as tables with ε across and as lines of a chart."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from wordveil.evaluation.verdicts import UNDECIDED, Verdict
from wordveil.report.charts import Line
from wordveil.report.tables import StatTable

__all__ = ["Row", "course", "grid_table", "lines_of", "name_settings", "tally", "values_of"]

Row = Mapping[str, Any]

_MOST_SETTINGS: Final = 6  # in a sentence
_FORMATS: Final[dict[str, Callable[[Any], str]]] = {
    "setting": str,
    "vectors": lambda value: value.partition("[")[0],  # [k] are its dimensions, which have their own key
    "mechanism": str,
    "dims": lambda value: f"{value} dims",
    "lam": lambda value: f"λ = {value:g}",
    "answer": lambda value: f"{value} answer",
    "options": str,
    "tested_on": lambda value: f"tested on {value} text",
}


def values_of(rows: Iterable[Row], key: str) -> list[Any]:
    """Return the different values of a key, in the order of their appearance; None is left out.

    Examples
    --------
    >>> values_of([{"dims": 25}, {"dims": 300}, {"dims": 25}, {}], "dims")
    [25, 300]
    """
    return [value for value in dict.fromkeys(row.get(key) for row in rows) if value is not None]


def name_settings(rows: Sequence[Row]) -> list[str]:
    """Return a name for the setting of each row: its own, or what differs between the rows, ε left out.

    Examples
    --------
    >>> name_settings([{"dims": 25, "lam": 0.0, "epsilon": 5.0}, {"dims": 25, "lam": 1.0, "epsilon": 5.0}])
    ['λ = 0', 'λ = 1']
    >>> name_settings([{"dims": 25, "lam": 0.0, "epsilon": 5.0}])
    ['λ = 0']
    """
    words = {
        key: ["" if row.get(key) is None else form(row[key]) for row in rows]
        for key, form in _FORMATS.items()
    }
    keys = [key for key in _FORMATS if len(set(words[key])) > 1]
    keys = keys or [key for key in ("lam", "mechanism") if any(words[key])][:1]
    names = [", ".join(filter(None, (words[key][place] for key in keys))) for place in range(len(rows))]
    return [row.get("setting") or name for row, name in zip(rows, names, strict=True)]


def grid_table(
    title: str,
    rows: Sequence[Row],
    cell: Callable[[Row], str],
    *,
    below: Mapping[str, str] | None = None,
    note: str = "",
) -> StatTable:
    """Return a table with one row per setting and ε across; `below` adds rows with one value for every ε.

    A setting without an ε has its value in every column.

    Examples
    --------
    >>> rows = [{"lam": 0.0, "epsilon": e, "mean": e / 10} for e in (1.0, 5.0)]
    >>> print(grid_table("Mean", rows, lambda row: f"{row['mean']:.1f}", below={"chance": "0.2"}).csv())
    setting,ε = 1,ε = 5
    λ = 0,0.1,0.5
    chance,0.2,0.2
    """
    epsilons = sorted(values_of(rows, "epsilon")) or [None]
    cells: dict[str, dict[float | None, str]] = {}
    for name, row in zip(name_settings(rows), rows, strict=True):
        columns = epsilons if row["epsilon"] is None else [row["epsilon"]]
        cells.setdefault(name, {}).update(dict.fromkeys(columns, cell(row)))
    lines = [(name, *(line.get(epsilon, "") for epsilon in epsilons)) for name, line in cells.items()]
    lines += [(name, *[value] * len(epsilons)) for name, value in (below or {}).items()]
    header = ["value" if epsilon is None else f"ε = {epsilon:g}" for epsilon in epsilons]
    return StatTable(title, ("setting", *header), tuple(lines), note)


def lines_of(rows: Sequence[Row], key: str, low: str = "", high: str = "") -> tuple[Line, ...]:
    """Return a line per setting, with ε as x and `key` as y; `low` and `high` are the keys of its intervals.

    Settings without an ε have no line.

    Examples
    --------
    >>> lines_of([{"lam": 0.0, "epsilon": e, "mean": e / 10} for e in (5.0, 1.0)], "mean")
    (Line(name='λ = 0', x=(1.0, 5.0), y=(0.1, 0.5), low=None, high=None, marked=None, group=''),)
    """
    groups: dict[str, list[Row]] = {}
    for name, row in zip(name_settings(rows), rows, strict=True):
        if row["epsilon"] is not None:
            groups.setdefault(name, []).append(row)
    return tuple(
        _line(name, sorted(group, key=lambda row: row["epsilon"]), key, low, high)
        for name, group in groups.items()
    )


def _line(name: str, rows: list[Row], key: str, low: str, high: str) -> Line:
    def column(name: str) -> tuple[float, ...]:
        return tuple(float(row[name]) for row in rows)

    has_intervals = low and all(row.get(low) is not None and row.get(high) is not None for row in rows)
    return Line(name, column("epsilon"), column(key), *((column(low), column(high)) if has_intervals else ()))


def course(rows: Sequence[Row], decimals: int, unit: str = "") -> str:
    """Return where the means go with ε, in words; for each setting if an ε means something else in each.

    Examples
    --------
    >>> settings = ("a", 1.0), ("a", 2.0), ("b", 9.0)
    >>> rows = [{"mechanism": name, "epsilon": e, "mean": e / 10} for name, e in settings]
    >>> course(rows[:2], 1)
    'goes from 0.1 at ε = 1 to 0.2 at ε = 2'
    >>> course(rows[:1], 1)
    'is 0.1 at ε = 1'
    >>> course(rows, 1)
    'goes from 0.1 at ε = 1 to 0.2 at ε = 2 (a); is 0.9 at ε = 9 (b)'
    """
    mechanisms = values_of(rows, "mechanism")
    vectors = {_FORMATS["vectors"](name) for name in values_of(rows, "vectors")}
    if max(len(mechanisms), len(vectors)) < 2 and not values_of(rows, "setting"):
        return _course(rows, decimals, unit)
    groups: dict[str, list[Row]] = {}
    for name, row in zip(name_settings(rows), rows, strict=True):
        groups.setdefault(name, []).append(row)
    parts = [f"{_course(group, decimals, unit)} ({name})" for name, group in groups.items()]
    more = len(parts) - _MOST_SETTINGS
    return "; ".join(parts[:_MOST_SETTINGS]) + (f"; {more} more settings in the tables" if more > 0 else "")


def _course(rows: Sequence[Row], decimals: int, unit: str) -> str:
    """Return the range of the means at the smallest and at the largest ε, in words.

    Examples
    --------
    >>> _course([{"epsilon": e, "mean": m} for e, m in ((1.0, 0.2), (5.0, 90.0), (5.0, 60.0))], 0, "%")
    'goes from 0% at ε = 1 to 60–90% at ε = 5'
    """

    def means(epsilon: float | None) -> str:
        values = [row["mean"] for row in rows if row["epsilon"] == epsilon]
        low, high = f"{min(values):.{decimals}f}", f"{max(values):.{decimals}f}"
        return f"{low if low == high else f'{low}–{high}'}{unit}"

    epsilons = values_of(rows, "epsilon")
    if not epsilons:
        return f"is {means(None)}"
    first, last = min(epsilons), max(epsilons)
    if first == last:
        return f"is {means(first)} at ε = {first:g}"
    return f"goes from {means(first)} at ε = {first:g} to {means(last)} at ε = {last:g}"


def tally(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims hold, in one sentence.

    Examples
    --------
    >>> tally([Verdict("a", "holds", ""), Verdict("b", "undecided", ""), Verdict("c", "undecided", "")])
    'Of 3 claims, 1 holds, 0 do not hold and 2 are undecided.'
    >>> tally([Verdict("a", "holds", "")]), tally([Verdict("b", "undecided", "")])
    ('The one claim that was tested holds.', 'The one claim that was tested is undecided.')
    """
    if not verdicts:
        return "No claim could be judged at these settings."
    if len(verdicts) == 1:
        outcome = verdicts[0].outcome
        return f"The one claim that was tested {'is ' if outcome == UNDECIDED else ''}{outcome}."
    counts = Counter(verdict.outcome for verdict in verdicts)
    holds, fails, undecided = counts["holds"], counts["does not hold"], counts["undecided"]
    return (
        f"Of {len(verdicts)} claims, {holds} hold{'s'[: holds == 1]}, "
        f"{fails} {'does' if fails == 1 else 'do'} not hold and "
        f"{undecided} {'is' if undecided == 1 else 'are'} undecided."
    )
