"""How useful private text still is: classifiers that learn from it, over ε, λ and repetitions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.engines.base import perturbed_texts
from wordveil.errors import FormatError, check_whole
from wordveil.evaluation.claims import Verdict
from wordveil.evaluation.classifiers import ClassifierName, Fits, classify
from wordveil.evaluation.datasets import LabelledTexts
from wordveil.evaluation.grid import check_settings
from wordveil.evaluation.student import half_width, p_positive, p_two_sided
from wordveil.mechanisms import Mahalanobis
from wordveil.mechanisms.answers import AnswerName, check_answer
from wordveil.nearest.devices import DeviceName
from wordveil.perturber import Perturber
from wordveil.randomness import insecure_key
from wordveil.tokens import join, split

__all__ = ["OVERLAP", "Scores", "Utility", "UtilityGrid", "interval", "utility", "utility_claims"]

_TRAIN_SHARE: Final = 0.7  # learn from 70%, test on 30%
OVERLAP: Final = (1.0 - _TRAIN_SHARE) / _TRAIN_SHARE
"""The size of a test part over that of its training part. Repetitions share data, which widens intervals."""

_MIN_RECALL: Final = 0.94  # the paper says "around 0.95 or higher"; a hundredth less still counts
_MAX_HALF_WIDTH: Final = 0.05  # a wider interval could hide a difference of 5 points
_LEVEL: Final = 0.05  # of each claim; divided by the number of its tests
_MIN_REPETITIONS: Final = 3  # two leave one degree of freedom: useless intervals


class Scores(NamedTuple):
    """Scores of a classifier: precision, recall and F1 for the positive label, two for the other one."""

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
    answer: AnswerName = "nearest"

    def __post_init__(self) -> None:
        check_whole(self.repetitions, "repetitions", "UtilityGrid", 1, 1000)
        check_whole(self.seed, "seed", "UtilityGrid", 0)
        check_settings(self.epsilons, self.lams, "UtilityGrid")
        check_answer(self.answer, "UtilityGrid")


@dataclass(frozen=True, eq=False)
class Utility:
    """Scores of shape (λ, ε, repetition, score), and those of the same classifier on unperturbed text.

    `majority` is the accuracy of always answering with the more frequent label.
    """

    grid: UtilityGrid
    scores: NDArray[np.float64]
    clean: NDArray[np.float64]
    majority: float
    failed_fits: int = 0

    @property
    def learns(self) -> bool:
        """Whether the classifier beats the more frequent label on unperturbed text."""
        return float(self.clean[:, 0].mean()) > self.majority


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean over repetitions and the half-width of its 95% interval, corrected for overlap."""
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

    The splits (70/30, stratified) are the same at all settings, so settings can be compared in pairs. The
    noise comes from a seed, so only scores are returned, and no text.
    """
    plain = [join(split(text)) for text in data.texts]
    labels = np.array(data.labels)
    splits = [_split(labels, grid.seed, number) for number in range(grid.repetitions)]
    if not all(any(plain[i] for i in train_rows.tolist()) for train_rows, _ in splits):
        raise FormatError("The texts to learn from contain no words.")
    fits = Fits()

    def score(train: list[str], test: list[str], rows: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Scores:
        train_rows, test_rows = rows
        predicted = classify(
            grid.classifier,
            [train[i] for i in train_rows.tolist()],
            labels[train_rows],
            [test[i] for i in test_rows.tolist()],
            embedding,
            fits,
        )
        return _scores(labels[test_rows], predicted)

    clean = np.array([score(plain, plain, rows) for rows in splits])
    shape = len(grid.lams), len(grid.epsilons), grid.repetitions
    scores = np.empty((*shape, len(Scores._fields)))
    for done, (i, j, k) in enumerate(np.ndindex(*shape)):
        perturber = Perturber(
            Mahalanobis(embedding, grid.epsilons[j], grid.lams[i], device=device, answer=grid.answer)
        )
        answers, _ = perturbed_texts(
            perturber, insecure_key(grid.seed), k, i * len(grid.epsilons) + j, {"text": [*data.texts]}
        )
        private = [text or "" for text in answers["text"]]
        scores[i, j, k] = score(private, private if grid.test == "perturbed" else plain, splits[k])
        watch(done + 1, math.prod(shape))
    share = float(labels.mean())
    return Utility(grid, scores, clean, max(share, 1.0 - share), fits.failed)


def _split(labels: NDArray[np.bool_], seed: int, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and the rows to test on; both have the same share of each label."""
    random = np.random.default_rng([seed, 7, number])
    train, test = [], []
    for label in (False, True):
        rows = random.permutation(np.flatnonzero(labels == label))
        border = round(_TRAIN_SHARE * len(rows))
        train.append(rows[:border])
        test.append(rows[border:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def _scores(true: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Scores:
    """Return the scores; a precision or recall over no texts is 0.

    Examples
    --------
    >>> _scores(np.array([True, True, False, False]), np.array([True, False, True, False]))
    Scores(accuracy=0.5, precision=0.5, recall=0.5, f1=0.5, other_precision=0.5, other_recall=0.5)
    """
    precision, recall = _precision_recall(true, predicted)
    f1 = 2 * precision * recall / (precision + recall) if precision else 0.0
    accuracy = float((true == predicted).mean())
    return Scores(accuracy, precision, recall, f1, *_precision_recall(~true, ~predicted))


def _precision_recall(true: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> tuple[float, float]:
    hits = int(np.count_nonzero(true & predicted))
    return hits / max(1, int(np.count_nonzero(predicted))), hits / max(1, int(np.count_nonzero(true)))


def utility_claims(result: Utility, sms: tuple[str, str] | None = None) -> list[Verdict]:
    """Return the verdict on each claim of the paper about utility.

    One claim is only about the SMS data: for those, `sms` is the positive label and the other one.
    """
    accuracy = result.scores[..., 0]
    verdicts = [_rises(result, accuracy), _no_difference(result, accuracy)]
    if sms is not None:
        columns = Scores._fields.index("recall"), Scores._fields.index("other_recall")
        # Both labels, since the paper does not say which is the positive one.
        verdicts += [_recall(result, label, column) for label, column in zip(sms, columns, strict=True)]
    if result.learns:
        return verdicts
    majority = f"the more frequent label ({result.majority:.3f})"
    reason = f"the classifier does not beat {majority} on unperturbed text"
    return [Verdict(verdict.claim, None, reason) for verdict in verdicts]


def _recall(result: Utility, label: str, column: int) -> Verdict:
    means = result.scores[..., column].mean(axis=2)
    i, j = np.unravel_index(int(means.argmin()), means.shape)
    mean, half = interval(result.scores[i, j, :, column])
    evidence = (
        f"its lowest mean is {mean:.3f} ± {half:.3f}, at λ = {result.grid.lams[i]:g}, "
        f"ε = {result.grid.epsilons[j]:g}; unperturbed {result.clean[:, column].mean():.3f}"
    )
    claim = f"recall of {label} stays around 0.95 or higher (at least {_MIN_RECALL:g} at every setting)"
    return Verdict(claim, mean >= _MIN_RECALL, evidence)


def _rises(result: Utility, accuracy: NDArray[np.float64]) -> Verdict:
    claim = "accuracy rises with ε towards the benchmark"
    if len(result.grid.epsilons) < 2 or result.grid.repetitions < _MIN_REPETITIONS:
        return Verdict(claim, None, f"needs two ε and {_MIN_REPETITIONS} repetitions")
    means = accuracy.mean(axis=(0, 2))
    benchmark = float(result.clean[:, 0].mean())
    p = p_positive(accuracy[:, -1].mean(axis=0) - accuracy[:, 0].mean(axis=0), OVERLAP)
    closer = abs(benchmark - means[-1]) < abs(benchmark - means[0])
    pairs = zip(means, result.grid.epsilons, strict=True)
    values = ", ".join(f"{mean:.3f} at ε = {epsilon:g}" for mean, epsilon in pairs)
    evidence = f"{values}; unperturbed {benchmark:.3f} (p = {p:.3g})"
    return Verdict(claim, bool(closer and p < _LEVEL), evidence)


def _no_difference(result: Utility, accuracy: NDArray[np.float64]) -> Verdict:
    """Compare every λ with the first, in pairs; an interval too wide to exclude a difference is undecided."""
    grid = result.grid
    claim = f"no significant difference in accuracy between λ = {grid.lams[0]:g} and the other λ"
    if len(grid.lams) < 2 or grid.repetitions < _MIN_REPETITIONS:
        return Verdict(claim, None, f"needs two λ and {_MIN_REPETITIONS} repetitions")
    lines, smallest_p, widest = [], 1.0, 0.0
    tests = (len(grid.lams) - 1) * len(grid.epsilons)
    for (i, lam), (j, epsilon) in product(enumerate(grid.lams[1:], 1), enumerate(grid.epsilons)):
        mean, half = interval(accuracy[i, j] - accuracy[0, j])
        p = p_two_sided(accuracy[i, j] - accuracy[0, j], OVERLAP)
        smallest_p, widest = min(smallest_p, p), max(widest, half)
        lines.append(f"λ = {lam:g}, ε = {epsilon:g}: {mean:+.3f} ± {half:.3f} (p = {p:.2g})")
    evidence = f"{'; '.join(lines)}; paired over {grid.repetitions} repetitions, {tests} tests (Bonferroni)"
    if smallest_p <= _LEVEL / tests:
        return Verdict(claim, False, evidence)
    if widest > _MAX_HALF_WIDTH:
        return Verdict(claim, None, f"{evidence}; an interval is wider than ±{_MAX_HALF_WIDTH:g}")
    return Verdict(claim, True, evidence)
