"""Bad input: one clear line on standard error, exit code 2, and nothing written."""

import gzip
import io
import pickle
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors

from wordveil.cli.main import main
from wordveil.embedding.catalog import stores_folder
from wordveil.embedding.formats import numbers

GOOD = b"cat 1.0 0.5\ndog 0.9 0.4\n"


def zipped(method: int = zipfile.ZIP_DEFLATED, /, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def flagged(bit: int) -> bytes:
    data = bytearray(zipped(a=GOOD))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + place] |= bit
    return bytes(data)


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy_of_a_petabyte() -> bytes:
    return npy(np.zeros((2, 2))).replace(b"(2, 2)", b"(9999999999999, 99)")


def gensim_pickle() -> bytes:
    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.ones((2, 2)))
    return pickle.dumps(vectors)


def word2vec_binary(promised: int, count: int) -> bytes:
    return f"{promised} 2\n".encode() + b"".join(
        b"w%d " % i + struct.pack("<2f", 1.5, 2.5) + b"\n" for i in range(count)
    )


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "wrong dimension on line 2": (lambda: b"cat 1.0 0.5\ndog 0.9\n", "line 2: has 2 fields where a word and 2 numbers are expected"),
    "too many numbers on line 2": (lambda: b"cat 1.0 0.5\ndog 0.9 0.4 7\n", "line 2: has more numbers"),
    "a line without a word": (lambda: b"cat 1.0 0.5\n0.9 0.4\n", "line 2: has 2 fields"),
    "an empty line": (lambda: b"cat 1.0 0.5\n\ndog 0.9 0.4\n", "line 2: is empty"),
    "words only": (lambda: b"cat\ndog\n", "line 1: has no numbers"),
    "a header of too many words": (lambda: b"3 2\n" + GOOD, "line 1: the header says 3 words, and the file has 2"),
    "a header of too few words": (lambda: b"1 2\n" + GOOD, "line 1: the header says 1 words, and the file has 2"),
    "a header of other dimensions": (lambda: b"2 3\n" + GOOD, "line 2: has 3 fields where a word and 3 numbers are expected"),
    "a header of no dimensions": (lambda: b"2 0\n" + GOOD, "0 dimensions"),
    "a binary cut in a vector": (lambda: word2vec_binary(3, 3)[:-5], "cut short"),
    "a binary cut between words": (lambda: gzip.compress(word2vec_binary(3, 2)), "cut short"),
    "a binary whose header says too much": (lambda: word2vec_binary(99, 3), "more than the file holds"),
    "a binary whose header says too little": (lambda: word2vec_binary(2, 3), "more than the 2 words"),
    "a binary of monstrous dimensions": (
        lambda: gzip.compress(b"2 999999999\na " + struct.pack("<2f", 1.5, 2.5)), "999,999,999 dimensions"
    ),
    "a binary with a word that is not UTF-8": (
        lambda: b"2 1\na " + struct.pack("<f", 1.5) + b"\n\xff\xfe " + struct.pack("<f", 2.5), "word 2 is not valid UTF-8"
    ),
    "NaN": (lambda: b"cat 1.0 0.5\ndog nan 0.4\n", "word 2 holds a value that is not a finite number"),
    "infinity": (lambda: b"cat 1.0 -inf\ndog 1 0.4\n", "word 1 holds a value that is not a finite number"),
    "overflow": (lambda: b"cat 1.0 1e39\ndog 1 0.4\n", "word 1 holds a value that is not a finite number"),
    "NaN in a binary": (
        lambda: b"2 1\na " + struct.pack("<f", 1.5) + b"\nb " + struct.pack("<f", np.nan), "word 2 holds a value"
    ),
    "1_0": (lambda: b"cat 1.0 0.5\ndog 1_0 0.4\n", "line 2: value 1 is not a decimal number"),
    "Arabic digits": ("cat 1.0 0.5\ndog 0.9 ٣\n".encode, "line 2: value 2 is not a decimal number"),
    "hexadecimal": (lambda: b"cat 1.0 0.5\ndog 0x1p3 0.4\n", "line 2: value 1 is not a decimal number"),
    "letters for numbers": (lambda: b"cat 1.0 0.5\ndog two three\n", "line 2: value 1 is not a decimal number"),
    "an empty file": (lambda: b"", "the file is empty"),
    "an empty gzip": (lambda: gzip.compress(b""), "the file is empty"),
    "only a header": (lambda: b"2 2\n", "holds no vectors"),
    "only spaces": (lambda: b"   \n  \n", "line 1: has no numbers"),
    "invalid UTF-8": (lambda: b"cat 1.0 0.5\n\xff\xfe 0.9 0.4\n", "line 2: is not valid UTF-8"),
    "a pickle": (lambda: pickle.dumps({"cat": [1.0]}), "is a Python pickle"),
    "a pickle of protocol 2, gzipped": (lambda: gzip.compress(pickle.dumps([1], protocol=2)), "is a Python pickle"),
    "a pickle in a zip": (lambda: zipped(data=pickle.dumps([1])), "is a Python pickle"),
    "gensim's pickle": (gensim_pickle, "is a Python pickle"),
    "NumPy's pickle": (lambda: npy(np.array([[{}]], dtype=object)), "pickled Python objects"),
    "NumPy's pickle in an .npz": (
        lambda: npz(words=np.array(["a", "b"], dtype=object), vectors=np.ones((2, 2))), "pickled Python objects"
    ),
    "an .npy of a petabyte": (npy_of_a_petabyte, "more than the file holds"),
    "a gzipped .npy of a petabyte": (lambda: gzip.compress(npy_of_a_petabyte()), "rows, and"),
    "an .npy of one dimension": (lambda: npy(np.ones(4)), "must be a table"),
    "an .npy of whole numbers": (lambda: npy(np.ones((2, 2), dtype=np.int64)), "must be a table"),
    "an .npy by columns": (lambda: npy(np.asfortranarray(np.ones((2, 2)))), "in C order"),
    "an .npy that is cut short": (lambda: npy(np.ones((2, 2)))[:-3], "more than the file holds|cut short"),
    "a gzipped .npy that is cut short": (lambda: gzip.compress(npy(np.ones((2, 2)))[:-3]), "cut short"),
    "an .npy with a broken header": (lambda: b"\x93NUMPY\x01\x00\x10\x00{'descr': ", "not a valid .npy"),
    "an .npy with too many rows": (lambda: npy(np.ones((3, 2))), "has 3 rows, and"),
    "an .npz without words": (lambda: npz(vectors=np.ones((2, 2))), "one table of floating point numbers"),
    "an .npz with too much": (
        lambda: npz(words=np.array(["a", "b"]), a=np.ones((2, 2)), b=np.ones((2, 2))), "one table of"
    ),
    "an .npz with too many words": (lambda: npz(w=np.array(["a", "b", "c"]), v=np.ones((2, 2))), "2 rows and 3 words"),
    "a zip bomb": (lambda: zipped(bomb=b"a 0\n" * (20 << 20)), "refused as a bomb"),
    "a gzip bomb": (lambda: gzip.compress((b"a 0." + b"0" * 4000 + b"\n") * 20_000), "refused as a bomb"),
    "an encrypted zip": (lambda: flagged(1), "encrypted"),
    "a zip of patched data": (lambda: flagged(1 << 5), r"\(a\): is damaged"),
    "a zip packed by bzip2": (lambda: zipped(zipfile.ZIP_BZIP2, a=GOOD), "another method than deflate"),
    "a header of monstrous dimensions": (
        lambda: b"2 999999999999\n" + GOOD, "line 2: has 3 fields where a word and 999999999999 numbers"
    ),
    "a control character between numbers": (
        lambda: b"cat 1.0 0.5\ndog 0.9\x010.4\n", "line 2: has 2 fields"
    ),
    "an .npy of negative length": (lambda: npy(np.zeros((2, 2))).replace(b"(2, 2)", b"(-2,2)"), "not a valid .npy"),
    "an .npy whose length is true": (lambda: npy(np.zeros((2, 2))).replace(b"(2, 2), }", b"(True,2)}"), "not a valid"),
    "an .npy whose header does not end": (
        lambda: npy(np.zeros((2, 2))).replace(b"(2, 2), }", b"((((((((("), "not a valid .npy"
    ),
    "an .npz of words of no length": (lambda: npz(w=np.array(["", ""]), v=np.ones((2, 2))), "not a valid|at least 2"),
    "an .npz of impossible letters": (
        lambda: npz(w=np.array([0x7FFFFFFF, 1], dtype=np.uint32).view("<U1"), v=np.ones((2, 2))),
        "not valid Unicode",
    ),
    "a zip with .. in it": (lambda: zipped(**{"../cat.txt": GOOD}), "outside of the archive"),
    "a zip with an absolute name": (lambda: zipped(**{"/cat.txt": GOOD}), "outside of the archive"),
    "a zip of several members": (lambda: zipped(a=GOOD, b=GOOD), "--member"),
    "a zip whose parts begin before it": (lambda: b"PK\x03\x04" + zipped(a=GOOD)[9:], "damaged or cut short"),
    "a zip with a name of two lines": (lambda: zipped(**{"two\nlines": b"cat 1\ndog 1 2\n"}), r"\(two\?lines\), line 2"),
    "an empty zip": (zipped, "format is not recognised|empty|members"),
    "a zip that is cut short": (lambda: zipped(a=GOOD * 100)[:-30], "damaged or cut short"),
    "a gzip that is cut short": (lambda: gzip.compress(GOOD * 100)[:-12], "damaged or cut short"),
    "a gzip with a flipped bit": (lambda: gzip.compress(GOOD)[:-8] + b"\0" * 8, "damaged or cut short"),
    "one word": (lambda: b"cat 1.0 0.5\n", "at least 2 words"),
    "one word twice": (lambda: b"cat 1.0 0.5\ncat 1.0 0.5\n", "at least 2 words"),
    "bytes of no format": (lambda: b"\0\1\2\3" * 50, "format is not recognised"),
    "a line without an end": (lambda: b"cat " + b"1 " * (9 << 20), "over 16 MiB"),
}  # fmt: skip


def one_line_of_error(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if "warning: Nobody has declared" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("wordveil: ")
    assert captured.err.endswith("\n")
    assert "Traceback" not in captured.err
    return f"{lines[0]}\n"


def written() -> list[Path]:
    folder = stores_folder()
    return list(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("arrow", [True, False], ids=["arrow", "numpy"])
@pytest.mark.parametrize("case", BAD)
def test_bad_files(
    case: str,
    arrow: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numbers, "_has_arrow", lambda: arrow)
    make, message = BAD[case]
    path = tmp_path / "vectors.dat"
    path.write_bytes(make())
    (tmp_path / "vectors.dat.words.txt").write_text("a\nb\n")
    assert main(["embedding", "import", str(path), "--name", "new"]) == 2
    assert re.search(message, one_line_of_error(capsys))
    assert written() == []


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.txt"
    path.write_bytes(GOOD)
    return str(path)


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "../x", ".hidden", "a" * 65, "sp ace"])
def test_bad_names(name: str, good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embedding", "import", good, "--name", name]) == 2
    assert "The name of an embedding" in one_line_of_error(capsys)
    assert written() == []


def test_an_existing_name_needs_force(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embedding", "import", good, "--name", "mine"]) == 0
    before = written()[0].read_bytes()
    capsys.readouterr()
    assert main(["embedding", "import", good, "--name", "mine", "--unit"]) == 2
    assert "--force" in one_line_of_error(capsys)
    assert [path.read_bytes() for path in written()] == [before]
    assert main(["embedding", "import", good, "--name", "mine", "--unit", "--force"]) == 0
    assert [path.read_bytes() == before for path in written()] == [False]


def test_the_name_of_an_installed_package_is_taken(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embedding", "import", good, "--name", "glove-840b-300d", "--force"]) == 2
    assert "installed package" in one_line_of_error(capsys)


def test_strict_refuses_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.txt"
    path.write_bytes(GOOD + b"cat 7 7\n")
    assert main(["embedding", "import", str(path), "--name", "new", "--strict"]) == 2
    assert "--strict" in one_line_of_error(capsys)
    assert written() == []
    assert main(["embedding", "import", str(path), "--name", "new"]) == 0
    assert "note: 1 repeated words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embedding", "import", "absent.txt", "--name", "new"], "absent.txt: No such file or directory."),
        (["embedding", "import", "{folder}", "--name", "new"], "Is a directory."),
        (["embedding", "import", "{good}"], "Missing option '--name'"),
        (["embedding", "import", "{good}", "--name", "new", "--first", "1"], "at least 2"),
        (["embedding", "import", "{good}", "--name", "new", "--first", "x"], "'--first'"),
        (["embedding", "import", "{good}", "--name", "new", "--format", "doc"], "'--format'"),
        (["embedding", "import", "{good}", "--name", "new", "--only-words", "absent"], "absent: No such file"),
        (["embedding", "import", "{good}", "--name", "new", "--row-words", "{good}"], "--row-words"),
        (["embedding", "import", "{npy}", "--name", "new"], "--row-words, or put lonely.words.txt beside it"),
        (["embedding", "import", "{npy}", "--name", "new", "--row-words", "{latin}"], "line 2: is not valid UTF-8"),
        (["embedding", "import", "{npy}", "--name", "new", "--row-words", "{empty}"], "the word list is empty"),
        (["embedding", "import", "{zip}", "--name", "new", "--member", "c"], "has no member of that name"),
        (["embedding", "info", "glove-840b-300"], "did you mean 'glove-840b-300d'?"),
        (["embedding", "info", "nothing"], "'wordveil embedding list' shows the names"),
        (["embedding", "info", "--word", "notaword"], "The word is not among the 33,752"),
        (["embedding", "import", "{good}", "--name", "new", "--member", "c"], "is not a zip file"),
        (["embedding", "lst"], "No such command 'lst'"),
        (["embedding", "info", "--wrong"], "No such option"),
    ],
)  # fmt: skip
def test_bad_usage(
    arguments: list[str], message: str, good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {name: tmp_path / name for name in ("latin", "empty", "zip")}
    places["latin"].write_bytes(b"a\n\xff\n")
    places["empty"].write_bytes(b"\n")
    places["zip"].write_bytes(zipped(a=GOOD, b=GOOD))
    np.save(tmp_path / "lonely.npy", np.ones((2, 2)))
    filled = [
        part.format(folder=tmp_path, good=good, npy=tmp_path / "lonely.npy", **places) for part in arguments
    ]
    assert main(filled) == 2
    assert message in one_line_of_error(capsys)
    assert written() == []


def test_a_tampered_store_is_refused(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embedding", "import", good, "--name", "mine"]) == 0
    path = written()[0]
    data = bytearray(path.read_bytes())
    data[8 + int.from_bytes(data[:8], "little")] ^= 1
    path.write_bytes(data)
    capsys.readouterr()
    assert main(["embedding", "info", "mine", "--verify"]) == 2
    assert "changed or damaged" in one_line_of_error(capsys)
    path.write_bytes(data[:-1])
    assert main(["embedding", "info", "mine"]) == 2
    assert "not a valid safetensors file" in one_line_of_error(capsys)
    assert main(["embedding", "list"]) == 0
    assert "damaged" in capsys.readouterr().out
