"""The regularized Mahalanobis metric: ‖x‖_RM = sqrt(xᵀ A⁻¹ x) with A = λΣ + (1-λ)I.

Σ is the sample covariance of the public vectors divided by their mean sample variance, so its trace is m.
λ = 0 is the Euclidean metric.
"""

import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.cache import cached_json_about
from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked, row_blocks, row_norms
from wordveil.errors import ParameterError, check_real, check_whole
from wordveil.shared import PerEmbedding

__all__ = ["Bracket", "EuclideanBounds", "Metric", "enclosing_diameter", "projection_factor"]

# The least ratio between the smallest and the largest eigenvalue of A. The eigenvalues are off by about 1e-15
# of the largest, so at this ratio the smallest has some 7 correct digits; at a lower one it would have fewer,
# and the bounds of the metric depend on it.
_SMALLEST_RATIO: Final = 1e-8
# Steps towards the centre of the smallest ball around all words; each takes two passes over the vectors. With
# the default vectors the upper bound of the diameter is 1.44 times the lower one after 1 step, 1.30 times
# after 16 (0.6 s), 1.26 times after 64 (1.2 s) and 1.25 times after 256 (3.7 s).
_SWEEPS: Final = 16
_LAMBDAS: Final = 64  # far more than a grid has; a bracket is two numbers


class EuclideanBounds(NamedTuple):
    """lower·‖x‖₂ ≤ ‖x‖_RM ≤ upper·‖x‖₂ for every x, from the true eigenvalues.

    The paper's bounds are looser: they only use that the eigenvalues of Σ are between 0 and m.
    """

    lower: float
    upper: float
    paper_lower: float
    paper_upper: float


class Bracket(NamedTuple):
    """Certified bounds of a number, which is at least `lower` and at most `upper`."""

    lower: float
    upper: float


_brackets: Final = PerEmbedding[Bracket](most=_LAMBDAS)


@dataclass(frozen=True, eq=False)
class Metric:
    """A norm and a distance on the space of an embedding; create one with `from_embedding` or `euclidean`.

    Attributes
    ----------
    lam : float
        λ in [0, 1].
    eigenvalues : array of shape (m,)
        The eigenvalues of Σ, ascending.
    axes : array of shape (m, m)
        The eigenvectors of Σ (and of A), as columns.

    Examples
    --------
    >>> metric = Metric.euclidean(2)
    >>> metric.norm([3.0, 4.0])
    5.0
    """

    lam: float
    eigenvalues: NDArray[np.float64] = field(repr=False)
    axes: NDArray[np.float64] = field(repr=False)
    _embedding: Embedding | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "axes"):
            object.__setattr__(self, name, locked(getattr(self, name)))

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        # Unpickled arrays would be writeable; the constructor locks them again.
        return type(self), (self.lam, self.eigenvalues, self.axes, self._embedding)

    @classmethod
    def from_embedding(cls, embedding: Embedding, lam: float = 1.0) -> Self:
        """Return the metric that the vectors of `embedding` define at `lam`.

        Examples
        --------
        >>> from wordveil.embedding import load_embedding
        >>> metric = Metric.from_embedding(load_embedding(), lam=1.0)
        >>> metric.dim, round(float(metric.eigenvalues.sum()), 6)
        (300, 300.0)
        """
        lam = check_real(lam, "lam", "Metric", "be in [0, 1]", 0.0, 1.0)
        spectrum = embedding.spectrum
        metric = cls(lam, spectrum.eigenvalues, spectrum.axes, embedding)
        if lam > 0.0 and spectrum.mean_variance == 0.0:
            raise ParameterError("All vectors are the same, so their covariance is zero. Hint: try lam=0.")
        if lam == 1.0 and len(embedding) < embedding.dim + 1:
            raise ParameterError(
                f"At lam=1 there must be more words than dimensions. Got {len(embedding)} words and "
                f"{embedding.dim} dimensions instead. Hint: try lam={metric._largest_lam()} or less."
            )
        if metric.scales[0] < _SMALLEST_RATIO * metric.scales[-1]:
            raise ParameterError(
                "The vectors are flat in some direction, so the metric has no bound at this lam. "
                f"Hint: try lam={metric._largest_lam()} or less, or fewer dimensions."
            )
        return metric

    def _largest_lam(self) -> float:
        """Return a λ, rounded down to 4 digits, at which the smallest eigenvalue of A is large enough."""
        low, high = float(self.eigenvalues[0]), float(self.eigenvalues[-1])
        largest = (1.0 - _SMALLEST_RATIO) / ((1.0 - low) + _SMALLEST_RATIO * (high - 1.0))
        return math.floor(largest * 9999) / 1e4

    @classmethod
    def euclidean(cls, dim: int) -> Self:
        """Return the Euclidean metric in `dim` dimensions."""
        dim = check_whole(dim, "dim", "Metric.euclidean", 1)
        return cls(0.0, np.ones(dim), np.eye(dim))

    @property
    def dim(self) -> int:
        """The number of dimensions m."""
        return len(self.eigenvalues)

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """The eigenvalues of A, ascending."""
        return locked(self.lam * self.eigenvalues + (1.0 - self.lam))

    @cached_property
    def fingerprint(self) -> bytes:
        """A SHA-256 of λ, the eigenvalues and the axes."""
        digest = hashlib.sha256(np.float64(self.lam).tobytes())
        for array in (self.eigenvalues, self.axes):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def belongs_to(self, embedding: Embedding) -> bool:
        """Say whether the metric was made from this embedding, by `from_embedding`."""
        return (
            self._embedding is embedding
            and self.axes.shape == (embedding.dim, embedding.dim)
            and bool(
                np.array_equal(self.eigenvalues, embedding.spectrum.eigenvalues)
                and np.array_equal(self.axes, embedding.spectrum.axes)
            )
        )

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The matrix A, in the embedding's own coordinates."""
        matrix = (self.axes * self.scales) @ self.axes.T
        return np.asarray((matrix + matrix.T) / 2.0)

    def whiten(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return A^{-1/2} x in the eigenbasis, where ‖·‖_RM is the Euclidean norm."""
        table = np.asarray(x, dtype=np.float64)
        if table.ndim not in (1, 2) or table.shape[-1] != self.dim:
            raise ParameterError(
                f"A vector for this metric must have {self.dim} numbers, or be a table of such rows. "
                f"Got shape {table.shape} instead."
            )
        return np.asarray(table @ self.axes / np.sqrt(self.scales))

    def norm(self, x: ArrayLike) -> float | NDArray[np.float64]:
        """Return ‖x‖_RM of a vector, or of each row of a table."""
        white = self.whiten(x)
        norms = np.sqrt(np.einsum("...j,...j->...", white, white))
        return float(norms) if white.ndim == 1 else norms

    def distance(self, a: ArrayLike, b: ArrayLike) -> float | NDArray[np.float64]:
        """Return ‖a - b‖_RM, or the distance of each pair of rows of two tables."""
        return self.norm(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64))

    def pairwise(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the distances between all rows of `a` and all rows of `b`."""
        a_rows, b_rows = (np.atleast_2d(np.asarray(table, dtype=np.float64)) for table in (a, b))
        centre = a_rows.mean(axis=0)  # far from the origin, differences would lose digits to cancellation
        left, right = self.whiten(a_rows - centre), self.whiten(b_rows - centre)
        distances = np.empty((len(left), len(right)))
        for row, point in enumerate(left):
            difference = right - point
            distances[row] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        return distances

    def euclidean_bounds(self) -> EuclideanBounds:
        """Return the multiples of the Euclidean norm that bound the metric.

        Examples
        --------
        >>> Metric.euclidean(3).euclidean_bounds()
        EuclideanBounds(lower=1.0, upper=1.0, paper_lower=1.0, paper_upper=1.0)
        """
        identity_share = 1.0 - self.lam
        return EuclideanBounds(
            lower=float(1.0 / np.sqrt(self.scales[-1])),
            upper=float(1.0 / np.sqrt(self.scales[0])),
            paper_lower=1.0 / math.sqrt(self.lam * self.dim + identity_share),
            paper_upper=1.0 / math.sqrt(identity_share) if identity_share > 0.0 else math.inf,
        )

    def diameter(self) -> Bracket:
        """Return certified bounds of the largest distance between two words, in O(V·m).

        The lower bound is the distance of an actual pair of words; the upper bound is twice the radius of a
        ball that contains every word.

        Examples
        --------
        >>> emb = Embedding(["a", "b", "c"], [[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], public=True)
        >>> bracket = Metric.from_embedding(emb, lam=0.0).diameter()
        >>> bracket.lower <= 5.0 <= bracket.upper
        True
        """
        if self._embedding is None:
            raise ParameterError("A metric that was not made from an embedding has no diameter.")
        embedding = self._embedding
        return _brackets.get(embedding, self.fingerprint, lambda: self._cached_bracket(embedding))

    def _cached_bracket(self, embedding: Embedding) -> Bracket:
        key = {"metric": self.fingerprint.hex()}
        return Bracket(*cached_json_about(embedding, "diameter", key, lambda: self._bracket(embedding)))

    def _bracket(self, embedding: Embedding) -> Bracket:
        vectors, centre = embedding.vectors, embedding.centroid
        white = np.empty(vectors.shape, dtype=np.float32)
        longest = float(row_norms(vectors).max())
        # Scaling by a power of two is exact, and near 1 no square of a float32 overflows or underflows.
        scale = 2.0 ** -math.frexp((longest + float(np.linalg.norm(centre))) / math.sqrt(self.scales[0]))[1]
        for block in row_blocks(len(vectors)):
            white[block] = self.whiten(vectors[block] - centre) * scale
        pair, radius = _enclose(white)
        distance = self.distance(vectors[pair[0]], vectors[pair[1]])
        # Rounding to float32 moves a point by at most 2^-24 of its norm, and a sum of m terms adds m such
        # errors. Far from the origin, where centring cancels most digits, its float64 rounding counts too.
        largest = float(np.abs(white).max()) * math.sqrt(self.dim)
        slack = (self.dim + 8) * 2.0**-23 * (radius + largest) + (self.dim + 8) * 2.0**-50
        return Bracket(float(distance) * (1.0 - 1e-9), 2.0 * (radius + slack) / scale)


def enclosing_diameter(rows: NDArray[np.float64]) -> tuple[tuple[int, int], float]:
    """Return a pair of rows that are far apart, and a certified upper bound of every Euclidean distance.

    Examples
    --------
    >>> pair, upper = enclosing_diameter(np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]]))
    >>> sorted(pair), 5.0 <= upper < 6.0
    ([0, 1], True)
    """
    centred = rows - rows.mean(axis=0)
    longest = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))
    scale = 2.0 ** -math.frexp(max(2.0 * longest, 1e-300))[1]  # exact, and no square overflows
    pair, radius = _enclose((centred * scale).astype(np.float32))
    # As in `Metric.diameter`: every scaled number is below 1.
    slack = (rows.shape[1] + 8) * (2.0**-23 * (radius + 1.0) + 2.0**-50)
    return pair, 2.0 * (radius + slack) / scale


def projection_factor(embedding: Embedding, lam: float, k: int) -> float:
    """Return the smallest K such that distances on the top `k` axes are at most K times the original ones.

    At λ = 0 it is 1: a projection increases no distance. At λ > 0, Σ is rescaled in k dimensions by
    ρ = k/(μ₁ + … + μ_k) ≤ 1, and K = sqrt((λμ₁ + 1-λ)/(λρμ₁ + 1-λ)), which is attained on the first axis.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> round(projection_factor(load_embedding(), 1.0, 25), 2)
    2.08
    """
    top_eigenvalues = embedding.spectrum.eigenvalues[::-1][:k]
    first, rho = float(top_eigenvalues[0]), k / float(top_eigenvalues.sum())
    return math.sqrt((lam * first + 1.0 - lam) / (lam * rho * first + 1.0 - lam))


def _enclose(points: NDArray[np.float32]) -> tuple[tuple[int, int], float]:
    """Return the farthest pair of points and the radius of the smallest enclosing ball seen in the search.

    The centre moves towards the farthest point in ever smaller steps (Bădoiu and Clarkson, 2003).
    """
    centre = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    radius, widest, pair = math.inf, -1.0, (0, 0)
    for step in range(1, _SWEEPS + 1):
        distances = _distances(points, centre)
        farthest = int(distances.argmax())
        radius = min(radius, float(distances[farthest]))
        from_farthest = _distances(points, points[farthest])
        opposite = int(from_farthest.argmax())
        if from_farthest[opposite] > widest:
            widest, pair = float(from_farthest[opposite]), (farthest, opposite)
        centre = centre + (points[farthest] - centre) / np.float32(step + 1)
    return pair, radius


def _distances(points: NDArray[np.float32], centre: NDArray[np.float32]) -> NDArray[np.float32]:
    distances = np.empty(len(points), dtype=np.float32)
    for block in row_blocks(len(points)):
        difference = points[block] - centre
        distances[block] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return distances
