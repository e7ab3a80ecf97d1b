"""Hugging Face datasets: what its caches, fingerprints and epochs would reveal."""

import copy
import pickle
import stat
from pathlib import Path
from typing import Any

import datasets as hf
import pandas as pd
import pyarrow as pa
import pytest

import wordveil as wv
from wordveil.integrations.datasets import _PerturbBatch

from .checks import SECRET, TEXT, check_distinct, check_no_keys, check_no_secret, check_pickle, run

hf.disable_progress_bars()


@pytest.fixture
def data() -> hf.Dataset:
    rows = {"id": [SECRET] * 6, "message": [TEXT] * 5 + [None], "label": [0, 1] * 3}
    return hf.Dataset.from_dict(rows)


@pytest.fixture
def private(data: hf.Dataset, perturber: wv.Perturber) -> hf.Dataset:
    return wv.datasets.perturb(data, perturber=perturber, text="message", keep="label")


def test_only_named_columns_are_left(private: hf.Dataset) -> None:
    assert private.column_names == ["message", "label"]
    assert private["label"][:] == [0, 1] * 3
    assert private["message"][5] is None
    check_distinct(private["message"][:5])


@pytest.mark.parametrize("num_proc", [None, 1, 2])
def test_every_call_and_process_draws_anew(
    num_proc: int | None, data: hf.Dataset, perturber: wv.Perturber
) -> None:
    perturber(TEXT)  # a stream of this process exists when the others start
    options: dict[str, Any] = {"perturber": perturber, "text": "message", "num_proc": num_proc}
    calls = [wv.datasets.perturb(data, **options) for _ in range(2)]
    check_distinct([text for call in calls for text in call["message"][:5]])
    assert calls[0]._fingerprint != calls[1]._fingerprint


def test_all_parts_of_a_dict(data: hf.Dataset, perturber: wv.Perturber) -> None:
    both = hf.DatasetDict({"train": data, "test": data})
    private = wv.datasets.perturb(both, perturber=perturber, text="message")
    assert isinstance(private, hf.DatasetDict)
    assert {*private} == {"train", "test"}
    check_distinct([*private["train"]["message"][:5], *private["test"]["message"][:5]])
    streams = hf.IterableDatasetDict({name: part.to_iterable_dataset() for name, part in both.items()})
    streamed = wv.datasets.perturb(streams, perturber=perturber, text="message")
    check_distinct([row["message"] for part in streamed.values() for row in part if row["message"]])
    assert wv.datasets.manifest(streamed["test"])["columns"]["perturbed"] == ["message"]


def test_all_texts_of_a_row_and_formats(data: hf.Dataset, perturber: wv.Perturber) -> None:
    two = data.add_column("reply", [TEXT] * 6).with_format("numpy").shuffle(seed=1)
    private = wv.datasets.perturb(two, perturber=perturber, text=["message", "reply"])
    check_distinct([text for row in private for text in row.values() if text is not None])


NULLS = {"message": [None, None], "label": [None, None]}


@pytest.mark.parametrize(("rows", "is_stream"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("pad_to", [None, 4])
def test_columns_without_a_type(rows: int, pad_to: int | None, is_stream: bool, small: wv.Embedding) -> None:
    """Nothing is known of a column in which every value is missing, or which has no rows."""
    data = hf.Dataset.from_dict({name: values[:rows] for name, values in NULLS.items()})
    assert {column.dtype for column in data.features.values()} == {"null"}
    source = data.to_iterable_dataset() if is_stream else data
    perturber = wv.Perturber(wv.Mahalanobis(small, 0.01), wv.Policy(pad_to=pad_to))
    private = wv.datasets.perturb(source, perturber=perturber, text="message", keep="label")
    assert {name: column.dtype for name, column in private.features.items()} == {
        "message": "string",
        "label": "null",
    }
    answers = list(private)
    assert [row["label"] for row in answers] == [None] * rows
    assert [len((row["message"] or "").split()) for row in answers] == [pad_to or 0] * rows
    assert wv.datasets.manifest(private)["columns"]["perturbed"] == ["message"]


def test_an_empty_part_is_no_hash_of_the_others(data: hf.Dataset, perturber: wv.Perturber) -> None:
    empty = [wv.datasets.perturb(data.select([]), perturber=perturber, text="message") for _ in range(2)]
    assert empty[0]._fingerprint != empty[1]._fingerprint
    assert empty[0].column_names == ["message"]


def test_padding_covers_missing_texts(data: hf.Dataset, small: wv.Embedding) -> None:
    padded = wv.Perturber(wv.Mahalanobis(small, 0.01), wv.Policy(pad_to=4))
    private = wv.datasets.perturb(data, perturber=padded, text="message")
    assert [len(text.split()) for text in private["message"]] == [4] * 6


def test_info_has_the_guarantee_and_nothing_of_the_original(perturber: wv.Perturber, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"id,message,label\n1,{TEXT},2\n")
    loaded = hf.load_dataset(
        "csv", data_files=str(tmp_path / "in.csv"), split="train", cache_dir=str(tmp_path)
    )
    loaded.info.description = loaded.info.citation = SECRET
    assert loaded.info.download_size
    private = wv.datasets.perturb(loaded, perturber=perturber, text="message", keep="label")
    assert private.info.download_size is private.info.splits is private.info.dataset_size is None
    assert SECRET not in repr(private.info)
    assert private.info.description.startswith(str(perturber.guarantee))
    assert loaded.info.description == SECRET
    facts = wv.datasets.manifest(private)
    assert facts["guarantee"] == perturber.guarantee.to_dict()
    assert facts["columns"] == {"perturbed": ["message"], "kept_as_they_were": ["label"]}
    private.save_to_disk(tmp_path / "saved")
    assert wv.datasets.manifest(hf.load_from_disk(tmp_path / "saved")) == facts
    check_no_secret(tmp_path / "saved")
    with pytest.raises(wv.FormatError, match="no manifest"):
        wv.datasets.manifest(loaded)


def test_what_loses_the_manifest(data: hf.Dataset, perturber: wv.Perturber, tmp_path: Path) -> None:
    """What docs/integrations/datasets.md says. If this fails, the library has changed."""
    stream = data.to_iterable_dataset()
    private = wv.datasets.perturb(stream, perturber=perturber, text="message", keep="label")
    rows = list(private)
    collected = hf.Dataset.from_list(rows, info=private.info)
    assert wv.datasets.manifest(collected) == wv.datasets.manifest(private)
    path = str(tmp_path / "private.parquet")
    collected.to_parquet(path)
    loaded = hf.Dataset.from_parquet(path, cache_dir=str(tmp_path / "cache"))
    for other in (loaded, hf.Dataset.from_list(rows)):
        with pytest.raises(wv.FormatError, match="no manifest"):
            wv.datasets.manifest(other)
    assert "description" not in collected.info._to_yaml_dict()  # all that push_to_hub sends of it


@pytest.mark.parametrize("rows", [0, 1])
def test_metadata_of_arrow_is_left_behind(rows: int, perturber: wv.Perturber) -> None:
    frame = pd.DataFrame({"message": [TEXT], SECRET: [1]})
    table = pa.Table.from_pandas(frame).replace_schema_metadata({"note": SECRET}).slice(0, rows)
    data = hf.Dataset(table)
    assert SECRET in str(data.data.schema.metadata)
    private = wv.datasets.perturb(data, perturber=perturber, text="message")
    assert SECRET not in str(private.data.schema.metadata)
    assert private.column_names == ["message"]
    assert wv.datasets.manifest(private)["columns"]["perturbed"] == ["message"]
    assert not data.info.description


def test_the_fingerprint_is_no_hash_of_the_texts(data: hf.Dataset, perturber: wv.Perturber) -> None:
    """That of data in memory is a hash of its content: whoever guesses the content can check the guess."""
    again = hf.Dataset.from_dict(data.to_dict())
    assert again._fingerprint == data._fingerprint
    one, two = (wv.datasets.perturb(part, perturber=perturber, text="message") for part in (data, again))
    assert one._fingerprint != two._fingerprint


@pytest.mark.parametrize(
    "again", [list, lambda rows: list(rows.take(1)), lambda rows: list(rows.shuffle(seed=1, buffer_size=10))]
)
def test_a_stream_is_read_once(again: Any, data: hf.Dataset, perturber: wv.Perturber) -> None:
    private = wv.datasets.perturb(
        data.to_iterable_dataset(), perturber=perturber, text="message", keep="label"
    )
    collected = hf.Dataset.from_list(list(private))
    check_distinct(collected["message"][:5])
    with pytest.raises(wv.WordveilError, match="was read before"):
        again(private)


def test_a_second_epoch_is_refused(data: hf.Dataset, perturber: wv.Perturber) -> None:
    private = wv.datasets.perturb(data.to_iterable_dataset(), perturber=perturber, text="message")
    assert len(list(private.take(2))) == 2
    private.set_epoch(1)
    with pytest.raises(wv.WordveilError, match="was read before"):
        list(private)


def test_a_stream_without_known_columns(perturber: wv.Perturber) -> None:
    rows = [{"id": SECRET, "message": TEXT, "label": 1}] * 3
    stream = hf.IterableDataset.from_generator(lambda: iter(rows))
    private = wv.datasets.perturb(stream, perturber=perturber, text="message", keep="label")
    answers = list(private)
    assert [[*row] for row in answers] == [["message", "label"]] * 3
    check_distinct(row["message"] for row in answers)


def test_a_stream_stays_in_its_process(data: hf.Dataset, perturber: wv.Perturber, monkeypatch: Any) -> None:
    private = wv.datasets.perturb(data.to_iterable_dataset(), perturber=perturber, text="message")
    for leave in (pickle.dumps, copy.deepcopy, lambda stream: list(hf.interleave_datasets([stream] * 2))):
        with pytest.raises(wv.WordveilError, match="can't be copied or sent to another process"):
            leave(private)
    monkeypatch.setattr("os.getpid", lambda: 1)
    with pytest.raises(wv.WordveilError, match="another process"):
        list(private)


def test_what_is_sent_to_processes_has_no_key(perturber: wv.Perturber) -> None:
    perturber(TEXT)
    check_pickle(pickle.dumps(_PerturbBatch(perturber, ["message"])))


def test_a_file_of_the_same_name_is_not_loaded(
    data: hf.Dataset, perturber: wv.Perturber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are random; should one come up again, the noise of the earlier call must not."""
    monkeypatch.setattr("wordveil.integrations.datasets.secrets.token_hex", lambda count: "00" * count)
    options: dict[str, Any] = {"perturber": perturber, "text": "message", "cache_folder": tmp_path / "own"}
    calls = [wv.datasets.perturb(data, **options)["message"][:5] for _ in range(2)]
    assert len([*(tmp_path / "own").iterdir()]) == 1
    check_distinct([text for call in calls for text in call])


SCRIPT = """
import datasets as hf
source = hf.load_dataset("csv", data_files={"train": "in.csv"}, split="train", cache_dir="raw")
import pathlib, shutil, sys
perturber, folder = small_perturber(), sys.argv[1] or None
options = dict(perturber=perturber, text="message", cache_folder=folder)
for processes in (None, 2):
    for text in wv.datasets.perturb(source, num_proc=processes, **options)["message"]:
        print(text)
private = wv.datasets.perturb(source, **options)
for name, part in [("one", private), ("two", private.map(lambda row: row).shuffle(seed=1))]:
    part.save_to_disk(name)
    part.to_parquet(name + ".parquet")
assert not [*pathlib.Path("raw").rglob("cache-*")]  # where others can read the private texts and kept columns
shutil.rmtree("raw")
"""


@pytest.mark.parametrize("cache_folder", ["", "private/arrow"])
def test_nothing_that_is_written_has_the_texts(cache_folder: str, watched: Path) -> None:
    (watched / "in.csv").write_text("message,label\n" + f"{TEXT},1\n" * 5)
    lines = run(SCRIPT + "import os; os.remove('in.csv')", watched, cache_folder)
    assert len(lines) == 10
    check_distinct(lines)
    names = {path.name for path in check_no_secret(watched)}
    assert {"one.parquet", "two.parquet", "dataset_info.json"} <= names
    check_no_keys(watched, least=3)
    if cache_folder:
        folder = watched / cache_folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = [
            path for path in folder.iterdir() if not path.name.startswith("cache-")
        ]  # those are of `map`
        assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600] * 4


def test_an_empty_part_leaves_the_files_of_its_input_alone(perturber: wv.Perturber, tmp_path: Path) -> None:
    """`map` of an empty part returns its input, with the files that this came from."""
    hf.Dataset.from_dict({"message": [TEXT]}).save_to_disk(str(tmp_path / "in"))
    stored = hf.load_from_disk(str(tmp_path / "in"))
    (file,) = (Path(entry["filename"]) for entry in stored.cache_files)
    file.chmod(0o644)
    options: dict[str, Any] = {"perturber": perturber, "text": "message", "cache_folder": tmp_path / "own"}
    private = wv.datasets.perturb(hf.DatasetDict(train=stored, test=stored.select([])), **options)
    assert {name: len(part) for name, part in private.items()} == {"train": 1, "test": 0}
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_what_the_library_does_by_itself(watched: Path) -> None:
    """The traps: `load_dataset` copies texts to where others can read them, and `map` repeats its noise."""
    (watched / "in.csv").write_text("message,label\n" + f"{TEXT},1\n" * 5)
    (watched / "in.csv").chmod(0o600)
    lines = run(
        """
        import os, datasets as hf
        os.umask(0o022)
        source = hf.load_dataset("csv", data_files="in.csv", split="train", cache_dir="raw")
        perturb = lambda rows, p=small_perturber(): {"message": p.perturb(rows["message"])}
        print(list(source.map(perturb, batched=True)["message"]) == list(source.map(perturb, batched=True)["message"]))
        """,
        watched,
    )
    assert lines == ["True"]
    copies = [path for path in (watched / "raw").rglob("*.arrow") if SECRET.encode() in path.read_bytes()]
    assert [oct(path.stat().st_mode & 0o777) for path in copies] == ["0o644"]


def test_a_cache_folder_must_be_private(data: hf.Dataset, perturber: wv.Perturber, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(wv.ParameterError, match=r"'cache_folder'.*chmod 700"):
        wv.datasets.perturb(data, perturber=perturber, text="message", cache_folder=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "label"}, "column 'label' is not text but int64"),
        ({"text": "mesage"}, "did you mean 'message'"),
        ({"text": ()}, "Which column"),
        ({"text": "message", "keep": "message"}, "both perturbed and kept"),
        ({"text": "message", "num_proc": 0}, "'num_proc'"),
        (
            {"text": "message", "perturber": None},
            "'perturber' parameter of wv.datasets.perturb must be a Perturber",
        ),
        ({"text": "message", "dataset": [{"message": TEXT}]}, "must be a Dataset"),
    ],
)
def test_bad_arguments(
    options: dict[str, Any], message: str, data: hf.Dataset, perturber: wv.Perturber
) -> None:
    arguments: dict[str, Any] = {"dataset": data, "perturber": perturber} | options
    with pytest.raises(wv.WordveilError, match=message):
        wv.datasets.perturb(arguments.pop("dataset"), **arguments)
