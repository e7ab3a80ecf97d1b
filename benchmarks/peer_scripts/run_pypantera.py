"""Measure pypantera's mechanisms. It is under the GPL: it is called here, never copied."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peer_scripts.measuring import Task, answer, attempted, inputs, noise_law, timed, verbatim

# One word is what pypantera is fastest with: its distances take words × vocabulary × dims float64.
WORDS_PER_TEXT = 1
# The others, by our names: module, class and what it takes besides ε.
FAMILY: dict[str, tuple[str, str, dict[str, Any]]] = {
    "vickrey": ("EmbeddingPerturbationMechanism.vickrey", "VickreyCMP", {"t": 0.5}),
    "exponential": ("SamplingPerturbationMechanism.santext", "SanText", {}),
    "tem": ("SamplingPerturbationMechanism.tem", "TEM", {"beta": 0.001}),
    "custext": ("SamplingPerturbationMechanism.custext", "CusText", {"k": 20, "distance": "euclidean"}),
}


def main() -> None:
    task, vectors = inputs()
    # The wheel has no package `pypantera`: it puts a package named `src` into site-packages.
    module = import_module("src.EmbeddingPerturbationMechanism.mahalanobis")
    settings = {"epsilon": task.epsilon, "lam": task.lam}
    mechanism = module.Mahalanobis(settings | {"embPath": vectors})
    row = timed(lambda: obfuscate(mechanism, task.words), len(task.words), task.repeat)
    rows = {"pypantera": row | {"settings": settings | {"words_per_text": WORDS_PER_TEXT}}}
    for name in FAMILY:
        rows[f"pypantera: {name}"] = member(name, task, vectors)
    answer(mechanism.embMatrix.shape, ("pypantera", "numpy", "scipy", "pandas"), rows, facts(mechanism, task))


def member(name: str, task: Task, vectors: str) -> dict[str, Any]:
    """Return the times of another mechanism of the family; as pypantera's Mahalanobis, one word per text."""
    place, kind, others = FAMILY[name]
    epsilon = task.epsilon if name == "vickrey" else task.epsilon_of_weights
    settings = {"epsilon": epsilon} | others

    def make() -> Callable[[list[str]], object]:
        mechanism = getattr(import_module(f"src.{place}"), kind)(settings | {"embPath": vectors})
        return lambda words: obfuscate(mechanism, words)

    return attempted(make, task.words, task.repeat) | {"settings": settings}


def obfuscate(mechanism: Any, words: list[str]) -> list[str]:
    frame = import_module("pandas").DataFrame({"id": range(len(words)), "text": words})
    texts = mechanism.obfuscateText(frame, 1)["obfuscatedText"]
    return [text for (text,) in texts]


def facts(mechanism: Any, task: Task) -> dict[str, Any]:
    noise = np.array([mechanism.pullNoise() for _ in range(task.draws)])
    return {
        "unknown_words_verbatim": verbatim(obfuscate(mechanism, task.unknown), task.unknown),
        "noise_law": noise_law(noise, mechanism.embMatrix, task),
    }


if __name__ == "__main__":
    main()
