"""Registering formats, and layouts that name them."""

from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.tables import (
    Format,
    Layout,
    find_format,
    format_names,
    open_table,
    register_format,
    registered_formats,
    unregister_format,
)
from wordveil.tables.delimited import open_delimited
from wordveil.tables.files import recognised

NAMES = ("csv", "tsv", "jsonl", "parquet", "text")


def test_the_formats_that_come_with_wordveil() -> None:
    assert format_names() == NAMES
    assert [known.name for known in registered_formats()] == list(NAMES)
    assert [known.name for known in registered_formats() if not known.streams] == ["parquet"]
    assert [known.name for known in registered_formats() if not known.has_columns] == ["text"]


def test_a_format_is_gone_after_it_is_unregistered() -> None:
    register_format(Format("ssv", "SSV", (".ssv",), open_delimited, delimiter=";"))
    layout = Layout("ssv")
    assert format_names() == (*NAMES, "ssv")
    unregister_format("ssv")
    assert format_names() == NAMES
    with pytest.raises(wv.ParameterError, match="must be one of csv, tsv, jsonl, parquet, text"):
        layout.find_format()
    with pytest.raises(wv.ParameterError, match="must be one of csv"):
        unregister_format("ssv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "csv"}, "The format 'csv' is already registered"),
        ({"extensions": (".csv",)}, "The extension '.csv' is already registered"),
        ({"extensions": (".ssv", ".gz")}, "The extension '.gz' is already registered"),
        ({"extensions": ("ssv",)}, "must be lower case, with one dot in front"),
        ({"extensions": (".SSV",)}, "must be lower case, with one dot in front"),
        ({"extensions": (".s.sv",)}, "must be lower case, with one dot in front"),
        ({"seekable": True}, "can't be both seekable and streams"),
    ],
)
def test_formats_are_checked(options: dict[str, Any], message: str) -> None:
    facts: dict[str, Any] = {"name": "ssv", "title": "SSV", "extensions": (".ssv",), "open": open_delimited}
    with pytest.raises(wv.ParameterError, match=message):
        register_format(Format(**facts | options))
    assert format_names() == NAMES


@pytest.mark.parametrize("name", ["xml", "", "CSV", None, 7, ["csv"]])
def test_names_of_no_format(name: Any) -> None:
    with pytest.raises(wv.ParameterError, match="must be one of csv, tsv, jsonl, parquet, text"):
        find_format(name)


def test_a_layout_without_a_format() -> None:
    with pytest.raises(wv.ParameterError, match="The layout of a table must have a format"):
        open_table(None, "in", Layout(), "message")  # type: ignore[arg-type]  # it fails before it reads


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xml"}, "must be one of csv"),
        ({"delimiter": "ab"}, "must be one character"),
        ({"delimiter": '"'}, "must be one character"),
        ({"delimiter": "\n"}, "must be one character"),
        ({"delimiter": ""}, "must be one character"),
    ],
)
def test_layouts_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(wv.ParameterError, match=message):
        Layout(**options)


@pytest.mark.parametrize(
    ("name", "format", "packing"),
    [
        ("a.b.CSV", "csv", ""),
        ("a.tab.GZ", "tsv", "gz"),
        ("a.ndjson.zst", "jsonl", "zst"),
        ("a.pq", "parquet", ""),
        ("a.text", "text", ""),
    ],
)
def test_names_imply_formats(name: str, format: str, packing: str) -> None:
    layout, compression = recognised(Path(name), Layout())
    assert (layout.format, compression) == (format, packing)
    assert recognised(Path("in.dat"), Layout(), other="text")[0].format == "text"
