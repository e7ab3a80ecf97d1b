"""`wordveil experiment paper`: all tables, figures and claims of the paper, on one page."""

from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.console import count_progress, note
from wordveil.cli.experiment_inputs import NoCache, kept_when_stopped, show_result, usable_cache
from wordveil.cli.options import Device, EmbeddingName, Json, chosen_device
from wordveil.embedding import load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.evaluation.paper_experiment import PaperRun, is_known_file
from wordveil.evaluation.paper_statements import DRAWS, REPETITIONS
from wordveil.evaluation.sweep_cache import user_sweeps
from wordveil.evaluation.utility_cache import user_scores
from wordveil.report.output import check_folder
from wordveil.report.report import make_report

__all__ = ["paper"]

_MINUTE = 60.0


def paper(
    out: Annotated[Path, typer.Option(help="Write all tables, figures and pages to this folder.")],
    sms: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The SMS Spam Collection: label, tab, text.")
    ] = None,
    tweets: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The disaster tweets of Kaggle: train.csv.")
    ] = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    words: Annotated[
        str, typer.Option(metavar="all|N", help="Draw all words, or N random ones for a quick look.")
    ] = "all",
    draws: Annotated[int, typer.Option(metavar="N", help="How often to draw each word.")] = DRAWS,
    repetitions: Annotated[int, typer.Option(metavar="N", help="How many splits and draws.")] = REPETITIONS,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Threads (default: one per core).")] = None,
    device: Device = "auto",
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: every table, figure and claim, and one page that compares it with ours.

    The data files are not part of wordveil; without them, only the privacy of words is measured. If it is
    interrupted, run the same command again: it continues.
    """
    check_folder(out)
    files = {name: path for name, path in {"sms": sms, "tweets": tweets}.items() if path is not None}
    for name in {"sms", "tweets"} - files.keys():
        note(f"note: without --{name} FILE, its experiments are left out; the docs say where to get it.")
    caches = usable_cache(user_sweeps, no_cache), usable_cache(user_scores, no_cache)
    run = PaperRun(
        load_embedding(embedding),
        files,
        words=words,
        draws=draws,
        repetitions=repetitions,
        workers=workers,
        device=chosen_device(device),
        caches=caches,
    )
    for name, path in files.items():
        if not is_known_file(path):
            note(f"note: {path} is not the file that the documented numbers for the {name} come from.")
    with kept_when_stopped(caches[0]):
        if not no_cache:
            _print_expected(run)
        results = []
        for step in run.steps:
            with count_progress(step.name) as watch:
                results.append(step.run(watch))
            make_report(results[-1]).write(out / step.name)
    show_result(run.result(results), out, as_json=as_json)


def _print_expected(run: PaperRun) -> None:
    """Measure the first parts of each experiment, and say how long the rest will take."""
    expected = list(run.expected_seconds())
    parts = ", ".join(f"{name} {_duration(seconds)}" for name, seconds in expected)
    note(f"Expected time: about {_duration(sum(seconds for _, seconds in expected))} ({parts}).")


def _duration(seconds: float) -> str:
    """Return a duration in words.

    Examples
    --------
    >>> _duration(12.2), _duration(700.0)
    ('13 s', '12 min')
    """
    return f"{seconds / _MINUTE:.0f} min" if seconds >= 2 * _MINUTE else f"{int(seconds) + 1} s"
