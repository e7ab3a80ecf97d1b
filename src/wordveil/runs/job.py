"""A whole file, from input to published output: atomic, resumable, with a manifest and a ledger."""

import hashlib
import json
import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast

from wordveil.engines import Engine, LocalEngine, Perturbed
from wordveil.engines.local import checked_workers
from wordveil.errors import (
    FormatError,
    IntegrityError,
    MachineError,
    ParameterError,
    PrivacyWarning,
    parameter_error,
)
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey
from wordveil.runs.ledger import Begun, Ledger, Release, Superseded, together
from wordveil.runs.manifest import manifest, private_counts, settings, written
from wordveil.runs.paths import Input, Targets, file_digest, publish, shown_path
from wordveil.runs.work import Progress, Work, sync_folder
from wordveil.tables import Chunk, Layout, Table, open_table
from wordveil.tables.compression import Compression, compressor, packed_writer
from wordveil.tables.files import recognised

__all__ = ["EngineMaker", "FileRun", "Watcher", "perturb_file"]

_COMMIT_SECONDS: Final = 0.5

EngineMaker = Callable[[Perturber, RunKey], Engine]
"""What makes the engine of a run, given what perturbs and where the noise comes from."""

Watcher = Callable[[int, int, float], None]
"""What is told of progress: rows and words that are done, and the share of the input that has been read."""


@dataclass(frozen=True, slots=True)
class FileRun:
    """A run that has ended well.

    Attributes
    ----------
    output, manifest, private : Path
        The perturbed table; what travels with it; counts that are not for release.
    rows, words : int
        As the output shows them.
    left_out : tuple of str
        Columns of the input that were not written.
    resumed_rows : int
        How many rows a run before this one had done.
    """

    output: Path
    manifest: Path
    private: Path
    rows: int
    words: int
    left_out: tuple[str, ...]
    resumed_rows: int = 0


def perturb_file(
    source: str | Path | BinaryIO,
    target: str | Path,
    *,
    perturber: Perturber,
    text: str | Iterable[str] = (),
    keep: str | Iterable[str] = (),
    layout: Layout = Layout(),
    workers: int | None = None,
    engine: EngineMaker | None = None,
    resume: bool = False,
    force: bool = False,
    ledger: Ledger | None = None,
    again: bool = False,
    key: RunKey | None = None,
    watch: Watcher | None = None,
) -> FileRun:
    r"""Write a table with the texts made private, and the kept columns as they are; all others are left out.

    The output appears whole or not at all, for its owner alone, with a manifest beside it (`….manifest.json`)
    and counts that are not for release (`….private.json`).

    Parameters
    ----------
    source, target : path
        CSV, TSV, JSON Lines, Parquet or plain text, plain, .gz or .zst; both of one format. The source may
        also be an open binary file, such as a pipe; then there is nothing to resume, and no ledger.
    perturber : Perturber
        What makes text private.
    text, keep : names of columns
        Those to perturb, and those to write as they are. Plain text has none to name.
    layout : Layout
        The format, if the names do not tell it, and the ways of CSV and TSV.
    workers : int, optional
        Threads; by default as many as there are cores.
    engine : callable, optional
        Makes another engine than the threads of this process.
    resume : bool
        Go on from where a run with the same input and settings was stopped; begin anew if there is none.
    force : bool
        Replace an existing output, and forget a run that was stopped.
    ledger : Ledger, optional
        Refuses a second release of the same content, unless `again`. Without one nobody keeps count.
    key : RunKey, optional
        For a repeatable experiment, `insecure_key`; by default a new key from the operating system.
    watch : callable, optional
        Is told of progress.

    Examples
    --------
    >>> import tempfile
    >>> import wordveil as wv
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("label,message\nham,book a flight\nham,call me\n")
    >>> veil = wv.Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> run = perturb_file(
    ...     folder / "in.csv", folder / "out.csv", perturber=veil, text="message", keep="label"
    ... )
    >>> run.rows, run.words, run.output.read_text().splitlines()[0]
    (2, 5, 'label,message')
    """
    if not isinstance(perturber, Perturber):
        raise parameter_error("perturber", "perturb_file", "be a Perturber", perturber)
    checked_workers(workers)
    targets = Targets.of(Path(target))
    path = Path(source) if isinstance(source, str | Path) else None
    name = "standard input" if path is None else str(path)
    layout, packed_in, packed_out = _formats(path, targets.output, layout)
    with ExitStack() as stack:
        file = cast(BinaryIO, source) if path is None else stack.enter_context(path.open("rb"))
        plain = path is not None and Input.is_plain(path)
        if resume and not plain:
            raise ParameterError(f"{name}: a pipe can't be read again, so that nothing can be resumed.")
        targets.check(path)
        size = path.stat().st_size if path is not None and plain else 0
        table = open_table(file, name, layout, text, keep, compression=packed_in, size=size, prompt=not plain)
        stack.callback(table.close)
        work = stack.enter_context(Work.claim(targets.output))
        run = _Run(
            perturber,
            table,
            work,
            targets,
            key=RunKey() if key is None else key,
            make_engine=engine or (lambda veil, noise: LocalEngine(veil, noise, workers)),
            packed=packed_out,
            input=Input(path, name) if path is not None and plain else None,
            source=name,
            force=force,
            ledger=ledger,
            watch=watch or (lambda *_: None),
        )
        return run.go(layout, resume=resume, again=again)


def _formats(source: Path | None, target: Path, layout: Layout) -> tuple[Layout, Compression, Compression]:
    written_as, packed_out = recognised(target, layout)
    if source is None:
        return written_as, "", packed_out
    found, packed_in = recognised(source, layout)
    if found.format != written_as.format:
        raise ParameterError(
            f"{target}: must be of the same format as the input, {found.format}. Hint: change its extension."
        )
    return found, packed_in, packed_out


@dataclass
class _Run:
    """One run over one file, from the checks to the published output."""

    veil: Perturber
    table: Table
    work: Work
    targets: Targets
    key: RunKey
    make_engine: EngineMaker
    packed: Compression
    input: Input | None
    source: str
    force: bool
    ledger: Ledger | None
    watch: Watcher
    entry: int | None = None
    earlier: dict[str, Any] | None = None

    def go(self, layout: Layout, *, resume: bool, again: bool) -> FileRun:
        header = self._header(layout, resume=resume, again=again)
        try:
            if header is not None:
                self.work.begin(header, self._pack(self.table.head()))
            done = self.work.progress.rows
            if self.work.finished is None:
                self._perturb()
                self._complete()
        except BaseException as error:
            self._end_badly(error)
            raise
        self._publish()
        progress = self.work.progress
        self.work.remove()
        return FileRun(*self.targets, progress.rows, progress.words, self.table.left_out, done)

    def _end_badly(self, error: BaseException) -> None:
        """Keep what can be gone on with, and say so; else leave nothing behind."""
        rows = self.work.progress.rows
        # What is wrong with the input now, is wrong the next time too; and a pipe can't be read again.
        hopeless = isinstance(error, FormatError) and not isinstance(error, IntegrityError)
        goes_on = bool(rows) and self.input is not None and not hopeless
        if not goes_on:
            with suppress(OSError):
                self._give_up()
        if isinstance(error, OSError):
            place = error.filename if error.filename is not None else self.targets.output
            told = f" {rows:,} rows are done. Hint: --resume goes on from there." if goes_on else ""
            raise MachineError(f"{place}: {error.strerror or type(error).__name__}.{told}") from None
        if isinstance(error, KeyboardInterrupt) and goes_on:
            raise KeyboardInterrupt(f"{rows:,} rows are done; --resume goes on from there.") from None

    def _header(self, layout: Layout, *, resume: bool, again: bool) -> dict[str, Any] | None:
        """Return what a new run begins with; None if the one that was stopped is taken up."""
        before = self.work.header
        if before is not None and resume:
            if before["identity"] != self._identity(layout, bytes.fromhex(before["salt"])):
                raise ParameterError(
                    f"{self.targets.output}: the run that was stopped had another input or other settings. "
                    "Hint: give it the same, or begin anew with --force and without --resume."
                )
            if self.work.finished is None and not self.force:
                self.targets.check_new()
            self.work.go_on()
            if self.ledger is not None:
                self._enter(self.ledger.take_up(before["entry"], self._release(), again=again))
            return None
        of_a_pipe = before is not None and before["pipe"]  # which nobody can go on with
        if not self.force:
            if before is not None and not of_a_pipe and (self.work.progress.rows or self.work.finished):
                raise ParameterError(
                    f"{self.targets.output}: a run was stopped after {self.work.progress.rows:,} rows. "
                    "Hint: --resume goes on from there, --force begins anew."
                )
            self.targets.check_new()
        self._new_entry(before["entry"] if before is not None else None, again=again)
        salt = secrets.token_bytes(32)
        return {
            "salt": salt.hex(),
            "identity": self._identity(layout, salt),
            "entry": self.entry,
            "pipe": self.input is None,
        }

    def _identity(self, layout: Layout, salt: bytes) -> str:
        """Return a keyed fingerprint of all that the output depends on, but for the noise."""
        facts = {
            "settings": settings(self.veil, secure=self.key.secure),
            "layout": asdict(layout),
            "packed": self.packed,
            "columns": [self.table.text, self.table.kept],
        }
        content = self.input.digest if self.input is not None else b""
        told = json.dumps(facts, sort_keys=True).encode() + content
        return hashlib.blake2b(told, key=salt, digest_size=32, person=b"identity").hexdigest()

    def _release(self) -> Release:
        assert self.input is not None
        return Release(
            self.input.digest,
            shown_path(self.source),
            self._target,
            self.table.text,
            Release.setting_of(self.veil),
        )

    def _new_entry(self, before: int | None, *, again: bool) -> None:
        """Enter this run into the ledger, and settle the one that it takes the place of."""
        if self.ledger is None:
            return
        instead = None if before is None else Superseded(before, self._target, self._is_published())
        if self.input is not None:
            self._enter(self.ledger.begin(self._release(), again=again, instead=instead))
        elif instead is not None:
            self.ledger.settle(*instead[:2], released=instead.released)

    def _enter(self, begun: Begun) -> None:
        self.entry = begun.number
        before = [entry.setting for entry in begun.earlier]
        self.earlier = {"known": len(before)}
        if before:
            told = together(Release.setting_of(self.veil), before)
            self.earlier["together"] = told
            warnings.warn(f"This content is released again. {told}", PrivacyWarning, stacklevel=2)

    def _settle(self, *, released: bool) -> None:
        if self.ledger is not None and self.entry is not None:
            self.ledger.settle(self.entry, self._target, released=released)

    def _is_published(self) -> bool:
        """Say whether the run that was stopped may have given its output to the world."""
        if self.work.finished is None:
            return False
        made = self.work.path(self.work.finished["made"])
        return not made.exists() or self._is_output(made)

    def _is_output(self, made: Path) -> bool:
        return self.targets.output.exists() and self.targets.output.samefile(made)

    def _give_up(self) -> None:
        self._settle(released=False)
        self.work.remove()

    @property
    def _target(self) -> str:
        output = self.targets.output
        return shown_path(output.parent.resolve() / output.name)

    def _pack(self, data: bytes) -> bytes:
        return data if self.table.assembled or not data else compressor(self.packed)(data)

    def _perturb(self) -> None:
        """Perturb and commit the rows that are not committed yet."""
        ready: list[bytes] = []
        progress = _copy(self.work.progress)
        begun, spent, last = time.monotonic(), progress.seconds, time.monotonic()
        with self.make_engine(self.veil, self.key) as engine:
            for done in engine.perturb(self._left(progress.rows)):
                ready.append(self._pack(self.table.encode(done.chunk, done.answers)))
                _count(done, progress)
                self.watch(progress.rows, progress.words, self.table.done)
                now = time.monotonic()
                if now - last >= _COMMIT_SECONDS:
                    progress.seconds = spent + now - begun
                    self._commit(ready, progress)
                    last = now
            progress.seconds = spent + time.monotonic() - begun
            self._commit(ready, progress)

    def _commit(self, ready: list[bytes], progress: Progress) -> None:
        if self.input is not None:
            self.input.check()
        self.work.commit(b"".join(ready), _copy(progress))
        ready.clear()

    def _left(self, rows: int) -> Iterator[Chunk]:
        """Yield the chunks after so many rows; those before are read again, but not perturbed again."""
        before = 0
        for chunk in self.table.chunks():
            if before < rows:
                before += chunk.rows
                if before > rows:
                    raise IntegrityError(
                        f"{self.targets.output}: what was committed does not end where a chunk ends. "
                        "Hint: --force begins anew."
                    )
            else:
                yield chunk

    def _complete(self) -> None:
        """Make everything ready to be published, and say so in the journal."""
        made = self.work.path("part")
        if self.table.assembled:
            made = self.work.path("whole")
            with (
                self.work.path("part").open("rb") as parts,
                self.work.make("whole") as file,
                packed_writer(file, self.packed) as target,
            ):
                self.table.assemble(parts, target)
        elif self.packed and not made.stat().st_size:  # nothing, packed, is a file with something in it
            self.work.commit(compressor(self.packed)(b""), _copy(self.work.progress))
        if self.input is not None:
            self.input.check_content()
        progress = self.work.progress
        output = {
            "name": self.targets.output.name,
            "bytes": made.stat().st_size,
            "sha256": file_digest(made),
            "rows": progress.rows,
            "words": progress.words,
        }
        self._write(
            "manifest",
            manifest(self.veil, self.table, secure=self.key.secure, output=output, earlier=self.earlier),
        )
        self._write("private", self._private(progress))
        self.work.finish({"made": made.name, "sha256": output["sha256"]})

    def _write(self, name: Literal["manifest", "private"], facts: dict[str, Any]) -> None:
        with self.work.make(name) as file:
            file.write(written(facts))

    def _private(self, progress: Progress) -> dict[str, Any]:
        return private_counts(
            input=shown_path(self.source),
            left_out_columns=list(self.table.left_out),
            counts=asdict(progress.report),
            nulls=progress.nulls,
            seconds=round(progress.seconds, 3),
            words_per_second=round(progress.report.tokens / progress.seconds) if progress.seconds else 0,
        )

    def _publish(self) -> None:
        """Give the files their names, the output last; what a stopped run has published already is left."""
        assert self.work.finished is not None
        made = self.work.path(self.work.finished["made"])
        if made.exists() and not self.force and not self._is_output(made):
            self.targets.check_output()  # before anything is put beside another's file
        ready = {
            self.work.path("private"): self.targets.private,
            self.work.path("manifest"): self.targets.manifest,
        }
        for beside, target in ready.items():
            if beside.exists():
                publish(beside, target, force=self.force)
        if made.exists():
            publish(made, self.targets.output, force=self.force)
        elif (
            not self.targets.output.exists()
            or file_digest(self.targets.output) != self.work.finished["sha256"]
        ):
            raise IntegrityError(
                f"{self.targets.output}: is not what the run that was stopped had made. "
                "Hint: --force, without --resume, begins anew."
            )
        sync_folder(self.targets.output.parent)
        # Nothing was told about anybody by an output without words.
        self._settle(released=self.work.progress.words > 0)


def _count(done: Perturbed, progress: Progress) -> None:
    progress.rows += done.chunk.rows
    progress.report.add(done.report)
    for texts in done.answers.values():
        for text in texts:
            if text is None:
                progress.nulls += 1
            elif text:
                progress.words += text.count(" ") + 1


def _copy(progress: Progress) -> Progress:
    return replace(progress, report=replace(progress.report))
