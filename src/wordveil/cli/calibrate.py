"""`wordveil calibrate`: finds the ε at which a setting reaches a goal."""

import json
from dataclasses import replace
from typing import Annotated, Final

import typer

from wordveil.attacker import guess_rate
from wordveil.cli.console import waiting
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import (
    Answer,
    Dims,
    EmbeddingName,
    Json,
    Lam,
    MechanismOption,
    MechanismOptions,
    mechanism_of,
)
from wordveil.cli.setting import AttackerOptions, chosen_prior
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import ParameterError
from wordveil.evaluation.calibration import calibrate_attack, calibrate_unchanged
from wordveil.exposure import measure_exposure
from wordveil.mechanisms import Mechanism, make_mechanism
from wordveil.prior import Prior
from wordveil.profiles import PROFILES
from wordveil.report.calibration_text import calibration_text

__all__ = ["calibrate"]

_LIKE: Final = (
    "--like must be a profile, NAME:EPSILON or NAME:EPSILON:DIMS, for example balanced or laplace:6:25."
)


@with_option_sets
def calibrate(
    context: typer.Context,
    *,
    target_attack: Annotated[
        float | None,
        typer.Option(
            "--target-attack",
            metavar="SHARE",
            help="How often the best guess of an attacker may be right, such as 0.3.",
        ),
    ] = None,
    target_unchanged: Annotated[
        float | None,
        typer.Option(
            "--target-unchanged", metavar="SHARE", help="How many words of the vocabulary stay, such as 0.25."
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="PROFILE|NAME:EPSILON[:DIMS]",
            help="As often as with this profile, or at this ε of a mechanism with its default options.",
        ),
    ] = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    dims: Dims = None,
    mechanism: MechanismOption = "mahalanobis",
    lam: Lam = None,
    answer: Answer = None,
    option: MechanismOptions = None,
    as_json: Json = False,
    attacker: AttackerOptions,
) -> None:
    """Find the ε at which a setting reaches a goal, with its interval.

    The goal is one of --target-attack, --target-unchanged and --like. Only public words are drawn.
    """
    if sum(goal is not None for goal in (target_attack, target_unchanged, like)) != 1:
        raise ParameterError("Which goal? Hint: one of --target-attack, --target-unchanged and --like.")
    vectors = load_embedding(embedding)

    def make(epsilon: float) -> Mechanism:
        return mechanism_of(
            context, mechanism, vectors, epsilon, lam=lam, dims=dims, options=option or (), answer=answer
        )

    prior = chosen_prior(make(1.0).embedding, attacker)
    with waiting("measuring"):
        if target_unchanged is not None:
            result = calibrate_unchanged(make, target_unchanged)
        else:
            target = _success_of(like, vectors, prior, attacker) if like is not None else target_attack
            assert target is not None
            result = calibrate_attack(make, prior, target)
        safe = make(result.low)
        exposure = measure_exposure(safe, prior)
    if as_json:
        facts = result.to_dict() | {
            "goal": "unchanged" if target_unchanged is not None else "attack",
            "like": like,
            "setting": safe.setting(),
            "attacker": exposure.to_dict(),
        }
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    typer.echo(calibration_text(safe, exposure, result, unchanged=target_unchanged is not None))


def _success_of(like: str, vectors: Embedding, prior: Prior, attacker: AttackerOptions) -> float:
    """Return how often the best guess is right with a profile, or at a setting NAME:EPSILON[:DIMS]."""
    if like in PROFILES:
        profile = PROFILES[like].load()
        # If they are not public, that has been said about the other vocabulary already.
        attacker = replace(attacker, frequencies_are_public=attacker.frequencies is not None)
        return guess_rate(profile, chosen_prior(profile.embedding, attacker)).success.share
    name, *numbers = like.split(":")
    try:
        epsilon, dims = float(numbers[0]), int(numbers[1]) if len(numbers) > 1 else None
    except (IndexError, ValueError):
        raise ParameterError(_LIKE) from None
    if len(numbers) > 2:
        raise ParameterError(_LIKE)
    space = vectors if dims is None else vectors.project(dims)
    rate = guess_rate(make_mechanism(name, space, epsilon), prior)
    if not rate.exact:
        raise ParameterError(
            f"The mechanism '{name}' has no closed form to compare with. Hint: --target-unchanged."
        )
    return rate.success.share
