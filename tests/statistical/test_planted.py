"""Wrong samplers that the checks must catch, each by the named check: a test of the tests."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

import wordveil as wv

from .laws import Floats, LawBrokenError, Root, check_noise, root_of, sigma_of

N = 100_000
EPSILON, LAM = 2.0, 0.3
Deviates = tuple[Floats, Floats]


@cache
def deviates(dim: int, shape: float | None = None) -> Deviates:
    """Return the same deviates for every mistake, which must not change them."""
    draws = np.random.default_rng(1)
    result = draws.normal(size=(N, dim)), draws.gamma(shape or dim, size=N)
    for values in result:
        values.flags.writeable = False
    return result


def correct(root: Root, draws: Deviates, epsilon: float = EPSILON) -> Floats:
    normals, radii = draws
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray((radii / epsilon)[:, None] * (units @ root.half))


def renormalised(sigma: Floats, draws: Deviates) -> Floats:
    noise = correct(root(sigma), draws)
    length = np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray(noise / length * (draws[1] / EPSILON)[:, None])


def root(sigma: Floats, lam: float = LAM) -> Root:
    return root_of(lam * sigma + (1.0 - lam) * np.eye(len(sigma)))


def not_normalised(sigma: Floats, draws: Deviates) -> Floats:
    return np.asarray((draws[1] / EPSILON)[:, None] * (draws[0] / np.sqrt(len(sigma))) @ root(sigma).half)


def full_matrix(sigma: Floats, draws: Deviates) -> Floats:
    half = root(sigma).half
    normals, radii = draws
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray((radii / EPSILON)[:, None] * (units @ half @ half))


def reused(sigma: Floats, draws: Deviates) -> Floats:
    noise = correct(root(sigma), draws)
    noise[1::2] = noise[::2]
    return noise


PLANTED: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "renormalised A^{1/2}X": (lambda s: renormalised(s, deviates(len(s))), "radius"),
    "Gamma of shape m - 1": (lambda s: correct(root(s), deviates(len(s), len(s) - 1)), "radius"),
    "X not normalised": (lambda s: not_normalised(s, deviates(len(s))), "radius"),
    "epsilon 5% too large": (lambda s: correct(root(s), deviates(len(s)), EPSILON * 1.05), "radius"),
    "epsilon 5% too small": (lambda s: correct(root(s), deviates(len(s)), EPSILON / 1.05), "radius"),
    "trace 277 of 300": (lambda s: correct(root(s * 277 / 300), deviates(len(s))), "radius"),
    "A instead of its root": (lambda s: full_matrix(s, deviates(len(s))), "radius"),
    "lam and 1 - lam swapped": (lambda s: correct(root(s, 1.0 - LAM), deviates(len(s))), "radius"),
    "epsilon and 1/epsilon swapped": (lambda s: correct(root(s), deviates(len(s)), 1 / EPSILON), "radius"),
    "float32 noise": (
        lambda s: correct(root(s), deviates(len(s))).astype(np.float32).astype(float),
        "float64",
    ),
    "noise reused between two words": (lambda s: reused(s, deviates(len(s))), "rows"),
    "noise folded to one side": (
        lambda s: np.abs(correct(root(s), deviates(len(s)))),
        "direction|signs|radius",
    ),
}


@pytest.fixture(scope="module")
def sigma(glove: wv.Embedding) -> Iterator[Floats]:
    yield sigma_of(glove.vectors)
    deviates.cache_clear()  # a quarter of a gigabyte each


def check(noise: Floats, sigma: Floats) -> None:
    check_noise(noise, LAM * sigma + (1.0 - LAM) * np.eye(len(sigma)), EPSILON)


def test_the_correct_sampler_passes(sigma: Floats) -> None:
    check(correct(root(sigma), deviates(300)), sigma)


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(sigma: Floats, mistake: str) -> None:
    make, name = PLANTED[mistake]
    with pytest.raises(LawBrokenError, match=name):
        check(make(sigma), sigma)
