"""Word counts: the shipped file, files of users in all their forms, and damage that is named by its line."""

import gzip
import hashlib
import importlib.util
import io
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import wordveil as wv
import wordveil_english
from wordveil import word_counts
from wordveil.errors import FormatError, IntegrityError, ParameterError
from wordveil.tokens import Tokenizer
from wordveil.word_counts import english_counts, read_counts, tally

SECRET = "Zanzibar-pregnant-555"
TOOL = Path(__file__).parent.parent / "packages" / "wordveil-english" / "tools" / "make_counts.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_counts", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "counts.txt"
        path.write_bytes(content)
        return path

    return write


Write = Callable[[bytes], Path]


def test_the_shipped_counts_are_those_of_the_tool(tool: ModuleType) -> None:
    text = gzip.decompress(wordveil_english.PATH.read_bytes())
    assert hashlib.sha256(text).hexdigest() == tool.COUNTS_SHA256
    readme = (TOOL.parent.parent / "README.md").read_text(encoding="utf-8")
    assert tool.COUNTS_SHA256 in readme
    assert f"{len(english_counts()):,} words" in readme


def test_the_shipped_counts_are_as_described() -> None:
    packed = wordveil_english.PATH.read_bytes()
    assert packed[4:8] == bytes(4)  # no time
    counts = english_counts()
    values = list(counts.values())
    assert values == sorted(values, reverse=True)
    assert values[-1] == 100  # one in ten million
    assert 0.97e9 < sum(values) < 0.99e9
    assert all(word == word.casefold() for word in counts if word.isascii())
    assert counts == read_counts(wordveil_english.PATH)


def test_the_tool_reads_the_format_of_its_source(tool: ModuleType) -> None:
    header = b"\x82\xa6format\xa2cB\xa7version\x01"
    lists = (
        [b"\x90"] * 30 + [b"\x91\xa4fish"] + [b"\x90"] * 669 + [b"\x92\xa4blue\xd9\x03red", b"\x91\xa4rare"]
    )
    for length in (b"\xdc" + struct.pack(">H", len(lists) + 1), b"\xdd" + struct.pack(">I", len(lists) + 1)):
        text = tool.counts_text(length + header + b"".join(lists))
        assert text == b"fish\t501187234\nblue\t100\nred\t100\n"  # 10^(9 - 0.3), and "rare" is too rare
    with pytest.raises(SystemExit, match="unexpected type 0xc3"):
        tool.unpack(io.BytesIO(b"\xc3"))
    with pytest.raises(SystemExit, match="cBpack"):
        tool.counts_text(b"\x92\x80\x90")


@pytest.mark.parametrize(
    "content",
    [
        b"tea\t5\nice\t2.5\n",
        b"tea,5\nice,2.5",
        b"tea 5\nice 2.5\n",
        b"  tea   5  \r\n\r\n ice \t 2.5\r\n",
        b"\xef\xbb\xbftea, 5\n\n\n   \nice, 2.5e0\n",
        b"tea 2\nice 2.5\ntea 3\n",
        gzip.compress(b"tea\t5\nice\t2.5\n", mtime=0),
    ],
)
def test_forms_of_a_file(write: Write, content: bytes) -> None:
    assert read_counts(write(content)) == {"tea": 5.0, "ice": 2.5}
    assert read_counts(str(write(content))) == {"tea": 5.0, "ice": 2.5}


def test_words_may_be_anything_that_is_not_the_separator(write: Write) -> None:
    counts = read_counts(write('new york\t3\n,\t4\ndon\'t,5\nnaïve 6\n"quoted",7\n'.encode()))
    assert counts == {"new york": 3, ",": 4, "don't": 5, "naïve": 6, '"quoted"': 7}


TWO_FIELDS = "must be a word and its count"
NUMBER = "the count must be a finite number that is not negative"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"{SECRET}", TWO_FIELDS),
        (f"{SECRET} 1 2", TWO_FIELDS),
        (f"{SECRET}\t1\t2", TWO_FIELDS),
        (f"{SECRET},1,2", TWO_FIELDS),
        (f"{SECRET} 1,000", TWO_FIELDS),
        (f",{SECRET}", TWO_FIELDS),
        (f"{SECRET},", TWO_FIELDS),
        (f"{SECRET} count", NUMBER),
        (f"1 {SECRET}", NUMBER),
        (f"{SECRET} -1", NUMBER),
        (f"{SECRET} nan", NUMBER),
        (f"{SECRET} inf", NUMBER),
        (f"{SECRET} 1e999", NUMBER),
        (f"{SECRET}\udcff 1", "is not valid UTF-8"),
    ],
)
def test_damage_is_named_by_its_line(write: Write, check_sealed: Any, line: str, problem: str) -> None:
    path = write(b"tea 1\n\n" + line.encode("utf-8", "surrogateescape") + b"\nice 2\n")
    for form in (path, path.with_suffix(".gz")):
        form.write_bytes(path.read_bytes() if form == path else gzip.compress(path.read_bytes(), mtime=0))
        with pytest.raises(FormatError) as error:
            read_counts(form)
        assert str(error.value).startswith(f"{form}, line 3: {problem}")
        assert "\n" not in str(error.value)
        check_sealed(error.value, SECRET)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty"),
        (b"\n \n", "holds no counts"),
        (gzip.compress(b"tea 1\n" * 1000, mtime=0)[:-12], "damaged or cut short"),
        (gzip.compress(b"tea 1\n" * 1000, mtime=0)[:20] + b"\0" * 40, "damaged or cut short"),
        (gzip.compress(bytes(66 << 20), mtime=0), "bomb|too large"),
    ],
)
def test_files_without_counts_are_refused(write: Write, content: bytes, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        read_counts(write(content))


def test_the_size_of_a_file_is_bounded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(b"tea 1\n" * 10)
    monkeypatch.setattr(word_counts, "_MOST_LINES", 10)
    assert read_counts(path) == {"tea": 10}
    monkeypatch.setattr(word_counts, "_MOST_LINES", 9)
    with pytest.raises(FormatError, match="over 64 MiB or 9 lines"):
        read_counts(path)
    monkeypatch.setattr(word_counts, "_MOST_LINES", 10)
    monkeypatch.setattr(word_counts, "_LARGEST_FILE", 59)
    with pytest.raises(FormatError, match="too large"):
        read_counts(path)


def test_a_path_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'path' parameter of read_counts"):
        read_counts(7)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(FileNotFoundError):
        read_counts(tmp_path / "missing.txt")


@pytest.mark.parametrize(
    "content",
    [b"", b"tea 1", gzip.compress(b"tea 1 ice", mtime=0), gzip.compress(b"tea one", mtime=0)],
    ids=["empty", "plain", "odd", "no number"],
)
def test_damage_to_the_package_is_reported(
    write: Write, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(wordveil_english, "PATH", write(content))
    english_counts.cache_clear()
    with pytest.raises(IntegrityError, match="install the package again"):
        english_counts()


def test_the_shortcut_of_the_tally_is_the_public_rule(glove: wv.Embedding) -> None:
    others = ["Boston", "BOSTON", "a1", "1a", "123456", "x_y", "don't", "ﬁre", "e\u0301"]
    words = list(dict.fromkeys([*list(english_counts())[::7], *others]))
    split = Tokenizer(glove.index).ids
    expected = [0.0] * (len(glove) + 1)
    for number, word in enumerate(words):
        for word_id in split(word):
            expected[word_id] += number
    assert tally(glove, {word: float(number) for number, word in enumerate(words)}).tolist() == expected


def test_the_case_of_the_vocabulary_matters_as_in_text() -> None:
    """Tokens are case-folded, so a word of the vocabulary in capitals is never found in a text."""
    embedding = wv.Embedding(["Boston", "tea"], [[0.0], [1.0]], public=True)
    assert tally(embedding, {"Boston": 1.0, "Tea": 2.0}).tolist() == [0.0, 2.0, 1.0]
