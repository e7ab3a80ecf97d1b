"""Labelled texts: any table with a text and a label column, and the two public data sets of the paper."""

import codecs
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from wordveil.errors import FormatError, ParameterError, sealed
from wordveil.tables import Layout, open_table
from wordveil.tables.compression import Compression, decompressed
from wordveil.tables.files import recognised

__all__ = ["LabelledTexts", "PaperDataset", "load_labelled", "recognise_dataset"]

_MIN_RECORDS: Final = 4  # per label: three to learn from and one to test on
_MAX_LABEL_LENGTH: Final = 40  # labels are printed, so a text column named by mistake must be refused
_HEAD_BYTES: Final = 4096  # one page of a file: more than enough for the first line of either data set
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


class PaperDataset(NamedTuple):
    """A data set of the paper: its name in the paper's tables, and how its file is laid out."""

    name: str
    layout: Layout
    text: str
    label: str
    positive: str


def recognise_dataset(path: Path) -> PaperDataset | None:
    """Return the SMS Spam Collection or the disaster tweets if the file starts like one of them."""
    suffix = path.suffix.lower()
    compression: Compression = "gz" if suffix == ".gz" else "zst" if suffix == ".zst" else ""
    with path.open("rb") as file:
        head = decompressed(file, compression, str(path)).read(_HEAD_BYTES).removeprefix(codecs.BOM_UTF8)
    if head.startswith(_SMS_LABELS):
        return PaperDataset("sms", Layout("tsv", header=False, quotes=False), "2", "1", "spam")
    if head.startswith(_TWEET_COLUMNS):
        return PaperDataset("tweets", Layout("csv"), "text", "target", "1")
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
    (`id,keyword,location,text,target`; 1 is positive) are recognised by their content. For any other CSV, TSV
    or JSON Lines file, name the columns; the rarer label is positive unless `positive` says otherwise. With a
    `layout` other than the default one, the content is not looked at.
    """
    dataset = recognise_dataset(path) if layout == Layout() else None
    if dataset is not None:
        layout, text, label = dataset.layout, text or dataset.text, label or dataset.label
        positive = positive or dataset.positive
    if text is None or label is None:
        raise ParameterError(f"{path}: which columns hold text and label? Hint: --text and --label.")
    return _read(path, layout, text, label, positive)


def _read(path: Path, layout: Layout, text: str, label: str, positive: str | None) -> LabelledTexts:
    file_layout, compression = recognised(path, layout)
    table_format = file_layout.find_format()
    if table_format.typed or not table_format.has_columns:  # no labels that can be read as text
        raise FormatError(f"{path}: labelled texts must be CSV, TSV or JSON Lines.")
    with (
        path.open("rb") as file,
        open_table(file, str(path), file_layout, text, label, compression=compression) as table,
    ):
        texts: list[str] = []
        labels: list[str] = []
        for chunk in table.chunks():
            texts += [value or "" for value in chunk.texts[text]]
            labels += [value or "" for value in table.values(chunk, label)]
    if "" in labels:
        raise FormatError(f"{path}, row {labels.index('') + 1}: has no label. Hint: leave such rows out.")
    positive, other = _choose_positive(path, Counter(labels), positive)
    return LabelledTexts(path.stem, texts, [value == positive for value in labels], positive, other)


def _choose_positive(path: Path, counts: Counter[str], positive: str | None) -> tuple[str, str]:
    """Return the positive label, by default the rarer one, and the other label."""
    rarer_first = sorted(counts, key=lambda label: counts[label])
    if len(rarer_first) != 2:
        raise FormatError(f"{path}: must have two labels. It has {len(rarer_first)}.")
    if max(map(len, rarer_first)) > _MAX_LABEL_LENGTH:
        raise FormatError(
            f"{path}: a label is longer than {_MAX_LABEL_LENGTH} letters. Hint: is it the text?"
        )
    if counts[rarer_first[0]] < _MIN_RECORDS:
        raise FormatError(f"{path}: must have at least {_MIN_RECORDS} records of each label.")
    positive = rarer_first[0] if positive is None else positive
    if positive not in rarer_first:
        raise ParameterError(
            f"{path}: no record has the positive label. Hint: --positive names one of the two."
        )
    return positive, rarer_first[1 - rarer_first.index(positive)]
