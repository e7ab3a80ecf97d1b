"""The clustered mechanism: its regions, the law of both stages, and what each promise covers."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.mechanisms import Clustered
from wordveil.mechanisms.group_guarantee import UNCOVERED
from wordveil.mechanisms.places import places_of
from wordveil.mechanisms.regions import LEAST_SCALE, regions_of
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
    labels = regions_of(embedding, 3, 1.0).labels
    assert len(set(labels[:60].tolist())) == len(set(labels[60:120].tolist())) == 1
    assert len(set(labels.tolist())) == 3


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
        values, axes = np.linalg.eigh(matrix)
        white = noise[regions == region] @ (axes / np.sqrt(values)) @ axes.T
        radii = np.linalg.norm(white, axis=1)
        assert stats.kstest(1.5 * radii, stats.gamma(3).cdf).pvalue > 1e-6
        for axis in range(3):
            squares = (white[:, axis] / radii) ** 2
            assert stats.kstest(squares, stats.beta(0.5, 1.0).cdf).pvalue > 1e-6


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


def test_blocks_change_no_answer(embedding: wv.Embedding) -> None:
    ids = np.random.default_rng(1).integers(-1, 180, 9000)
    mechanism = Clustered(embedding, 3.0)
    stream = wv.insecure_stream(1)
    parts = [mechanism.perturb_ids(part, stream=stream) for part in np.array_split(ids, 4)]
    expected = mechanism.perturb_ids(ids, stream=wv.insecure_stream(1))
    np.testing.assert_array_equal(np.concatenate(parts), expected)


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
    assert exponents[~different].max() < 100.0
    text = str(within.guarantee)
    assert "the output shows the group of each word" in text
    assert "at most ∞" in text
    assert "which group of words each word is from" in text
    assert len(text) < 4000  # no number of 200 digits
    assert json.loads(json.dumps(within.guarantee.to_dict(), allow_nan=False))["groups"] == 3
    assert within.unsafe == ("unsafe_within",)


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
    promise = max(np.sqrt(0.1**2 / shapes[:, 0]))
    ratio = 10.0 / np.sqrt(0.1) - 10.0 / np.sqrt(1.9)
    assert f"would be an exponent of {promise:.2f}" in " ".join(page.split())
    assert f"the log-ratio is {ratio:.1f}" in page
