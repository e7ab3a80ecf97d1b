"""N_w and S_w of public words, at any settings, as a plain result."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.engines.local import checked_workers
from wordveil.evaluation.blocked_settings import block_list_facts
from wordveil.evaluation.claim_words import with_numbers
from wordveil.evaluation.claims import PERCENTILES, claims, mean_interval
from wordveil.evaluation.grid import Grid
from wordveil.evaluation.results import PrivacyResult
from wordveil.evaluation.settings import (
    EPSILONS,
    LAMS,
    Family,
    Setting,
    as_settings,
    families_of,
    make_grid,
    vectors_of,
)
from wordveil.evaluation.student import finite
from wordveil.evaluation.sweep import Sweep, block_count, sweep_family
from wordveil.evaluation.sweep_cache import chosen_cache
from wordveil.evaluation.text_density import neighbour_distances
from wordveil.evaluation.verdicts import Verdict
from wordveil.evaluation.word_selection import select_words
from wordveil.mechanisms import Mechanism
from wordveil.metric import Metric

__all__ = ["privacy_sweep"]

_ANY: Final = 1.0  # in place of an ε that a mechanism does not have


class _FamilyPart(NamedTuple):
    """A family of settings, its sweep, and the distance of each of its words to the nearest neighbour."""

    family: Family
    sweep: Sweep
    sparseness: NDArray[np.float64]


def privacy_sweep(
    mechanisms: Embedding | Mechanism | Setting | Iterable[Mechanism | Setting],
    words: str | int | Path | Iterable[str] = "all",
    draws: int = 100,
    *,
    eta: float = 0.0,
    seed: int = 0,
    workers: int | None = None,
    device: str = "cpu",
    cache: Path | bool = True,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> PrivacyResult:
    """Draw public words many times with each mechanism: how often a word stays, and how many answers it has.

    Any mechanism is drawn by its `perturb_ids`. For the paper's noise with the nearest word there are faster
    ways to the same law, which share directions within a block of words, or use a GPU.

    Parameters
    ----------
    mechanisms : mechanisms, or Embedding
        Which settings; see `make_grid`. An embedding stands for the paper's grid on it.
    words : str, int, list of str or Path
        "all", that many random words, a list of words, or a file with one word per line.
    draws : int
        How often each word is drawn.
    eta : float
        An answer counts for S_w only if it has at least this share of the draws.
    seed : int
        The words are public, so the noise need not be secret.
    workers : int, optional
        Threads (default: one per core).
    device : str
        Where the faster way runs: "cpu", "auto" (a GPU if there is one), or a PyTorch device (extra `cuda`).
    cache : bool or Path
        Whether to keep finished blocks, so that an interrupted call continues when it is repeated: in the
        user's cache folder, or in this folder.
    watch : callable
        Called with the number of finished blocks and the number of all blocks.

    Examples
    --------
    >>> import wordveil as wv
    >>> grid = wv.evaluation.make_grid(wv.load_embedding(), [10.0], [0.0, 1.0], dims=[20])
    >>> result = wv.evaluation.privacy_sweep(grid, words=200, draws=20)
    >>> [(row["statistic"], row["unit"], row["lam"]) for row in result.rows()][:2]
    [('N_w', '% of draws', 0.0), ('N_w', '% of draws', 1.0)]
    """
    settings = make_grid(mechanisms, EPSILONS, LAMS) if isinstance(mechanisms, Embedding) else mechanisms
    families = families_of(as_settings(settings, "privacy_sweep"))
    grids = [_grid(family, draws, eta, seed) for family in families]
    threads, folder = checked_workers(workers), chosen_cache(cache)
    listed = words if isinstance(words, str | int | Path) else list(words)
    selections = [select_words(_space(family), listed, seed) for family in families]
    totals = [block_count(len(selection.ids)) for selection in selections]
    parts = []
    for number, (family, grid, selection) in enumerate(zip(families, grids, selections, strict=True)):
        before = sum(totals[:number])
        drawn = sweep_family(
            family,
            grid,
            selection.ids,
            workers=threads,
            device=device,
            cache=folder,
            watch=lambda done, _, before=before: watch(before + done, sum(totals)),  # type: ignore[misc]
        )
        parts.append(_FamilyPart(family, drawn, neighbour_distances(_space(family), selection.ids)))
    facts = [row for part in parts for row in _rows(part)]
    return PrivacyResult(_name(families), _settings(parts, selections[0].missing), facts, _verdicts(parts))


def _space(family: Family) -> Embedding:
    return family.first.mechanism.embedding


def _name(families: list[Family]) -> str:
    """Return the names of the vectors; of those with several numbers of axes, the name without the number."""
    names = {_space(family).provenance.name for family in families}
    if len(names) > 1:
        names = {name.partition("[")[0] for name in names}
    return ", ".join(sorted(filter(None, names))) or "these vectors"


def _grid(family: Family, draws: int, eta: float, seed: int) -> Grid:
    epsilons = tuple(_ANY if epsilon is None else epsilon for epsilon in family.epsilons)
    lams = tuple(0.0 if lam is None else lam for lam in family.lams)
    return Grid(epsilons, lams, draws, eta, seed)


def _rows(part: _FamilyPart) -> Iterator[dict[str, Any]]:
    draws = part.sweep.grid.draws
    statistics = {
        "N_w": ("% of draws", part.sweep.n_w, (0.0, 100.0)),
        "S_w": (f"answers in {draws} draws", part.sweep.s_w, (0.0, float(draws))),
    }
    for statistic, (unit, values, limits) in statistics.items():
        for i, j in np.ndindex(*values.shape[:2]):
            interval = asdict(mean_interval(part.sweep, values[i, j]))
            for bound in ("low", "high", "paper_low", "paper_high"):
                number = finite(interval[bound])
                interval[bound] = None if number is None else min(max(number, limits[0]), limits[1])
            levels = np.percentile(values[i, j], PERCENTILES).tolist()
            yield (
                {"statistic": statistic, "unit": unit}
                | part.family.members[i][j].facts()
                | interval
                | {f"p{p}": level for p, level in zip(PERCENTILES, levels, strict=True)}
            )


def _verdicts(parts: list[_FamilyPart]) -> list[Verdict]:
    """Return the verdicts on the paper's claims for each family with at least two λ."""
    verdicts = []
    for part in parts:
        if len(part.family.lams) < 2:
            continue
        lams = part.sweep.grid.lams if part.family.is_additive else ()
        traces = [float(Metric.from_embedding(_space(part.family), lam).scales.sum()) for lam in lams]
        where = part.family.distinction([other.family for other in parts]) if len(parts) > 1 else ""
        verdicts += [
            with_numbers(verdict, {"where": where} if where else {})
            for verdict in claims(part.sweep, part.sparseness, traces)
        ]
    return verdicts


def _settings(parts: list[_FamilyPart], missing: int) -> dict[str, Any]:
    """Return what the numbers depend on, once for all parts."""
    first = parts[0].sweep
    settings = [setting for part in parts for row in part.family.members for setting in row]
    facts = [setting.facts() for setting in settings]

    def different(name: str) -> list[Any]:
        return sorted({fact[name] for fact in facts if fact[name] is not None})

    return {
        **vectors_of(settings),
        "words": len(first.ids),
        "words_without_vector": missing,
        "mechanism": different("mechanism"),
        "dims": different("dims"),
        "epsilons": different("epsilon"),
        "lams": different("lam"),
        "answer": different("answer"),
        "draws": first.grid.draws,
        "eta": first.grid.eta,
        "seed": first.grid.seed,
        **block_list_facts(setting for part in parts for row in part.family.members for setting in row),
        "blocks": int(first.block.max()) + 1,
        "precision": [
            {
                "dims": part.sweep.dim,
                "mechanism": part.family.first.facts()["mechanism"],
                "mean_distance_to_neighbour": float(part.sparseness.mean()),
                "other_answers_than_exact": part.sweep.disagreement.share,
                "other_answers_at_most": part.sweep.disagreement.high,
            }
            for part in parts
        ],
    }
