"""The clustered mechanism: its regions, the law of both stages, and what each promise covers."""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import cdist

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.mechanisms import Clustered
from wordveil.mechanisms.clustered_guarantee import WithinGuarantee
from wordveil.mechanisms.group_guarantee import UNCOVERED
from wordveil.mechanisms.places import places_of
from wordveil.mechanisms.regions import LEAST_SCALE, Regions, regions_of
from wordveil.prior import default_prior


@pytest.fixture(scope="module")
def embedding() -> wv.Embedding:
    """Three clouds of different shapes, turned."""
    rng = np.random.default_rng(6)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    clouds = [
        rng.normal(size=(60, 3)) * shape + place
        for shape, place in (
            ((2.0, 0.3, 0.3), (0, 0, 0)),
            ((0.3, 2.0, 0.3), (8, 0, 0)),
            ((0.5, 0.5, 2.0), (0, 9, 0)),
        )
    ]
    return wv.Embedding([f"w{i}" for i in range(180)], np.vstack(clouds) @ turn, public=True)


def matrices(embedding: wv.Embedding, mechanism: Clustered) -> NDArray[np.float64]:
    """A_r of each region in the embedding's own coordinates, from the raw vectors and the labels."""
    rows = embedding.vectors.astype(np.float64)
    total = np.cov(rows, rowvar=False)
    sigma = total * 3.0 / np.trace(total)
    result = []
    for region in range(mechanism.regions):
        members = rows[mechanism.shapes.labels[:-1] == region]
        own = np.cov(members, rowvar=False)
        own *= 3.0 / np.trace(own)
        mixed = (len(members) * own + 3.0 * sigma) / (len(members) + 3.0)
        values, axes = np.linalg.eigh(mechanism.lam * mixed + (1.0 - mechanism.lam) * np.eye(3))
        result.append((axes * np.maximum(values, LEAST_SCALE)) @ axes.T)
    return np.array(result)


def test_regions_are_the_clouds(embedding: wv.Embedding) -> None:
    labels = regions_of(embedding, wv.Metric.from_embedding(embedding, 1.0), 3).labels
    assert len(set(labels[:60].tolist())) == len(set(labels[60:120].tolist())) == 1
    assert len(set(labels.tolist())) == 3


def test_kept_regions_are_of_one_eigenbasis(embedding: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another library may turn an axis the other way: centres and axes are coordinates, so both must fit."""
    monkeypatch.setattr(wv.Embedding, "is_named", True)
    turned = wv.Embedding(embedding.words, embedding.vectors, public=True)
    vars(turned)["_spectrum"] = replace(embedding.spectrum, axes=embedding.spectrum.axes * [-1.0, 1.0, 1.0])
    for version in (embedding, turned):
        shapes = Clustered(version, 2.0, 0.7, 3).shapes
        members = places_of(version)[:-1][shapes.labels[:-1] == 1]
        np.testing.assert_allclose(shapes.centres[1], members.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("lam", [0.3, 1.0])
def test_the_promise_is_the_weighted_sum(embedding: wv.Embedding, lam: float) -> None:
    mechanism = Clustered(embedding, 2.0, lam, 3, 0.25)
    rows = np.vstack((embedding.vectors, embedding.centroid)).astype(np.float64)
    inverses = [np.linalg.inv(matrix) for matrix in matrices(embedding, mechanism)]
    rng = np.random.default_rng(1)
    for left, right in rng.integers(-1, 180, (50, 2)):
        x = rows[left] - rows[right]
        local = max(np.sqrt(x @ inverse @ x) for inverse in inverses)
        expected = 0.5 * np.linalg.norm(x) + 1.5 * local
        assert mechanism.guarantee.exponents(left, right) == pytest.approx(expected, abs=1e-6)


def test_both_stages_follow_their_laws(embedding: wv.Embedding) -> None:
    """χ² for regions, KS for radii and squared projections: n = 100,000, α = 1e-6 each."""
    mechanism, word, count = Clustered(embedding, 2.0, 1.0, 3, 0.25), 70, 100_000
    ids, stream = np.full(count, word), wv.insecure_stream(4)
    regions = mechanism._chosen_regions(ids, stream)
    places = places_of(embedding)
    centres = [places[:-1][mechanism.shapes.labels[:-1] == r].mean(axis=0) for r in range(3)]
    weights = np.exp([-0.25 * np.linalg.norm(places[word] - centre) for centre in centres])
    observed = np.bincount(regions, minlength=3)
    assert stats.chisquare(observed, weights / weights.sum() * count).pvalue > 1e-6
    points = mechanism._noisy_points(ids, regions, stream)
    noise = (points - places[word]) @ embedding.spectrum.axes.T
    for region, matrix in enumerate(matrices(embedding, mechanism)):
        assert least_p_value(noise[regions == region], matrix, 1.5) > 1e-6


def least_p_value(noise: NDArray[np.float64], matrix: NDArray[np.float64], epsilon: float) -> float:
    """The least p-value of KS tests of density ∝ exp(-ε‖z‖_A) in 3 dimensions: radii, squared projections."""
    values, axes = np.linalg.eigh(matrix)
    white = noise @ (axes / np.sqrt(values)) @ axes.T
    radii = np.linalg.norm(white, axis=1)
    tests = [stats.kstest(epsilon * radii, stats.gamma(3).cdf)]
    tests += [stats.kstest((white[:, axis] / radii) ** 2, stats.beta(0.5, 1.0).cdf) for axis in range(3)]
    return min(float(test.pvalue) for test in tests)


def test_the_posterior_is_that_of_both_stages(embedding: wv.Embedding) -> None:
    """log Pr[r, v | u] up to a constant for each region: the first stage has most of ε, so it counts."""
    mechanism = Clustered(embedding, 8.0, 1.0, 3, 0.9)
    places = places_of(embedding)
    labels = mechanism.shapes.labels[:-1]
    centres = np.array([places[:-1][labels == r].mean(axis=0) for r in range(3)])
    scores = -0.5 * 0.9 * 8.0 * cdist(places, centres)
    chosen = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    channel = mechanism.channel()
    seen = channel.observe(np.arange(0, 180, 7), wv.insecure_stream(3))
    result = channel.log_likelihoods(seen, slice(0, 181))
    for row, region, point in zip(result, seen[:, 0].astype(int), seen[:, 1:], strict=True):
        inverse = np.linalg.inv(matrices(embedding, mechanism)[region])
        x = places @ embedding.spectrum.axes.T - point @ embedding.spectrum.axes.T
        expected = chosen[:, region] - 0.8 * np.sqrt(np.einsum("ij,jk,ik->i", x, inverse, x))
        np.testing.assert_allclose(row - row[0], expected - expected[0], atol=1e-5)


def test_the_attackers_number(embedding: wv.Embedding) -> None:
    """The posterior is calibrated: the best guess is right as often as it says (n = 4,000, six errors)."""
    prior = default_prior(embedding)
    mechanism = Clustered(embedding, 3.0, 1.0, 3, 0.3)
    rate = guess_rate(mechanism, prior, draws=4000)
    from wordveil.attacker import best_guesses

    stream = wv.insecure_stream(9)
    ids = prior.draw(stream.uniforms((4000,)))
    channel = mechanism.channel()
    with np.errstate(divide="ignore"):
        (guesses,) = best_guesses(channel, channel.observe(ids, stream), 181, [np.log(prior.shares)])
    assert abs((guesses == ids).mean() - rate.success.share) < 6.0 * np.sqrt(0.5 / 4000)


@pytest.fixture
def within(embedding: wv.Embedding) -> Clustered:
    with pytest.warns(wv.PrivacyWarning, match="the output shows the region of each word"):
        return Clustered(embedding, 2.0, 1.0, 3, unsafe_within=True)


def test_within_a_region(within: Clustered) -> None:
    labels = within.shapes.labels
    ids = np.repeat(np.arange(-1, 180), 20)
    np.testing.assert_array_equal(labels[within.perturb_ids(ids)], labels[ids])
    exponents = within.guarantee.exponents(np.arange(180)[:, None], np.arange(180)[None, :])
    different = labels[:-1, None] != labels[None, :-1]
    assert (exponents[different] == UNCOVERED).all()
    text = str(within.guarantee)
    assert "the output shows the group of each word" in text
    assert "at most ∞" in text
    assert "which group of words each word is from" in text
    assert len(text) < 4000  # no number of 200 digits
    assert json.loads(json.dumps(within.guarantee.to_dict(), allow_nan=False))["groups"] == 3
    assert within.unsafe == ("unsafe_within",)


class TwiceEpsilon(Clustered):
    """Noise and promise of 2ε."""

    @property
    def noise_epsilon(self) -> float:
        return 2.0 * self.epsilon

    @property
    def guarantee(self) -> WithinGuarantee:
        return WithinGuarantee(2.0 * self.epsilon, self.shapes, self.embedding)


def with_shapes_of_others(mechanism: Clustered) -> Clustered:
    """Return it with the A_r of the next region in place of each."""
    shapes, order = mechanism.shapes, [1, 2, 0]
    wrong = Regions(shapes.labels, shapes.centres, shapes.scales[order], shapes.axes[order])
    object.__setattr__(mechanism, "shapes", wrong)
    return mechanism


def noise_within_fits(mechanism: Clustered) -> bool:
    """Say whether the noise of a word of each region is that of ε and its A_r: n = 50,000, α = 1e-6 per test."""
    embedding, fits = mechanism.embedding, True
    for region, matrix in enumerate(matrices(embedding, mechanism)):
        word = int(mechanism.shapes.members(region)[0])
        ids, stream = np.full(50_000, word), wv.insecure_stream(4)
        regions = mechanism._chosen_regions(ids, stream)
        points = mechanism._noisy_points(ids, regions, stream)
        noise = (points - places_of(embedding)[word]) @ embedding.spectrum.axes.T
        fits &= least_p_value(noise, matrix, mechanism.epsilon) > 1e-6
    return fits


def exponents_within_fit(mechanism: Clustered) -> bool:
    """Say whether ε·d_{A_r} of all pairs of each region is promised, from the raw vectors."""
    embedding, fits = mechanism.embedding, True
    rows = embedding.vectors.astype(np.float64)
    for region, matrix in enumerate(matrices(embedding, mechanism)):
        ids = mechanism.shapes.members(region)
        distances = cdist(rows[ids], rows[ids], "mahalanobis", VI=np.linalg.inv(matrix))
        promised = mechanism.guarantee.exponents(ids[:, None], ids[None, :])
        fits &= np.allclose(promised, mechanism.epsilon * distances, rtol=1e-6, atol=1e-6)
    return fits


def test_the_numbers_within_a_region(within: Clustered) -> None:
    assert within.noise_epsilon == 2.0
    assert noise_within_fits(within)
    assert exponents_within_fit(within)
    ids, stream = np.arange(180), wv.insecure_stream(5)
    regions = within._chosen_regions(ids, stream)
    answers = within._answers(regions, within._noisy_points(ids, regions, stream))
    np.testing.assert_array_equal(within.perturb_ids(ids, stream=wv.insecure_stream(5)), answers)


@pytest.mark.parametrize("make", [partial(wv.make_mechanism, "clustered"), Clustered])
def test_the_warning_points_at_the_line_that_made_it(
    embedding: wv.Embedding, make: Callable[..., Clustered]
) -> None:
    with pytest.warns(wv.PrivacyWarning, match="shows the region") as caught:
        make(embedding, 2.0, regions=3, unsafe_within=True)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.filterwarnings("ignore:With unsafe_within:wordveil.errors.PrivacyWarning")
def test_wrong_numbers_within_a_region_are_seen(embedding: wv.Embedding) -> None:
    twice = TwiceEpsilon(embedding, 2.0, 1.0, 3, unsafe_within=True)
    others = with_shapes_of_others(Clustered(embedding, 2.0, 1.0, 3, unsafe_within=True))
    for mistake in (twice, others):
        assert not noise_within_fits(mistake)
        assert not exponents_within_fit(mistake)


def test_within_a_region_files_and_the_ledger(within: Clustered, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("w1 w2 w70\nw3 zanzibar\n")
    ledger = wv.Ledger(tmp_path / "ledger.sqlite")
    run = wv.perturb_file(
        tmp_path / "in.txt", tmp_path / "out.txt", perturber=wv.Perturber(within), ledger=ledger
    )
    assert json.loads(run.manifest.read_text())["parameters"]["unsafe_within"] is True
    assert [entry.setting["unsafe"] for entry in ledger.entries()] == [["unsafe_within"]]


def test_the_safe_form_has_no_warning(embedding: wv.Embedding) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Clustered(embedding, 2.0).unsafe == ()


def test_more_regions_than_different_words() -> None:
    equal = wv.Embedding(["a", "b", "c"], [[0.0, 0.0], [0.0, 0.0], [1.0, 0.5]], public=True)
    mechanism = Clustered(equal, 2.0, 0.5, 3)
    assert len(mechanism.shapes) == 2
    assert set(mechanism.perturb_ids(np.zeros(2000, int)).tolist()) == {0, 2}


def test_the_counterexample_of_the_page() -> None:
    """Noise of the word's own shape has no bound: the numbers in docs/family.md."""
    page = (Path(__file__).parents[2] / "docs" / "family.md").read_text(encoding="utf-8")
    shapes = np.array([[1.9, 0.1], [0.1, 1.9]])
    first, second, seen = np.array([0.0, 0.0]), np.array([0.0, 0.1]), np.array([10.0, 0.0])

    def distance(shape: Any, difference: Any) -> float:
        return float(np.sqrt((difference**2 / shape).sum()))

    promise = max(distance(shape, second - first) for shape in shapes)
    ratio = distance(shapes[1], seen - second) - distance(shapes[0], seen - first)
    assert "0.1 along the second axis" in page
    assert f"would be an exponent of {promise:.2f}" in " ".join(page.split())
    assert f"the log-ratio is {ratio:.1f}" in page
