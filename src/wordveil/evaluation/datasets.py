"""Labelled texts: any table with a text and a label column, and two public data sets by their own formats."""

import codecs
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from wordveil.errors import FormatError, ParameterError, sealed
from wordveil.tables import Layout, open_table
from wordveil.tables.compression import Compression, decompressed
from wordveil.tables.files import recognised

__all__ = ["Known", "LabelledTexts", "known_format", "load_labelled"]

_LEAST: Final = 4  # so that there is something to learn from and to be tested on
_LONGEST_LABEL: Final = 40
_SMS_LABELS: Final = (b"ham\t", b"spam\t")
_TWEET_COLUMNS: Final = b"id,keyword,location,text,target"


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts with one of two labels each; `positive` is the label that precision and recall are about."""

    name: str
    texts: list[str]
    labels: list[bool]
    positive: str
    other: str


class Known(NamedTuple):
    """How a data set is laid out that is known by its content, and its name in the paper's tables."""

    name: str
    layout: Layout
    text: str
    label: str
    positive: str


def known_format(path: Path) -> Known | None:
    """Return the layout of the SMS Spam Collection or of the disaster tweets, if this is one of them."""
    suffix = path.suffix.lower()
    compression: Compression = "gz" if suffix == ".gz" else "zst" if suffix == ".zst" else ""
    with path.open("rb") as file:
        head = decompressed(file, compression, str(path)).read(4096).removeprefix(codecs.BOM_UTF8)
    if head.startswith(_SMS_LABELS):
        return Known("sms", Layout("tsv", header=False, quotes=False), "2", "1", "spam")
    if head.startswith(_TWEET_COLUMNS):
        return Known("tweets", Layout("csv"), "text", "target", "1")
    return None


@sealed
def load_labelled(
    path: Path,
    text: str | None = None,
    label: str | None = None,
    positive: str | None = None,
    layout: Layout = Layout(),
) -> LabelledTexts:
    """Return the labelled texts of a file.

    The SMS Spam Collection (`label<TAB>text`, no header; spam is positive) and the disaster tweets of Kaggle
    (`id,keyword,location,text,target`; 1 is positive) are known by their content. Of any other CSV, TSV or
    JSON Lines file the columns must be named; the rarer label is positive, unless one is chosen. A `layout`
    that is not the default one is taken at its word.
    """
    known = known_format(path) if layout == Layout() else None
    if known is not None:
        layout, text, label = known.layout, text or known.text, label or known.label
        positive = positive or known.positive
    if text is None or label is None:
        raise ParameterError(f"{path}: which columns hold text and label? Hint: --text and --label.")
    return _read(path, layout, text, label, positive)


def _read(path: Path, layout: Layout, text: str, label: str, positive: str | None) -> LabelledTexts:
    found, compression = recognised(path, layout)
    table_format = found.find_format()
    if table_format.typed or not table_format.has_columns:  # no labels that can be read as text
        raise FormatError(f"{path}: labelled texts must be CSV, TSV or JSON Lines.")
    with (
        path.open("rb") as file,
        open_table(file, str(path), found, text, label, compression=compression) as table,
    ):
        texts: list[str] = []
        labels: list[str] = []
        for chunk in table.chunks():
            texts += [each or "" for each in chunk.texts[text]]
            labels += [each or "" for each in table.values(chunk, label)]
    if "" in labels:
        raise FormatError(f"{path}, row {labels.index('') + 1}: has no label. Hint: leave such rows out.")
    counts = Counter(labels)
    kinds = sorted(counts, key=lambda kind: counts[kind])
    if len(kinds) != 2:
        raise FormatError(f"{path}: must have two labels. It has {len(kinds)}.")
    if max(map(len, kinds)) > _LONGEST_LABEL:
        raise FormatError(f"{path}: a label is longer than {_LONGEST_LABEL} letters. Hint: is it the text?")
    if counts[kinds[0]] < _LEAST:
        raise FormatError(f"{path}: must have at least {_LEAST} records of each label.")
    chosen = kinds[0] if positive is None else positive
    if chosen not in kinds:
        raise ParameterError(
            f"{path}: no record has the positive label. Hint: --positive names one of the two."
        )
    other = kinds[1 - kinds.index(chosen)]
    return LabelledTexts(path.stem, texts, [each == chosen for each in labels], chosen, other)
