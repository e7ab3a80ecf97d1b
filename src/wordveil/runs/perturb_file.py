"""A complete file, from input to published output: atomic, resumable, with a manifest and a ledger."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from wordveil.engines import EngineMaker, engine_maker
from wordveil.errors import ParameterError, sealed
from wordveil.folders import checked_path
from wordveil.perturber import Perturber, check_prior, checked_run_key
from wordveil.policy import Policy
from wordveil.prior import Prior
from wordveil.randomness import RunKey
from wordveil.runs.journal import Journal
from wordveil.runs.ledger import Ledger
from wordveil.runs.paths import Input, Targets, open_binary
from wordveil.runs.run import FileRun, Run, Watcher
from wordveil.tables import Layout, Table, open_table
from wordveil.tables.compression import Compression
from wordveil.tables.files import recognised

__all__ = ["EngineMaker", "FileRun", "Watcher", "perturb_file"]


@sealed
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
    prior: Prior | None = None,
) -> FileRun:
    r"""Write a table with the texts made private, and the kept columns as they are; all others are left out.

    The output appears complete or not at all, for its owner alone, with a manifest (`….manifest.json`)
    and counts that are not for release (`….private.json`).

    Parameters
    ----------
    source, target : path
        In one registered format, compressed or not. The source may also be an open binary file, such as a
        pipe; then there is nothing to resume, and no ledger.
    perturber, key : Perturber, RunKey
        What makes text private, and where its noise comes from (default: a new key).
    text, keep : names of columns
        Those to perturb, and those to write as they are. Plain text has no columns.
    layout, workers, engine
        The format, if the extension does not say it; threads (default: one per core); another engine.
    resume, force : bool
        Continue an interrupted run, if there is one; replace an output, or an interrupted run.
    ledger, again : Ledger, bool
        A record that refuses a second release of the same content, unless `again`.
    watch : callable
        Called with the progress.
    prior : Prior
        How often words are used (default: in English), for the attacker's number in the manifest.

    Examples
    --------
    >>> import tempfile, wordveil as wv
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("label,message\nham,book a flight\nham,call me\n")
    >>> perturber = wv.Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> run = perturb_file(folder / "in.csv", folder / "out.csv", perturber=perturber, text="message")
    >>> run.rows, run.words
    (2, 5)
    """
    run_key = checked_run_key(perturber, key, "perturb_file")
    check_prior(perturber, prior, "perturb_file")
    make_engine = engine or engine_maker("local", workers=workers)
    with ExitStack() as stack:
        opened = _open(stack, source, target, layout, text, keep, perturber.policy, resume=resume)
        run = Run(
            perturber, opened.table, stack.enter_context(Journal.claim(opened.targets.output)),
            opened.targets, run_key, make_engine, opened.packed, opened.input, opened.name, force, ledger,
            watch or (lambda *_: None), prior,
        )  # fmt: skip
        return run.go(opened.layout, resume=resume, again=again)


class _Opened(NamedTuple):
    """An input that is open, and where its output goes."""

    table: Table
    targets: Targets
    layout: Layout
    packed: Compression
    input: Input | None
    name: str


def _open(
    stack: ExitStack,
    source: str | Path | BinaryIO,
    target: str | Path,
    layout: Layout,
    text: str | Iterable[str],
    keep: str | Iterable[str],
    policy: Policy,
    *,
    resume: bool,
) -> _Opened:
    """Open the input for as long as the stack lasts, and check that the output can be written."""
    targets = Targets.of(checked_path(target, "target", "perturb_file"))
    path = None if hasattr(source, "read") else checked_path(source, "source", "perturb_file")
    name = "standard input" if path is None else str(path)
    layout, packed_in, packed_out = _formats(path, targets.output, layout)
    file = cast(BinaryIO, source) if path is None else stack.enter_context(open_binary(path))
    regular = path is not None and Input.is_plain(path)
    if resume and not regular:
        raise ParameterError(f"{name}: a pipe can't be read again, so nothing can be resumed.")
    targets.check(path)
    table = open_table(
        file,
        name,
        layout,
        text,
        keep,
        compression=packed_in,
        size=path.stat().st_size if path is not None and regular else 0,
        unbuffered=not regular,
        policy=policy,
    )
    stack.enter_context(table)
    content = Input(path, name) if path is not None and regular else None
    return _Opened(table, targets, layout, packed_out, content, name)


def _formats(source: Path | None, target: Path, layout: Layout) -> tuple[Layout, Compression, Compression]:
    """Return the layout with its format, and the compressions of the input and of the output."""
    target_layout, packed_out = recognised(target, layout)
    if source is None:
        return target_layout, "", packed_out
    source_layout, packed_in = recognised(source, layout)
    if source_layout.format != target_layout.format:
        raise ParameterError(
            f"{target}: must be of the same format as the input, {source_layout.format}. "
            "Hint: change its extension."
        )
    return source_layout, packed_in, packed_out
