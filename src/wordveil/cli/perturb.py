"""`wordveil perturb`: makes the texts of a file or a pipe private."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.cli import stopping
from wordveil.cli.block_options import (
    AllowWords,
    BlockListIsPublic,
    BlockWords,
    NoBlockList,
    chosen_block_list,
)
from wordveil.cli.config import Config
from wordveil.cli.console import note, row_progress
from wordveil.cli.inputs import opened
from wordveil.cli.options import (
    INPUT,
    Answer,
    Delimiter,
    Dims,
    EmbeddingName,
    FormatOption,
    Lam,
    MechanismOption,
    MechanismOptions,
    NoHeader,
    NoQuotes,
    chosen_device,
    make_layout,
)
from wordveil.cli.policy_options import (
    Bag,
    PadTo,
    UnsafeDrop,
    UnsafeExempt,
    UnsafeKeep,
    UnsafeKeepCase,
    UnsafeKeepNulls,
    UnsafeKeepPunctuation,
    UnsafeMask,
    UnsafeSeed,
    make_policy,
)
from wordveil.cli.setting import (
    ChosenProfile,
    Frequencies,
    FrequenciesArePublic,
    OptionalEpsilon,
    chosen_prior,
    chosen_setting,
)
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.engines import EngineMaker, engine_kinds, engine_maker
from wordveil.errors import ParameterError, check_whole
from wordveil.nearest.devices import DeviceName
from wordveil.perturber import Perturber
from wordveil.prior import Prior
from wordveil.randomness import RunKey, insecure_key
from wordveil.runs import FileRun, Ledger, perturb_file, perturb_pipe
from wordveil.tables import Layout
from wordveil.tables.files import recognised

__all__ = ["perturb"]

_RUN: Final = "The run"
_FOR_FILES: Final = "--resume, --force, --again and --no-ledger are for files. Hint: name an output file."


def perturb(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", help=".csv, .tsv, .jsonl, .parquet or .txt, also .gz or .zst; - is a pipe."
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="OUT", help="Of the same format; - is a pipe.")],
    profile: ChosenProfile = None,
    epsilon: OptionalEpsilon = None,
    lam: Lam = None,
    dims: Dims = None,
    answer: Answer = None,
    mechanism: MechanismOption = "mahalanobis",
    option: MechanismOptions = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Perturb this column; may be repeated.", rich_help_panel=INPUT),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Write this column as it is, unprotected; may be repeated. All others are left out.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    format: FormatOption = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    no_quotes: NoQuotes = False,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Threads (default: one per core).", rich_help_panel=_RUN),
    ] = None,
    device: Annotated[
        DeviceName,
        typer.Option(
            help="Where to search: on a GPU if there is one, or on the CPU. The answers are the same.",
            rich_help_panel=_RUN,
        ),
    ] = "auto",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue the same command after it was interrupted.", rich_help_panel=_RUN
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace an existing output; forget a stopped run; set a damaged ledger aside.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Release the same content again, although that weakens the promise.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    no_ledger: Annotated[
        bool,
        typer.Option(
            "--no-ledger",
            help="Keep no record of this release, and ignore earlier ones.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            metavar="|".join(engine_kinds()),
            help="Where the work is done: "
            + ", or ".join(kind.help for kind in engine_kinds().values())
            + ".",
            rich_help_panel=_RUN,
        ),
    ] = "local",
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Which Spark (default: local[*], all cores of this machine).",
            rich_help_panel=_RUN,
        ),
    ] = None,
    config: Config = None,  # noqa: ARG001  # its callback reads it
    pad_to: PadTo = None,
    bag: Bag = False,
    unsafe_drop: UnsafeDrop = False,
    unsafe_mask: UnsafeMask = None,
    unsafe_keep: UnsafeKeep = False,
    unsafe_keep_punctuation: UnsafeKeepPunctuation = False,
    unsafe_keep_case: UnsafeKeepCase = False,
    unsafe_exempt: UnsafeExempt = None,
    unsafe_keep_nulls: UnsafeKeepNulls = False,
    unsafe_seed: UnsafeSeed = None,
    frequencies: Frequencies = None,
    frequencies_are_public: FrequenciesArePublic = False,
    no_block_list: NoBlockList = False,
    block_words: BlockWords = None,
    allow_words: AllowWords = None,
    block_list_is_public: BlockListIsPublic = False,
) -> None:
    """Perturb the texts of a table, or of a pipe. Text is never an argument: process lists show those.

    OUT appears complete or not at all, readable only by you (mode 0600). Beside it are OUT.manifest.json,
    which may be released with it, and OUT.private.json, which must not be. If the command is interrupted,
    run it again with --resume.
    """
    layout = make_layout(format, delimiter, no_header, no_quotes)
    policy = make_policy(
        pad_to=pad_to,
        bag=bag,
        unsafe_drop=unsafe_drop,
        unsafe_mask=unsafe_mask,
        unsafe_keep=unsafe_keep,
        unsafe_keep_punctuation=unsafe_keep_punctuation,
        unsafe_keep_case=unsafe_keep_case,
        unsafe_exempt=unsafe_exempt,
        unsafe_keep_nulls=unsafe_keep_nulls,
    )
    setting = chosen_setting(
        context,
        profile=profile,
        epsilon=epsilon,
        lam=lam,
        dims=dims,
        answer=answer,
        mechanism=mechanism,
        options=option,
        embedding=embedding,
        device=chosen_device(device),
        blocked=chosen_block_list(no_block_list, block_words, allow_words, block_list_is_public),
    )
    perturber = Perturber(setting.mechanism, policy)
    prior = chosen_prior(setting.mechanism.embedding, frequencies, frequencies_are_public)
    key = _key(unsafe_seed)
    make_engine = engine_maker(engine, workers=workers, master=master)
    columns, kept = text or [], keep or []
    if target == "-":
        if resume or again or force or no_ledger:
            raise ParameterError(_FOR_FILES)
        with _hint_when_stopped():
            left_out = _to_pipe(source, perturber, columns, kept, layout, make_engine, key, prior)
        _note_left_out(left_out)
        note(perturber.exposure(prior).headline)
        return
    if source == "-":
        layout = replace(layout, format=recognised(Path(target), layout)[0].format)
    with ExitStack() as stack, _hint_when_stopped(), row_progress("perturbing") as watch:
        run = perturb_file(
            stack.enter_context(opened("-", layout))[0] if source == "-" else source,
            target,
            perturber=perturber,
            text=columns,
            keep=kept,
            layout=layout,
            engine=make_engine,
            resume=resume,
            force=force,
            ledger=None if no_ledger else Ledger(),
            again=again,
            key=key,
            watch=watch,
            prior=prior,
        )
    _show(run)
    typer.echo(perturber.exposure(prior).headline)


def _key(unsafe_seed: int | None) -> RunKey:
    if unsafe_seed is None:
        return RunKey()
    return insecure_key(check_whole(unsafe_seed, "unsafe_seed", "perturb", 0))


@contextmanager
def _hint_when_stopped() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stop:
        for message in stop.args:
            note(f"note: {message}")
        raise


def _to_pipe(
    source: str,
    perturber: Perturber,
    text: list[str],
    keep: list[str],
    layout: Layout,
    make_engine: EngineMaker,
    key: RunKey,
    prior: Prior,
) -> str:
    with opened(source, layout) as (file, name, full_layout, compression):
        return perturb_pipe(
            file,
            sys.stdout.buffer,
            name,
            perturber=perturber,
            text=text,
            keep=keep,
            layout=full_layout,
            compression=compression,
            engine=make_engine,
            key=key,
            check=stopping.check,
            prior=prior,
        )


def _show(run: FileRun) -> None:
    _note_left_out(run.left_out_note)
    if run.resumed_rows and run.resumed_rows == run.rows:
        typer.echo(f"{run.output}: was complete already, {run.rows:,} rows, {run.words:,} words")
    else:
        resumed = f" ({run.resumed_rows:,} of them before)" if run.resumed_rows else ""
        typer.echo(f"{run.output}: {run.rows:,} rows{resumed}, {run.words:,} words")
    typer.echo(f"{run.manifest}: what is promised; it may be released")
    typer.echo(f"{run.private}: counts of the input, not for release")


def _note_left_out(columns: str) -> None:
    if columns:
        note(f"note: left out, since not named with --keep: {columns}")
