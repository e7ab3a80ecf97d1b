"""Text to tokens and back, by one public rule that does not depend on the private text.

Text is normalised to Unicode NFKC and invisible marks are removed. The rest is split into web and mail
addresses, mentions, hashtags, numbers, emoji, runs of Chinese and Japanese characters, and words with their
inner apostrophes and hyphens. Everything else (punctuation, symbols, white space, control characters, lone
surrogates) separates tokens. Tokens are case-folded. A token that is not in the vocabulary is looked up in
parts.
"""

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from wordveil.errors import ParameterError, named_type

__all__ = [
    "LARGEST_TEXT",
    "RULE_FINGERPRINT",
    "Piece",
    "Tokenizer",
    "check_text",
    "fold",
    "has_address_marks",
    "join",
    "pieces",
    "split",
]

LARGEST_TEXT: Final = 16 << 20
"""The most bytes of UTF-8 that a text may have. It bounds memory, and is far more than a message needs."""

RULE_FINGERPRINT: Final = hashlib.sha256(
    f"wordveil-tokens-1\0{unicodedata.unidata_version}".encode()
).hexdigest()
"""Identifies the rule and the version of Unicode that it uses."""

_CJK: Final = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_EMOJI: Final = "\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"
_JOINER: Final = "\u200d"
_EMOJI_MARKS: Final = "\u20e3\ufe0e\ufe0f"
_ASCII, _UNICODE, _MIXED = "ascii", "unicode", "mixed"
_ANY_CJK: Final = re.compile(f"[{_CJK}]")
_APOSTROPHES_AND_HYPHENS: Final = {0x2019: "'", 0x02BC: "'", 0x2010: "-", 0x2011: "-"}


class Piece(NamedTuple):
    """A token as it is written in the text, and what separates it from the token before."""

    gap: str
    token: str


def check_text(text: object, number: int) -> str:
    """Return `text` if it is a str of at most 16 MiB; `number` is its position, counted from 0."""
    if not isinstance(text, str):
        raise ParameterError(f"Text {number} (counted from 0) must be a str. Got {named_type(text)} instead.")
    if len(text) > LARGEST_TEXT // 4 and len(text.encode("utf-8", "surrogatepass")) > LARGEST_TEXT:
        raise ParameterError(
            f"Text {number} (counted from 0) is over 16 MiB. Hint: cut it into shorter texts."
        )
    return text


def split(text: str) -> list[str]:
    """Return the tokens of a text in order, case-folded.

    Examples
    --------
    >>> split("Don't fly to Boston-Logan at 10:30, @ann! https://a.example/x #delayed ✈")
    ["don't", 'fly', 'to', 'boston-logan', 'at', '10:30', '@ann', 'https://a.example/x', '#delayed', '✈']
    """
    if text.isascii():
        return _pattern_for(text).findall(text.lower())
    plain = _plain(text)
    return [fold(token) for token in _pattern_for(plain).findall(plain)]


def pieces(text: str) -> tuple[list[Piece], str]:
    """Return the tokens as they are written, with the gap before each, and the gap after the last."""
    plain = text if text.isascii() else _plain(text)
    result: list[Piece] = []
    end = 0
    for match in _pattern_for(plain).finditer(plain):
        result.append(Piece(_visible(plain[end : match.start()]), match.group()))
        end = match.end()
    return result, _visible(plain[end:])


def has_address_marks(text: str) -> bool:
    """Return whether a text may have addresses, mentions or hashtags; without these marks it has none.

    Examples
    --------
    >>> has_address_marks("WWW.a.example"), has_address_marks("10:30, at home")
    (True, False)
    """
    return "@" in text or "#" in text or "://" in text or "www." in text.lower()


def join(words: Iterable[str]) -> str:
    """Return words as text, with one space between them.

    Examples
    --------
    >>> join(["a", "quiet", "flight"])
    'a quiet flight'
    """
    return " ".join(words)


class Tokenizer:
    """The rule with a public vocabulary: turns text into word ids.

    Examples
    --------
    >>> Tokenizer({"fly": 0, "boston": 1, "10": 2}).ids("Fly BOSTON-Logan at 10:30")
    [0, 1, -1, -1, -1]
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary

    def ids(self, text: str) -> list[int]:
        """Return the ids of the words of a text, with -1 for words outside the vocabulary."""
        get = self._vocabulary.get
        ids: list[int] = []
        for token in split(text):
            word_id = get(token)
            if word_id is not None:
                ids.append(word_id)
            elif token.isalpha() and token.isascii():  # like most unknown words, it has no parts
                ids.append(-1)
            else:
                ids.extend(get(part, -1) for part in self.parts(token))
        return ids

    def parts(self, token: str) -> list[str]:
        """Return what to look up for a folded token: the token itself if it is known, else its parts."""
        if not token or token in self._vocabulary:
            return [token] if token else []
        if _JOINER in token:
            return self.parts(token.replace(_JOINER, ""))
        if token[0] == "#":
            return self.parts(token[1:])
        if token[0].isdigit() and not any(character.isalpha() for character in token):
            return [token.replace(",", "")]
        if "@" in token or "://" in token or token.startswith("www."):
            return [token]
        if _ANY_CJK.match(token):
            return list(token)
        return [part for part in re.split(r"['_-]", token) if part]


def _plain(text: str) -> str:
    """Return NFKC without invisible marks; control characters and lone surrogates become spaces."""
    # NFKC sorts runs of marks in quadratic time, and no script stacks more than 30 (Unicode annex 15).
    bounded = _long_run().sub(r"\1", text)
    return unicodedata.normalize("NFKC", bounded).translate(_Cleaner.shared)


@functools.cache
def _long_run() -> re.Pattern[str]:
    return re.compile(f"([{_marks()}]{{30}})[{_marks()}]+")


def fold(token: str) -> str:
    """Return a token as it is looked up: case-folded, in NFKC."""
    if token.isascii():
        return token.lower()
    return unicodedata.normalize("NFKC", token.casefold())


class _Cleaner(dict[int, int | str | None]):
    """A table for `str.translate` that computes the entry of a character when it is first needed."""

    shared: "_Cleaner"

    def __missing__(self, code: int) -> int | str | None:
        self[code] = cleaned = _cleaned(code)
        return cleaned


def _cleaned(code: int) -> int | str | None:
    if code in _APOSTROPHES_AND_HYPHENS:
        return _APOSTROPHES_AND_HYPHENS[code]
    category = unicodedata.category(chr(code))
    if category == "Cf" and chr(code) != _JOINER:
        return None
    return " " if category in ("Cc", "Cs", "Zl", "Zp", "Zs", "Co", "Cn") else code


_Cleaner.shared = _Cleaner()


def _visible(gap: str) -> str:
    """Return a gap with white space collapsed to single spaces, and without stray marks."""
    visible = "".join(character for character in gap if character.isspace() or character.isprintable())
    return re.sub(r"\s+", " ", visible)


def _pattern_for(text: str) -> re.Pattern[str]:
    special = has_address_marks(text)
    if text.isascii():
        return _pattern(_ASCII, special=special)
    return _pattern(_MIXED if _ANY_CJK.search(text) else _UNICODE, special=special)


@functools.cache
def _pattern(script: str, *, special: bool) -> re.Pattern[str]:
    """Return the compiled rule. It takes linear time: every repetition is bounded or consumed completely.

    The three scripts give the same tokens wherever they apply; the narrower ones are only faster.
    """
    letter, first = {
        _ASCII: ("[a-z0-9_]", "[a-z0-9]"),
        _UNICODE: (f"[\\w{_marks()}]", "[^\\W_]"),
        _MIXED: (f"(?:(?![{_CJK}])[\\w{_marks()}])", f"(?![{_CJK}])[^\\W_]"),
    }[script]
    addresses = [
        r"(?:https?://|www\.)[^\s<>\"\x00-\x1f\x7f]+",
        rf"(?:{letter}|[.+-]){{1,64}}@(?:{letter}|-){{1,63}}(?:\.(?:{letter}|-){{1,63}}){{1,8}}",
        rf"[@#]{letter}+",
    ]
    kinds = [r"[0-9]+(?:[.,:/][0-9]+)+", rf"{first}{letter}*(?:['-]{letter}+)*"]
    if script != _ASCII:
        modifier = "[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]"
        picture = rf"[{_EMOJI}]{modifier}*"
        kinds += [rf"[{_CJK}]+", r"[\U0001f1e6-\U0001f1ff]{2}", rf"{picture}(?:{_JOINER}{picture})*"]
    return re.compile("|".join([*(addresses if special else []), *kinds]), re.IGNORECASE)


@functools.cache
def _marks() -> str:
    """Return the characters allowed inside words besides letters: combining marks and the joiner."""
    ranges: list[str] = []
    start = None
    for code in range(0x300, 0x20001):
        is_mark = unicodedata.category(chr(code))[0] == "M" and chr(code) not in _EMOJI_MARKS
        if is_mark and start is None:
            start = code
        elif not is_mark and start is not None:
            ranges.append(f"{chr(start)}-{chr(code - 1)}")
            start = None
    return "".join(ranges) + _JOINER
