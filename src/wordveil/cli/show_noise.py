"""`wordveil show-noise`: round and shaped noise side by side."""

from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.cli.options import EmbeddingName
from wordveil.cli.setting import HOW_TO_CHOOSE, OptionalEpsilon, ProfileForFigure, chosen_profile
from wordveil.embedding import load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import ParameterError, check_real
from wordveil.noise import check_epsilon
from wordveil.report.plots import draw_noise

__all__ = ["show_noise"]

# Common words from different regions, so their contours do not overlap; the figure in docs/ shows them.
_WORDS: Final = ("king", "monday", "boston", "diabetes", "software")
_OTHER_WORDS: Final = 8  # of the vocabulary, if it has none of these; more labels crowd the figure


def show_noise(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The figure to write: .png or .svg.")],
    profile: ProfileForFigure = None,
    epsilon: OptionalEpsilon = None,
    lam: Annotated[float, typer.Option(help="λ of the right panel.")] = 1.0,
    axes: Annotated[
        tuple[int, int] | None,
        typer.Option(
            help="Which principal axes, counted from the strongest, 1 (default: 1 and 30, or the last)."
        ),
    ] = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    word: Annotated[
        list[str] | None, typer.Option(help="Draw the noise around this public word; may be repeated.")
    ] = None,
) -> None:
    """Draw round and shaped noise at the same ε around real words (Figure 1 of the paper)."""
    ready = chosen_profile(context, profile, ("epsilon", "embedding"))
    if ready is not None:
        epsilon, embedding = ready.epsilon, ready.embedding
    if epsilon is None:
        raise ParameterError(HOW_TO_CHOOSE)
    epsilon = check_epsilon(epsilon, "show-noise")
    lam = check_real(lam, "lam", "show-noise", "be in [0, 1]", 0.0, 1.0)
    vectors = load_embedding(embedding)
    words = word or [name for name in _WORDS if name in vectors] or list(vectors.words[:_OTHER_WORDS])
    draw_noise(vectors, epsilon, lam, words, axes or (1, min(30, vectors.dim)), out)
    typer.echo(f"{out}: λ = 0 beside λ = {lam:g} at ε = {epsilon:g}")
