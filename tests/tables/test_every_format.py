"""What holds for every registered format, and for a format that only these tests register."""

import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.runs import perturb_pipe
from wordveil.tables import Format, format_names, open_table, register_format, unregister_format
from wordveil.tables.delimited import open_delimited
from wordveil.tables.files import recognised

from .samples import PACKINGS, Slowly, decoded, encoded, packed, unpacked

ROWS = [
    {"id": "1", "message": "Book a flight, please!", "label": "ham"},
    {"id": "2", "message": 'the "red"\nhouse', "label": 'x, "y"\nz'},
    {"id": "3", "message": "", "label": ""},
    {"id": "4", "message": "tea at noon", "label": "späm"},
]
PRIVATE = ["book a flight please", "the red house", "", "tea at noon"]
TOY = Format("ssv", "SSV", (".ssv",), open_delimited, delimiter=";")


@pytest.fixture(name="format", params=[*format_names(), TOY], ids=lambda param: getattr(param, "name", param))
def _format(request: pytest.FixtureRequest) -> Iterator[Format]:
    if isinstance(request.param, Format):
        yield register_format(request.param)
        unregister_format(request.param.name)
    else:
        yield wv.Layout(request.param).find_format()


def columns(format: Format, **chosen: Any) -> dict[str, Any]:
    return chosen if format.has_columns else {}


def paths(folder: Path, format: Format, packing: str = "") -> tuple[Path, Path]:
    suffix = format.extensions[0] + packing
    return folder / f"in{suffix}", folder / f"out{suffix}"


def expected(format: Format) -> list[dict[str, str]]:
    labels = [columns(format, label=row["label"]) for row in ROWS]
    return [{"message": text} | label for text, label in zip(PRIVATE, labels, strict=True)]


@pytest.mark.parametrize("packing", PACKINGS)
def test_the_same_table_comes_out(format: Format, packing: str, tmp_path: Path, same: wv.Perturber) -> None:
    source, target = paths(tmp_path, format, packing)
    source.write_bytes(packed(encoded(ROWS, format), packing))
    run = wv.perturb_file(source, target, perturber=same, **columns(format, text="message", keep="label"))
    assert (run.rows, run.words) == (4, 10)
    assert decoded(unpacked(target), format) == expected(format)


def test_what_is_not_chosen_is_left_out(format: Format, tmp_path: Path, same: wv.Perturber) -> None:
    source, target = paths(tmp_path, format)
    source.write_bytes(encoded(ROWS, format))
    run = wv.perturb_file(source, target, perturber=same, **columns(format, text="message"))
    assert decoded(target.read_bytes(), format) == [{"message": text} for text in PRIVATE]
    assert run.left_out == (("id", "label") if format.has_columns else ())
    assert run.left_out_note == ("id, label" if format.has_columns else "")


def test_many_rows_keep_their_order(format: Format, tmp_path: Path, same: wv.Perturber) -> None:
    rows = [{"id": str(number), "message": "tea " * (number % 3 + 1)} for number in range(2500)]
    source, target = paths(tmp_path, format)
    source.write_bytes(encoded(rows, format))
    wv.perturb_file(source, target, perturber=same, **columns(format, text="message", keep="id"))
    private = [columns(format, id=row["id"]) | {"message": row["message"].strip()} for row in rows]
    assert decoded(target.read_bytes(), format) == private


@pytest.mark.parametrize("packing", ["", "gz", "zst"])
def test_extensions_imply_the_format(format: Format, packing: str) -> None:
    for extension in format.extensions:
        for suffix in (extension, extension.upper()):
            name = f"a.b{suffix}{packing and '.'}{packing}"
            layout, compression = recognised(Path(name), wv.Layout())
            assert (layout.format, compression) == (format.name, packing)
    assert recognised(Path("in.dat"), wv.Layout(format.name))[0].format == format.name


def test_a_column_that_is_not_there(format: Format, tmp_path: Path, same: wv.Perturber) -> None:
    source, target = paths(tmp_path, format)
    source.write_bytes(encoded(ROWS, format))
    message = "has no column 'mesage'. Hint: did you mean 'message'" if format.has_columns else "no columns"
    for chosen in ({"text": "mesage"}, {"text": "message", "keep": "mesage"}):
        with pytest.raises(wv.WordveilError, match=message):
            wv.perturb_file(source, target, perturber=same, **chosen)  # type: ignore[arg-type]  # keyword arguments of several types
    if format.has_columns:
        with pytest.raises(wv.ParameterError, match="which column has the texts"):
            wv.perturb_file(source, target, perturber=same)
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("packing", PACKINGS)
def test_an_empty_file_is_refused(format: Format, packing: str, tmp_path: Path, same: wv.Perturber) -> None:
    source, target = paths(tmp_path, format, packing)
    for content in (b"", packed(b"", packing)):
        source.write_bytes(content)
        with pytest.raises(wv.FormatError, match="is empty"):
            wv.perturb_file(source, target, perturber=same, **columns(format, text="message"))
        assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_nulls_stay_null_unless_padded(
    format: Format, tmp_path: Path, same: wv.Perturber, small: wv.Embedding
) -> None:
    source, target = paths(tmp_path, format)
    source.write_bytes(encoded([{"message": text} for text in ("tea", None, "", "call me")], format))
    texts = [row["message"] for row in decoded(source.read_bytes(), format)]
    run = wv.perturb_file(source, target, perturber=same, **columns(format, text="message"))
    assert [row["message"] for row in decoded(target.read_bytes(), format)] == texts
    assert json.loads(run.private.read_text())["nulls"] == texts.count(None)
    padded = wv.Perturber(wv.Mahalanobis(small, 1.0), wv.Policy(pad_to=3))
    wv.perturb_file(source, target, perturber=padded, force=True, **columns(format, text="message"))
    assert [len(row["message"].split()) for row in decoded(target.read_bytes(), format)] == [3, 3, 3, 3]


@pytest.mark.parametrize("key", [None, wv.insecure_key(1)], ids=["secure", "insecure"])
def test_pipes(format: Format, key: wv.RunKey | None, same: wv.Perturber) -> None:
    source, target = io.BytesIO(encoded(ROWS, format)), io.BytesIO()
    options: dict[str, Any] = {"perturber": same, "layout": wv.Layout(format.name), "key": key}
    options |= columns(format, text="message", keep="label")
    if not format.streams:
        with pytest.raises(wv.ParameterError, match=f"{format.title} can't go through a pipe. Hint: name"):
            perturb_pipe(source, target, "in", **options)
        assert not target.getvalue()
        return
    perturb_pipe(source, target, "in", **options)
    assert decoded(target.getvalue(), format) == expected(format)


def test_rows_from_a_pipe_are_passed_on_as_they_arrive(format: Format) -> None:
    one, two = (encoded([{"message": "tea"}] * rows, format) for rows in (1, 2))
    pipe = Slowly([one, two[len(one) :]])
    chosen = columns(format, text="message")
    if not format.streams:
        with pytest.raises(wv.ParameterError, match="can't go through a pipe"):
            open_table(cast(BinaryIO, pipe), "in", wv.Layout(format.name), unbuffered=True, **chosen)
        return
    assert two.startswith(one)
    with open_table(cast(BinaryIO, pipe), "in", wv.Layout(format.name), unbuffered=True, **chosen) as table:
        chunks = table.chunks()
        assert next(chunks).rows == 1
        assert len(pipe.pieces) == 1  # the second row has not been asked for
        assert [chunk.rows for chunk in chunks] == [1]


@pytest.mark.parametrize("compression", ["", "gz", "zst"])
def test_a_table_closes_what_it_opened(
    format: Format, compression: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked_files: list[Any] = []
    real = tempfile.TemporaryFile

    def temporary_file() -> Any:
        unpacked_files.append(real())
        return unpacked_files[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", temporary_file)
    data = packed(encoded(ROWS, format), compression and f".{compression}")
    layout = wv.Layout(format.name)
    with io.BytesIO(data) as file:
        with open_table(
            file, "in", layout, compression=compression, **columns(format, text="message")
        ) as table:
            assert sum(chunk.rows for chunk in table.chunks()) == len(ROWS)
        assert not file.closed
        file.seek(0)
        with pytest.raises(wv.WordveilError, match="no column"):
            open_table(file, "in", layout, "mesage", compression=compression)
    assert len(unpacked_files) == (2 if format.seekable and compression else 0)
    assert all(file.closed for file in unpacked_files)


def test_kept_columns_can_be_read_as_text(format: Format) -> None:
    chosen = columns(format, text="message", keep="label")
    file = io.BytesIO(encoded(ROWS, format))
    with open_table(file, "in", wv.Layout(format.name), **chosen) as table:
        chunks = list(table.chunks())
        if not format.has_columns:
            with pytest.raises(NotImplementedError):
                table.values(chunks[0], "label")
        else:
            labels = [label for chunk in chunks for label in table.values(chunk, "label")]
            assert labels == [row["label"] for row in ROWS]


def test_the_command_takes_every_format(format: Format, tmp_path: Path, small: wv.Embedding) -> None:
    vectors = [
        f"{word} {' '.join(map(str, row))}\n" for word, row in zip(small.words, small.vectors, strict=True)
    ]
    (tmp_path / "vectors.txt").write_text("".join(vectors))
    source, target = paths(tmp_path, format)
    source.write_bytes(encoded(ROWS, format))
    options = ["--text", "message"] if format.has_columns else []
    options += ["--epsilon", "6", "--embedding", str(tmp_path / "vectors.txt")]
    assert main(["perturb", str(source), str(target), *options]) == 0
    private = decoded(target.read_bytes(), format)
    assert [len(row["message"].split()) for row in private] == [4, 3, 0, 3]
    unnamed = str(tmp_path / "out.dat")
    assert main(["perturb", str(source), unnamed, "--format", format.name, "--again", *options]) == 0
