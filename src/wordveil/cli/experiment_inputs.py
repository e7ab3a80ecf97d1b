"""Inputs of the experiments: number lists, settings and texts; and what they show at the end."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from wordveil.cli.config import is_written
from wordveil.cli.console import count_progress, note, output
from wordveil.cli.inputs import opened
from wordveil.cli.options import Answer, EmbeddingName, MechanismOptions, option_pairs
from wordveil.cli.setting import chosen_profile, profile_option
from wordveil.embedding import load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import MachineError, ParameterError, check_whole
from wordveil.evaluation.datasets import LabelledTexts, load_labelled, recognise_dataset
from wordveil.evaluation.results import Result
from wordveil.evaluation.setting_files import read_settings
from wordveil.evaluation.settings import Setting, make_grid
from wordveil.mechanisms import mechanism_class
from wordveil.mechanisms.registry import parsed_options
from wordveil.nearest.devices import DeviceName
from wordveil.report.report import make_report
from wordveil.report.terminal import show_report
from wordveil.tables import Layout, open_table

__all__ = [
    "GridOptions",
    "Lams",
    "NoCache",
    "kept_when_stopped",
    "list_settings",
    "parse_dims",
    "parse_numbers",
    "read_labelled",
    "read_texts",
    "resumable",
    "show_result",
    "usable_cache",
]

_SET_BY_PROFILE: Final = ("embedding", "epsilons", "lams", "dims", "answer", "mechanism", "option")

Lams = Annotated[str, typer.Option("--lams", metavar="L,L,…", help="Which λ, for mechanisms that have one.")]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Neither use nor keep finished parts: compute everything.")
]


@dataclass(frozen=True)
class GridOptions:
    """The settings that an experiment compares: of a profile, of a file, or of a grid."""

    profile: Annotated[
        str | None,
        profile_option("--epsilons, --answer, --dims, --lams, --mechanism, --option and --embedding"),
    ] = None
    embedding: EmbeddingName = DEFAULT_NAME
    epsilons: Annotated[str, typer.Option(metavar="E,E,…", help="Which ε.")] = "1,5,10,20,40"
    lams: Lams = "0,0.25,0.5,0.75,1"
    dims: Annotated[
        str, typer.Option(metavar="K,K,…", help="Work on the top K principal axes, for each K; or all.")
    ] = "all"
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Which mechanism (default: mahalanobis); may be repeated. 'wordveil mechanisms' lists them.",
        ),
    ] = None
    option: MechanismOptions = None
    answer: Answer = None
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare the named settings of this TOML file, one table for each, instead of a grid.",
        ),
    ] = None


def parse_numbers(text: str, name: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated list."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--{name} must be numbers with commas between them.") from None


def parse_dims(text: str, dim: int) -> list[int]:
    """Return the dimensions of a comma-separated list in ascending order; "all" is `dim`."""
    parts = [str(dim) if part.strip() == "all" else part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ParameterError("--dims must be whole numbers with commas between them, or all.")
    return sorted({check_whole(int(part), "dims", "privacy", 1, dim) for part in parts})


def list_settings(context: typer.Context, options: GridOptions, device: DeviceName) -> list[Setting]:
    """Return the settings of a profile, of a file, or of the grid that the other options describe."""
    profile = options.profile
    if options.settings is not None:
        if profile is not None or any(is_written(context, name) for name in _SET_BY_PROFILE):
            raise ParameterError("--settings names all settings. Hint: leave out the file, or the others.")
        return read_settings(options.settings, device=device)
    if ready := chosen_profile(context, profile, _SET_BY_PROFILE):
        return [Setting(ready.load(device=device), ready.name)]
    values = parse_numbers(options.epsilons, "epsilons"), parse_numbers(options.lams, "lams")
    names = list(dict.fromkeys(options.mechanism or ["mahalanobis"]))
    written, answer = option_pairs(options.option or ()), options.answer
    if answer is not None and written.setdefault("answer", answer) != answer:
        raise ParameterError("--answer and --option answer are the same option. Hint: use one of them.")
    owned = {name: {known.name for known in mechanism_class(name).options} for name in names}
    unknown = written.keys() - {key for known in owned.values() for key in known}
    if unknown:
        raise ParameterError("--option: no chosen mechanism has an option of that name.")
    vectors = load_embedding(options.embedding)
    grid = []
    for dim in parse_dims(options.dims, vectors.dim):
        space = vectors if dim == vectors.dim else vectors.project(dim)
        for name in names:
            texts = {key: text for key, text in written.items() if key in owned[name]}
            values_of_options = parsed_options(mechanism_class(name), texts)
            grid += make_grid(space, *values, mechanisms=[name], device=device, **values_of_options)
    return grid


def read_texts(file: Path, columns: list[str], layout: Layout) -> Iterator[str]:
    """Yield one text per row: columns are joined, a null counts as empty, and `-` is standard input."""
    dataset = None if str(file) == "-" or layout != Layout() else recognise_dataset(file)
    if dataset is not None:
        layout, columns = dataset.layout, columns or [dataset.text]
    with (
        opened(str(file), layout, other="text") as (source, name, file_layout, compression),
        open_table(source, name, file_layout, columns, compression=compression) as table,
    ):
        for chunk in table.chunks():
            for row in zip(*chunk.texts.values(), strict=True):
                yield " ".join(text or "" for text in row)


def read_labelled(
    file: Path,
    text: str | None,
    label: str | None,
    positive: str | None,
    layout: Layout,
    *,
    test_file: Path | None,
    split_column: str | None,
) -> LabelledTexts:
    """Return the labelled texts of a file; `-` is standard input."""
    columns = text, label, positive
    if str(file) != "-":
        return load_labelled(file, *columns, layout, test_path=test_file, split=split_column)
    with opened("-", layout) as (pipe, name, pipe_layout, _):
        return load_labelled(name, *columns, pipe_layout, test_path=test_file, split=split_column, file=pipe)


def usable_cache(folder: Any, no_cache: bool) -> Path | bool:
    """Return the folder that `folder()` names, or False: with a note if it can't be written."""
    if no_cache:
        return False
    try:
        path: Path = folder()
    except (OSError, MachineError):
        note("The cache folder can't be written. An interrupted run will start again from the beginning.")
        return False
    return path


@contextmanager
def kept_when_stopped(cache: Path | bool) -> Iterator[None]:
    """Say after Ctrl-C how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        if cache is not False:
            note("note: finished parts are kept. Run the same command again to continue.")
        raise


@contextmanager
def resumable(
    title: str, folder: Any, no_cache: bool
) -> Iterator[tuple[Path | bool, Callable[[int, int], None]]]:
    """Show the progress of work whose finished parts are kept; yield the cache and the watch of the work."""
    cache = usable_cache(folder, no_cache)
    with kept_when_stopped(cache), count_progress(title) as watch:
        yield cache, watch


def show_result(result: Result, out: Path | None, *, as_json: bool, compare: bool = False) -> None:
    """Write the report to `out`, if given, and print it: as JSON, or as tables, verdicts and paths."""
    if compare:
        result = replace(result, settings={**result.settings, "compare_paper": True})
    report = make_report(result)
    paths = report.write(out) if out is not None else []
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2))
        return
    show_report(output(), report, paths)
