"""The law of the noise, density ∝ exp(-ε‖z‖_RM), as tests that can fail.

Everything is computed from the raw vectors again: Σ by NumPy's covariance, A by its definition, its root by
an eigenbasis of its own. Nothing comes from the code under test.

With Y = A^{-1/2}z, ε‖Y‖ is Gamma(m, 1) and Y/‖Y‖ is uniform on the sphere, independent of ‖Y‖. A uniform
direction times an independent χ_m radius is a standard normal vector, so that every test about directions has
an exact law: the tests draw such radii themselves.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from wordveil.evaluation.audit_shared_noise import CHANCE, ROUNDING, SharedNoise, shared_noise
from wordveil.evaluation.float32_normals import share_of_float32_normals
from wordveil.randomness import Stream

__all__ = [
    "Drawn",
    "Floats",
    "LawTest",
    "Root",
    "covariance_of",
    "matrix_of",
    "noise_tests",
    "radius_power",
    "root_of",
]

Floats = NDArray[np.float64]
_DIRECTIONS: Final = 6  # that noise is projected on; each costs power, by Bonferroni
_LAGS: Final = (1, 2)  # rows that follow each other, and the next but one; half of all rows is a third
_STRETCH: Final = 1.1  # of a variance
_LONG: Final = 1.2  # of a length
_CORRELATION: Final = 0.06  # a rank correlation, for which the power is stated
_LEAN: Final = 0.03  # more positive values than half
_FLOAT32: Final = 1e-3  # of the values may be a float32; by chance it is one in millions
_CLOSE: Final = 2.0**-48  # of the largest value of a row: a few rounding errors of float64
_LATTICE: Final = 2000  # directions that are looked at
_ULPS: Final = 64  # of a float32, by which the length of a direction in float32 may be off


class LawTest(NamedTuple):
    """A test of the law: its p-value, corrected for how many comparisons it makes, and what it saw.

    `power` is how often a test at that level finds the mistake; None if chance plays no part.
    """

    name: str
    pvalue: float
    seen: str
    mistake: str
    power: float | None = None


class Drawn(NamedTuple):
    """Noise in the basis in which it was drawn: φ(w) + Z, Z, and the eigenvalues of A there."""

    points: Floats
    noise: Floats
    scales: Floats


def covariance_of(vectors: NDArray[np.floating]) -> Floats:
    """Return Σ: the sample covariance divided by the mean sample variance, so that its trace is m."""
    covariance = np.atleast_2d(np.cov(vectors.astype(np.float64), rowvar=False))
    return np.asarray(covariance / (np.trace(covariance) / len(covariance)))


def matrix_of(vectors: NDArray[np.floating], lam: float) -> Floats:
    """Return A = λΣ + (1-λ)I."""
    identity = (1.0 - lam) * np.eye(vectors.shape[1])
    return identity if lam == 0.0 else np.asarray(lam * covariance_of(vectors) + identity)


@dataclass(frozen=True, eq=False)
class Root:
    """A^{1/2} and A^{-1/2}, symmetric, and the eigenvectors of A."""

    half: Floats
    inverse: Floats
    axes: Floats


def root_of(matrix: Floats) -> Root:
    """Return the symmetric root of a matrix."""
    values, axes = np.linalg.eigh(matrix)
    return Root((axes * np.sqrt(values)) @ axes.T, (axes / np.sqrt(values)) @ axes.T, axes)


def noise_tests(
    noise: Floats,
    matrix: Floats,
    epsilon: float,
    stream: Stream,
    alpha: float = 1e-6,
    drawn: Drawn | None = None,
    longest: float = 0.0,
) -> list[LawTest]:
    """Return all tests of rows of noise, in the coordinates of the vectors.

    `drawn` is how the noise was drawn, before it was rotated, which would hide a lower precision. `longest`
    is the length of the longest vector that the noise was added to, and subtracted from again. A row without
    noise has no direction: then only the test of the radius is returned, and it fails.

    Examples
    --------
    >>> from wordveil.metric import Metric
    >>> from wordveil.noise import sample_noise
    >>> from wordveil.randomness import insecure_stream
    >>> noise = sample_noise(Metric.euclidean(3), 2.0, 10_000, insecure_stream(1))
    >>> min(test.pvalue for test in noise_tests(noise, np.eye(3), 2.0, insecure_stream(2))) > 1e-4
    True
    """
    count, dim = noise.shape
    root = root_of(matrix)
    white = noise @ (root.inverse @ root.axes)
    radii = np.linalg.norm(white, axis=1)
    lengths = np.linalg.norm(noise, axis=1)
    size = longest + float(lengths.max())
    without = int((lengths <= ROUNDING * np.sqrt(dim) * size).sum())
    if without:
        seen = f"{without:,} of {count:,} rows have no noise but rounding"
        return [_radius(radii * epsilon, dim, alpha)._replace(pvalue=0.0, seen=seen)]
    shared = shared_noise(noise, radii, matrix, epsilon, size)
    normals = white  # in place: in 300 dimensions the tables are large
    normals *= (np.sqrt(2.0 * stream.gammas(dim / 2.0, count)) / radii)[:, None]
    directions = _directions(dim)
    projections = normals @ directions.T
    return [
        _radius(radii * epsilon, dim, alpha),
        _covariance(normals, alpha),
        _direction(projections, alpha),
        _independence(radii, projections, alpha),
        _signs(noise, alpha),
        _rows(shared, normals, radii),
        _float64(Drawn(noise, noise, np.ones(dim)) if drawn is None else drawn, epsilon),
    ]


def _directions(dim: int) -> Floats:
    """Return the first, the middle and the last axis of A, and three others."""
    fixed = np.eye(dim)[[0, dim // 2, dim - 1]]
    free = np.random.default_rng(99).normal(size=(_DIRECTIONS - 3, dim))
    return np.concatenate((fixed, free / np.linalg.norm(free, axis=1, keepdims=True)))


def _radius(scaled: Floats, dim: int, alpha: float) -> LawTest:
    """ε‖A^{-1/2}z‖ is Gamma(m, 1)."""
    result = stats.kstest(scaled, stats.gamma(dim).cdf)
    seen = f"its mean is {scaled.mean() / dim:.4f} of the law's"
    power = radius_power(dim, len(scaled), alpha)
    return LawTest("radius", float(result.pvalue), seen, "an ε that is 5% too large", power)


def _covariance(normals: Floats, alpha: float) -> LawTest:
    """All second moments of the whitened directions: those of independent coordinates of variance 1."""
    count, dim = normals.shape
    moments = normals.T @ normals
    diagonal = np.diag(moments)
    law = stats.chi2(count)
    tails = 2.0 * np.minimum(law.cdf(diagonal), law.sf(diagonal))
    mixed = np.abs(moments - np.diag(diagonal)).max() / np.sqrt(count)
    tries = dim * (dim + 1) // 2
    pvalue = tries * min(float(tails.min()), float(2.0 * stats.norm.sf(mixed)))
    ends = diagonal / count
    seen = f"along the axes of A the variance is {ends.min():.3f} to {ends.max():.3f} of the law's"
    power = float(law.sf(law.isf(alpha / tries / 2.0) / _STRETCH))
    mistake = f"a variance that is {_STRETCH - 1.0:.0%} too large along one axis"
    return LawTest("covariance", min(1.0, pvalue), seen, mistake, power)


def _direction(projections: Floats, alpha: float) -> LawTest:
    """Project onto a few directions: with the χ_m radius, that gives standard normal deviates."""
    pvalues = [float(stats.kstest(column, stats.norm.cdf).pvalue) for column in projections.T]
    law, grid = stats.norm, np.linspace(0.0, 4.0, 2000)
    apart = float(np.abs(law.cdf(grid) - law.cdf(grid / _LONG)).max())
    power = _ks_power(apart, len(projections), alpha / _DIRECTIONS)
    mistake = f"a projection that is {_LONG - 1.0:.0%} too long"
    seen = f"{_DIRECTIONS} projections, each against the normal law"
    return LawTest("direction", min(1.0, _DIRECTIONS * min(pvalues)), seen, mistake, power)


def _independence(radii: Floats, projections: Floats, alpha: float) -> LawTest:
    """Correlate the ranks of radius and direction."""
    results = [stats.spearmanr(radii, np.abs(column)) for column in projections.T]
    largest = max(abs(float(result.statistic)) for result in results)
    pvalue = _DIRECTIONS * min(float(result.pvalue) for result in results)
    seen = f"the largest rank correlation of radius and direction is {largest:.4f}"
    threshold = stats.norm.isf(alpha / _DIRECTIONS / 2.0)
    power = float(stats.norm.sf(threshold - _CORRELATION * np.sqrt(len(radii) - 1.0)))
    mistake = f"a rank correlation of {_CORRELATION:g}"
    return LawTest("independence", min(1.0, pvalue), seen, mistake, power)


def _signs(noise: Floats, alpha: float) -> LawTest:
    """Each coordinate is positive half of the time."""
    count, dim = noise.shape
    law = stats.binom(count, 0.5)
    positive = (noise > 0.0).sum(axis=0)
    tails = 2.0 * np.minimum(law.cdf(positive), law.sf(positive - 1))
    shares = positive / count
    seen = f"{shares.min():.3f} to {shares.max():.3f} of the values of a coordinate are positive"
    power = float(stats.binom(count, 0.5 + _LEAN).sf(law.isf(alpha / dim / 2.0)))
    mistake = f"a coordinate that is positive in {0.5 + _LEAN:.0%} of cases"
    return LawTest("signs", min(1.0, dim * float(tails.min())), seen, mistake, power)


def _rows(shared: SharedNoise, normals: Floats, radii: Floats) -> LawTest:
    """No two rows are equal, and rows near each other have independent directions and radii."""
    count, dim = normals.shape
    mistake, power = shared.mistake, shared.power
    if shared.is_shared:
        seen = f"{shared.rows:,} rows of noise, or their negatives, and {shared.radii:,} radii equal others"
        return LawTest("rows", 0.0, seen, mistake, power)
    pvalues = []
    lags = (*_LAGS, count // 2)
    for lag in lags:
        product = np.einsum("ij,ij->", normals[:-lag], normals[lag:]) / np.sqrt(dim * (count - lag))
        pvalues.append(float(2.0 * stats.norm.sf(abs(product))))
        pvalues.append(float(stats.spearmanr(radii[:-lag], radii[lag:]).pvalue))
    seen = (
        "no two are equal up to rounding and sign, "
        f"and those at distances {', '.join(map(str, lags))} are not correlated"
    )
    return LawTest("rows", min(1.0, 2.0 * CHANCE + 2 * len(lags) * min(pvalues)), seen, mistake, power)


def _float64(drawn: Drawn, epsilon: float) -> LawTest:
    """Hardly any value of points, noise, directions, radii and normal deviates is a float32, up to rounding.

    Deviates are seen from four dimensions on, and where the noise is not much smaller than the vectors.
    """
    white = drawn.noise / np.sqrt(drawn.scales)
    radii = np.linalg.norm(white, axis=1, keepdims=True)
    shares = {
        "points": _share_of_float32(drawn.points),
        "noise": _share_of_float32(drawn.noise),
        "radii": max(_share_of_float32(radii), _share_of_float32(epsilon * radii)),
        "directions": _float32_directions(white[:_LATTICE], radii[:_LATTICE]),
    }
    size = np.maximum(np.abs(drawn.noise[:_LATTICE]), 1e-300)
    deviates = share_of_float32_normals(white[:_LATTICE], np.abs(drawn.points[:_LATTICE]) / size)
    if deviates is not None:
        shares["normal deviates"] = deviates
    part, share = max(shares.items(), key=lambda item: item[1])
    seen = f"at most {share:.2g} of the values of {', '.join(shares)} are float32"
    if share > _FLOAT32:
        seen = f"{share:.2g} of the values of {part} are float32"
    parts = (
        "points, noise, radii or unit directions"
        if deviates is None
        else "points, noise or what it is made of"
    )
    mistake = f"{parts} that were all rounded to float32"
    return LawTest("float64", 0.0 if share > _FLOAT32 else 1.0, seen, mistake)


def _share_of_float32(table: Floats) -> float:
    largest = np.abs(table).max(axis=1, keepdims=True)
    return float((np.abs(table - table.astype(np.float32)) <= _CLOSE * largest).mean())


def _float32_directions(white: Floats, radii: Floats) -> float:
    """Return the share of rows that are a float64 radius times a direction in float32.

    The length of such a direction is not exactly 1, so the radius is known only to some units in the last
    place of a float32. All of these are tried for the largest coordinate; each says what the others must be.
    """
    count, dim = white.shape
    if dim < 2:
        return 0.0
    rows = np.arange(count)
    top = np.abs(white).argmax(axis=1)
    nearest = (white[rows, top] / radii[:, 0]).astype(np.float32)
    is_float32 = np.zeros(count, dtype=bool)
    for step in range(-_ULPS, _ULPS + 1):
        tried = nearest.astype(np.float64) + step * np.spacing(np.abs(nearest)).astype(np.float64)
        scaled = white * (tried / white[rows, top])[:, None]
        off = np.abs(scaled - scaled.astype(np.float32)) > _CLOSE * np.abs(tried)[:, None]
        is_float32 |= ~off.any(axis=1)
    return float(is_float32.mean())


def radius_power(dim: int, count: int, alpha: float, factor: float = 1.05) -> float:
    """Return at least how often the test of the radius finds an ε that is too large by a factor.

    By the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart the empirical distribution is farther than t
    from its own law with probability 2·exp(-2nt²) at most, and the two laws are Δ apart.

    Examples
    --------
    >>> radius_power(300, 20_000, 1e-6) > 0.999, radius_power(1, 1000, 1e-6)
    (True, 0.0)
    """
    law = stats.gamma(dim)
    grid = law.ppf(np.linspace(0.0005, 0.9995, 2000))
    apart = float(np.abs(law.cdf(grid) - law.cdf(factor * grid)).max())
    return _ks_power(apart, count, alpha)


def _ks_power(apart: float, count: int, alpha: float) -> float:
    room = apart - float(np.sqrt(np.log(2.0 / alpha) / (2.0 * count)))
    return max(0.0, 1.0 - 2.0 * float(np.exp(-2.0 * count * room**2))) if room > 0.0 else 0.0
