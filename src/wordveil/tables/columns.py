"""Names of columns: which are perturbed, kept and left out, and which may be shown in messages."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from wordveil.errors import FormatError, ParameterError

__all__ = ["checked_names", "described", "missing_column", "not_text", "positions"]

_SHOWN: Final = 20  # names in a note: more would only fill the screen
_LONGEST: Final = 40  # characters of a name that may be shown: names of several words fit, sentences do not
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SEPARATORS: Final = re.compile(r"[A-Za-z0-9]+(?:[ _.-][A-Za-z0-9]+)*")

# The first row of a table without a header is data, and the keys of JSON objects may be data too. So a name
# from a file is shown only if it consists of words that are common in the names of columns.
_WORDS: Final = """
    account address age agent amount annotation annotator answer at author batch body by category channel chat
    city class client code column comment comments company content context conversation count country created
    customer data dataset date datetime day description dialog dialogue document domain email end error event
    feedback field file first flag format from full gold group header hour html id ids index input instruction
    intent is item json key keyword keywords kind label labels lang language last length level line link list
    location log mail member message messages meta metadata method model modified month name news note notes
    num number of order organization original output page paragraph parent path patient person phone place
    post price priority product prompt query question quote rank rating raw reason record reference region
    reply report request response result review role row score section segment sender sentence sentiment seq
    session size source split start state status street subject subtitle summary tag tags target team test
    text texts thread ticket time timestamp title to token tokens topic train transcript tweet type updated
    uri url user utterance uuid valid value version view weight word words year zip
"""
_COLUMN_WORDS: Final = frozenset(_WORDS.split())


def checked_names(text: str | Iterable[str], keep: str | Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the columns to perturb and those to keep, without repeats; refuse a name that is in both."""
    chosen, kept = _listed(text), _listed(keep)
    both = sorted(set(chosen) & set(kept))
    if both:
        raise ParameterError(f"Column '{both[0]}' can't be both perturbed and kept.")
    return chosen, kept


def _listed(names: str | Iterable[str]) -> list[str]:
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if not all(isinstance(name, str) for name in listed):  # bytes are an iterable of int
        raise ParameterError("The names of columns must be str.")
    return list(dict.fromkeys(listed))


def _is_plain(name: str) -> bool:
    """Return whether a name from a file is an ordinary column name, which reveals nothing about a person.

    Examples
    --------
    >>> names = ["user_id", "createdAt", "Message Text", "see you at 8", "Okello", "555", ""]
    >>> [name for name in names if _is_plain(name)]
    ['user_id', 'createdAt', 'Message Text']
    """
    if len(name) > _LONGEST or not _SEPARATORS.fullmatch(name):
        return False
    parts = [part.lower() for part in _PARTS.findall(name)]
    # One digit, as in text2, is ordinary; a longer number may belong to a person.
    if len(parts) > 1 and parts[-1].isdecimal() and len(parts[-1]) == 1:
        parts.pop()
    return all(part in _COLUMN_WORDS for part in parts)


def described(names: Sequence[str], all_names: Sequence[str]) -> str:
    """Return columns of a file in a form that is safe to show: ordinary names, and positions of the others.

    Examples
    --------
    >>> described(["label", "Okello", "id"], ["label", "text", "Okello", "id"])
    'label, id, column 3 of 4'
    >>> described(["a@b.c", "d@e.f"], ["a@b.c", "text", "d@e.f"])
    'columns 1 and 3 of 3'
    """
    plain = [name for name in names if _is_plain(name)]
    others = {*names} - {*plain}
    numbers = [str(number) for number, name in enumerate(all_names, 1) if name in others]
    shown = plain[:_SHOWN]
    if len(plain) > len(shown):
        shown.append(f"{len(plain) - len(shown)} more with names")
    if len(numbers) > _SHOWN:
        shown.append(f"{len(numbers):,} columns of {len(all_names):,}")
    elif numbers:
        listed = " and ".join(filter(None, (", ".join(numbers[:-1]), numbers[-1])))
        shown.append(f"column{'s' if len(numbers) > 1 else ''} {listed} of {len(all_names):,}")
    return ", ".join(shown)


def missing_column(name: str, columns: Iterable[str], where: str, hint: str = "") -> FormatError:
    """Return the error for a column that is not there, with the closest name as a hint if there is one.

    A name that is not an ordinary one may be data, so the hint gives its position instead.
    """
    names = list(columns)
    if close := difflib.get_close_matches(name, names, n=1):
        meant = f"'{close[0]}'" if _is_plain(close[0]) else f"column {names.index(close[0]) + 1}"
        hint = f"did you mean {meant}?"
    return FormatError(f"{where}: has no column '{name}'." + (f" Hint: {hint}" if hint else ""))


def not_text(name: str, where: str, kind: str) -> FormatError:
    """Return the error for a column that holds something other than text."""
    return FormatError(f"{where}: column '{name}' is not text but {kind}. Hint: only text can be perturbed.")


def positions(columns: Sequence[str], names: Iterable[str], where: str, hint: str = "") -> dict[str, int]:
    """Return the position of each of the names among the columns; an error if one is missing or ambiguous."""
    places = {}
    for name in names:
        if name not in columns:
            raise missing_column(name, columns, where, hint)
        if columns.count(name) > 1:
            raise FormatError(f"{where}: has more than one column '{name}'. Hint: rename one of them.")
        places[name] = columns.index(name)
    return places
