"""Which columns are perturbed, kept and left out; what to say when one is not there."""

import difflib
from collections.abc import Iterable, Sequence

from wordveil.errors import FormatError, ParameterError

__all__ = ["checked_names", "missing_column", "not_text", "positions"]


def checked_names(text: str | Iterable[str], keep: str | Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of both kinds of columns, each once; refuse none to perturb, and a name in both."""
    names = [[given] if isinstance(given, str) else list(given) for given in (text, keep)]
    for each in names:
        if not all(isinstance(name, str) for name in each):
            raise ParameterError("The names of columns must be str.")
    chosen, kept = (list(dict.fromkeys(each)) for each in names)
    both = sorted(set(chosen) & set(kept))
    if both:
        raise ParameterError(f"Column '{both[0]}' can't be both perturbed and kept.")
    return chosen, kept


def missing_column(name: str, columns: Iterable[str], where: str, hint: str = "") -> FormatError:
    """Return the error for a column that is not there, with the name that was meant, if one is close."""
    close = difflib.get_close_matches(name, list(columns), n=1)
    told = f"did you mean '{close[0]}'?" if close else hint
    return FormatError(f"{where}: has no column '{name}'." + (f" Hint: {told}" if told else ""))


def not_text(name: str, where: str, kind: str) -> FormatError:
    """Return the error for a column that holds something else than text."""
    return FormatError(f"{where}: column '{name}' is not text but {kind}. Hint: only text can be perturbed.")


def positions(columns: Sequence[str], wanted: Iterable[str], where: str, hint: str = "") -> dict[str, int]:
    """Return where each wanted column stands."""
    found = {}
    for name in wanted:
        if name not in columns:
            raise missing_column(name, columns, where, hint)
        if columns.count(name) > 1:
            raise FormatError(f"{where}: has more than one column '{name}'. Hint: rename one of them.")
        found[name] = columns.index(name)
    return found
