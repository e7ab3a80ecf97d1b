"""`wordveil perturb`: makes the texts of a file or a pipe private."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from wordveil.cli import stopping
from wordveil.cli.block_options import BlockOptions
from wordveil.cli.config import Config
from wordveil.cli.console import note, row_progress
from wordveil.cli.inputs import opened
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import TableOptions, chosen_device, in_input
from wordveil.cli.policy_options import PolicyOptions
from wordveil.cli.setting import AttackerOptions, SettingOptions, chosen_prior, chosen_setting
from wordveil.engines import engine_kinds, engine_maker
from wordveil.errors import ParameterError, check_whole
from wordveil.nearest.devices import DeviceName
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey, insecure_key
from wordveil.runs import FileRun, Ledger, perturb_file, perturb_pipe
from wordveil.tables import Layout
from wordveil.tables.files import recognised

__all__ = ["perturb"]

_in_run: Final = partial(typer.Option, rich_help_panel="The run")
_FOR_FILES: Final = "--resume, --force, --again and --no-ledger are for files. Hint: name an output file."


@dataclass(frozen=True)
class _RunOptions:
    workers: Annotated[int | None, _in_run(metavar="N", help="Threads (default: one per core).")] = None
    device: Annotated[
        DeviceName,
        _in_run(help="Where to search: on a GPU if there is one, or on the CPU. The answers are the same."),
    ] = "auto"
    resume: Annotated[bool, _in_run(help="Continue the same command after it was interrupted.")] = False
    force: Annotated[
        bool, _in_run(help="Replace an existing output; forget a stopped run; set a damaged ledger aside.")
    ] = False
    again: Annotated[
        bool, _in_run(help="Release the same content again, although that weakens the promise.")
    ] = False
    no_ledger: Annotated[bool, _in_run(help="Keep no record of this release, and ignore earlier ones.")] = (
        False
    )
    engine: Annotated[
        str,
        _in_run(
            metavar="|".join(engine_kinds()),
            help=f"Where the work is done: {', or '.join(kind.help for kind in engine_kinds().values())}.",
        ),
    ] = "local"
    master: Annotated[
        str | None, _in_run(metavar="URL", help="Which Spark (default: local[*], all cores of this machine).")
    ] = None


@with_option_sets
def perturb(
    context: typer.Context,
    *,
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", help=".csv, .tsv, .jsonl, .parquet or .txt, also .gz or .zst; - is a pipe."
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="OUT", help="Of the same format; - is a pipe.")],
    setting_options: SettingOptions,
    text: Annotated[
        list[str] | None, in_input(metavar="COLUMN", help="Perturb this column; may be repeated.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        in_input(
            metavar="COLUMN",
            help="Write this column as it is, unprotected; may be repeated. All others are left out.",
        ),
    ] = None,
    table: TableOptions,
    run_options: _RunOptions,
    config: Config = None,  # noqa: ARG001  # its callback reads it
    policy_options: PolicyOptions,
    attacker: AttackerOptions,
    block_options: BlockOptions,
) -> None:
    """Perturb the texts of a table, or of a pipe. Text is never an argument: process lists show those.

    OUT appears complete or not at all, readable only by you (mode 0600). Beside it are OUT.manifest.json,
    which may be released with it, and OUT.private.json, which must not be. If the command is interrupted,
    run it again with --resume.
    """
    layout = table.layout()
    policy = policy_options.policy()
    setting = chosen_setting(
        context,
        setting_options,
        device=chosen_device(run_options.device),
        blocked=block_options.block_list(),
    )
    perturber = Perturber(setting.mechanism, policy)
    prior = chosen_prior(setting.mechanism.embedding, attacker)
    key = _key(policy_options.unsafe_seed)
    release: dict[str, Any] = {
        "perturber": perturber,
        "text": text or [],
        "keep": keep or [],
        "engine": engine_maker(run_options.engine, workers=run_options.workers, master=run_options.master),
        "key": key,
        "prior": prior,
    }
    if target == "-":
        if run_options.resume or run_options.again or run_options.force or run_options.no_ledger:
            raise ParameterError(_FOR_FILES)
        with _hint_when_stopped():
            left_out = _to_pipe(source, layout, release)
        _note_left_out(left_out)
        note(perturber.exposure(prior).headline)
        return
    if source == "-":
        layout = replace(layout, format=recognised(Path(target), layout)[0].format)
    with ExitStack() as stack, _hint_when_stopped(), row_progress("perturbing") as watch:
        run = perturb_file(
            stack.enter_context(opened("-", layout))[0] if source == "-" else source,
            target,
            **release,
            layout=layout,
            resume=run_options.resume,
            force=run_options.force,
            ledger=None if run_options.no_ledger else Ledger(),
            again=run_options.again,
            watch=watch,
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


def _to_pipe(source: str, layout: Layout, release: dict[str, Any]) -> str:
    with opened(source, layout) as (file, name, full_layout, compression):
        return perturb_pipe(
            file,
            sys.stdout.buffer,
            name,
            **release,
            layout=full_layout,
            compression=compression,
            check=stopping.check,
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
