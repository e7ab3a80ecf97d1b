"""Algorithm 1 of the paper: noise with density proportional to exp(-ε·‖z‖_RM).

N ~ Normal(0, I_m); X = N/‖N‖₂; Y ~ Gamma(m, 1/ε); Z = Y·A^{1/2}·X. A^{1/2}X is never normalised again: that
would change the density and void the guarantee. In the eigenbasis A is diagonal, so a draw costs O(m).
"""

import math

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import check_real, check_whole
from wordveil.metric import Metric
from wordveil.randomness import Stream

__all__ = ["check_epsilon", "eigen_noise", "sample_noise"]

_SMALLEST_EPSILON = 1e-100  # below it, the square of a noisy coordinate could overflow float64


def check_epsilon(epsilon: float, owner: str, name: str = "epsilon") -> float:
    """Return ε if it is finite and positive, else raise ParameterError."""
    return check_real(
        epsilon, name, owner, "be finite and positive (1e-100 or more)", _SMALLEST_EPSILON, math.inf
    )


def eigen_noise(
    scales: NDArray[np.float64], epsilon: float, size: int, stream: Stream
) -> NDArray[np.float64]:
    """Return `size` rows of noise in the eigenbasis, where A is diag(scales)."""
    dim = len(scales)
    noise = stream.normals((size, dim))
    radii = stream.gammas(dim, size)
    lengths = np.sqrt(np.einsum("ij,ij->i", noise, noise))
    # A row of exact zeros has no direction. It has probability 2^-52 or less, so any fixed direction will do.
    noise[lengths == 0.0, 0] = 1.0
    lengths[lengths == 0.0] = 1.0
    noise *= (radii / epsilon / lengths)[:, None]
    noise *= np.sqrt(scales)
    return noise


def sample_noise(metric: Metric, epsilon: float, size: int, stream: Stream) -> NDArray[np.float64]:
    """Return `size` rows of noise in the embedding's own coordinates.

    Examples
    --------
    >>> from wordveil.randomness import insecure_stream
    >>> sample_noise(Metric.euclidean(3), epsilon=2.0, size=5, stream=insecure_stream(1)).shape
    (5, 3)
    """
    epsilon = check_epsilon(epsilon, "sample_noise")
    size = check_whole(size, "size", "sample_noise", 0)
    return np.asarray(eigen_noise(metric.scales, epsilon, size, stream) @ metric.axes.T)
