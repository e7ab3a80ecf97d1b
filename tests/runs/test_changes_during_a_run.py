"""What changes while a run is at work: its input, its output, or the machine."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.engines import Engine, LocalEngine, Perturbed
from wordveil.runs import run as run_module


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("n,message\n" + "".join(f"{i},tea at noon please\n" for i in range(5000)))
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Interrupting(Engine):
    """An engine that calls a function in the middle of its work."""

    def __init__(self, inner: Engine, act: Any) -> None:
        self._inner, self._act = inner, act

    def perturb(self, chunks: Any, *, waits: bool = False) -> Iterator[Perturbed]:
        for number, done in enumerate(self._inner.perturb(chunks, waits=waits)):
            if number == 1:
                self._act()
            yield done

    def close(self) -> None:
        self._inner.close()


def during_run(act: Any) -> Any:
    return lambda perturber, key: Interrupting(LocalEngine(perturber, key, 1), act)


@pytest.mark.parametrize("how", ["grows", "changes", "replaced", "vanishes", "changes in secret"])
def test_an_input_that_changes_during_the_run(
    how: str, source: Path, tmp_path: Path, noisy: wv.Perturber
) -> None:
    def act() -> None:
        times = source.stat()
        match how:
            case "grows":
                with source.open("a") as file:
                    file.write("9,tea\n")
            case "changes":
                source.write_text(source.read_text().replace("4999,tea", "4999,red"))
            case "replaced":
                other = tmp_path / "other"
                other.write_text(source.read_text())
                other.replace(source)
            case "vanishes":
                source.unlink()
            case _:
                source.write_text(source.read_text().replace("4999,tea", "4999,red"))
                os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))

    problem = "was removed" if how == "vanishes" else "has changed"
    ledger = wv.Ledger(tmp_path / "ledger" / "l.sqlite")
    with pytest.raises(wv.FormatError, match=f"{problem} during the run"):
        wv.perturb_file(
            source,
            tmp_path / "out.csv",
            perturber=noisy,
            text="message",
            engine=during_run(act),
            ledger=ledger,
        )
    assert not [name for name in names(tmp_path) if "out" in name]
    assert [entry.outcome for entry in ledger.entries()] == ["nothing"]


def test_an_output_that_appears_during_the_run_stays_alone(
    source: Path, tmp_path: Path, noisy: wv.Perturber
) -> None:
    target = tmp_path / "out.csv"
    with pytest.raises(wv.ParameterError, match="exists already"):
        wv.perturb_file(
            source,
            target,
            perturber=noisy,
            text="message",
            engine=during_run(lambda: target.write_text("new")),
        )
    assert target.read_text() == "new"
    assert names(tmp_path) == [".out.csv.wordveil", "in.csv", "out.csv"]  # nothing is published beside it
    # The complete output is kept: nothing was released, and no row has to be perturbed again.
    run = wv.perturb_file(source, target, perturber=noisy, text="message", resume=True, force=True)
    assert (run.rows, run.resumed_rows) == (5000, 5000)


def test_an_unpublished_output_is_not_counted(source: Path, tmp_path: Path, noisy: wv.Perturber) -> None:
    target = tmp_path / "out.csv"
    ledger = wv.Ledger(tmp_path / "l.sqlite")
    options: dict[str, Any] = {"perturber": noisy, "text": "message", "ledger": ledger}
    with pytest.raises(wv.ParameterError, match="exists already"):
        wv.perturb_file(source, target, engine=during_run(lambda: target.write_text("new")), **options)
    assert [entry.outcome for entry in ledger.entries()] == ["begun"]
    run = wv.perturb_file(source, target, force=True, **options)
    assert (run.rows, run.resumed_rows) == (5000, 0)
    assert [entry.outcome for entry in ledger.entries()] == ["nothing", "released"]


def test_a_pipe_that_fails_leaves_nothing(tmp_path: Path, noisy: wv.Perturber) -> None:
    fifo = tmp_path / "in.csv"
    os.mkfifo(fifo)
    rows = "".join(f"{i},tea\n" for i in range(5000))
    writer = threading.Thread(target=fifo.write_text, args=(f"n,message\n{rows}",))
    writer.start()

    def stop() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(wv.MachineError, match=r"out\.csv: No space left on device\.$"):
        wv.perturb_file(fifo, tmp_path / "out.csv", perturber=noisy, text="message", engine=during_run(stop))
    writer.join()
    assert names(tmp_path) == ["in.csv"]


def test_a_change_is_noticed_at_the_next_commit(
    source: Path, tmp_path: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    seen: list[int] = []
    with pytest.raises(wv.FormatError, match="has changed"):
        wv.perturb_file(
            source, tmp_path / "o.csv", perturber=noisy, text="message", engine=during_run(lambda: os.utime(source)),
            watch=lambda rows, *_: seen.append(rows),
        )  # fmt: skip
    assert seen == [1024, 2048]
