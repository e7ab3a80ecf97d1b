"""One run over one file: started or resumed, perturbed, committed, completed and published."""

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from wordveil.engines import EngineMaker, Perturbed, complete_answers
from wordveil.errors import FormatError, IntegrityError, MachineError, ParameterError
from wordveil.perturber import Perturber, warn_if_weak
from wordveil.prior import Prior
from wordveil.randomness import RunKey
from wordveil.runs.journal import Journal, Progress
from wordveil.runs.ledger import Ledger, Release
from wordveil.runs.manifest import manifest, private_counts, promise, settings, written
from wordveil.runs.paths import Input, Targets, file_digest, shown_path
from wordveil.runs.publishing import COMPANIONS, publish_output, published_before
from wordveil.runs.run_entry import RunEntry
from wordveil.tables import Chunk, Layout, Table
from wordveil.tables.compression import Compression, compressor, packed_writer

__all__ = ["FileRun", "Run", "Watcher"]

# A commit waits for the disk twice (fsync of the rows, then of the journal); a crash loses what came after
# the last one. More often would slow a run down on a slow disk, less often lose more work. Not measured.
_COMMIT_SECONDS: Final = 0.5
# Perturbed rows wait in memory for their commit, and this bounds that memory. Text alone stays below it:
# even at 1 µs per word half a second gives about 4 MB. Wide kept columns reach it.
_COMMIT_BYTES: Final = 8 << 20

Watcher = Callable[[int, int, float], None]
"""Called with the progress: rows done, words done, and the share of the input that has been read."""


@dataclass(frozen=True, slots=True)
class FileRun:
    """A run that has finished.

    Attributes
    ----------
    output, manifest, private : Path
        The perturbed table; the manifest that may be published with it; counts that are not for release.
    rows, words : int
        How many the output has.
    left_out : tuple of str
        Columns of the input that were not written. Private: without a header, their names are data.
    left_out_note : str
        What may be said about them: ordinary names, and the positions of the others.
    resumed_rows : int
        How many rows an earlier run had done; all of them if it was killed after it had published them.
    """

    output: Path
    manifest: Path
    private: Path
    rows: int
    words: int
    left_out: tuple[str, ...]
    left_out_note: str
    resumed_rows: int = 0


@dataclass
class Run:
    """One run over one file, from the checks to the published output."""

    perturber: Perturber
    table: Table
    journal: Journal
    targets: Targets
    key: RunKey
    make_engine: EngineMaker
    packed: Compression
    input: Input | None
    source: str
    force: bool
    ledger: Ledger | None
    watch: Watcher
    prior: Prior | None = None
    entry: RunEntry = field(init=False)

    def __post_init__(self) -> None:
        ledger = self.ledger if self.input is not None else None  # a pipe has no content to recognise
        self.entry = RunEntry(ledger, self._release, force=self.force)

    def go(self, layout: Layout, *, resume: bool, again: bool) -> FileRun:
        """Start or resume the run, and finish it."""
        if resume and not self.force and self.input is not None and self.journal.is_new:
            counts = published_before(self.targets, lambda salt: self._identity(layout, salt))
            if counts is not None:
                return self._result(*counts, resumed=counts.rows)
        header = self._header(layout, resume=resume, again=again)
        try:
            promise(self.perturber)  # one that can't be written is refused before the work
            if header is not None:
                self.journal.begin(header, self._pack(self.table.head()))
            rows_before = self.journal.progress.rows
            if self.journal.finished is None:
                self._perturb()
                self._complete()
        except BaseException as error:
            self._stop(error)
            raise
        publish_output(self.journal, self.targets, force=self.force, settle=self.entry.settle)
        progress = self.journal.progress
        self.journal.remove()
        return self._result(progress.rows, progress.words, rows_before)

    def _result(self, rows: int, words: int, resumed: int) -> FileRun:
        table = self.table
        return FileRun(*self.targets, rows, words, table.left_out, table.left_out_note, resumed)

    def _stop(self, error: BaseException) -> None:
        """After an error, keep the committed rows if the run can be resumed, and say so; else remove them."""
        rows = self.journal.progress.rows
        # Invalid input will be just as invalid next time, and a pipe can't be read again.
        invalid_input = isinstance(error, FormatError) and not isinstance(error, IntegrityError)
        resumable = bool(rows) and self.input is not None and not invalid_input
        if not resumable:
            with suppress(OSError, MachineError):  # then the ledger counts one release too many
                self.entry.settle("nothing")
            with suppress(OSError):
                self.journal.remove()
        if isinstance(error, OSError):
            path = error.filename if error.filename is not None else self.targets.output
            hint = f" {rows:,} rows are done. Hint: --resume continues from there." if resumable else ""
            raise MachineError(f"{path}: {error.strerror or type(error).__name__}.{hint}") from None
        if isinstance(error, KeyboardInterrupt) and resumable:
            raise KeyboardInterrupt(f"{rows:,} rows are done; --resume continues from there.") from None

    def _header(self, layout: Layout, *, resume: bool, again: bool) -> dict[str, Any] | None:
        """Return the header of a new run; None if a stopped run is resumed."""
        stopped = self.journal.header
        if self.journal.damaged and not self.force:
            raise self.journal.damage("the journal")
        if stopped is not None and resume:
            self._resume(stopped, layout, again=again)
            return None
        if not self.force:
            resumable = stopped is not None and not stopped["pipe"]
            if resumable and (self.journal.progress.rows or self.journal.finished):
                raise ParameterError(
                    f"{self.targets.output}: a run was stopped after {self.journal.progress.rows:,} rows. "
                    "Hint: --resume continues it, --force starts over."
                )
            self.targets.check_new()
        self.entry.begin(again=again)
        salt = secrets.token_bytes(32)
        return {
            "salt": salt.hex(),
            "identity": self._identity(layout, salt),
            "entry": self.entry.number,
            "pipe": self.input is None,
        }

    def _resume(self, stopped: dict[str, Any], layout: Layout, *, again: bool) -> None:
        if stopped["identity"] != self._identity(layout, bytes.fromhex(stopped["salt"])):
            raise ParameterError(
                f"{self.targets.output}: the stopped run had a different input or different settings. "
                "Hint: use the same ones, or start over with --force and without --resume."
            )
        if self.journal.finished is None and not self.force:
            self.targets.check_new()
        if self.ledger is None and stopped["entry"] is not None:
            raise ParameterError(
                f"{self.targets.output}: the stopped run is recorded in the ledger. Hint: resume it with the "
                "same ledger, or start over with --force."
            )
        self.journal.resume()
        self.entry.resume(stopped["entry"], again=again)

    def _identity(self, layout: Layout, salt: bytes) -> str:
        """Return a keyed fingerprint of everything that the output depends on, except the noise."""
        facts = {
            "settings": settings(self.perturber, secure=self.key.secure),
            "perturber": self.perturber.fingerprint.hex(),  # also the class of the mechanism
            "layout": asdict(layout),
            "packed": self.packed,
            "columns": [self.table.text, self.table.kept],
        }
        content = self.input.digest if self.input is not None else b""
        data = json.dumps(facts, sort_keys=True).encode() + content
        return hashlib.blake2b(data, key=salt, digest_size=32, person=b"identity").hexdigest()

    def _release(self) -> Release:
        assert self.input is not None
        output = self.targets.output
        return Release(
            self.input.digest,
            shown_path(self.source),
            shown_path(output.parent.resolve() / output.name),
            self.table.text,
            Release.setting_of(self.perturber, secure=self.key.secure),
        )

    def _pack(self, data: bytes) -> bytes:
        return data if self.table.assembled or not data else compressor(self.packed)(data)

    def _perturb(self) -> None:
        """Perturb and commit the rows that are not committed yet."""
        pending: list[bytes] = []
        size = 0
        progress = self.journal.progress.copy()
        seconds_before = progress.seconds
        started = last_commit = time.monotonic()
        with self.make_engine(self.perturber, self.key) as engine:
            chunks = self._remaining(progress.rows)
            for done in complete_answers(engine, chunks, waits=self.input is None):
                pending.append(self._pack(self.table.encode(done.chunk, done.answers)))
                size += len(pending[-1])
                _count(done, progress)
                self.watch(progress.rows, progress.words, self.table.done)
                now = time.monotonic()
                if now - last_commit >= _COMMIT_SECONDS or size >= _COMMIT_BYTES:
                    progress.seconds = seconds_before + now - started
                    self._commit(pending, progress)
                    last_commit, size = now, 0
            progress.seconds = seconds_before + time.monotonic() - started
            self._commit(pending, progress)

    def _commit(self, pending: list[bytes], progress: Progress) -> None:
        if self.input is not None:
            self.input.check()
        self.journal.commit(b"".join(pending), progress.copy())
        pending.clear()

    def _remaining(self, rows: int) -> Iterator[Chunk]:
        """Yield the chunks after that many rows; the ones before are read again, but not perturbed again."""
        skipped = 0
        for chunk in self.table.chunks():
            if skipped < rows:
                skipped += chunk.rows
                if skipped > rows:
                    raise IntegrityError(
                        f"{self.targets.output}: the committed rows do not end where a chunk ends. "
                        "Hint: --force starts over."
                    )
            else:
                yield chunk
        if skipped < rows:
            raise self.journal.damage()

    def _complete(self) -> None:
        """Write the files that will be published, and record in the journal that they are complete."""
        self.journal.check_part()
        complete = self.journal.path("part")
        if self.table.assembled:
            complete = self.journal.path("whole")
            with (
                self.journal.path("part").open("rb") as parts,
                self.journal.make("whole") as file,
                packed_writer(file, self.packed) as target,
            ):
                self.table.assemble(parts, target)
        elif self.packed and not complete.stat().st_size:  # a compressed file of nothing is not empty
            self.journal.commit(compressor(self.packed)(b""), self.journal.progress.copy())
        if self.input is not None:
            self.input.check_content()
        progress = self.journal.progress
        output = {
            "name": self.targets.output.name,
            "bytes": complete.stat().st_size,
            "sha256": file_digest(complete),
            "rows": progress.rows,
            "words": progress.words,
        }
        earlier = self.entry.earlier_releases
        # The warning is placed at the caller of the sealed function.
        exposure = warn_if_weak(self.perturber, self.prior, stacklevel=6)
        if not exposure.prior.declared_public:  # what is computed from private counts must not be released
            exposure = self.perturber.exposure()
        facts = manifest(
            self.perturber, self.table, exposure, secure=self.key.secure, output=output, earlier=earlier
        )
        self._write("manifest", facts)
        self._write("private", self._private(progress))
        digests = {name: file_digest(self.journal.path(name)) for name in COMPANIONS}
        self.journal.finish({"made": complete.name, "sha256": output["sha256"]} | digests)

    def _write(self, name: Literal["manifest", "private"], facts: dict[str, Any]) -> None:
        with self.journal.make(name) as file:
            file.write(written(facts))

    def _private(self, progress: Progress) -> dict[str, Any]:
        assert self.journal.header is not None
        return private_counts(
            input=shown_path(self.source),
            made_from={name: self.journal.header[name] for name in ("identity", "salt")},
            left_out_columns=list(self.table.left_out),
            counts=asdict(progress.report),
            nulls=progress.nulls,
            seconds=round(progress.seconds, 3),
            words_per_second=round(progress.report.tokens / progress.seconds) if progress.seconds else 0,
        )


def _count(done: Perturbed, progress: Progress) -> None:
    progress.rows += done.chunk.rows
    progress.report.add(done.report)
    progress.nulls += sum(texts.count(None) for texts in done.chunk.texts.values())
    for texts in done.answers.values():
        progress.words += sum(text.count(" ") + 1 for text in texts if text)
