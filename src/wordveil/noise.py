"""Algorithm 1 of the paper: noise with density proportional to exp(-ε·‖z‖_RM).

N ~ Normal(0, I_m); X = N/‖N‖₂; Y ~ Gamma(m, 1/ε); Z = Y·A^{1/2}·X. A^{1/2}X is never normalised again: that
would change the density and void the guarantee. In the eigenbasis A is diagonal, so a draw costs O(m).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import check_real, check_whole
from wordveil.metric import Metric
from wordveil.randomness import Stream

__all__ = ["check_epsilon", "draw_directions", "draw_radii", "eigen_noise", "sample_noise"]

_SMALLEST_EPSILON: Final = 1e-100  # below it, the square of a noisy coordinate could overflow float64
_LARGEST_EPSILON: Final = 1e100  # every word stays long before; its product with any distance is finite


def check_epsilon(epsilon: float, owner: str, name: str = "epsilon") -> float:
    """Return ε if it is finite and positive, else raise ParameterError that names the class `owner`.

    Examples
    --------
    >>> check_epsilon(6, "MyMechanism")
    6.0
    """
    return check_real(
        epsilon, name, owner, "be finite and positive (1e-100 to 1e100)", _SMALLEST_EPSILON, _LARGEST_EPSILON
    )


def eigen_noise(
    scales: NDArray[np.float64], epsilon: float, size: int, stream: Stream
) -> NDArray[np.float64]:
    """Return `size` rows of noise in the eigenbasis, where A is diag(scales)."""
    dim = len(scales)
    noise, lengths = _normals(dim, size, stream)
    noise *= (draw_radii(dim, size, stream) / epsilon / lengths)[:, None]
    if (scales != 1.0).any():  # all are 1 at λ = 0
        noise *= np.sqrt(scales)
    return noise


def draw_directions(dim: int, size: int, stream: Stream) -> NDArray[np.float64]:
    """Return `size` rows of X, uniform on the unit sphere.

    The noise at any λ and ε is Y/ε·A^{1/2}·X: whoever needs many λ and ε for the same draws takes X from here
    and Y from `draw_radii`.

    Examples
    --------
    >>> from wordveil.randomness import insecure_stream
    >>> np.linalg.norm(draw_directions(3, 2, insecure_stream(1)), axis=1).round(6).tolist()
    [1.0, 1.0]
    """
    directions, lengths = _normals(dim, size, stream)
    directions /= lengths[:, None]
    return directions


def draw_radii(dim: int, size: int, stream: Stream) -> NDArray[np.float64]:
    """Return `size` values of Y at ε = 1, from the gamma distribution of shape m and scale 1.

    Examples
    --------
    >>> from wordveil.randomness import insecure_stream
    >>> bool((draw_radii(300, 5, insecure_stream(1)) > 100.0).all())
    True
    """
    return stream.gammas(dim, size)


def _normals(dim: int, size: int, stream: Stream) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows of independent normal deviates, and their lengths."""
    rows = stream.normals((size, dim))
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    # A row of exact zeros has no direction. It has probability 2^-52 or less, so any fixed direction will do.
    rows[lengths == 0.0, 0] = 1.0
    lengths[lengths == 0.0] = 1.0
    return rows, lengths


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
