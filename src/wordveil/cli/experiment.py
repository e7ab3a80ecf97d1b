"""`wordveil experiment`: the paper's tables and figures, on any vectors and data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from wordveil.cli.block_options import MeasuredBlockOptions
from wordveil.cli.console import count_progress, note
from wordveil.cli.experiment_inputs import (
    GridOptions,
    Lams,
    NoCache,
    list_settings,
    read_labelled,
    read_texts,
    resumable,
    show_result,
)
from wordveil.cli.experiment_paper import paper
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import Device, EmbeddingName, Json, TableOptions, chosen_device
from wordveil.cli.setting import ProfileForFigure, chosen_profile
from wordveil.embedding import load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import check_whole
from wordveil.evaluation import density, privacy_sweep, utility
from wordveil.evaluation.blocked_settings import with_block_list
from wordveil.evaluation.classifiers import ClassifierName
from wordveil.evaluation.sweep_cache import user_sweeps
from wordveil.evaluation.utility_cache import user_scores
from wordveil.report.output import check_folder

__all__ = ["app"]

app: Final = typer.Typer(help="The paper's experiments: tables, figures, verdicts.", no_args_is_help=True)
app.command("paper")(paper)

ComparePaper = Annotated[bool, typer.Option("--compare-paper", help="Show the paper's numbers beside these.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Threads (default: one per core).")]
PublicSeed = Annotated[
    int, typer.Option("--seed", metavar="N", help="Public words only, so the seed need not be secret.")
]
PictureSeed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Makes the figure repeatable: which of the texts' words it shows, and their draws. "
        "The figure is not for release if the texts are private.",
    ),
]
TextSeed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Makes the splits and the noise repeatable, so the perturbed texts must not be released. They "
        "stay in memory (outside Linux, fastText needs a temporary file); only scores are written.",
    ),
]
Out = Annotated[
    Path | None, typer.Option(help="Write the tables, the figures and an HTML page to this folder.")
]


@app.command()
@with_option_sets
def privacy(
    context: typer.Context,
    *,
    grid_options: GridOptions,
    clean: MeasuredBlockOptions,
    draws: Annotated[int, typer.Option(metavar="N", help="How often to draw each word.")] = 100,
    words: Annotated[
        str,
        typer.Option(
            metavar="FILE|all|N", help="Which words: a file with one word per line, all, or N random words."
        ),
    ] = "all",
    eta: Annotated[
        float, typer.Option(help="Count an answer for S_w only if it has at least this share of the draws.")
    ] = 0.0,
    compare_paper: ComparePaper = False,
    out: Out = None,
    seed: PublicSeed = 0,
    workers: Workers = None,
    device: Device = "auto",
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """N_w and S_w over ε and λ for all words of a vocabulary: means, percentiles, and the paper's claims."""
    check_folder(out)
    search_device = chosen_device(device)
    grid = with_block_list(list_settings(context, grid_options, search_device), clean.blocked())
    with resumable("drawing", user_sweeps, no_cache) as (cache, watch):
        result = privacy_sweep(
            grid,
            words,
            draws,
            eta=eta,
            seed=seed,
            workers=workers,
            device=search_device,
            cache=cache,
            watch=watch,
        )
    if missing := result.settings["words_without_vector"]:
        note(f"{words}: {missing:,} words have no vector and are left out.")
    show_result(result, out, as_json=as_json, compare=compare_paper)


@app.command("density")
@with_option_sets
def density_(
    context: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: a table, or one text per line.")],
    text: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Which column; may be repeated.")
    ] = None,
    table: TableOptions,
    profile: ProfileForFigure = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    epsilon: Annotated[float, typer.Option(help="ε of the figure.")] = 10.0,
    draws: Annotated[int, typer.Option(metavar="N", help="How often to draw each word of the figure.")] = 100,
    words: Annotated[int, typer.Option(metavar="N", help="How many words the figure shows.")] = 2000,
    compare_paper: ComparePaper = False,
    out: Out = None,
    as_json: Json = False,
    seed: PictureSeed = 0,
    device: Device = "auto",
    workers: Workers = None,
) -> None:
    """How densely the words of some texts lie: the table of the paper's appendix. Never prints a text."""
    if ready := chosen_profile(context, profile, ("embedding", "epsilon")):
        embedding, epsilon = ready.embedding, ready.epsilon
    check_whole(words, "words", "density", 1)
    check_folder(out)
    search_device = chosen_device(device)
    vectors = load_embedding(embedding)
    layout = table.layout()
    with count_progress("drawing") as watch:
        result = density(
            read_texts(file, text or [], layout),
            vectors,
            name="standard input" if str(file) == "-" else file.name,
            epsilon=epsilon,
            draws=draws,
            words=words if out is not None else 0,  # only the figure needs them
            seed=seed,
            workers=workers,
            device=search_device,
            watch=watch,
        )
    show_result(result, out, as_json=as_json, compare=compare_paper)


@dataclass(frozen=True)
class _FewerSettings(GridOptions):
    lams: Lams = "0,0.5,1"


@app.command("utility")
@with_option_sets
def utility_(
    context: typer.Context,
    *,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Labelled texts: CSV, TSV, JSON Lines or Parquet; - is standard input."
        ),
    ],
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="Which column holds the text.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Which column holds the label.")] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="The label that the paper's precision and recall are about."),
    ] = None,
    test_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Test on this file, of the same layout (default: on 30% of FILE, at random)."
        ),
    ] = None,
    split_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A column that says 'train' or 'test'; other rows are left out."),
    ] = None,
    table: TableOptions,
    classifier: Annotated[ClassifierName, typer.Option(help="Which classifier.")] = "bow",
    test: Annotated[
        Literal["both", "private", "clean"], typer.Option(help="Which text the classifier is tested on.")
    ] = "both",
    grid_options: _FewerSettings,
    clean: MeasuredBlockOptions,
    repetitions: Annotated[int, typer.Option(metavar="N", help="How many splits and draws.")] = 5,
    out: Out = None,
    seed: TextSeed = 0,
    device: Device = "auto",
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """How well classifiers learn from private text. Prints scores, never a text."""
    check_folder(out)
    grid = with_block_list(list_settings(context, grid_options, chosen_device(device)), clean.blocked())
    layout = table.layout()
    data = read_labelled(file, text, label, positive, layout, test_file=test_file, split_column=split_column)
    if data.left_out:
        note(f"note: {data.left_out:,} rows are left out: --split-column says neither train nor test there.")
    with resumable("training", user_scores, no_cache) as (cache, watch):
        result = utility(
            data,
            grid,
            classifier=classifier,
            repetitions=repetitions,
            tested_on=test,
            seed=seed,
            cache=cache,
            watch=watch,
        )
    show_result(result, out, as_json=as_json)
