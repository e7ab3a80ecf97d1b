"""From file to file: what is written, what is refused, and what is reported where."""

import contextlib
import hashlib
import json
import os
import re
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.runs import run as run_module
from wordveil.runs.journal import Journal, Progress

CSV = "id,message,label\n1,Book a flight to Zanzibar,ham\n2,tea at noon,spam\n3,,spam\n"


CHOSEN: dict[str, Any] = {"text": "message", "keep": "label"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(CSV)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_three_files_that_only_the_owner_can_read(source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    before = os.umask(0)
    try:
        run = wv.perturb_file(source, tmp_path / "out.csv", perturber=same, **CHOSEN)
    finally:
        os.umask(before)
    assert names(tmp_path) == ["in.csv", "out.csv", "out.csv.manifest.json", "out.csv.private.json"]
    assert [mode(path) for path in (run.output, run.manifest, run.private)] == [0o600] * 3
    assert (run.rows, run.words, run.left_out, run.resumed_rows) == (3, 8, ("id",), 0)


def test_the_manifest_holds_only_what_the_output_shows(
    source: Path, tmp_path: Path, small: wv.Embedding
) -> None:
    with pytest.warns(wv.PrivacyWarning):
        policy = wv.Policy(unsafe_mask="[X]")
    perturber = wv.Perturber(wv.Mahalanobis(small, 3.0, 0.5), policy)
    run = wv.perturb_file(source, tmp_path / "out.csv", perturber=perturber, **CHOSEN)
    manifest = json.loads(run.manifest.read_text())
    output = run.output.read_bytes()
    assert manifest["output"] == {
        "name": "out.csv",
        "bytes": len(output),
        "sha256": hashlib.sha256(output).hexdigest(),
        "rows": 3,
        "words": 8,
    }
    assert manifest["columns"] == {"perturbed": ["message"], "kept_as_they_were": ["label"]}
    assert manifest["parameters"] == {
        "mechanism": "mahalanobis", "epsilon": 3.0, "lam": 0.5, "answer": "nearest", "dims": 3
    }  # fmt: skip
    assert manifest["guarantee"] == perturber.guarantee.to_dict()
    assert manifest["policy"]["unsafe"] == ["unsafe_mask"]
    assert manifest["fingerprints"]["vectors"] == small.fingerprint
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in manifest["fingerprints"].values())
    assert manifest["code_version"] == wv.__version__
    assert "cryptographic" in manifest["noise"]
    text = run.manifest.read_text().lower()
    for hidden in ("zanzibar", "unknown_words", '"nulls"', "seconds", "in.csv", "masked", '"id"', "tokens"):
        assert hidden not in text
    private = json.loads(run.private.read_text())
    assert next(iter(private)) == "not_for_release"
    assert private["counts"] == {
        "texts": 3, "tokens": 8, "unknown": 1, "kept": 0, "dropped": 0, "masked": 1, "padded": 0, "truncated": 0
    }  # fmt: skip
    assert private["left_out_columns"] == ["id"]
    assert (private["nulls"], private["input"]) == (0, str(source))
    assert private["seconds"] >= 0
    assert "Zanzibar" not in run.private.read_text()


def test_a_seed_is_recorded_and_voids_the_promise(source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    run = wv.perturb_file(source, tmp_path / "o.csv", perturber=same, key=wv.insecure_key(1), **CHOSEN)
    manifest = json.loads(run.manifest.read_text())
    assert manifest["noise"].startswith("INSECURE")
    assert "nothing is promised" in manifest["guarantee"]["void"]


def test_the_manifest_does_not_repeat_the_name_of_a_store(source: Path, tmp_path: Path) -> None:
    """The fingerprint is over words and vectors, so that anybody can give a store another name."""
    about = wv.Provenance(name="a-name-that-anyone-can-write")
    emb = wv.Embedding(["tea", "red", "fire"], [[0.0], [1.0], [3.0]], provenance=about, public=True)
    perturber = wv.Perturber(wv.Laplace(emb, 1.0))
    run = wv.perturb_file(source, tmp_path / "out.csv", perturber=perturber, **CHOSEN)
    assert about.name not in run.manifest.read_text()
    assert json.loads(run.manifest.read_text())["vectors_declared_public"] is True


def many(path: Path, rows: int = 5000, text: str = "tea at noon please") -> Path:
    path.write_text("n,message\n" + "".join(f"{i},{text}\n" for i in range(rows)))
    return path


def column(path: Path) -> list[str]:
    return [line.split(",")[1] for line in path.read_text().splitlines()[1:]]


def test_rows_stay_in_order_and_equal_texts_share_no_noise(tmp_path: Path, noisy: wv.Perturber) -> None:
    source = many(tmp_path / "in.csv", text="tea at noon please " * 6)
    run = wv.perturb_file(source, tmp_path / "out.csv", perturber=noisy, text="message", keep="n", workers=3)
    lines = run.output.read_text().splitlines()
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(5000))
    texts = column(run.output)
    # Chunks of 1,024 rows hold the same texts: if any two shared noise, they would be equal.
    chunks = [tuple(texts[start : start + 1024]) for start in range(0, 4096, 1024)]
    assert len(set(chunks)) == len(chunks)
    # No word comes out half of the time, so that 24 of them agree by chance less often than once in 10^7.
    for a, b in [(0, 1), (0, 2), (1, 3)]:
        assert not any(x == y for x, y in zip(chunks[a], chunks[b], strict=True))


def test_a_seed_gives_the_same_rows_on_any_number_of_threads(tmp_path: Path, noisy: wv.Perturber) -> None:
    source = many(tmp_path / "in.csv")
    outputs = []
    for workers, seed in ((1, 7), (3, 7), (1, 8)):
        target = tmp_path / f"out{workers}{seed}.csv"
        key = wv.insecure_key(seed)
        wv.perturb_file(source, target, perturber=noisy, text="message", workers=workers, key=key)
        outputs.append(target.read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]


def test_two_runs_share_no_noise(tmp_path: Path, noisy: wv.Perturber) -> None:
    source = many(tmp_path / "in.csv", 100)
    for name in ("a.csv", "b.csv"):
        wv.perturb_file(source, tmp_path / name, perturber=noisy, text="message")
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()


def test_the_input_is_never_overwritten(source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    os.link(source, tmp_path / "linked.csv")
    (tmp_path / "sub").mkdir()
    for target in (source, tmp_path / "linked.csv", tmp_path / "sub" / ".." / "in.csv"):
        with pytest.raises(wv.ParameterError, match="is the input"):
            wv.perturb_file(source, target, perturber=same, force=True, **CHOSEN)
    odd = tmp_path / "x.csv.manifest.json"
    source.rename(odd)
    with pytest.raises(wv.ParameterError, match="is the input"):
        wv.perturb_file(
            odd, tmp_path / "x.csv", perturber=same, force=True, layout=wv.Layout("csv"), **CHOSEN
        )
    assert odd.read_text() == CSV


@pytest.mark.parametrize("suffix", ["", ".manifest.json", ".private.json"])
def test_other_files_are_replaced_only_with_force(
    suffix: str, source: Path, tmp_path: Path, same: wv.Perturber
) -> None:
    old = tmp_path / f"out.csv{suffix}"
    old.write_text("old")
    with pytest.raises(wv.ParameterError, match="exists already"):
        wv.perturb_file(source, tmp_path / "out.csv", perturber=same, **CHOSEN)
    assert old.read_text() == "old"
    assert names(tmp_path) == ["in.csv", old.name]
    wv.perturb_file(source, tmp_path / "out.csv", perturber=same, force=True, **CHOSEN)
    assert old.read_text() != "old"


@pytest.mark.parametrize("suffix", ["", ".manifest.json", ".private.json"])
def test_symbolic_links_are_never_followed(
    suffix: str, source: Path, tmp_path: Path, same: wv.Perturber
) -> None:
    link = tmp_path / f"out.csv{suffix}"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(wv.ParameterError, match="is a symbolic link"):
        wv.perturb_file(source, tmp_path / "out.csv", perturber=same, force=True, **CHOSEN)
    assert not (tmp_path / "elsewhere").exists()


def test_odd_targets(source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(wv.ParameterError, match="not a plain file"):
        wv.perturb_file(source, tmp_path / "folder.csv", perturber=same, force=True, **CHOSEN)
    with pytest.raises(FileNotFoundError):
        wv.perturb_file(source, tmp_path / "absent" / "out.csv", perturber=same, **CHOSEN)
    with pytest.raises(wv.ParameterError, match="must be of the same format as the input, csv"):
        wv.perturb_file(source, tmp_path / "out.jsonl", perturber=same, **CHOSEN)
    (tmp_path / ".out.csv.wordveil").write_text("a file")
    with pytest.raises(wv.ParameterError, match="already exists and is not a private folder"):
        wv.perturb_file(source, tmp_path / "out.csv", perturber=same, **CHOSEN)
    (tmp_path / ".out.csv.wordveil").unlink()
    (tmp_path / ".out.csv.wordveil").mkdir(mode=0o755)
    with pytest.raises(wv.ParameterError, match="already exists and is not a private folder"):
        wv.perturb_file(source, tmp_path / "out.csv", perturber=same, **CHOSEN)
    (tmp_path / ".out.csv.wordveil").rmdir()
    (tmp_path / ".out.csv.wordveil").symlink_to(tmp_path / "folder.csv")
    with pytest.raises(wv.ParameterError, match="already exists and is not a private folder"):
        wv.perturb_file(source, tmp_path / "out.csv", perturber=same, **CHOSEN)
    with pytest.raises(wv.ParameterError, match="must be a Perturber"):
        wv.perturb_file(source, tmp_path / "x.csv", perturber=None, **CHOSEN)  # type: ignore[arg-type]  # that is the test


def test_two_runs_for_one_output(source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    with Journal.claim(tmp_path / "out.csv"), pytest.raises(wv.MachineError, match="Another run is writing"):
        wv.perturb_file(source, tmp_path / "out.csv", perturber=same, force=True, **CHOSEN)
    assert names(tmp_path) == ["in.csv"]


def test_a_pipe_as_input(tmp_path: Path, same: wv.Perturber) -> None:
    fifo = tmp_path / "in.csv"
    os.mkfifo(fifo)
    ledger = wv.Ledger(tmp_path / "l.sqlite")
    for name in ("a.csv", "b.csv"):
        writer = threading.Thread(target=fifo.write_text, args=(CSV,))
        writer.start()
        run = wv.perturb_file(fifo, tmp_path / name, perturber=same, ledger=ledger, **CHOSEN)
        writer.join()
        assert run.rows == 3
    assert ledger.entries() == []

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):
            fifo.write_text(CSV)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(wv.ParameterError, match="nothing can be resumed"):
        wv.perturb_file(fifo, tmp_path / "c.csv", perturber=same, resume=True, **CHOSEN)
    writer.join()


def test_watch_is_called_with_the_progress(tmp_path: Path, same: wv.Perturber) -> None:
    seen: list[tuple[int, int, float]] = []
    source = many(tmp_path / "in.csv")
    wv.perturb_file(
        source, tmp_path / "o.csv", perturber=same, text="message", watch=lambda *facts: seen.append(facts)
    )
    assert [rows for rows, _, _ in seen] == [1024, 2048, 3072, 4096, 5000]
    assert seen[-1] == (5000, 20_000, 1.0)


def test_an_error_in_a_thread_is_raised(tmp_path: Path, small: wv.Embedding) -> None:
    class Broken(wv.Laplace):
        def _perturb(self, ids: Any, stream: Any) -> Any:
            if len(ids) > 1:
                raise RuntimeError("broken")
            return super()._perturb(ids, stream)

    source = many(tmp_path / "in.csv")
    perturber = wv.Perturber(Broken(small, 1.0))
    with pytest.raises(RuntimeError, match="broken"):
        wv.perturb_file(source, tmp_path / "o.csv", perturber=perturber, text="message")
    assert not (tmp_path / "o.csv").exists()


def test_a_commit_is_on_disk_before_the_journal_says_so(
    tmp_path: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of calls: the rows, their fsync, and only then the line of the journal and its fsync."""
    calls: list[str] = []
    real_sync, real_append = os.fsync, Journal._append

    def sync(number: int) -> None:
        calls.append(f"sync {Path(f'/proc/self/fd/{number}').readlink().name}")
        real_sync(number)

    def append(self: Journal, kind: str, facts: dict[str, Any]) -> None:
        calls.append(kind)
        real_append(self, kind, facts)

    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Journal, "_append", append)
    wv.perturb_file(many(tmp_path / "in.csv"), tmp_path / "out.csv", perturber=noisy, text="message")
    expected = ["sync part", "header", "sync journal", "sync .out.csv.wordveil"]
    expected += ["sync part", "commit", "sync journal"] * 6
    expected += ["sync manifest", "sync private", "finished", "sync journal", f"sync {tmp_path.name}"]
    assert calls == expected


def test_an_open_file_as_input(tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_text("skipped\n" + CSV)
    with (tmp_path / "in.csv").open("rb", buffering=0) as file:
        file.readline()
        run = wv.perturb_file(file, tmp_path / "out.csv", perturber=same, ledger=wv.Ledger(), **CHOSEN)
    assert run.rows == 3
    assert wv.Ledger().entries() == []


def test_the_remains_of_a_stopped_pipe_are_replaced(tmp_path: Path, same: wv.Perturber, source: Path) -> None:
    with Journal.claim(tmp_path / "out.csv") as work:
        work.begin({"salt": "00" * 32, "identity": "", "entry": None, "pipe": True}, b"")
        work.commit(b"x", Progress(rows=5))
    assert wv.perturb_file(source, tmp_path / "out.csv", perturber=same, **CHOSEN).rows == 3


@pytest.mark.parametrize("target", ["", ".", "..", "/"])
def test_targets_without_a_name(target: str, source: Path, same: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="is not the name of a file"):
        wv.perturb_file(source, target, perturber=same, layout=wv.Layout("csv"), **CHOSEN)


@pytest.mark.parametrize("workers", [0, -1, 2000, 1.5, True])
def test_workers_are_checked(workers: Any, source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="'workers'"):
        wv.perturb_file(source, tmp_path / "o.csv", perturber=same, workers=workers, **CHOSEN)
    assert names(tmp_path) == ["in.csv"]
