"""`wordveil experiment`: the paper's tables and figures, on any vectors and data."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from wordveil.cli.console import count_progress, output
from wordveil.cli.experiment_inputs import parse_dims, parse_numbers, read_texts, run_sweep, selected_ids
from wordveil.cli.options import (
    Answer,
    Delimiter,
    Device,
    EmbeddingName,
    FormatOption,
    Json,
    NoHeader,
    NoQuotes,
    chosen_device,
    make_layout,
)
from wordveil.cli.setting import ChosenProfile, chosen_profile
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.engines.local import checked_workers
from wordveil.errors import check_whole
from wordveil.evaluation.classifiers import ClassifierName
from wordveil.evaluation.datasets import load_labelled, recognise_dataset
from wordveil.evaluation.density import neighbour_distances, text_density
from wordveil.evaluation.sweep import Grid
from wordveil.evaluation.utility import UtilityGrid, utility
from wordveil.metric import Metric
from wordveil.report.density_report import density_facts, density_table, write_density
from wordveil.report.output import check_folder, result_json
from wordveil.report.privacy_report import PrivacyReport, ProjectedSweep
from wordveil.report.utility_report import UtilityReport

__all__ = ["app"]

app: Final = typer.Typer(help="The paper's experiments: tables, figures, verdicts.", no_args_is_help=True)

Epsilons = Annotated[str, typer.Option(metavar="E,E,…", help="Which ε.")]
Lams = Annotated[str, typer.Option(metavar="L,L,…", help="Which λ.")]
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
_SET_BY_PROFILE: Final = ("embedding", "epsilons", "lams", "dims")
EPSILONS: Final = "1,5,10,20,40"
LAMS: Final = "0,0.25,0.5,0.75,1"


@app.command()
def privacy(
    context: typer.Context,
    profile: ChosenProfile = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    epsilons: Epsilons = EPSILONS,
    lams: Lams = LAMS,
    dims: Annotated[
        str, typer.Option(metavar="K,K,…", help="Work on the top K principal axes, for each K; or all.")
    ] = "all",
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
    as_json: Json = False,
) -> None:
    """N_w and S_w over ε and λ for all words of a vocabulary: means, percentiles, and the paper's claims."""
    if ready := chosen_profile(context, profile, _SET_BY_PROFILE):
        embedding, epsilons, lams = ready.embedding, str(ready.epsilon), str(ready.lam)
    grid = Grid(parse_numbers(epsilons, "epsilons"), parse_numbers(lams, "lams"), draws, eta, seed)
    check_folder(out)
    search_device = chosen_device(device)
    vectors = load_embedding(embedding)
    dims_list = parse_dims(dims, vectors.dim)
    ids = selected_ids(vectors, words, seed)
    sweeps = [
        sweep_on_axes(vectors, dim, grid, ids, checked_workers(workers), search_device) for dim in dims_list
    ]
    name = vectors.provenance.name or "these vectors"
    report = PrivacyReport(name, sweeps, compare=compare_paper)
    settings = {
        "vectors": name,
        "fingerprint": vectors.fingerprint,
        "words": len(ids),
        "dims": ", ".join(map(str, dims_list)),
        "answer": "nearest",  # as in the paper, whatever a profile answers with
        **asdict(grid),
        "other answers than the exact search": report.disagreement(),
    }
    show_report(report, settings, out, as_json=as_json)


@app.command()
def density(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: a table, or one text per line.")],
    text: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Which column; may be repeated.")
    ] = None,
    format: FormatOption = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    no_quotes: NoQuotes = False,
    profile: ChosenProfile = None,
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
    grid = Grid((epsilon,), (0.0, 1.0), draws, seed=seed)
    name = "standard input" if str(file) == "-" else file.name
    check_whole(words, "words", "density", 1)
    check_folder(out)
    search_device = chosen_device(device)
    vectors = load_embedding(embedding)
    layout = make_layout(format, delimiter, no_header, no_quotes)
    result = text_density(vectors, read_texts(file, text or [], layout))
    table, facts = density_table(name, result, compare=compare_paper), density_facts(name, result)
    settings = {
        "texts": name,
        "vectors": vectors.provenance.name,
        "fingerprint": vectors.fingerprint,
        "dims": vectors.dim,
        "words": min(words, result.vocabulary),
        **asdict(grid),
    }
    paths = []
    if out is not None:
        shown = np.sort(np.random.default_rng([seed, 4]).permutation(result.ids)[:words])
        # Which words the texts contain is private, so nothing about them is cached.
        drawn = run_sweep(vectors, grid, shown, checked_workers(workers), search_device, keep=False)
        paths = write_density(out, table, facts, drawn, neighbour_distances(vectors, shown), settings)
    if as_json:
        typer.echo(result_json(settings, [facts]))
        return
    output().print(table.rich())
    for path in paths:
        typer.echo(str(path))


@app.command("utility")
def utility_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled texts: CSV, TSV or JSON Lines.")],
    text: Annotated[str | None, typer.Option(metavar="COLUMN", help="Which column holds the text.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Which column holds the label.")] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The label that precision and recall are about.")
    ] = None,
    format: FormatOption = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    no_quotes: NoQuotes = False,
    classifier: Annotated[ClassifierName, typer.Option(help="Which classifier.")] = "bow",
    test: Annotated[
        Literal["perturbed", "clean"], typer.Option(help="Which text the classifier is tested on.")
    ] = "perturbed",
    profile: ChosenProfile = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    epsilons: Epsilons = EPSILONS,
    lams: Lams = "0,0.5,1",
    dims: Annotated[
        int | None, typer.Option(metavar="K", help="Work on the top K principal axes (default: all).")
    ] = None,
    answer: Answer = None,
    repetitions: Annotated[int, typer.Option(metavar="N", help="How many splits and draws.")] = 5,
    out: Out = None,
    seed: TextSeed = 0,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """How well classifiers learn from perturbed text. Prints scores, never a text."""
    check_folder(out)
    if ready := chosen_profile(context, profile, (*_SET_BY_PROFILE, "answer")):
        embedding, epsilons, lams = ready.embedding, str(ready.epsilon), str(ready.lam)
        answer = ready.answer
    data = load_labelled(file, text, label, positive, make_layout(format, delimiter, no_header, no_quotes))
    all_axes = load_embedding(embedding)
    vectors = all_axes if dims is None else all_axes.project(dims)
    values = parse_numbers(epsilons, "epsilons"), parse_numbers(lams, "lams")
    grid = UtilityGrid(*values, repetitions, classifier, test, seed, answer or "nearest")
    with count_progress("training") as watch:
        result = utility(data, vectors, grid, watch, device=chosen_device(device))
    dataset = recognise_dataset(file)
    paper_name = "" if dataset is None else dataset.name
    report = UtilityReport(data.name, (data.positive, data.other), result, paper_name=paper_name)
    settings = {
        "data": file.name,
        "records": len(data.texts),
        "positive": data.positive,
        "vectors": vectors.provenance.name,
        "fingerprint": vectors.fingerprint,
        "dims": vectors.dim,
        "preprocessing": "the tokens of wordveil's rule, with spaces between them",
        **asdict(grid),
    }
    show_report(report, settings, out, as_json=as_json)


def sweep_on_axes(
    vectors: Embedding, dim: int, grid: Grid, ids: NDArray[np.int64], workers: int, device: str
) -> ProjectedSweep:
    """Run the sweep on the top `dim` principal axes; on all of them, without a projection."""
    space = vectors if dim == vectors.dim else vectors.project(dim)
    result = run_sweep(space, grid, ids, workers, device)
    traces = [float(Metric.from_embedding(space, lam).scales.sum()) for lam in grid.lams]
    return ProjectedSweep(result, neighbour_distances(space, ids), traces)


def show_report(
    report: PrivacyReport | UtilityReport, settings: dict[str, Any], out: Path | None, *, as_json: bool
) -> None:
    """Write the report to `out`, if given, and print it: as JSON, or as tables, verdicts and paths."""
    paths = report.write(out, settings) if out is not None else []
    if as_json:
        typer.echo(result_json(settings, report.facts(), report.verdicts))
        return
    console = output()
    for table in report.tables():
        console.print(table.rich())
    for verdict in report.verdicts:
        typer.echo(str(verdict))
    for path in paths:
        typer.echo(str(path))
