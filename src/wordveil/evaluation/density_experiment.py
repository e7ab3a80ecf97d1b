"""How densely the words of texts lie, as a plain result."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from wordveil.embedding import Embedding, load_embedding
from wordveil.engines.local import checked_workers
from wordveil.errors import ParameterError, check_whole, sealed
from wordveil.evaluation.grid import Grid
from wordveil.evaluation.results import DensityResult
from wordveil.evaluation.sweep import sweep
from wordveil.evaluation.text_density import Density, neighbour_distances, text_density

__all__ = ["density"]

_POINT_DIGITS: Final = 2  # a dot of the figure is larger; some 40 words of the default vectors share a value


@sealed
def density(
    texts: Iterable[str],
    embedding: Embedding | None = None,
    *,
    name: str = "texts",
    epsilon: float = 10.0,
    draws: int = 100,
    words: int = 2000,
    seed: int = 0,
    workers: int | None = None,
    device: str = "cpu",
    watch: Callable[[int, int], None] = lambda *_: None,
) -> DensityResult:
    """Return how densely the words of texts lie, and how that decides which of them stay.

    The result is computed from the texts without noise, so it is private if they are; it holds no word.

    Parameters
    ----------
    texts : iterable of str
        One text per record.
    embedding : Embedding, optional
        Public words and vectors (default: the default vectors).
    name : str
        What to call the texts.
    epsilon : float
        The ε at which some words are drawn, at λ = 0 and λ = 1.
    draws, words : int
        How many words are drawn, and how often each; with 0 words, none.
    seed : int
        Makes the choice of words and their draws repeatable. The draws are not for release.
    workers, device, watch
        As in `privacy_sweep`. Which words the texts contain is private, so nothing is kept on disk.

    Examples
    --------
    >>> import wordveil as wv
    >>> result = wv.evaluation.density(["book a flight to boston", "a red house"], draws=10)
    >>> result.rows()[0]["vocabulary"], result.is_private, len(result.points)
    (7, True, 14)
    """
    if isinstance(texts, str):
        raise ParameterError("The 'texts' parameter of density must be a list of texts.")
    check_whole(words, "words", "density", 0)
    grid = Grid((epsilon,), (0.0, 1.0), draws, seed=seed)
    threads = checked_workers(workers)
    vectors = load_embedding() if embedding is None else embedding
    result = text_density(vectors, texts)
    shown = np.sort(np.random.default_rng([seed, 4]).permutation(result.ids)[:words])
    points: list[dict[str, Any]] = []
    if words:
        drawn = sweep(vectors, grid, shown, workers=threads, device=device, watch=watch)
        # All digits of a distance, or the order of the vocabulary, would say which word a point is.
        distances = neighbour_distances(vectors, shown).round(_POINT_DIGITS).tolist()
        for i, lam in enumerate(grid.lams):
            points += [
                {"distance": distance, "lam": lam, "epsilon": epsilon, "n_w": n_w}
                for distance, n_w in sorted(zip(distances, drawn.n_w[i, 0].tolist(), strict=True))
            ]
    settings = {
        "texts": name,
        "vectors": vectors.provenance.name or "these vectors",
        "fingerprint": vectors.fingerprint,
        "dims": vectors.dim,
        "words": len(shown),
        "epsilons": [epsilon],
        "lams": list(grid.lams),
        "draws": draws,
        "seed": seed,
    }
    return DensityResult(name, settings, [_row(name, result)], is_private=True, points=points)


def _row(name: str, result: Density) -> dict[str, Any]:
    ratios = ("d_max_over_d_min", "sparsest_over_densest")
    shaped = None if result.shaped is None else dict(zip(ratios, result.shaped, strict=True))
    return {
        "texts": name,
        "records": result.records,
        "words_per_record_mean": result.words_mean,
        "words_per_record_deviation": result.words_deviation,
        "vocabulary": result.vocabulary,
        "d_max_over_d_min": result.spread,
        "extreme_words": result.extreme_words,
        "sparsest_over_densest": result.extremes,
        "share_with_sparsest": result.share,
        "at_lam_1": shaped,
    }
