"""Nothing of the input hangs on an exception that leaves the library."""

import gc
import io
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wordveil as wv
from wordveil.errors import sealed
from wordveil.runs import perturb_pipe

SECRET = "Zanzibar-pregnant-555"


def reachable(error: BaseException) -> Iterator[object]:
    """Yield all that hangs on an exception: its arguments, what it came from, and the frames it passed."""
    seen: set[int] = set()
    waiting: list[object] = [error.args, vars(error), error.__context__, error.__cause__]
    trace = error.__traceback__
    while trace is not None:
        if "/wordveil/" in trace.tb_frame.f_code.co_filename:
            waiting.extend(trace.tb_frame.f_locals.values())
        trace = trace.tb_next
    skipped = (type, types.ModuleType, types.FunctionType, types.FrameType)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, skipped):
            continue
        seen.add(id(thing))
        yield thing
        if isinstance(thing, BaseException):
            waiting.extend((thing.args, vars(thing), thing.__context__, thing.__cause__))
            waiting.extend(getattr(thing, name, None) for name in ("object", "doc"))
        elif isinstance(thing, list | tuple | dict | set):
            waiting.extend(gc.get_referents(thing))


def check_clean(error: BaseException) -> None:
    assert error.__context__ is None
    assert error.__cause__ is None
    for thing in reachable(error):
        if isinstance(thing, str | bytes):
            text = thing if isinstance(thing, str) else thing.decode("utf-8", "replace")
            assert SECRET not in text


BAD_UTF8 = SECRET.encode() + b" \xff\n"
FILES: dict[str, bytes] = {
    "not-utf8.txt": BAD_UTF8,
    "not-utf8.csv": b"m\n" + BAD_UTF8,
    "not-utf8.jsonl": b'{"m": "' + BAD_UTF8,
    "not-json.jsonl": b'{"m": "' + SECRET.encode() + b'"\n',
    "no-text.jsonl": b'{"m": ["' + SECRET.encode() + b'"]}\n',
    "nested.jsonl": b'{"m": ' + b"[" * 100_000 + b'"' + SECRET.encode() + b'"\n',
    "ragged.csv": b"m,n\n" + SECRET.encode() + b"\n",
    "quote.csv": b'm\n"' + SECRET.encode() + b"\n",
    "after-quote.csv": b'm\n"x"' + SECRET.encode() + b"\n",
    "not-gzip.csv.gz": SECRET.encode() * 10,
    "not-parquet.parquet": SECRET.encode() * 10,
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path, noisy: wv.Perturber) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    chosen: dict[str, Any] = {} if name.endswith(".txt") else {"text": "m"}
    with pytest.raises(wv.FormatError) as caught:
        wv.perturb_file(tmp_path / name, tmp_path / f"out-{name}", perturber=noisy, **chosen)
    check_clean(caught.value)


def bad_array(**options: Any) -> pa.Array:
    texts = pa.array([b"tea", SECRET.encode() + b"\xff"])
    return pa.StringArray.from_buffers(2, texts.buffers()[1], texts.buffers()[2], **options)


@pytest.mark.parametrize("dictionary", [False, True])
def test_parquet_and_frames_of_bad_text(dictionary: bool, tmp_path: Path, noisy: wv.Perturber) -> None:
    column = bad_array()
    if dictionary:
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), column)
    table = pa.table({"m": column})
    with pytest.raises(wv.FormatError, match="row 2: 'm' is not valid UTF-8") as caught:
        wv.perturb_frame(table, perturber=noisy, text="m")
    check_clean(caught.value)
    pq.write_table(table, tmp_path / "in.parquet")
    where = "row 1 or later" if dictionary else "row 2"
    with pytest.raises(wv.FormatError, match=f"{where}: is not valid UTF-8") as caught:
        wv.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=noisy, text="m")
    check_clean(caught.value)


def test_frames_of_other_things(noisy: wv.Perturber) -> None:
    with pytest.raises(wv.FormatError, match="row 1: 'm' is not text") as caught:
        wv.perturb_frame(pd.DataFrame({"m": [{"x": SECRET}]}), perturber=noisy, text="m")
    check_clean(caught.value)


def test_texts(noisy: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="Text 1") as caught:
        noisy.perturb([SECRET, SECRET.encode()])  # type: ignore[list-item]
    check_clean(caught.value)


def test_pipes(noisy: wv.Perturber) -> None:
    with pytest.raises(wv.FormatError) as caught:
        perturb_pipe(io.BytesIO(BAD_UTF8), io.BytesIO(), "in", perturber=noisy, layout=wv.Layout("text"))
    check_clean(caught.value)


def test_a_wrong_file_of_vectors(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(BAD_UTF8 * 3)
    for read in (wv.load_embedding, wv.read_embedding):
        with pytest.raises(wv.WordveilError) as caught:
            read(tmp_path / "v.txt")
        check_clean(caught.value)


def test_the_seal_itself_would_show_a_leak() -> None:
    """Without the seal the checks above fail: they look where text really hangs."""

    def leaking(text: bytes) -> None:
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            raise wv.FormatError("is not valid UTF-8.") from None

    fails: Callable[[bytes], None]
    for fails, leaks in ((leaking, True), (sealed(leaking), False)):
        with pytest.raises(wv.FormatError) as caught:
            fails(BAD_UTF8)
        if leaks:
            with pytest.raises(AssertionError):
                check_clean(caught.value)
        else:
            check_clean(caught.value)
