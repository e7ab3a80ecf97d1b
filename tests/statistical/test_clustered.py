"""The clustered mechanism as a black box in 1, 2 and 3 dimensions: its bound holds, and mistakes break it.

What is seen is the answer of `perturb_ids`; or the pair of the region and the answer, for which the promise holds
too, since it is a function of the region and the noisy point. The pairs come from the parts of the mechanism, and
`perturb_ids` is shown to be the same function of the stream. Words are on two crossing lines, one region each; or, in
one dimension and where most of ε is for the choice of a region, on one line with a region for each side. n = 200,000
draws per word. The first half chooses, for each pair of words, what is seen with the largest log-ratio; the second
half gives Clopper-Pearson bounds. Level: 1e-6 for all pairs together.

Power: a bound on a log-ratio is within about 0.2 of the truth where something is seen 200 times in 100,000; the
mistakes below exceed the bound by 0.4 or more.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordveil as wv
from wordveil.mechanisms import Clustered
from wordveil.mechanisms.regions import Regions

DRAWS = 200_000
ALPHA = 1e-6
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Choose = Callable[[Clustered, Ints, wv.Stream], Ints]


def words(dim: int, sides: bool) -> tuple[wv.Embedding, Ints]:
    """Return words along the first axis with a region for each side, or on two crossing lines."""
    turn = np.linalg.qr(np.random.default_rng(dim).normal(size=(dim, dim)))[0]
    first = np.zeros((8, dim))
    first[:, 0] = [-3.2, -2.4, -1.6, -0.8, 0.8, 1.6, 2.4, 3.2]
    if sides:
        rows, labels = first, (first[:, 0] > 0.0).astype(np.int64)
    else:
        second = np.roll(first, 1, axis=1)
        second[:, 0] += 0.2
        rows, labels = np.vstack((first, second)), np.repeat([0, 1], 8)
    if dim > 1:
        rows += 0.05 * np.random.default_rng(1).normal(size=rows.shape)
    return wv.Embedding([f"w{i}" for i in range(len(rows))], rows @ turn, public=True), labels


def regions(embedding: wv.Embedding, labels: Ints, lam: float) -> tuple[Regions, list[Floats]]:
    """Return the regions of these labels by their definition, and A_r in the embedding's own coordinates."""
    rows, dim, axes = embedding.vectors.astype(np.float64), embedding.dim, embedding.spectrum.axes
    total = np.atleast_2d(np.cov(rows, rowvar=False))
    parts, centres = [], []
    for region in range(2):
        members = rows[labels == region]
        own = np.atleast_2d(np.cov(members, rowvar=False))
        mixed = len(members) * own * dim / np.trace(own) + dim * total * dim / np.trace(total)
        values, vectors = np.linalg.eigh(lam * mixed / (len(members) + dim) + (1.0 - lam) * np.eye(dim))
        parts.append((np.maximum(values, 0.1), vectors))
        centres.append(members.mean(axis=0))
    regions = Regions(
        np.append(labels, 0),
        np.array(centres) @ axes,
        np.array([values for values, _ in parts]),
        np.array([axes.T @ vectors for _, vectors in parts]),
    )
    return regions, [(vectors * values) @ vectors.T for values, vectors in parts]


def bounds(embedding: wv.Embedding, matrices: list[Floats], first: float, second: float) -> Floats:
    """Return ε₁·d₂ + ε₂·max_r d_{A_r} for all pairs, from the raw vectors."""
    rows = embedding.vectors.astype(np.float64)
    x = rows[:, None] - rows[None, :]
    local = [np.sqrt(np.einsum("abi,ij,abj->ab", x, np.linalg.inv(matrix), x)) for matrix in matrices]
    return np.asarray(first * np.linalg.norm(x, axis=2) + second * np.max(local, axis=0))


def right(mechanism: Clustered, ids: Ints, stream: wv.Stream) -> Ints:
    chosen = mechanism._chosen_regions(ids, stream)
    return pair(mechanism, ids, chosen, chosen, stream)


def pair(mechanism: Clustered, ids: Ints, seen: Ints, shape: Ints, stream: wv.Stream) -> Ints:
    answers = mechanism._answers(shape, mechanism._noisy_points(ids, shape, stream))
    return np.asarray(seen * len(mechanism.embedding) + answers)


def own_noise(mechanism: Clustered, ids: Ints, stream: wv.Stream) -> Ints:
    """The noise of the word's own region in place of the one that was drawn."""
    chosen = mechanism._chosen_regions(ids, stream)
    return pair(mechanism, ids, chosen, mechanism.shapes.labels[ids], stream)


def nearest_region(mechanism: Clustered, ids: Ints, stream: wv.Stream) -> Ints:
    """The nearest region, without noise."""
    chosen = mechanism.log_regions[ids].argmax(axis=1)
    return pair(mechanism, ids, chosen, chosen, stream)


def not_halved(mechanism: Clustered, ids: Ints, stream: wv.Stream) -> Ints:
    """ε₁ in place of ε₁/2 in the choice of a region."""
    logs = 2.0 * mechanism.log_regions[ids]
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    uniforms = stream.uniforms((len(ids),))
    chosen = (np.exp(logs).cumsum(axis=1) <= uniforms[:, None]).sum(axis=1)
    chosen = np.minimum(chosen, 1)
    return pair(mechanism, ids, chosen, chosen, stream)


def public(mechanism: Clustered, ids: Ints, stream: wv.Stream) -> Ints:
    """The answers alone, as a user has them."""
    return mechanism.perturb_ids(ids, stream=stream)


class OwnNoise(Clustered):
    """The noise of the word's own region, as a whole mechanism."""

    def _perturb(self, ids: Ints, stream: wv.Stream) -> Ints:
        self._chosen_regions(ids, stream)
        own = self.shapes.labels[ids]
        return self._answers(own, self._noisy_points(ids, own, stream))


def prepared(kind: type[Clustered], dim: int, epsilon: float, share: float) -> tuple[Clustered, list[Floats]]:
    """Return a mechanism with regions by their definition, and A_r of each."""
    embedding, labels = words(dim, sides=dim == 1 or share > 0.5)
    mechanism = kind(embedding, epsilon, 1.0, 2, share)
    shapes, matrices = regions(embedding, labels, 1.0)
    object.__setattr__(mechanism, "shapes", shapes)
    return mechanism, matrices


def excess(
    choose: Choose, dim: int, epsilon: float, share: float, kind: type[Clustered] = Clustered
) -> tuple[float, float]:
    """Return the worst certain excess over the bound, and the largest share of it that is surely reached."""
    mechanism, matrices = prepared(kind, dim, epsilon, share)
    allowed = bounds(mechanism.embedding, matrices, share * epsilon, (1.0 - share) * epsilon)
    count, half = len(mechanism.embedding), DRAWS // 2
    tallies = np.zeros((2, count, 2 * count))
    for part in range(2):
        stream = wv.insecure_stream(part)
        for word in range(count):
            seen = choose(mechanism, np.full(half, word), stream)
            tallies[part, word] = np.bincount(seen, minlength=2 * count)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    worst, reached = -np.inf, 0.0
    for a, b in pairs:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(tallies[0, a]) - np.log(np.maximum(tallies[0, b], 0.5))
        event = int(np.where(tallies[0, a] >= 200, ratios, -np.inf).argmax())
        hits, misses = tallies[1, a, event], tallies[1, b, event]
        level = ALPHA / (2 * len(pairs))
        low = stats.beta.ppf(level, hits, half - hits + 1) if hits else 0.0
        high = stats.beta.ppf(1.0 - level, misses + 1, half - misses)
        if low > 0.0:
            certain = float(np.log(low / high))
            worst, reached = max(worst, certain - allowed[a, b]), max(reached, certain / allowed[a, b])
    return worst, reached


@pytest.mark.parametrize(
    ("choose", "share", "least"), [(right, 0.2, 0.4), (right, 0.9, 0.4), (public, 0.2, 0.3)]
)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_bound_holds(choose: Choose, dim: int, share: float, least: float) -> None:
    worst, reached = excess(choose, dim, 1.5, share)
    assert worst <= 0.0
    assert reached > least  # it is no empty promise


def same_answers(mechanism: Clustered) -> bool:
    """Say whether perturb_ids gives the answers of its parts, draw by draw."""
    count = len(mechanism.embedding)
    ids = np.random.default_rng(1).integers(-1, count, 20_000)
    answers = right(mechanism, ids, wv.insecure_stream(8)) % count
    return np.array_equal(mechanism.perturb_ids(ids, stream=wv.insecure_stream(8)), answers)


@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_perturb_ids_is_the_pipeline_of_these_tests(dim: int, share: float) -> None:
    assert same_answers(prepared(Clustered, dim, 1.5, share)[0])


@pytest.mark.parametrize("dim", [2, 3])
def test_a_mistake_in_perturb_ids_itself_is_seen(dim: int) -> None:
    assert not same_answers(prepared(OwnNoise, dim, 1.5, 0.2)[0])
    assert excess(public, dim, 1.5, 0.2, OwnNoise)[0] > 0.0


@pytest.mark.parametrize(
    ("mistake", "dim", "epsilon", "share"),
    [
        (own_noise, 2, 1.5, 0.2),
        (own_noise, 3, 1.5, 0.2),
        (nearest_region, 1, 1.5, 0.5),
        (nearest_region, 2, 1.5, 0.5),
        (nearest_region, 3, 1.5, 0.5),
        (not_halved, 1, 1.5, 0.9),
        (not_halved, 2, 2.5, 0.95),
        (not_halved, 3, 2.5, 0.95),
    ],
)
def test_planted_mistakes_break_it(mistake: Choose, dim: int, epsilon: float, share: float) -> None:
    assert excess(mistake, dim, epsilon, share)[0] > 0.0
