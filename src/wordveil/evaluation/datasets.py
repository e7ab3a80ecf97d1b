"""Labelled texts: any table with a text and a label column, and the two public data sets of the paper."""

import codecs
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import FormatError, ParameterError, parameter_error, sealed
from wordveil.tables import Layout, open_table
from wordveil.tables.compression import Compression, decompressed
from wordveil.tables.files import recognised

__all__ = ["LabelledTexts", "PaperDataset", "load_labelled", "recognise_dataset"]

_MIN_RECORDS: Final = 2  # per label, if the split is random: one to learn from and one to test on
_MAX_LABEL_LENGTH: Final = 40  # labels are printed, so a text column named by mistake must be refused
_MAX_LABELS: Final = 1000  # as above; each label is a row of the tables
_HEAD_BYTES: Final = 4096  # one page of a file: more than enough for the first line of either data set
_SMS_LABELS: Final = (b"ham\t", b"spam\t")
_TWEET_COLUMNS: Final = b"id,keyword,location,text,target"
_DIGESTS: Final = {
    "sms": "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
    "tweets": "61111c6dc31eaffa34d1e1fa62e2395325c9bc3b38bba1941a5f1ed9b3fa60df",
}
_TRAIN: Final = ("train", "training")
_TEST: Final = ("test", "testing")


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with one label each.

    Parameters
    ----------
    name : str
        What to call the data.
    texts, labels : lists of str
        One of each per record.
    is_test : list of bool, optional
        A fixed split: which records a classifier is tested on. By default splits are random.
    positive : str
        The label that the paper's precision and recall are about; empty if it is none of the paper's data.
    paper_name : str
        "sms" or "tweets" for a data set of the paper.
    left_out : int
        How many rows of the file belong to neither part of a fixed split.

    Examples
    --------
    >>> LabelledTexts("mine", ["good film", "bad film"] * 2, ["1", "0"] * 2).classes
    ('0', '1')
    """

    name: str
    texts: list[str] = field(repr=False)
    labels: list[str] = field(repr=False)
    is_test: list[bool] | None = field(default=None, repr=False)
    positive: str = ""
    paper_name: str = ""
    left_out: int = 0

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels) or len(self.texts) != len(self.is_test or self.texts):
            raise ParameterError("Labelled texts must have as many labels as texts.")
        _check_labels(self.name, Counter(self.labels), is_random=self.is_test is None)
        if self.is_test is not None:
            train_labels = {label for label, test in zip(self.labels, self.is_test, strict=True) if not test}
            if len(train_labels) < 2 or not any(self.is_test):
                raise FormatError(
                    f"{self.name}: there must be two labels to learn from, and a record to test on."
                )
        if self.positive and self.positive not in self.labels:
            raise ParameterError(
                f"{self.name}: no record has the positive label. Hint: --positive names one of the labels."
            )

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The different labels, in alphabetical order."""
        return tuple(sorted(set(self.labels)))

    @property
    def only_tested(self) -> int:
        """How many labels occur in records to test on only, so that no classifier can predict them."""
        learnt = {
            label
            for label, test in zip(self.labels, self.is_test or [False] * len(self.labels), strict=True)
            if not test
        }
        return len(set(self.labels) - learnt)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The label of each record, as its place among the classes."""
        places = {label: place for place, label in enumerate(self.classes)}
        return np.array([places[label] for label in self.labels], dtype=np.int64)


class PaperDataset(NamedTuple):
    """A data set of the paper: its name in the paper's tables, and how its file is laid out.

    `sha256` is the digest of the file that the documented numbers come from.
    """

    name: str
    layout: Layout
    text: str
    label: str
    positive: str
    sha256: str


def recognise_dataset(path: Path) -> PaperDataset | None:
    """Return the SMS Spam Collection or the disaster tweets if the file starts like one of them."""
    suffix = path.suffix.lower()
    compression: Compression = "gz" if suffix == ".gz" else "zst" if suffix == ".zst" else ""
    with path.open("rb") as file:
        head = decompressed(file, compression, str(path)).read(_HEAD_BYTES).removeprefix(codecs.BOM_UTF8)
    if head.startswith(_SMS_LABELS):
        return PaperDataset(
            "sms", Layout("tsv", header=False, quotes=False), "2", "1", "spam", _DIGESTS["sms"]
        )
    if head.startswith(_TWEET_COLUMNS):
        return PaperDataset("tweets", Layout("csv"), "text", "target", "1", _DIGESTS["tweets"])
    return None


@sealed
def load_labelled(
    path: str | Path,
    text: str | None = None,
    label: str | None = None,
    positive: str | None = None,
    layout: Layout = Layout(),
    *,
    test_path: str | Path | None = None,
    split: str | None = None,
    file: BinaryIO | None = None,
) -> LabelledTexts:
    """Return the labelled texts of a file: CSV, TSV, JSON Lines or Parquet.

    The SMS Spam Collection (`label<TAB>text`, no header; spam is positive) and the disaster tweets of Kaggle
    (`id,keyword,location,text,target`; 1 is positive) are recognised by their content. For any other file,
    name the columns. With a `layout` other than the default one, the content is not looked at.

    Parameters
    ----------
    path : path
        The file.
    text, label : str
        The columns.
    positive : str, optional
        The label that the paper's precision and recall are about.
    layout : Layout
        How the file is laid out.
    test_path : path, optional
        A second file of the same layout, with the records to test on.
    split : str, optional
        A column that says "train" or "test" for each record. Records with another value are left out;
        `left_out` of the result says how many.
    file : BinaryIO, optional
        Read this open file, such as standard input. Then `path` is only what to call it, and the layout has
        the format.
    """
    path = Path(path)
    dataset = recognise_dataset(path) if layout == Layout() and file is None else None
    if dataset is not None:
        layout, text, label = dataset.layout, text or dataset.text, label or dataset.label
        positive = positive or dataset.positive
    if text is None or label is None:
        raise ParameterError(f"{path}: which columns hold text and label? Hint: --text and --label.")
    if text == label:
        raise ParameterError(f"{path}: --text and --label name the same column. Hint: name two.")
    if test_path is not None and split is not None:
        raise ParameterError("--test-file and --split-column are two ways to say the same. Hint: use one.")
    records = _read(path, layout, text, label, split, file)
    is_test, rows = None, len(records.texts)
    if split is not None:
        records, is_test = _parts(path, records)
    left_out = rows - len(records.texts)
    if test_path is not None:
        tested = _read(Path(test_path), layout, text, label, None)
        is_test = [False] * len(records.texts) + [True] * len(tested.texts)
        records = _Records(records.texts + tested.texts, records.labels + tested.labels, [])
    name = "" if dataset is None else dataset.name
    data = LabelledTexts(str(path), records.texts, records.labels, is_test, positive or "", name)
    return replace(data, name=path.name.split(".")[0], left_out=left_out)


class _Records(NamedTuple):
    texts: list[str]
    labels: list[str]
    parts: list[str]


def _read(
    path: Path, layout: Layout, text: str, label: str, split: str | None, file: BinaryIO | None = None
) -> _Records:
    file_layout, compression = recognised(path, layout)
    if not file_layout.find_format().has_columns:
        raise FormatError(
            f"{path}: labelled texts must be CSV, TSV, JSON Lines or Parquet. Hint: --format names one."
        )
    kept = [label] if split is None else [label, split]
    records = _Records([], [], [])
    with (
        path.open("rb") if file is None else nullcontext(file) as source,
        open_table(source, str(path), file_layout, text, kept, compression=compression) as table,
    ):
        for chunk in table.chunks():
            records.texts.extend(value or "" for value in chunk.texts[text])
            records.labels.extend(value or "" for value in table.values(chunk, label))
            if split is not None:
                records.parts.extend(value or "" for value in table.values(chunk, split))
    if "" in records.labels:
        row = records.labels.index("") + 1
        raise FormatError(f"{path}, row {row}: has no label. Hint: leave such rows out.")
    return records


def _parts(path: Path, records: _Records) -> tuple[_Records, list[bool]]:
    """Return the records to learn from and to test on, and which are to be tested on."""
    parts = [part.strip().lower() for part in records.parts]
    chosen = [row for row, part in enumerate(parts) if part in (*_TRAIN, *_TEST)]
    if not any(parts[row] in _TRAIN for row in chosen) or not any(parts[row] in _TEST for row in chosen):
        raise FormatError(
            f"{path}: the split column must hold both 'train' and 'test'. Hint: or name a --test-file."
        )
    texts, labels = ([values[row] for row in chosen] for values in (records.texts, records.labels))
    return _Records(texts, labels, []), [parts[row] in _TEST for row in chosen]


def _check_labels(name: str, counts: Counter[str], *, is_random: bool) -> None:
    if not all(isinstance(label, str) and label for label in counts):
        raise FormatError(f"{name}: a record has no label. Hint: leave such records out.")
    if len(counts) < 2:
        raise FormatError(f"{name}: must have at least two labels. It has {len(counts)}.")
    if max(map(len, counts)) > _MAX_LABEL_LENGTH:
        raise FormatError(
            f"{name}: a label is longer than {_MAX_LABEL_LENGTH} letters. Hint: is it the text?"
        )
    if len(counts) > _MAX_LABELS:
        raise FormatError(f"{name}: has over {_MAX_LABELS:,} labels. Hint: is it the right column?")
    if is_random and min(counts.values()) < _MIN_RECORDS:
        raise FormatError(
            f"{name}: must have at least {_MIN_RECORDS} records of each label. Hint: leave out rare labels, "
            "or name a fixed split."
        )


def as_labelled(
    data: "LabelledTexts | tuple[Sequence[str], Sequence[object]]",
    name: str,
    owner: str = "utility",
    parameter: str = "data",
) -> LabelledTexts:
    """Return labelled texts from a pair of texts and labels."""
    texts, labels = as_pair(data, name, owner, parameter)
    return data if isinstance(data, LabelledTexts) else LabelledTexts(name, texts, labels)


def as_pair(data: object, name: str, owner: str, parameter: str) -> tuple[list[str], list[str]]:
    """Return texts and labels, or raise an error if the parameter is something else, or a label is missing.

    A missing text counts as empty, as in a file. None, NaN and NA are missing, and so is an empty label.
    """
    texts, labels = _columns(data, owner, parameter)
    known = ["" if _is_missing(label) else str(label) for label in labels]
    if "" in known:
        raise FormatError(f"{name}, row {known.index('') + 1}: has no label. Hint: leave such rows out.")
    return ["" if _is_missing(text) else str(text) for text in texts], known


def _is_missing(value: Any) -> bool:
    """Return whether a cell is empty: None, and what differs from itself, such as NaN and NaT.

    Examples
    --------
    >>> [_is_missing(value) for value in (None, float("nan"), np.float32("nan"), "", 0)]
    [True, True, True, False, False]
    """
    if value is None:
        return True
    try:
        return bool(value != value)  # only what is missing differs from itself
    except (TypeError, ValueError):  # pandas.NA is neither equal nor different
        return type(value).__name__ == "NAType"


def _columns(data: object, owner: str, parameter: str) -> tuple[Sequence[object], Sequence[object]]:
    if isinstance(data, LabelledTexts):
        return data.texts, data.labels
    must = "be labelled texts, or a pair of texts and labels of the same length"
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise parameter_error(parameter, owner, must, data)
    texts, labels = data
    if isinstance(texts, str) or isinstance(labels, str):
        raise parameter_error(parameter, owner, must, data)
    try:
        if len(texts) == len(labels):
            return texts, labels
    except TypeError:
        pass
    raise parameter_error(parameter, owner, must, data)
