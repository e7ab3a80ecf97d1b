import math
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.metric import _enclose, projection_factor

RNG = np.random.default_rng(11)
MIX = RNG.normal(size=(4, 4)) * np.array([0.3, 1.0, 2.0, 5.0])
RAW = (RNG.normal(size=(500, 4)) @ MIX + 3.0).astype(np.float32)
EMB = wv.Embedding([f"w{i}" for i in range(500)], RAW, public=True)


def reference_matrix(lam: float) -> NDArray[np.float64]:
    """The matrix A, computed from the raw vectors by its definition."""
    covariance = np.cov(RAW.astype(np.float64), rowvar=False)
    sigma = covariance / (np.trace(covariance) / 4)
    return np.asarray(lam * sigma + (1 - lam) * np.eye(4))


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.5, 1.0])
def test_matrix_norm_and_distance_are_the_definition(lam: float) -> None:
    metric = wv.Metric.from_embedding(EMB, lam)
    matrix = reference_matrix(lam)
    np.testing.assert_allclose(metric.matrix, matrix, rtol=1e-9, atol=1e-12)
    x, y = RNG.normal(size=(2, 50, 4))
    expected = np.sqrt(np.einsum("ij,ij->i", x @ np.linalg.inv(matrix), x))
    np.testing.assert_allclose(metric.norm(x), expected, rtol=1e-9)
    assert metric.norm(x[0]) == pytest.approx(expected[0], rel=1e-12)
    assert isinstance(metric.norm(x[0]), float)
    np.testing.assert_allclose(metric.distance(x, y), metric.norm(x - y), rtol=1e-12)
    np.testing.assert_allclose(
        metric.pairwise(x, y), np.array([[metric.distance(a, b) for b in y] for a in x]), rtol=1e-9
    )


def test_trace_is_the_number_of_dimensions(glove: wv.Embedding) -> None:
    for embedding in (EMB, glove, glove.project(25)):
        metric = wv.Metric.from_embedding(embedding, 1.0)
        assert abs(metric.eigenvalues.sum() - metric.dim) < 1e-9
        assert abs(np.trace(metric.matrix) - metric.dim) < 1e-9
        assert (np.diff(metric.eigenvalues) >= 0).all()


def test_every_lam_shares_one_eigendecomposition() -> None:
    for lam in (0.3, 1.0):
        assert np.shares_memory(wv.Metric.from_embedding(EMB, lam).axes, EMB.spectrum.axes)


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_the_euclidean_bounds_hold_and_are_tight(lam: float) -> None:
    """Lemma 2 on random pairs and, for tightness, on the eigenvectors."""
    metric = wv.Metric.from_embedding(EMB, lam)
    bounds = metric.euclidean_bounds()
    x = RNG.normal(size=(10_000, 4))
    ratio = np.asarray(metric.norm(x)) / np.linalg.norm(x, axis=1)
    assert (bounds.lower <= ratio * (1 + 1e-12)).all()
    assert (ratio <= bounds.upper * (1 + 1e-12)).all()
    values, vectors = np.linalg.eigh(reference_matrix(lam))
    assert metric.norm(vectors[:, -1]) == pytest.approx(bounds.lower, rel=1e-9)
    assert metric.norm(vectors[:, 0]) == pytest.approx(bounds.upper, rel=1e-9)
    assert bounds.lower == pytest.approx(1 / math.sqrt(values[-1]), rel=1e-9)
    assert bounds.paper_lower <= bounds.lower * (1 + 1e-12)
    assert bounds.upper <= bounds.paper_upper * (1 + 1e-12)
    assert bounds.paper_lower == pytest.approx(1 / math.sqrt(lam * 4 + 1 - lam))


@pytest.mark.parametrize("lam", [-0.1, 1.1, math.nan, math.inf, "1", None, True])
def test_refuses_a_lam_outside_of_0_to_1(lam: float) -> None:
    with pytest.raises(wv.ParameterError, match=r"'lam' parameter of Metric must be in \[0, 1\]"):
        wv.Metric.from_embedding(EMB, lam)


def hinted_lam(error: wv.ParameterError) -> float:
    return float(str(error).split("lam=")[-1].split()[0])


def test_refuses_too_few_words_at_lam_1_and_hints_at_a_lam() -> None:
    few = wv.Embedding([f"w{i}" for i in range(5)], RNG.normal(size=(5, 5)), public=True)
    with pytest.raises(wv.ParameterError, match="5 words and 5 dimensions") as caught:
        wv.Metric.from_embedding(few, 1.0)
    wv.Metric.from_embedding(few, hinted_lam(caught.value))


def test_refuses_flat_vectors_and_hints_at_a_lam() -> None:
    flat = RNG.normal(size=(50, 3))
    flat[:, 2] = flat[:, 0]
    emb = wv.Embedding([f"w{i}" for i in range(50)], flat, public=True)
    with pytest.raises(wv.ParameterError, match="flat in some direction") as caught:
        wv.Metric.from_embedding(emb, 1.0)
    wv.Metric.from_embedding(emb, hinted_lam(caught.value))
    wv.Metric.from_embedding(emb.project(2), 1.0)


def test_refuses_equal_vectors_at_lam_above_0() -> None:
    same = wv.Embedding(["a", "b", "c"], np.ones((3, 2)), public=True)
    with pytest.raises(wv.ParameterError, match="try lam=0"):
        wv.Metric.from_embedding(same, 0.5)
    wv.Metric.from_embedding(same, 0.0)


@pytest.mark.parametrize("x", [[1.0, 2.0], [[1.0, 2.0]], 3.0, np.zeros((2, 2, 4))])
def test_refuses_vectors_of_another_size(x: object) -> None:
    with pytest.raises(wv.ParameterError, match="must have 4 numbers"):
        wv.Metric.from_embedding(EMB, 1.0).norm(x)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_the_bracket_holds_the_true_diameter(lam: float) -> None:
    metric = wv.Metric.from_embedding(EMB, lam)
    diameter = metric.pairwise(RAW, RAW).max()
    bracket = metric.diameter()
    assert bracket.lower <= diameter <= bracket.upper
    assert bracket.upper <= 2.0 * bracket.lower
    assert bracket.lower >= 0.9 * diameter


@pytest.mark.parametrize("scale", [1e-25, 1e-10, 1e10, 1e19, 1e37])
def test_the_bracket_holds_at_any_scale(scale: float) -> None:
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]]) * scale
    bracket = wv.Metric.from_embedding(wv.Embedding(["a", "b", "c"], rows, public=True), 0.0).diameter()
    assert bracket.lower <= 5.0 * scale * (1 + 1e-6)
    assert 5.0 * scale * (1 - 1e-6) <= bracket.upper <= 10.1 * scale


def test_the_bracket_of_the_default_vectors(glove: wv.Embedding) -> None:
    metric = wv.Metric.from_embedding(glove, 1.0)
    bracket = metric.diameter()
    sampled_diameter = metric.pairwise(glove.vectors[::113], glove.vectors[::7]).max()
    assert sampled_diameter <= bracket.upper
    assert bracket.lower < bracket.upper < 1.5 * bracket.lower


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_factor_of_a_projection_holds_and_is_tight(lam: float, k: int) -> None:
    projected = wv.Metric.from_embedding(EMB.project(k), lam)
    full = wv.Metric.from_embedding(EMB, lam)
    axes = EMB.spectrum.axes[:, ::-1][:, :k]
    x = np.concatenate((RNG.normal(size=(5000, 4)), EMB.spectrum.axes.T))
    ratio = np.asarray(projected.norm(x @ axes)) / np.asarray(full.norm(x))
    factor = projection_factor(EMB, lam, k)
    assert ratio.max() <= factor * (1 + 1e-5)
    assert ratio.max() == pytest.approx(factor, rel=1e-4)
    assert factor == 1.0 or lam > 0.0


def test_the_euclidean_metric_needs_no_embedding() -> None:
    metric = wv.Metric.euclidean(3)
    assert metric.norm([2.0, 3.0, 6.0]) == 7.0
    with pytest.raises(wv.ParameterError, match="no diameter"):
        metric.diameter()
    with pytest.raises(wv.ParameterError, match="'dim'"):
        wv.Metric.euclidean(0)


def test_pickles() -> None:
    metric = pickle.loads(pickle.dumps(wv.Metric.from_embedding(EMB, 0.3)))
    np.testing.assert_array_equal(metric.matrix, wv.Metric.from_embedding(EMB, 0.3).matrix)


def test_the_slack_of_the_diameter_is_needed_and_enough() -> None:
    """Distances in float32 can be below the true ones, so without slack the bound would be wrong.

    About 20 of 40 random pairs are. The probability that none is, is about 2^-40.
    """
    random = np.random.default_rng(7)
    too_small = 0
    for _ in range(40):
        pair = random.normal(size=(2, 8)).astype(np.float32)
        metric = wv.Metric.from_embedding(wv.Embedding(["a", "b"], pair, public=True), 0.0)
        distance = float(np.linalg.norm(pair[0].astype(np.float64) - pair[1]))
        assert distance <= metric.diameter().upper <= distance * (1 + 1e-4)
        _, radius = _enclose((pair - pair.astype(np.float64).mean(axis=0)).astype(np.float32))
        too_small += 2.0 * radius < distance
    assert too_small > 5
