"""Every format, plain, gzipped and zipped, gives the same words and vectors."""

import gzip
import io
import os
import struct
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.embedding.formats import numbers

WORDS = ["the", "naïve", "東京", "don't", "👍"]
VECTORS = np.round(np.random.default_rng(3).normal(size=(5, 4)), 4).astype(np.float32)


def lines(words: list[str] = WORDS, vectors: NDArray[np.float32] = VECTORS, end: str = "\n") -> str:
    return "".join(
        f"{word} {' '.join(f'{value:.4f}' for value in row)}{end}"
        for word, row in zip(words, vectors, strict=True)
    )


def glove() -> bytes:
    return lines().encode()


def word2vec() -> bytes:
    return b"5 4\n" + glove()


def fasttext_vec() -> bytes:
    return b"5 4\n" + lines(end=" \n").encode()


def word2vec_binary() -> bytes:
    records = (
        word.encode() + b" " + row.astype("<f4").tobytes() + b"\n"
        for word, row in zip(WORDS, VECTORS, strict=True)
    )
    return b"5 4\n" + b"".join(records)


TEXTS: dict[str, Callable[[], bytes]] = {
    "glove.txt": glove,
    "word2vec.txt": word2vec,
    "fasttext.vec": fasttext_vec,
    "word2vec.bin": word2vec_binary,
    "windows.txt": lambda: lines(end="\r\n").encode(),
    "tabs.txt": lambda: glove().replace(b" ", b"\t"),
    "spaces.txt": lambda: glove().replace(b" ", b"  "),
    "no-end.txt": lambda: glove().rstrip(),
}


@pytest.fixture(params=["arrow", "numpy"], autouse=True)
def _number_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_has_arrow", lambda: request.param == "arrow")


def assert_correct(emb: wv.Embedding) -> None:
    assert emb.words == tuple(WORDS)
    np.testing.assert_array_equal(emb.vectors, VECTORS)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packing", ["plain", "gz", "zip"])
def test_every_format_in_every_packing(name: str, packing: str, tmp_path: Path) -> None:
    path, content = tmp_path / name, TEXTS[name]()
    if packing == "gz":
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(content))
    elif packing == "zip":
        path = tmp_path / "archive.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
    else:
        path.write_bytes(content)
    emb, summary = wv.read_embedding(path)
    assert_correct(emb)
    assert summary.sentences() == []
    assert_correct(wv.load_embedding(path))


def test_words_that_hold_spaces(tmp_path: Path) -> None:
    path = tmp_path / "840b.txt"
    words = ["the", ". . .", "at name@domain.com", "new york", "of"]
    path.write_text(lines(words))
    emb, _ = wv.read_embedding(path)
    assert emb.words == tuple(words)
    np.testing.assert_array_equal(emb.vectors, VECTORS)


@pytest.mark.parametrize("block", [7, 64, 1000])
def test_the_block_size_changes_nothing(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.embedding.formats.text._BLOCK", block)
    monkeypatch.setattr("wordveil.embedding.formats.word2vec_binary._BLOCK", max(block, 16))
    for name, content in TEXTS.items():
        (tmp_path / name).write_bytes(content())
        assert_correct(wv.read_embedding(tmp_path / name)[0])


def test_npy_with_words_beside_it_or_named(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", VECTORS.astype(np.float64))
    (tmp_path / "v.words.txt").write_text("\n".join(WORDS) + "\n")
    assert_correct(wv.read_embedding(tmp_path / "v.npy")[0])
    (tmp_path / "v.words.txt").rename(tmp_path / "other.txt")
    assert_correct(wv.read_embedding(tmp_path / "v.npy", row_words=tmp_path / "other.txt")[0])
    (tmp_path / "v.npy.gz").write_bytes(gzip.compress((tmp_path / "v.npy").read_bytes()))
    assert_correct(wv.read_embedding(tmp_path / "v.npy.gz", row_words=tmp_path / "other.txt")[0])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(save: Callable[..., None], tmp_path: Path) -> None:
    save(tmp_path / "v.npz", words=np.array(WORDS), vectors=VECTORS)
    assert_correct(wv.read_embedding(tmp_path / "v.npz")[0])


def test_numbers_are_rounded_the_same_with_and_without_arrow(tmp_path: Path) -> None:
    values = [
        "0.1",
        "-1e-5",
        "1E3",
        "+2.5",
        ".5",
        "5.",
        "7",
        "0.30000000000000004",
        "1.17549435e-38",
        "3.4e38",
    ]
    path = tmp_path / "numbers.txt"
    path.write_text("".join(f"w{i} {value} 1\n" for i, value in enumerate(values)))
    emb, _ = wv.read_embedding(path)
    np.testing.assert_array_equal(emb.vectors[:, 0], [np.float32(float(value)) for value in values])


def test_first_n_words(tmp_path: Path) -> None:
    for name, content in TEXTS.items():
        (tmp_path / name).write_bytes(content())
        emb, _ = wv.read_embedding(tmp_path / name, options=wv.ReadOptions(first=3))
        assert emb.words == tuple(WORDS[:3])
    with pytest.raises(wv.ParameterError, match="'first'"):
        wv.ReadOptions(first=1)


def test_word_list(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_bytes(glove())
    only = frozenset({"👍", "the", "absent"})
    emb, summary = wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(only=only))
    assert emb.words == ("the", "👍")
    np.testing.assert_array_equal(emb.vectors, VECTORS[[0, 4]])
    assert summary.sentences() == ["1 words of the list are not in the source."]


def test_lower_casing_prefers_the_lower_case_word_and_else_the_first(tmp_path: Path) -> None:
    words = ["Apple", "APPLE", "apple", "Paris", "PARIS"]
    (tmp_path / "g.txt").write_text(lines(words))
    emb, summary = wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(lowercase=True))
    assert emb.words == ("apple", "paris")
    np.testing.assert_array_equal(emb.vectors, VECTORS[[2, 3]])
    assert summary.merged == 3


def test_lower_casing_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.embedding.formats.text._BLOCK", 16)
    test_lower_casing_prefers_the_lower_case_word_and_else_the_first(tmp_path)


def test_a_list_is_lower_cased_too(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(lines(["Apple", "APPLE", "apple", "Paris", "rome"]))
    options = wv.ReadOptions(lowercase=True, only=frozenset({"PARIS", "apple"}))
    emb, summary = wv.read_embedding(tmp_path / "g.txt", options=options)
    assert (emb.words, summary.missing) == (("apple", "paris"), 0)


def test_lower_casing_still_detects_repeats(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(lines(["Cat", "Cat", "dog", "cow", "hen"]))
    _, summary = wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(lowercase=True))
    assert (summary.repeated, summary.merged) == (1, 0)
    with pytest.raises(wv.FormatError, match="strict"):
        wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(lowercase=True, strict=True))


def test_strict_refuses_unprintable_words(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(lines(["a", "b", "c\x85", "d", "e"]))
    with pytest.raises(wv.FormatError, match="control characters"):
        wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(strict=True))


@pytest.mark.parametrize("name", ["glove.txt", "word2vec.txt"])
def test_a_byte_order_mark_and_blank_lines_at_the_end(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + TEXTS[name]() + b"\n \n\n")
    assert_correct(wv.read_embedding(tmp_path / name)[0])


def test_first_n_words_ignore_later_lines(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_bytes(glove() + b"broken\n")
    assert_correct(wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(first=5))[0])


def test_unit_length_of_huge_vectors(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("a 3e38 3e38\nb 1e-30 1e-30\nc 0 1\n")
    emb, _ = wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(unit=True))
    np.testing.assert_allclose(np.linalg.norm(emb.vectors, axis=1), 1.0, rtol=1e-6)
    assert emb.neighbours("a", 1)[0][0] == "b"


@pytest.mark.parametrize("packed", [False, True])
def test_from_a_pipe(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = gzip.compress(glove()) if packed else glove()
    writer = threading.Thread(target=lambda: path.write_bytes(content))
    writer.start()
    assert_correct(wv.load_embedding(path))
    writer.join()


def test_a_packed_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=VECTORS)
    (tmp_path / "v.npz.gz").write_bytes(gzip.compress((tmp_path / "v.npz").read_bytes()))
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.write(tmp_path / "v.npz", "v.npz")
    for name in ("v.npz.gz", "v.zip"):
        assert_correct(wv.read_embedding(tmp_path / name)[0])


def test_unit_length(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_bytes(glove())
    emb, _ = wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(unit=True))
    np.testing.assert_allclose(np.linalg.norm(emb.vectors, axis=1), 1.0, rtol=1e-6)
    (tmp_path / "z.txt").write_text("nil 0 0\none 1 1\n")
    with pytest.raises(wv.FormatError, match="word 1 of those that are kept is zero"):
        wv.read_embedding(tmp_path / "z.txt", options=wv.ReadOptions(unit=True))


def test_repeats_and_unprintable_words_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(lines(["a", "b", "a", "c\x85", "d"]), encoding="utf-8")
    emb, summary = wv.read_embedding(tmp_path / "g.txt")
    assert emb.words == ("a", "b", "d")
    np.testing.assert_array_equal(emb.vectors, VECTORS[[0, 1, 4]])
    assert (summary.repeated, summary.unprintable) == (1, 1)
    assert len(summary.sentences()) == 2
    with pytest.raises(wv.FormatError, match="strict"):
        wv.read_embedding(tmp_path / "g.txt", options=wv.ReadOptions(strict=True))


def test_progress_goes_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_bytes(glove())
    seen: list[tuple[int, int | None]] = []
    options = wv.ReadOptions(progress=lambda done, total: seen.append((done, total)))
    wv.read_embedding(tmp_path / "g.txt", options=options)
    assert seen[-1] == (len(glove()), len(glove()))


def test_member_of_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.txt", "x 1\ny 2\n")
        archive.writestr("b.txt", glove())
    assert_correct(wv.read_embedding(tmp_path / "two.zip", member="b.txt")[0])


def test_the_format_can_be_set(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("2 1\n3 1\n")  # one dimension: a header, or the word 2
    emb, _ = wv.read_embedding(tmp_path / "one.txt", format="glove")
    assert emb.words == ("2", "3")
    with pytest.raises(wv.ParameterError, match="'format'"):
        wv.read_embedding(tmp_path / "one.txt", format="doc")  # type: ignore[arg-type]  # that is the test
    with pytest.raises(wv.ParameterError, match="--row-words"):
        wv.read_embedding(tmp_path / "one.txt", row_words=tmp_path / "one.txt")


def test_real_word2vec_and_large_glove(real_data: Path) -> None:
    emb, _ = wv.read_embedding(real_data / "word2vec-googlenews-300d-26k.npy")
    assert (len(emb), emb.dim) == (26_423, 300)
    large, _ = wv.read_embedding(real_data / "glove-6b-100d-341k.npy", options=wv.ReadOptions(first=50_000))
    assert "queen" in [word for word, _ in large.neighbours("king", 10)]


def test_a_word2vec_binary_may_lack_line_ends(tmp_path: Path) -> None:
    content = b"2 1\n" + b"a " + struct.pack("<f", 1.5) + b"b " + struct.pack("<f", 2.5)
    (tmp_path / "w.bin").write_bytes(content)
    emb, _ = wv.read_embedding(tmp_path / "w.bin")
    assert emb.words == ("a", "b")
    assert emb.vectors.ravel().tolist() == [1.5, 2.5]


def test_an_npy_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.ones((2, 2)))
    (tmp_path / "v.npy").write_bytes(buffer.getvalue().replace(b"(2, 2), }  ", b"(2L, 2L), }"))
    (tmp_path / "v.words.txt").write_text("a\nb\n")
    embedding, _ = wv.read_embedding(tmp_path / "v.npy", public=True)
    assert embedding.words == ("a", "b")
