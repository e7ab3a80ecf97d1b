"""`wordveil experiment`: the paper's tables and figures, on any vectors and data."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from wordveil.cli.console import count_progress, note, output
from wordveil.cli.inputs import opened
from wordveil.cli.options import (
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
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.engines.local import checked_workers
from wordveil.errors import FormatError, MachineError, ParameterError, check_whole
from wordveil.evaluation.claims import Verdict
from wordveil.evaluation.classifiers import ClassifierName
from wordveil.evaluation.datasets import known_format, load_labelled
from wordveil.evaluation.density import neighbour_distances, text_density
from wordveil.evaluation.sweep import Grid, Sweep, sweep
from wordveil.evaluation.utility import UtilityGrid, utility
from wordveil.folders import user_folder
from wordveil.metric import Metric
from wordveil.report.density_report import density_facts, density_table, write_density
from wordveil.report.plots import figure_class
from wordveil.report.privacy_report import Drawn, PrivacyReport
from wordveil.report.utility_report import UtilityReport
from wordveil.tables import Layout, open_table

__all__ = ["app"]

app: Final = typer.Typer(help="The paper's experiments: tables, figures, verdicts.", no_args_is_help=True)

Workers = Annotated[int | None, typer.Option(metavar="N", help="Threads (default: one per core).")]
PublicSeed = Annotated[
    int, typer.Option("--seed", metavar="N", help="Public words only, so that a seed is no secret.")
]
PictureSeed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Makes the picture repeatable: which of the texts' words it counts, and their draws. "
        "The picture is not for release if the texts are private.",
    ),
]
TextSeed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Makes the splits and the noise repeatable, so the perturbed texts must not be released. They "
        "stay in memory (for fastText outside of Linux, in a temporary file); only scores are written.",
    ),
]
Out = Annotated[Path | None, typer.Option(help="Write the tables, figures and the page into this folder.")]
EPSILONS: Final = "1,5,10,20,40"
LAMS: Final = "0,0.25,0.5,0.75,1"


@app.command()
def privacy(
    embedding: EmbeddingName = DEFAULT_NAME,
    epsilons: Annotated[str, typer.Option(metavar="E,E,…", help="Which ε.")] = EPSILONS,
    lams: Annotated[str, typer.Option(metavar="L,L,…", help="Which λ.")] = LAMS,
    dims: Annotated[
        str, typer.Option(metavar="K,K,…", help="On the top K principal axes, for each K; or all.")
    ] = "all",
    draws: Annotated[int, typer.Option(metavar="N", help="How often to draw each word.")] = 100,
    words: Annotated[
        str, typer.Option(metavar="FILE|all|N", help="Which words: of a file, all, or so many at random.")
    ] = "all",
    eta: Annotated[
        float, typer.Option(help="Count an answer for S_w only if it has at least this share of the draws.")
    ] = 0.0,
    compare_paper: Annotated[
        bool, typer.Option("--compare-paper", help="Put the paper's numbers beside ours.")
    ] = False,
    out: Out = None,
    seed: PublicSeed = 0,
    workers: Workers = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """N_w and S_w over ε and λ for all words of a vocabulary: their means, percentiles, and the claims."""
    grid = Grid(numbers(epsilons, "epsilons"), numbers(lams, "lams"), draws, eta, seed)
    check_out(out)
    chosen = chosen_device(device)
    vectors = load_embedding(embedding)
    axes = axes_of(dims, vectors.dim)
    ids = chosen_words(vectors, words, seed)
    parts = []
    for dim in axes:
        space = vectors if dim == vectors.dim else vectors.project(dim)
        found = run_sweep(space, grid, ids, checked_workers(workers), chosen)
        traces = [float(Metric.from_embedding(space, lam).scales.sum()) for lam in grid.lams]
        parts.append(Drawn(found, neighbour_distances(space, ids), traces))
    name = vectors.provenance.name or "these vectors"
    report = PrivacyReport(name, parts, compare=compare_paper)
    settings = {
        "vectors": name,
        "fingerprint": vectors.fingerprint,
        "words": len(ids),
        "dims": ", ".join(map(str, axes)),
        **asdict(grid),
        "other answers than the exact search": report.disagreement(),
    }
    paths = report.write(out, settings) if out is not None else []
    if as_json:
        verdicts = [asdict(verdict) for verdict in report.verdicts]
        typer.echo(json.dumps({"settings": settings, "rows": report.facts(), "claims": verdicts}, indent=2))
        return
    console = output()
    for table in report.tables():
        console.print(table.rich())
    tell(report.verdicts, paths)


@app.command()
def density(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: a table, or a text a line.")],
    text: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Which column; may be repeated.")
    ] = None,
    format: FormatOption = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    no_quotes: NoQuotes = False,
    embedding: EmbeddingName = DEFAULT_NAME,
    epsilon: Annotated[float, typer.Option(help="ε of the picture.")] = 10.0,
    draws: Annotated[
        int, typer.Option(metavar="N", help="How often to draw each word of the picture.")
    ] = 100,
    words: Annotated[int, typer.Option(metavar="N", help="How many words the picture shows.")] = 2000,
    compare_paper: Annotated[
        bool, typer.Option("--compare-paper", help="Put the paper's numbers beside ours.")
    ] = False,
    out: Out = None,
    seed: PictureSeed = 0,
    workers: Workers = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Where the words of some texts stand: the table of the paper's appendix. Prints counts, never a text."""
    grid = Grid((epsilon,), (0.0, 1.0), draws, seed=seed)
    name = "standard input" if str(file) == "-" else file.name
    check_whole(words, "words", "density", 1)
    check_out(out)
    chosen = chosen_device(device)
    vectors = load_embedding(embedding)
    layout = make_layout(format, delimiter, no_header, no_quotes)
    found = text_density(vectors, texts_of(file, text or [], layout))
    table, facts = density_table(name, found, compare=compare_paper), density_facts(name, found)
    settings = {
        "texts": name,
        "vectors": vectors.provenance.name,
        "fingerprint": vectors.fingerprint,
        "words": min(words, found.vocabulary),
        **asdict(grid),
    }
    paths = []
    if out is not None:
        shown = np.sort(np.random.default_rng([seed, 4]).permutation(found.ids)[:words])
        # Which words the texts hold is private, so that nothing about them is kept.
        drawn = run_sweep(vectors, grid, shown, checked_workers(workers), chosen, keep=False)
        paths = write_density(out, table, facts, drawn, neighbour_distances(vectors, shown), settings)
    if as_json:
        typer.echo(json.dumps({"settings": settings, "rows": [facts]}, indent=2))
        return
    output().print(table.rich())
    for path in paths:
        typer.echo(str(path))


@app.command("utility")
def utility_(
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
        Literal["perturbed", "clean"], typer.Option(help="What the classifier is tested on.")
    ] = "perturbed",
    embedding: EmbeddingName = DEFAULT_NAME,
    epsilons: Annotated[str, typer.Option(metavar="E,E,…", help="Which ε.")] = EPSILONS,
    lams: Annotated[str, typer.Option(metavar="L,L,…", help="Which λ.")] = "0,0.5,1",
    dims: Annotated[
        int | None, typer.Option(metavar="K", help="On the top K principal axes. By default all.")
    ] = None,
    repetitions: Annotated[int, typer.Option(metavar="N", help="Splits and draws.")] = 5,
    out: Out = None,
    seed: TextSeed = 0,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """How well classifiers do that learn from perturbed text. Prints scores, never a text."""
    check_out(out)
    layout = make_layout(format, delimiter, no_header, no_quotes)
    data = load_labelled(file, text, label, positive, layout)
    whole = load_embedding(embedding)
    vectors = whole if dims is None else whole.project(dims)
    grid = UtilityGrid(
        numbers(epsilons, "epsilons"), numbers(lams, "lams"), repetitions, classifier, test, seed
    )
    with count_progress("training") as watch:
        found = utility(data, vectors, grid, watch, device=chosen_device(device))
    known = known_format(file)
    report = UtilityReport(
        data.name, (data.positive, data.other), found, known="" if known is None else known.name
    )
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
    paths = report.write(out, settings) if out is not None else []
    if as_json:
        verdicts = [asdict(verdict) for verdict in report.verdicts]
        typer.echo(json.dumps({"settings": settings, "rows": report.facts(), "claims": verdicts}, indent=2))
        return
    console = output()
    for table in report.tables():
        console.print(table.rich())
    tell(report.verdicts, paths)


def check_out(out: Path | None) -> None:
    """Refuse, before the work begins, what could not be written after it."""
    if out is not None:
        if out.exists() and not out.is_dir():
            raise ParameterError(f"{out}: is not a folder. Hint: name another.")
        figure_class()
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass


def tell(verdicts: list[Verdict], paths: list[Path]) -> None:
    """Print what holds and what does not, and what was written."""
    for verdict in verdicts:
        typer.echo(str(verdict))
    for path in paths:
        typer.echo(str(path))


def texts_of(file: Path, columns: list[str], chosen: Layout) -> Iterator[str]:
    """Yield the text of each row of a file, several columns as one, null ones as empty; `-` is a pipe."""
    known = None if str(file) == "-" or chosen != Layout() else known_format(file)
    chosen = chosen if known is None else known.layout
    columns = columns or ([] if known is None else [known.text])
    with opened(str(file), chosen, other="text") as (source, name, layout, compression):
        table = open_table(source, name, layout, columns, compression=compression)
        for chunk in table.chunks():
            for row in zip(*chunk.texts.values(), strict=True):
                yield " ".join(text or "" for text in row)
        table.close()


def numbers(text: str, name: str) -> tuple[float, ...]:
    """Return the numbers of a list with commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--{name} must be numbers with commas between them.") from None


def axes_of(text: str, dim: int) -> list[int]:
    """Return the numbers of axes of a list with commas, in ascending order; all is a number too."""
    parts = [str(dim) if part.strip() == "all" else part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ParameterError("--dims must be whole numbers with commas between them, or all.")
    return sorted({check_whole(int(part), "dims", "privacy", 1, dim) for part in parts})


def chosen_words(vectors: Embedding, words: str, seed: int) -> NDArray[np.int64]:
    """Return the ids of all words, of so many at random, or of those in a file."""
    if words == "all":
        return np.arange(len(vectors))
    if words.isdecimal():
        count = min(check_whole(int(words), "words", "privacy", 1), len(vectors))
        return np.sort(np.random.default_rng([seed, 3]).choice(len(vectors), count, replace=False))
    given = read_word_list(Path(words))
    listed = [word for word in given if word in vectors]
    if not listed:
        raise FormatError(
            f"{words}: none of its words is in the vocabulary. Hint: a word a line, lower case."
        )
    if len(listed) < len(given):
        note(f"{words}: {len(given) - len(listed):,} words have no vector and are left out.")
    return np.unique(vectors.ids_of(listed))


def run_sweep(
    vectors: Embedding, grid: Grid, ids: NDArray[np.int64], workers: int, device: str, *, keep: bool = True
) -> Sweep:
    """Run a sweep with a bar on a terminal, going on from what an earlier one has left."""
    cache = _cache() if keep else None
    with count_progress("drawing") as watch:
        return sweep(vectors, grid, ids, workers=workers, device=device, cache=cache, watch=watch)


def _cache() -> Path | None:
    """Return a folder for the blocks of a sweep; None, with a note, where there can be none."""
    try:
        folder = user_folder("cache", "what was drawn") / "sweeps"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, MachineError):
        note("There is no cache folder that can be written. A run that is interrupted will begin anew.")
        return None
    return folder
