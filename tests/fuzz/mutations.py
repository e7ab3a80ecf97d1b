"""Strategies for input that is nearly valid: bytes, lines and JSON members that somebody damaged."""

import copy
import gzip
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import zstandard
from hypothesis import strategies as st

from .rules import SECRET

__all__ = ["NASTY", "altered", "as_json", "damaged", "odd_values", "pack", "packed", "tokens", "weighted"]

_PLACES: Final = 1 << 16

NASTY: Final[tuple[bytes, ...]] = (
    SECRET.encode(), b'"%s"' % SECRET.encode(), b'{"%s": 1}' % SECRET.encode(),
    b"\0", b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b",", b";", b"|", b":", b"=", b"#", b"'", b'"', b'""', b'"""',
    b"\\", b"\\u0000", b"\\ud800", b"\\u000", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xc0\x80",
    b"\xf4\x90\x80\x80", "\u2028".encode(), "\x85".encode(), "\xa0".encode(), "\u202e".encode(), "\U0010ffff".encode(),
    "é".encode(), "e\u0301".encode(), "ß".encode(), "İ".encode(), "\u0663".encode(),
    b"NaN", b"-Infinity", b"nan", b"inf", b"-0", b"1e999", b"-1", b"9" * 20, b"9" * 5000, b"1.5", b"null", b"true",
    b"[", b"{", b"]", b"}", b"[" * 3000, b'{"a":' * 3000, b"[[" , b"(" * 200,
    b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY", b"PAR1", b"PARE", b"\x80\x04",
    b"SQLite format 3\0", bytes(64), b"\xff" * 8, b"\x7f\xff\xff\xff", b"a" * 2000,
)  # fmt: skip
"""Bytes that readers often fail on."""

_Edit = tuple[str, int, int, bytes]


def damaged(valid: Sequence[bytes], *, edits: int = 4) -> st.SearchStrategy[bytes]:
    """Valid contents with a few edits, and sometimes any bytes at all."""
    places = _places()
    insertion = st.sampled_from(NASTY) | st.binary(max_size=8)
    edit = st.tuples(st.sampled_from(sorted(_EDITS)), places, places, insertion)
    nearly = st.builds(_edited, st.sampled_from(list(valid)), st.lists(edit, max_size=edits))
    return weighted((8, nearly), (1, tokens()), (1, st.binary(max_size=300)))


def weighted(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of several strategies, some more often than others; `one_of` drops repeats."""
    listed = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.sampled_from(listed).flatmap(lambda strategy: strategy)


def _places() -> st.SearchStrategy[int]:
    """Places in a file, scaled. Hypothesis likes small numbers: these are spread all over."""
    return st.integers(0, _PLACES - 1).map(lambda number: (number * 40_503 + 20_000) % _PLACES)


def tokens() -> st.SearchStrategy[bytes]:
    """Any sequence of bytes that readers often fail on."""
    return st.lists(st.sampled_from(NASTY), max_size=20).map(b"".join)


def _edited(data: bytes, edits: list[_Edit]) -> bytes:
    for kind, first, second, insertion in edits:
        data = _EDITS[kind](data, first, second, insertion)
    return data


def _span(length: int, first: int, second: int) -> tuple[int, int]:
    start, end = sorted((first * (length + 1) // _PLACES, second * (length + 1) // _PLACES))
    return start, end


def _near(length: int, first: int, second: int) -> tuple[int, int]:
    """Return a short span: most damage is small."""
    start = first * (length + 1) // _PLACES
    return start, min(length, start + second % 16)


def _flip(data: bytes, first: int, second: int, _: bytes) -> bytes:
    if not data:
        return data
    place = first * len(data) // _PLACES
    return data[:place] + bytes([data[place] ^ (1 << second % 8)]) + data[place + 1 :]


def _put(data: bytes, first: int, second: int, insertion: bytes) -> bytes:
    start, end = _near(len(data), first, second)
    return data[:start] + insertion + data[end:]


def _insert(data: bytes, first: int, _: int, insertion: bytes) -> bytes:
    return _put(data, first, 0, insertion)


def _overwrite(data: bytes, first: int, _: int, insertion: bytes) -> bytes:
    start = first * (len(data) + 1) // _PLACES
    return data[:start] + insertion + data[start + len(insertion) :]


def _delete(data: bytes, first: int, second: int, _: bytes) -> bytes:
    start, end = _span(len(data), first, second)
    return data[:start] + data[end:]


def _double(data: bytes, first: int, second: int, _: bytes) -> bytes:
    start, end = _span(len(data), first, second)
    return data[:end] + data[start:]


def _cut(data: bytes, first: int, _: int, __: bytes) -> bytes:
    return data[: first * (len(data) + 1) // _PLACES]


def _begin_later(data: bytes, first: int, _: int, __: bytes) -> bytes:
    return data[first * (len(data) + 1) // _PLACES :]


def _by_lines(change: Callable[[list[bytes], int, int], None]) -> Callable[[bytes, int, int, bytes], bytes]:
    def edit(data: bytes, first: int, second: int, _: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        if lines:
            change(lines, first * len(lines) // _PLACES, second * len(lines) // _PLACES)
        return b"".join(lines)

    return edit


def _swap(lines: list[bytes], first: int, second: int) -> None:
    lines[first], lines[second] = lines[second], lines[first]


_EDITS: Final[dict[str, Callable[[bytes, int, int, bytes], bytes]]] = {
    "flip": _flip,
    "put": _put,
    "insert": _insert,
    "overwrite": _overwrite,
    "delete": _delete,
    "double": _double,
    "cut": _cut,
    "begin later": _begin_later,
    "repeat a line": _by_lines(lambda lines, first, second: lines.insert(first, lines[second])),
    "drop a line": _by_lines(lambda lines, first, _: lines.__delitem__(first)),
    "swap lines": _by_lines(_swap),
}


def pack(data: bytes, packing: str) -> bytes:
    """Return bytes as a file of that compression holds them."""
    match packing:
        case "gz":
            return gzip.compress(data, compresslevel=1, mtime=0)
        case "zst":
            return bytes(zstandard.ZstdCompressor().compress(data))
        case _:
            return data


def packed(content: st.SearchStrategy[bytes], packing: str) -> st.SearchStrategy[bytes]:
    """Contents, compressed; every other one is damaged once more after that."""
    files = content.map(lambda data: pack(data, packing))
    if not packing:
        return files
    return files | files.flatmap(lambda data: damaged([data], edits=2))


def odd_values() -> st.SearchStrategy[Any]:
    """Values that JSON can hold, and a few that only Python's reader takes."""
    usual: list[Any] = [
        None,
        True,
        0,
        -1,
        1.5,
        math.inf,
        math.nan,
        2**64,
        SECRET,
        "",
        "text",
        [],
        [SECRET],
        {},
    ]
    texts = st.sampled_from(["\0", "\ud800", "\n", "0" * 64, "\u202e", "1", "nan"]) | st.text(max_size=5)
    numbers = st.sampled_from([1, False, 2**31, 2**63, 10**400, -0.0, 1e308])
    nested = st.recursive(
        st.sampled_from(usual) | texts | numbers,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=5,
    )
    return weighted((6, st.sampled_from(usual)), (1, texts), (1, numbers), (2, nested))


def altered(valid: Any) -> st.SearchStrategy[Any]:
    """A JSON document with one to three of its members replaced, removed, added or wrapped."""
    change = st.tuples(
        st.sampled_from(["replace"] * 4 + ["remove", "add", "wrap"]),
        _places(),
        odd_values(),
    )
    return st.lists(change, min_size=1, max_size=3).map(lambda changes: _altered(valid, changes))


def _altered(valid: Any, changes: list[tuple[str, int, Any]]) -> Any:
    root = {"": copy.deepcopy(valid)}
    for kind, place, drawn in changes:
        value = copy.deepcopy(drawn)  # it may be drawn again
        spots = list(_spots(root))
        holder, key = spots[place * len(spots) // _PLACES]
        if kind == "replace":
            holder[key] = value
        elif kind == "wrap":
            holder[key] = [holder[key]]
        elif kind == "remove" and holder is not root:
            del holder[key]
        elif isinstance(holder[key], dict):
            holder[key][SECRET] = value
        elif isinstance(holder[key], list):
            holder[key].append(value)
    return root[""]


def _spots(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place of a document that holds a value."""
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _spots(holder[key])


def as_json(value: Any) -> bytes:
    """Return a document as Python writes it: NaN and halves of surrogate pairs included."""
    return json.dumps(value).encode()
