"""`wordveil tune`: a setting for a goal."""

import json
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.atomic import atomic_write
from wordveil.cli.console import note, output
from wordveil.cli.experiment_inputs import NoCache, parse_numbers, resumable
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import Device, Json, TableOptions, chosen_device
from wordveil.cli.setting import AttackerOptions
from wordveil.cli.spaces import (
    ClassifierOptions,
    Draws,
    LabelledOptions,
    Lams,
    Repetitions,
    SpaceOptions,
    about_texts,
    common_arguments,
    dims_option,
)
from wordveil.errors import ParameterError
from wordveil.evaluation.frontier_cache import user_facts
from wordveil.evaluation.results import TuningResult
from wordveil.evaluation.tuning import tune as find_setting
from wordveil.evaluation.tuning_words import NOT_PRIVATE
from wordveil.mechanisms.registry import needed_options
from wordveil.report.output import check_folder
from wordveil.report.report import make_report
from wordveil.report.terminal import show_report

__all__ = ["tune"]

DIMS: Final = (5, 10, 15, 25, 50)
_FAILED: Final = 3
_goal: Final = partial(typer.Option, rich_help_panel="What the setting must satisfy")
_share: Final = partial(_goal, metavar="SHARE")


@dataclass(frozen=True)
class _SpaceOptions(SpaceOptions):
    lams: Lams = "0,0.25,0.5,0.75,1"
    dims: Annotated[str | None, dims_option(DIMS)] = None


@dataclass(frozen=True)
class _ClassifierOptions(ClassifierOptions):
    repetitions: Repetitions = 5


@with_option_sets
def tune(
    *,
    max_attack: Annotated[float | None, _share(help="S, how often a word is guessed.")] = None,
    max_attack_on_watched: Annotated[
        float | None, _share(help="How often words on sensitive topics are recognised, on average.")
    ] = None,
    max_linkage: Annotated[float | None, _share(help="How often a text is linked to its original.")] = None,
    max_unchanged: Annotated[float | None, _share(help="How often a word stays, on average.")] = None,
    at_percentile: Annotated[
        float | None,
        _goal(
            metavar="P", help="Judge this percentile over words, such as 95, in place of these two averages."
        ),
    ] = None,
    max_exponent: Annotated[
        float | None, _goal(metavar="E", help="ε·d to the ten words nearest in meaning, at the median.")
    ] = None,
    min_accuracy: Annotated[
        float | None, _share(help="Accuracy of a classifier, relative to that on unperturbed text.")
    ] = None,
    min_closeness: Annotated[
        float | None, _goal(metavar="COSINE", help="Mean cosine of content words and answers.")
    ] = None,
    compared: _SpaceOptions,
    epsilons: Annotated[
        str | None, typer.Option(metavar="E,E,…", help="Try these ε first (default: by what is guessed).")
    ] = None,
    draws: Draws = 5000,
    labelled: LabelledOptions,
    table: TableOptions,
    learning: _ClassifierOptions,
    pad_to: Annotated[
        int | None, about_texts(metavar="L", help="Pad texts to L words before linking.")
    ] = None,
    attacker: AttackerOptions,
    out: Annotated[
        Path | None, typer.Option(help="Write the tables, the figure and an HTML page to this folder.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the settings file for --config.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file of --save.")] = False,
    device: Device = "auto",
    no_cache: NoCache = False,
    as_json: Json = False,
) -> int:
    """Find the setting with the best utility under limits for privacy, or the other way round.

    Constraints are judged by the unfavourable end of their 95% intervals; the exit code is 3 if no setting
    satisfies them. If it is interrupted, run the same command again.
    """
    check_folder(out)
    _check_file(save, force=force)
    common = common_arguments(compared, labelled, table, learning, attacker, DIMS, to_release=True)
    with resumable("tuning", user_facts, no_cache) as (cache, watch):
        result = find_setting(
            max_attack=max_attack,
            max_attack_on_watched=max_attack_on_watched,
            max_linkage=max_linkage,
            max_unchanged=max_unchanged,
            at_percentile=at_percentile,
            max_exponent=max_exponent,
            min_accuracy=min_accuracy,
            min_closeness=min_closeness,
            **common,
            epsilons=None if epsilons is None else parse_numbers(epsilons, "epsilons"),
            pad_to=pad_to,
            draws=draws,
            device=chosen_device(device),
            cache=cache,
            watch=watch,
        )
    _show(result, out, save if result.is_met else None, force=force, as_json=as_json)
    if result.is_met:
        return 0
    unsaved = "" if save is None else f" {save} was not written."
    note(f"wordveil: {result.shortfall}{unsaved} Hint: relax a limit.")
    return _FAILED


def _check_file(path: Path | None, *, force: bool) -> None:
    """Raise an error before the work begins if the settings file could not be written afterwards."""
    if path is None:
        return
    if path.is_dir():
        raise ParameterError(f"{path}: is a folder. Hint: name a file.")
    if path.exists() and not force:
        raise ParameterError(f"{path} exists already. Hint: --force replaces it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "No such folder", str(path.parent))
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def _show(result: TuningResult, out: Path | None, save: Path | None, *, force: bool, as_json: bool) -> None:
    """Print and write the result; the settings file of a setting within all limits is printed last."""
    report = make_report(result)
    paths = report.write(out) if out is not None else []
    if save is not None:
        with atomic_write(save, force=force) as file:
            if result.is_private:
                Path(file.name).chmod(0o600)
            file.write(settings_file(result).encode())
        paths.append(save)
    if result.is_private:
        note(f"wordveil: warning: {NOT_PRIVATE}")
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
        return
    show_report(output(), report, paths)
    if result.is_met:
        typer.echo(settings_file(result))


def settings_file(result: TuningResult) -> str:
    """Return the settings file, which says where it comes from, and what must be added to use it."""
    assert result.chosen is not None
    lines = [f"# chosen by wordveil tune: {constraint}" for constraint in result.problem["constraints"]]
    if needed := needed_options(result.chosen["mechanism"]):
        lines.append(f"# Whoever releases text with it must add: {', '.join(needed)} = true.")
    if result.is_private:
        lines.append("# The choice depends on labelled texts: if these are private, so is this file.")
    return "\n".join([*lines, result.chosen["toml"], ""])
