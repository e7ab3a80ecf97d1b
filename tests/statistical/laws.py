"""The law of the noise as checks that can fail, each with its name, its level and its power.

Everything is recomputed here from the raw vectors: Σ by numpy's covariance, A by its definition, the whitening
by a Cholesky-free symmetric root. Nothing comes from the code under test.

Level: each check alone rejects a correct sampler with probability at most ALPHA = 1e-6 (KS by its exact or
asymptotic law, sums by the normal law with n = 1e5 terms), divided among the directions that are tried. Power, at n = 1e5: a KS check misses a shift of the distribution function of 0.023 (that is Gamma(m - 1)
for Gamma(m) at m = 300) with probability below 1e-9, since its threshold is 0.0085 and its standard deviation
0.5/sqrt(n) = 0.0016; an ε that is off by 5% shifts it by 0.3. `test_planted.py` shows it for every mistake.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

ALPHA = 1e-6
DIRECTIONS = 6
Table = NDArray[np.float64]


class LawBrokenError(AssertionError):
    """A named check that the sample fails."""


def sigma_of(vectors: NDArray[np.floating]) -> Table:
    covariance = np.atleast_2d(np.cov(vectors.astype(np.float64), rowvar=False))
    return np.asarray(covariance / (np.trace(covariance) / len(covariance)))


def matrix_of(vectors: NDArray[np.floating], lam: float) -> Table:
    return np.asarray(lam * sigma_of(vectors) + (1.0 - lam) * np.eye(vectors.shape[1]))


@dataclass(frozen=True)
class Root:
    """A^{1/2} and A^{-1/2}, symmetric, and the eigenvectors of A."""

    half: Table
    inverse: Table
    axes: Table


def root_of(matrix: Table) -> Root:
    values, axes = np.linalg.eigh(matrix)
    return Root((axes * np.sqrt(values)) @ axes.T, (axes / np.sqrt(values)) @ axes.T, axes)


def check_noise(noise: Table, matrix: Table, epsilon: float) -> None:
    """Raise LawBrokenError, with the name of the check, if `noise` does not follow exp(-ε‖z‖_RM)."""
    root = root_of(matrix)
    white = noise @ root.inverse
    radii = np.linalg.norm(white, axis=1)
    check_radius(radii * epsilon, noise.shape[1])
    units = white / radii[:, None]
    if noise.shape[1] > 1:
        for direction in _directions(root):
            squares = (units @ direction) ** 2
            check_direction(squares, noise.shape[1])
            check_independent(radii, squares)
    check_signs(noise)
    check_size(noise, epsilon)
    check_float64(noise)
    check_rows(units)


def _directions(root: Root) -> Table:
    dim = len(root.axes)
    fixed = root.axes[:, [0, dim // 2, dim - 1]].T
    free = np.random.default_rng(99).normal(size=(DIRECTIONS - 3, dim))
    return np.concatenate((fixed, free / np.linalg.norm(free, axis=1, keepdims=True)))


def _require(pvalue: float, name: str, tries: int = 1) -> None:
    if not pvalue >= ALPHA / tries:
        raise LawBrokenError(f"{name}: p = {pvalue:.3g}")


def check_radius(scaled: Table, dim: int) -> None:
    """ε·‖A^{-1/2}z‖ is Gamma(m, 1)."""
    _require(stats.kstest(scaled, stats.gamma(dim).cdf).pvalue, "radius")


def check_direction(squares: Table, dim: int) -> None:
    """The squared projection of a uniform direction is Beta(1/2, (m - 1)/2)."""
    law = stats.beta(0.5, (dim - 1) / 2.0)
    _require(stats.kstest(squares, law.cdf).pvalue, "direction", DIRECTIONS)


def check_independent(radii: Table, squares: Table) -> None:
    """Radius and direction are independent: their rank correlation is 0."""
    _require(stats.spearmanr(radii, squares).pvalue, "independence", DIRECTIONS)


def check_signs(noise: Table) -> None:
    """The noise is symmetric: each coordinate is positive half of the time."""
    positive = (noise > 0.0).sum(axis=0)
    deviations = np.abs(positive - len(noise) / 2.0) / np.sqrt(len(noise) / 4.0)
    _require(2.0 * stats.norm.sf(deviations.max()), "signs", noise.shape[1])


def check_size(noise: Table, epsilon: float) -> None:
    """E‖Z‖₂² = trace(A)·(m + 1)/ε² = m(m + 1)/ε² at every λ."""
    dim = noise.shape[1]
    squares = np.einsum("ij,ij->i", noise, noise)
    expected = dim * (dim + 1) / epsilon**2
    error = squares.std(ddof=1) / np.sqrt(len(squares))
    _require(2.0 * stats.norm.sf(abs(squares.mean() - expected) / error), "size")


def check_float64(noise: Table) -> None:
    """Fewer than one value in a thousand is a float32 (by chance it is one in 2^29)."""
    share = (noise == noise.astype(np.float32)).mean()
    if share > 1e-3:
        raise LawBrokenError(f"float64: a share of {share:.3g} of the values is float32")


def check_rows(units: Table) -> None:
    """No two rows are equal, and rows that follow each other are not correlated."""
    if len(np.unique(units, axis=0)) < len(units) and units.shape[1] > 1:
        raise LawBrokenError("rows: two rows of noise are equal")
    dots = np.einsum("ij,ij->i", units[:-1], units[1:])
    dim = units.shape[1]
    _require(2.0 * stats.norm.sf(abs(dots.mean()) * np.sqrt(dim * len(dots))), "rows")
