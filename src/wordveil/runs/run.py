"""One run over one file: begun or taken up, perturbed, committed, made whole and published."""

import hashlib
import json
import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from wordveil.engines import EngineMaker, Perturbed
from wordveil.errors import (
    FormatError,
    IntegrityError,
    MachineError,
    ParameterError,
    PrivacyWarning,
)
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey
from wordveil.runs.journal import Journal, Progress
from wordveil.runs.ledger import Begun, DamagedLedgerError, Ledger, Outcome, Release
from wordveil.runs.manifest import manifest, private_counts, settings, written
from wordveil.runs.paths import Input, Targets, file_digest, shown_path
from wordveil.runs.publishing import BESIDE, publish_made, published_before
from wordveil.runs.sums import is_void, together
from wordveil.tables import Chunk, Layout, Table
from wordveil.tables.compression import Compression, compressor, packed_writer

__all__ = ["FileRun", "Run", "Watcher"]

_COMMIT_SECONDS: Final = 0.5
_COMMIT_BYTES: Final = 8 << 20  # rows wait in memory for their commit

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
        Columns of the input that were not written. Private: of a table without a header they are data.
    left_out_note : str
        What may be said of them: ordinary names, and the positions of others.
    resumed_rows : int
        How many rows a run before this one had done; all, if it had only been killed before it could say so.
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
    entry: int | None = None
    earlier: dict[str, Any] | None = None

    def go(self, layout: Layout, *, resume: bool, again: bool) -> FileRun:
        """Begin or take up the run, and see it to its end."""
        if resume and not self.force and self.input is not None and self.journal.is_new:
            counts = published_before(self.targets, lambda salt: self._identity(layout, salt))
            if counts is not None:
                return self._result(*counts, resumed=counts.rows)
        header = self._header(layout, resume=resume, again=again)
        try:
            if header is not None:
                self.journal.begin(header, self._pack(self.table.head()))
            done_rows = self.journal.progress.rows
            if self.journal.finished is None:
                self._perturb()
                self._complete()
        except BaseException as error:
            self._end_badly(error)
            raise
        publish_made(self.journal, self.targets, force=self.force, settle=self._settle)
        progress = self.journal.progress
        self.journal.remove()
        return self._result(progress.rows, progress.words, done_rows)

    def _result(self, rows: int, words: int, resumed: int) -> FileRun:
        table = self.table
        return FileRun(*self.targets, rows, words, table.left_out, table.left_out_note, resumed)

    def _end_badly(self, error: BaseException) -> None:
        """Keep what can be gone on with, and say so; else leave nothing behind."""
        rows = self.journal.progress.rows
        # What is wrong with the input now, is wrong the next time too; and a pipe can't be read again.
        hopeless = isinstance(error, FormatError) and not isinstance(error, IntegrityError)
        goes_on = bool(rows) and self.input is not None and not hopeless
        if not goes_on:
            with suppress(OSError, MachineError):  # then the ledger counts one too many
                self._settle("nothing")
            with suppress(OSError):
                self.journal.remove()
        if isinstance(error, OSError):
            place = error.filename if error.filename is not None else self.targets.output
            told = f" {rows:,} rows are done. Hint: --resume goes on from there." if goes_on else ""
            raise MachineError(f"{place}: {error.strerror or type(error).__name__}.{told}") from None
        if isinstance(error, KeyboardInterrupt) and goes_on:
            raise KeyboardInterrupt(f"{rows:,} rows are done; --resume goes on from there.") from None

    def _header(self, layout: Layout, *, resume: bool, again: bool) -> dict[str, Any] | None:
        """Return what a new run begins with; None if the one that was stopped is taken up."""
        before = self.journal.header
        if self.journal.damaged and not self.force:
            raise self.journal.damage("its journal")
        if before is not None and resume:
            self._take_up(before, layout, again=again)
            return None
        of_a_pipe = before is not None and before["pipe"]  # which nobody can go on with
        if not self.force:
            if before is not None and not of_a_pipe and (self.journal.progress.rows or self.journal.finished):
                raise ParameterError(
                    f"{self.targets.output}: a run was stopped after {self.journal.progress.rows:,} rows. "
                    "Hint: --resume goes on from there, --force begins anew."
                )
            self.targets.check_new()
        if self.ledger is not None and self.input is not None:
            self._enter(self._with_ledger(lambda book: book.begin(self._release(), again=again)))
        salt = secrets.token_bytes(32)
        return {
            "salt": salt.hex(),
            "identity": self._identity(layout, salt),
            "entry": self.entry,
            "pipe": self.input is None,
        }

    def _take_up(self, before: dict[str, Any], layout: Layout, *, again: bool) -> None:
        if before["identity"] != self._identity(layout, bytes.fromhex(before["salt"])):
            raise ParameterError(
                f"{self.targets.output}: the run that was stopped had another input or other settings. "
                "Hint: give it the same, or begin anew with --force and without --resume."
            )
        if self.journal.finished is None and not self.force:
            self.targets.check_new()
        if self.ledger is None and before["entry"] is not None:
            raise ParameterError(
                f"{self.targets.output}: the run that was stopped stands in the ledger. Hint: resume it with "
                "the ledger, or begin anew with --force."
            )
        self.journal.go_on()
        if self.ledger is not None:
            self._enter(
                self._with_ledger(lambda book: book.take_up(before["entry"], self._release(), again=again))
            )

    def _with_ledger(self, enter: Callable[[Ledger], Begun]) -> Begun:
        """Enter this run into the ledger; with `force` also if that is damaged."""
        assert self.ledger is not None
        try:
            return enter(self.ledger)
        except DamagedLedgerError:
            if not self.force:
                raise
        aside = self.ledger.set_aside()
        warnings.warn(
            f"The ledger was damaged and is now called {aside.name}. The new one knows of no release before "
            "this one.",
            PrivacyWarning,
            stacklevel=2,
        )
        return enter(self.ledger)

    def _identity(self, layout: Layout, salt: bytes) -> str:
        """Return a keyed fingerprint of all that the output depends on, but for the noise."""
        facts = {
            "settings": settings(self.perturber, secure=self.key.secure),
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
            self._setting,
        )

    @property
    def _setting(self) -> dict[str, Any]:
        return Release.setting_of(self.perturber, secure=self.key.secure)

    def _enter(self, begun: Begun) -> None:
        self.entry = begun.number
        before = [entry.setting for entry in begun.earlier]
        self.earlier = {"known": len(before)}
        if before:
            sentence = together(self._setting, before)
            void = any(is_void(setting) for setting in (*before, self._setting))
            self.earlier |= {"together": sentence, "void": void}
            warnings.warn(f"This content is released again. {sentence}", PrivacyWarning, stacklevel=2)

    def _settle(self, outcome: Outcome) -> None:
        if self.ledger is not None and self.entry is not None:
            self.ledger.settle(self.entry, self._target, outcome)

    @property
    def _target(self) -> str:
        output = self.targets.output
        return shown_path(output.parent.resolve() / output.name)

    def _pack(self, data: bytes) -> bytes:
        return data if self.table.assembled or not data else compressor(self.packed)(data)

    def _perturb(self) -> None:
        """Perturb and commit the rows that are not committed yet."""
        ready: list[bytes] = []
        size = 0
        progress = _copy(self.journal.progress)
        begun, spent, last = time.monotonic(), progress.seconds, time.monotonic()
        with self.make_engine(self.perturber, self.key) as engine:
            for done in engine.perturb(self._left(progress.rows), waits=self.input is None):
                ready.append(self._pack(self.table.encode(done.chunk, done.answers)))
                size += len(ready[-1])
                _count(done, progress)
                self.watch(progress.rows, progress.words, self.table.done)
                now = time.monotonic()
                if now - last >= _COMMIT_SECONDS or size >= _COMMIT_BYTES:
                    progress.seconds = spent + now - begun
                    self._commit(ready, progress)
                    last, size = now, 0
            progress.seconds = spent + time.monotonic() - begun
            self._commit(ready, progress)

    def _commit(self, ready: list[bytes], progress: Progress) -> None:
        if self.input is not None:
            self.input.check()
        self.journal.commit(b"".join(ready), _copy(progress))
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
        if before < rows:
            raise self.journal.damage()

    def _complete(self) -> None:
        """Make everything ready to be published, and say so in the journal."""
        self.journal.check_part()
        made = self.journal.path("part")
        if self.table.assembled:
            made = self.journal.path("whole")
            with (
                self.journal.path("part").open("rb") as parts,
                self.journal.make("whole") as file,
                packed_writer(file, self.packed) as target,
            ):
                self.table.assemble(parts, target)
        elif self.packed and not made.stat().st_size:  # nothing, packed, is a file with something in it
            self.journal.commit(compressor(self.packed)(b""), _copy(self.journal.progress))
        if self.input is not None:
            self.input.check_content()
        progress = self.journal.progress
        output = {
            "name": self.targets.output.name,
            "bytes": made.stat().st_size,
            "sha256": file_digest(made),
            "rows": progress.rows,
            "words": progress.words,
        }
        self._write(
            "manifest",
            manifest(self.perturber, self.table, secure=self.key.secure, output=output, earlier=self.earlier),
        )
        self._write("private", self._private(progress))
        digests = {name: file_digest(self.journal.path(name)) for name in BESIDE}
        self.journal.finish({"made": made.name, "sha256": output["sha256"]} | digests)

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


def _copy(progress: Progress) -> Progress:
    return replace(progress, report=replace(progress.report))
