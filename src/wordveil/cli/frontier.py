"""`wordveil frontier`: what λ, spaces, mechanisms and answers buy at equal attack."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.cli.block_options import MeasuredBlockOptions
from wordveil.cli.experiment_inputs import (
    NoCache,
    parse_numbers,
    resumable,
    show_result,
)
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import Device, Json, TableOptions, chosen_device
from wordveil.cli.setting import AttackerOptions
from wordveil.cli.spaces import (
    ClassifierOptions,
    Draws,
    LabelledOptions,
    SpaceOptions,
    common_arguments,
    dims_option,
    parse_shares,
)
from wordveil.evaluation.frontier_cache import user_facts
from wordveil.evaluation.frontier_experiment import frontier as measure_frontier
from wordveil.report.output import check_folder

__all__ = ["frontier"]

DIMS: Final = (10, 15, 50)


@dataclass(frozen=True)
class _FrontierSpaces(SpaceOptions):
    dims: Annotated[str | None, dims_option(DIMS)] = None


@with_option_sets
def frontier(
    *,
    compared: _FrontierSpaces,
    clean: MeasuredBlockOptions,
    attacks: Annotated[
        str,
        typer.Option(metavar="S,S,…", help="Draw each line through the ε at which S is about this."),
    ] = "0.1,0.2,0.3,0.45",
    epsilons: Annotated[
        str | None, typer.Option(metavar="E,E,…", help="These ε on every line, in place of --attacks.")
    ] = None,
    draws: Draws = 2000,
    word_draws: Annotated[
        int, typer.Option(metavar="N", help="Draws of each word, for N_w and for watched words.")
    ] = 20,
    labelled: LabelledOptions,
    table: TableOptions,
    learning: ClassifierOptions,
    attacker: AttackerOptions,
    out: Annotated[
        Path | None, typer.Option(help="Write the tables, the figures and an HTML page to this folder.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", help="Seed of the draws: only public words and scores are shown."
        ),
    ] = 0,
    device: Device = "auto",
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """Compare settings by what an attacker gains: closeness, proven limits, what a classifier learns.

    Without --data only public words are drawn. If it is interrupted, run the same command again.
    """
    check_folder(out)
    search_device = chosen_device(device)
    targets = parse_shares(attacks, "attacks")
    values = None if epsilons is None else parse_numbers(epsilons, "epsilons")
    common = common_arguments(compared, labelled, table, learning, attacker, DIMS, to_release=False)
    with resumable("measuring", user_facts, no_cache) as (cache, watch):
        result = measure_frontier(
            **common,
            attacks=targets,
            epsilons=values,
            draws=draws,
            word_draws=word_draws,
            seed=seed,
            device=search_device,
            blocked=clean.blocked(),
            cache=cache,
            watch=watch,
        )
    show_result(result, out, as_json=as_json)
