"""What private text is still good for: classifiers that learn from it, over ε, λ and repetitions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.engines.base import perturbed_texts
from wordveil.errors import FormatError, ParameterError, check_real, check_whole
from wordveil.evaluation.claims import Verdict
from wordveil.evaluation.classifiers import ClassifierName, Fits, classify
from wordveil.evaluation.datasets import LabelledTexts
from wordveil.evaluation.student import half_width, p_positive, p_two_sided
from wordveil.mechanisms import Mahalanobis
from wordveil.nearest.devices import DeviceName
from wordveil.noise import check_epsilon
from wordveil.perturber import Perturber
from wordveil.randomness import insecure_key
from wordveil.tokens import join, split

__all__ = ["OVERLAP", "Scores", "Utility", "UtilityGrid", "interval", "utility", "utility_claims"]

_TRAIN: Final = 0.7
OVERLAP: Final = (1.0 - _TRAIN) / _TRAIN
"""The size of a test part over that of its training part: repetitions share data, and intervals must know."""

_RECALL: Final = 0.94
_TELLING: Final = 0.05
_LEVEL: Final = 0.05
_LEAST: Final = 3


class Scores(NamedTuple):
    """How well a classifier does; precision, recall and F1 are about the positive label, or the other one."""

    accuracy: float
    precision: float
    recall: float
    f1: float
    other_precision: float
    other_recall: float


@dataclass(frozen=True, slots=True)
class UtilityGrid:
    """The settings of a utility experiment."""

    epsilons: tuple[float, ...]
    lams: tuple[float, ...]
    repetitions: int = 5
    classifier: ClassifierName = "bow"
    test: Literal["perturbed", "clean"] = "perturbed"
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self.repetitions, "repetitions", "UtilityGrid", 1, 1000)
        check_whole(self.seed, "seed", "UtilityGrid", 0)
        for epsilon in self.epsilons:
            check_epsilon(epsilon, "UtilityGrid", "epsilons")
        for lam in self.lams:
            check_real(lam, "lams", "UtilityGrid", "be in [0, 1]", 0.0, 1.0)
        for values in (self.epsilons, self.lams):
            if not values or list(values) != sorted(set(values)):
                raise ParameterError("ε and λ of an experiment must be different numbers in ascending order.")


@dataclass(frozen=True, eq=False)
class Utility:
    """Scores of shape (λ, ε, repetition, score), and those of the same classifier on unperturbed text.

    `majority` is the accuracy of calling every text by the more frequent label.
    """

    grid: UtilityGrid
    scores: NDArray[np.float64]
    clean: NDArray[np.float64]
    majority: float
    failed_fits: int = 0

    @property
    def learns(self) -> bool:
        """Whether the classifier does better than by the more frequent label, on unperturbed text."""
        return float(self.clean[:, 0].mean()) > self.majority


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean over repetitions, and how far its 95% interval reaches, corrected for their overlap."""
    return float(values.mean()), half_width(values, OVERLAP)


def utility(
    data: LabelledTexts,
    embedding: Embedding,
    grid: UtilityGrid,
    watch: Callable[[int, int], None] = lambda *_: None,
    *,
    device: DeviceName = "cpu",
) -> Utility:
    """Train on perturbed text, test on perturbed or clean text, at every setting.

    The splits (70/30, stratified) are the same at all settings, so that settings can be compared in pairs.
    The noise comes from a seed: only scores leave here, and no text.
    """
    plain = [join(split(text)) for text in data.texts]
    labels = np.array(data.labels)
    splits = [_split(labels, grid.seed, number) for number in range(grid.repetitions)]
    if not all(any(plain[i] for i in known.tolist()) for known, _ in splits):
        raise FormatError("The texts to learn from hold no words.")
    fits = Fits()

    def score(
        train: list[str], test: list[str], which: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> Scores:
        known, asked = which
        said = classify(
            grid.classifier,
            [train[i] for i in known.tolist()],
            labels[known],
            [test[i] for i in asked.tolist()],
            embedding,
            fits,
        )
        return _scores(labels[asked], said)

    clean = np.array([score(plain, plain, which) for which in splits])
    shape = len(grid.lams), len(grid.epsilons), grid.repetitions
    scores = np.empty((*shape, len(Scores._fields)))
    for done, (i, j, k) in enumerate(np.ndindex(*shape)):
        perturber = Perturber(Mahalanobis(embedding, grid.epsilons[j], grid.lams[i], device=device))
        answers, _ = perturbed_texts(
            perturber, insecure_key(grid.seed), k, i * len(grid.epsilons) + j, {"text": [*data.texts]}
        )
        private = [text or "" for text in answers["text"]]
        scores[i, j, k] = score(private, private if grid.test == "perturbed" else plain, splits[k])
        watch(done + 1, math.prod(shape))
    share = float(labels.mean())
    return Utility(grid, scores, clean, max(share, 1.0 - share), fits.failed)


def _split(labels: NDArray[np.bool_], seed: int, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and those to be tested on, with equal shares of both labels."""
    random = np.random.default_rng([seed, 7, number])
    known, asked = [], []
    for label in (False, True):
        rows = random.permutation(np.flatnonzero(labels == label))
        border = round(_TRAIN * len(rows))
        known.append(rows[:border])
        asked.append(rows[border:])
    return np.sort(np.concatenate(known)), np.sort(np.concatenate(asked))


def _scores(true: NDArray[np.bool_], said: NDArray[np.bool_]) -> Scores:
    """Return the scores; a precision or recall of nothing is 0.

    Examples
    --------
    >>> _scores(np.array([True, True, False, False]), np.array([True, False, True, False]))
    Scores(accuracy=0.5, precision=0.5, recall=0.5, f1=0.5, other_precision=0.5, other_recall=0.5)
    """
    precision, recall = _precision_recall(true, said)
    f1 = 2 * precision * recall / (precision + recall) if precision else 0.0
    return Scores(float((true == said).mean()), precision, recall, f1, *_precision_recall(~true, ~said))


def _precision_recall(true: NDArray[np.bool_], said: NDArray[np.bool_]) -> tuple[float, float]:
    hits = int(np.count_nonzero(true & said))
    return hits / max(1, int(np.count_nonzero(said))), hits / max(1, int(np.count_nonzero(true)))


def utility_claims(found: Utility, sms: tuple[str, str] | None = None) -> list[Verdict]:
    """Return the verdict on each claim of the paper about utility.

    One is about its SMS alone: `sms` are the positive label and the other one, if this is what they are.
    """
    accuracy = found.scores[..., 0]
    verdicts = [_rises(found, accuracy), _no_difference(found, accuracy)]
    if sms is not None:
        places = Scores._fields.index("recall"), Scores._fields.index("other_recall")
        # Both labels, since the paper does not say which is the positive one.
        verdicts += [_recall(found, label, place) for label, place in zip(sms, places, strict=True)]
    if found.learns:
        return verdicts
    why = f"the classifier does not beat the more frequent label ({found.majority:.3f}) on unperturbed text"
    return [Verdict(verdict.claim, None, why) for verdict in verdicts]


def _recall(found: Utility, label: str, number: int) -> Verdict:
    means = found.scores[..., number].mean(axis=2)
    i, j = np.unravel_index(int(means.argmin()), means.shape)
    mean, half = interval(found.scores[i, j, :, number])
    told = (
        f"its least mean is {mean:.3f} ± {half:.3f}, at λ = {found.grid.lams[i]:g}, "
        f"ε = {found.grid.epsilons[j]:g}; unperturbed {found.clean[:, number].mean():.3f}"
    )
    claim = f"recall of {label} stays around 0.95 or higher (at least {_RECALL:g} at every setting)"
    return Verdict(claim, mean >= _RECALL, told)


def _rises(found: Utility, accuracy: NDArray[np.float64]) -> Verdict:
    claim = "accuracy rises with ε towards the benchmark"
    if len(found.grid.epsilons) < 2 or found.grid.repetitions < _LEAST:
        return Verdict(claim, None, f"needs two ε and {_LEAST} repetitions")
    means = accuracy.mean(axis=(0, 2))
    benchmark = float(found.clean[:, 0].mean())
    p = p_positive(accuracy[:, -1].mean(axis=0) - accuracy[:, 0].mean(axis=0), OVERLAP)
    closer = abs(benchmark - means[-1]) < abs(benchmark - means[0])
    path = ", ".join(f"{mean:.3f} at ε = {e:g}" for mean, e in zip(means, found.grid.epsilons, strict=True))
    told = f"{path}; unperturbed {benchmark:.3f} (p = {p:.3g})"
    return Verdict(claim, bool(closer and p < _LEVEL), told)


def _no_difference(found: Utility, accuracy: NDArray[np.float64]) -> Verdict:
    """Compare every λ with the first, in pairs; what a wide interval could hide is not called the same."""
    grid = found.grid
    claim = f"no significant difference in accuracy between λ = {grid.lams[0]:g} and the other λ"
    if len(grid.lams) < 2 or grid.repetitions < _LEAST:
        return Verdict(claim, None, f"needs two λ and {_LEAST} repetitions")
    told, least, widest = [], 1.0, 0.0
    tests = (len(grid.lams) - 1) * len(grid.epsilons)
    for (i, lam), (j, epsilon) in product(enumerate(grid.lams[1:], 1), enumerate(grid.epsilons)):
        mean, half = interval(accuracy[i, j] - accuracy[0, j])
        p = p_two_sided(accuracy[i, j] - accuracy[0, j], OVERLAP)
        least, widest = min(least, p), max(widest, half)
        told.append(f"λ = {lam:g}, ε = {epsilon:g}: {mean:+.3f} ± {half:.3f} (p = {p:.2g})")
    words = f"{'; '.join(told)}; paired over {grid.repetitions} repetitions, {tests} tests (Bonferroni)"
    if least <= _LEVEL / tests:
        return Verdict(claim, False, words)
    if widest > _TELLING:
        return Verdict(claim, None, f"{words}; an interval is wider than ±{_TELLING:g}")
    return Verdict(claim, True, words)
