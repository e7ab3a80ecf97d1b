"""What the scripts of peers share: the task, the timing, and the law of the noise."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import seconds


@dataclass(frozen=True, slots=True)
class Task:
    """The task of every peer, as written by benchmarks.peers."""

    words: list[str]
    unknown: list[str]
    epsilon: float
    epsilon_of_weights: float  # of mechanisms that choose by weights: words change about as often there
    lam: float
    repeat: int
    draws: int


def inputs() -> tuple[Task, str]:
    task, vectors = sys.argv[1:]
    return Task(**json.loads(Path(task).read_text(encoding="utf-8"))), vectors


def answer(
    shape: Sequence[int], packages: Iterable[str], rows: dict[str, Any], facts: dict[str, Any]
) -> None:
    """Print the result as the last line; the peers print other lines before it."""
    versions = {name: version(name) for name in packages}
    result = {"words": shape[0], "dims": shape[1], "versions": versions, "rows": rows, "facts": facts}
    print(json.dumps(result))


def timed(act: Callable[[], object], words: int, repeat: int) -> dict[str, Any]:
    """Return milliseconds per word: the best pass after a warm-up, and all passes."""
    act()
    passes = [seconds(act) / words * 1000 for _ in range(repeat)]
    return {"ms_per_word": min(passes), "passes": passes}


def attempted(
    make: Callable[[], Callable[[list[str]], object]], words: list[str], passes: int
) -> dict[str, Any]:
    """Return the same for a mechanism that may fail, or the kind of its error.

    Each pass has words of its own, since some peers remember what they computed for a word.
    """
    try:
        act = make()
        act(words[:1])
        parts = [words[1 + start :: passes] for start in range(passes)]
        times = [seconds(lambda: act(part)) / len(part) * 1000 for part in parts]  # noqa: B023  # called at once
    except Exception as error:  # whatever a peer raises becomes a row of the table
        return {"failed": type(error).__name__}
    return {"ms_per_word": min(times), "passes": times}


def verbatim(outputs: Iterable[str], inputs: Iterable[str]) -> str:
    same = [left == right for left, right in zip(outputs, inputs, strict=True)]
    return f"{sum(same)} of {len(same)}"


def noise_law(noise: NDArray[np.float64], vectors: NDArray[Any], task: Task) -> dict[str, float]:
    """Return moments of ‖z‖, Gamma(m, 1/ε) in the Mahalanobis norm, each over its true value: 1 is right.

    trace(A) = m makes the Euclidean second moment right even for noise that is normalised after A^½, and the
    Mahalanobis one nearly so; the variance of the Mahalanobis norm reveals that mistake.
    """
    count, dim = noise.shape
    squares = np.sum(noise * np.linalg.solve(metric_matrix(vectors, task.lam), noise.T).T, axis=1)
    second, variance = dim * (dim + 1) / task.epsilon**2, dim / task.epsilon**2
    spread = float(np.sqrt(squares).var(ddof=1) / variance)
    return {
        "draws": count,
        "second_moment": float(squares.mean() / second),
        "second_moment_standard_error": float(squares.std(ddof=1) / second / np.sqrt(count)),
        "second_moment_euclidean": float(np.sum(noise**2, axis=1).mean() / second),
        "variance": spread,
        "variance_standard_error": float(spread * np.sqrt(2 / (count - 1))),
    }


def metric_matrix(vectors: NDArray[Any], lam: float) -> NDArray[np.float64]:
    """Return the paper's A = λΣ + (1-λ)I with trace(Σ) = m, whatever the peer computes."""
    covariance = np.cov(vectors.astype(np.float64), rowvar=False)
    dim = len(covariance)
    matrix: NDArray[np.float64] = lam * covariance * dim / np.trace(covariance) + (1 - lam) * np.identity(dim)
    return matrix
