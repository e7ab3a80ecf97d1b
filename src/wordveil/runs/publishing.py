"""The last step of a run: the release is recorded in the ledger, then complete files get their names."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from wordveil.errors import IntegrityError, ParameterError
from wordveil.runs.journal import Journal
from wordveil.runs.ledger import ReleaseOutcome
from wordveil.runs.paths import Targets, file_digest, publish
from wordveil.runs.private_files import sync_folder

__all__ = ["COMPANIONS", "OutputSize", "publish_output", "published_before"]

COMPANIONS: Final[tuple[Literal["private", "manifest"], ...]] = ("private", "manifest")
"""The files beside an output, which are published before it."""


class OutputSize(NamedTuple):
    """How many rows and words an output has."""

    rows: int
    words: int


def publish_output(
    journal: Journal, targets: Targets, *, force: bool, settle: Callable[[ReleaseOutcome], None]
) -> None:
    """Give the files their names, the output last; files that a stopped run has published already stay.

    `settle` records the release in the ledger before it happens. If the run is killed in between, the ledger
    counts one release too many, never one too few.
    """
    assert journal.finished is not None
    complete = journal.path(journal.finished["made"])
    _check_complete(journal, targets, complete, force=force)
    settle("released")
    try:
        for name in COMPANIONS:
            if journal.path(name).exists():
                publish(journal.path(name), getattr(targets, name), force=force)
        if complete.exists():
            publish(complete, targets.output, force=force)
    except (OSError, ParameterError):
        if complete.exists() and not _is_output(targets, complete):
            settle("begun")
        raise
    sync_folder(targets.output.parent)
    if not journal.progress.words:  # an output without words reveals nothing
        settle("nothing")


def _check_complete(journal: Journal, targets: Targets, complete: Path, *, force: bool) -> None:
    """Refuse to publish files that differ from what the journal says, or to replace another file."""
    assert journal.finished is not None
    for name in COMPANIONS:
        if journal.path(name).exists() and file_digest(journal.path(name)) != journal.finished[name]:
            raise journal.damage(f"the file '{name}'")
    if complete.exists():
        if file_digest(complete) != journal.finished["sha256"]:
            raise journal.damage("the output")
        if not force and not _is_output(targets, complete):
            targets.check_output()  # before anything is put beside another file
    elif not targets.output.exists() or file_digest(targets.output) != journal.finished["sha256"]:
        raise IntegrityError(
            f"{targets.output}: is not the output of the stopped run. "
            "Hint: --force, without --resume, starts over."
        )


def _is_output(targets: Targets, complete: Path) -> bool:
    return targets.output.exists() and targets.output.samefile(complete)


def published_before(targets: Targets, identity: Callable[[bytes], str]) -> OutputSize | None:
    """Return the counts of a complete output of the same input and settings; None if there is none.

    A run that was killed after publishing, before it could report success, leaves such an output. The private
    report holds a salted fingerprint of the input and settings, the manifest the hash of the output.
    """
    try:
        origin = json.loads(targets.private.read_bytes())["made_from"]
        output = json.loads(targets.manifest.read_bytes())["output"]
        salt, counts = bytes.fromhex(origin["salt"]), OutputSize(int(output["rows"]), int(output["words"]))
        is_complete = file_digest(targets.output) == output["sha256"]
        is_same = is_complete and identity(salt) == origin["identity"]
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    return counts if is_same else None
