"""Wrong samplers that the checks must catch, each by the check of that name: the tests are tested."""

from collections.abc import Callable

import numpy as np
import pytest

import wordveil as wv

from .laws import LawBrokenError, Root, Table, check_noise, matrix_of, root_of, sigma_of

N = 100_000
EPSILON, LAM = 2.0, 0.3
Deviates = tuple[Table, Table]


def deviates(dim: int, shape: float | None = None) -> Deviates:
    draws = np.random.default_rng(1)
    return draws.normal(size=(N, dim)), draws.gamma(shape or dim, size=N)


def right(root: Root, given: Deviates, epsilon: float = EPSILON) -> Table:
    normals, radii = given
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray((radii / epsilon)[:, None] * (units @ root.half))


def renormalised(sigma: Table, given: Deviates) -> Table:
    noise = right(root(sigma), given)
    length = np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray(noise / length * (given[1] / EPSILON)[:, None])


def root(sigma: Table, lam: float = LAM) -> Root:
    return root_of(lam * sigma + (1.0 - lam) * np.eye(len(sigma)))


def not_normalised(sigma: Table, given: Deviates) -> Table:
    return np.asarray((given[1] / EPSILON)[:, None] * (given[0] / np.sqrt(len(sigma))) @ root(sigma).half)


def whole_matrix(sigma: Table, given: Deviates) -> Table:
    half = root(sigma).half
    normals, radii = given
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray((radii / EPSILON)[:, None] * (units @ half @ half))


def reused(sigma: Table, given: Deviates) -> Table:
    noise = right(root(sigma), given)
    noise[1::2] = noise[::2]
    return noise


PLANTED: dict[str, tuple[Callable[[Table], Table], str]] = {
    "renormalised A^{1/2}X": (lambda s: renormalised(s, deviates(len(s))), "radius"),
    "Gamma of shape m - 1": (lambda s: right(root(s), deviates(len(s), len(s) - 1)), "radius"),
    "X not normalised": (lambda s: not_normalised(s, deviates(len(s))), "radius"),
    "epsilon 5% too large": (lambda s: right(root(s), deviates(len(s)), EPSILON * 1.05), "radius"),
    "epsilon 5% too small": (lambda s: right(root(s), deviates(len(s)), EPSILON / 1.05), "radius"),
    "trace 277 of 300": (lambda s: right(root(s * 277 / 300), deviates(len(s))), "radius"),
    "A in place of its root": (lambda s: whole_matrix(s, deviates(len(s))), "radius"),
    "lam and 1 - lam swapped": (lambda s: right(root(s, 1.0 - LAM), deviates(len(s))), "radius"),
    "epsilon and 1/epsilon swapped": (lambda s: right(root(s), deviates(len(s)), 1 / EPSILON), "radius"),
    "float32 noise": (lambda s: right(root(s), deviates(len(s))).astype(np.float32).astype(float), "float64"),
    "noise reused between two words": (lambda s: reused(s, deviates(len(s))), "rows"),
    "noise folded to one side": (
        lambda s: np.abs(right(root(s), deviates(len(s)))),
        "direction|signs|radius",
    ),
}


@pytest.fixture(scope="module")
def vectors(glove: wv.Embedding) -> Table:
    return glove.vectors.astype(np.float64)


def test_the_right_sampler_passes(vectors: Table) -> None:
    sigma = sigma_of(vectors)
    check_noise(right(root(sigma), deviates(300)), matrix_of(vectors, LAM), EPSILON)


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_caught(vectors: Table, mistake: str) -> None:
    make, name = PLANTED[mistake]
    with pytest.raises(LawBrokenError, match=name):
        check_noise(make(sigma_of(vectors)), matrix_of(vectors, LAM), EPSILON)
