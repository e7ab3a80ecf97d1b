"""The last step of a run: files that are whole get their names, and the ledger hears of it before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from wordveil.errors import IntegrityError, ParameterError
from wordveil.runs.journal import Journal, sync_folder
from wordveil.runs.ledger import Outcome
from wordveil.runs.paths import Targets, file_digest, publish

__all__ = ["BESIDE", "Counts", "publish_made", "published_before"]

BESIDE: Final[tuple[Literal["private", "manifest"], ...]] = ("private", "manifest")
"""What stands beside an output, and gets its name before it."""


class Counts(NamedTuple):
    """How many rows and words an output has."""

    rows: int
    words: int


def publish_made(
    journal: Journal, targets: Targets, *, force: bool, settle: Callable[[Outcome], None]
) -> None:
    """Give the files their names, the output last; what a stopped run has published already is left.

    `settle` tells the ledger of the release before it happens: if the run is killed in between, the ledger
    counts one too many, never one too few.
    """
    assert journal.finished is not None
    made = journal.path(journal.finished["made"])
    _check_made(journal, targets, made, force=force)
    settle("released")
    try:
        for name in BESIDE:
            if journal.path(name).exists():
                publish(journal.path(name), getattr(targets, name), force=force)
        if made.exists():
            publish(made, targets.output, force=force)
    except (OSError, ParameterError):
        if made.exists() and not _is_output(targets, made):
            settle("begun")
        raise
    sync_folder(targets.output.parent)
    if not journal.progress.words:  # nothing was told about anybody
        settle("nothing")


def _check_made(journal: Journal, targets: Targets, made: Path, *, force: bool) -> None:
    """Refuse to publish what is not what the journal says, or over another's file."""
    assert journal.finished is not None
    for name in BESIDE:
        if journal.path(name).exists() and file_digest(journal.path(name)) != journal.finished[name]:
            raise journal.damage(f"the file '{name}'")
    if made.exists():
        if file_digest(made) != journal.finished["sha256"]:
            raise journal.damage("the output")
        if not force and not _is_output(targets, made):
            targets.check_output()  # before anything is put beside another's file
    elif not targets.output.exists() or file_digest(targets.output) != journal.finished["sha256"]:
        raise IntegrityError(
            f"{targets.output}: is not what the run that was stopped had made. "
            "Hint: --force, without --resume, begins anew."
        )


def _is_output(targets: Targets, made: Path) -> bool:
    return targets.output.exists() and targets.output.samefile(made)


def published_before(targets: Targets, identity: Callable[[bytes], str]) -> Counts | None:
    """Return the counts of an output that is complete, from the same input and settings; None if it is not.

    That is what is left of a run that was killed after publishing, before it could say so. The private report
    knows what it was made from, under a salt; the manifest knows what the output must be.
    """
    try:
        origin = json.loads(targets.private.read_bytes())["made_from"]
        output = json.loads(targets.manifest.read_bytes())["output"]
        salt, counts = bytes.fromhex(origin["salt"]), Counts(int(output["rows"]), int(output["words"]))
        is_whole = file_digest(targets.output) == output["sha256"]
        is_same = is_whole and identity(salt) == origin["identity"]
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    return counts if is_same else None
