"""A whole file, from input to published output: atomic, resumable, with a manifest and a ledger."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from wordveil.engines import EngineMaker, engine_maker
from wordveil.errors import ParameterError, sealed
from wordveil.folders import checked_path
from wordveil.perturber import Perturber, checked_run_key
from wordveil.randomness import RunKey
from wordveil.runs.journal import Journal
from wordveil.runs.ledger import Ledger
from wordveil.runs.paths import Input, Targets, open_binary
from wordveil.runs.run import FileRun, Run, Watcher
from wordveil.tables import Layout, open_table
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
        Replace an existing output, forget a run that was stopped, and set a damaged ledger aside.
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
    >>> perturber = wv.Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> run = perturb_file(
    ...     folder / "in.csv", folder / "out.csv", perturber=perturber, text="message", keep="label"
    ... )
    >>> run.rows, run.words, run.output.read_text().splitlines()[0]
    (2, 5, 'label,message')
    """
    key = checked_run_key(perturber, key, "perturb_file")
    make_engine = engine or engine_maker("local", workers=workers)
    targets = Targets.of(checked_path(target, "target", "perturb_file"))
    path = None if hasattr(source, "read") else checked_path(source, "source", "perturb_file")
    name = "standard input" if path is None else str(path)
    layout, packed_in, packed_out = _formats(path, targets.output, layout)
    with ExitStack() as stack:
        file = cast(BinaryIO, source) if path is None else stack.enter_context(open_binary(path))
        plain = path is not None and Input.is_plain(path)
        if resume and not plain:
            raise ParameterError(f"{name}: a pipe can't be read again, so that nothing can be resumed.")
        targets.check(path)
        size = path.stat().st_size if path is not None and plain else 0
        opened = open_table(
            file, name, layout, text, keep, compression=packed_in, size=size, unbuffered=not plain,
            policy=perturber.policy,
        )  # fmt: skip
        table = stack.enter_context(opened)
        journal = stack.enter_context(Journal.claim(targets.output))
        run = Run(
            perturber,
            table,
            journal,
            targets,
            key=key,
            make_engine=make_engine,
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
