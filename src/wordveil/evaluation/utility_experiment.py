"""How useful private text still is: classifiers that learn from it, at any settings, as a plain result."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.engines.base import perturbed_texts
from wordveil.errors import FormatError, MachineError, check_whole, parameter_error, sealed
from wordveil.evaluation.blocked_settings import block_list_facts
from wordveil.evaluation.claim_words import with_numbers
from wordveil.evaluation.classifiers import Classifier, Fits, check_classifier, classifier_name, classify
from wordveil.evaluation.datasets import LabelledTexts, as_labelled, as_pair
from wordveil.evaluation.estimator_digest import classifier_digest
from wordveil.evaluation.mechanism_draws import class_digest
from wordveil.evaluation.results import UtilityResult
from wordveil.evaluation.scores import confusion
from wordveil.evaluation.settings import (
    EPSILONS,
    Family,
    Setting,
    as_settings,
    families_of,
    make_grid,
    vectors_of,
)
from wordveil.evaluation.utility_cache import Matrices, ScoreCache, user_scores
from wordveil.evaluation.utility_claims import ScoredGrid, utility_claims
from wordveil.evaluation.utility_rows import Scored, utility_rows
from wordveil.evaluation.verdicts import Verdict
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.randomness import insecure_key
from wordveil.tokens import join, split

__all__ = ["OVERLAP", "TestedOn", "random_split", "utility"]

TestedOn = Literal["private", "clean"]
_KINDS_OF_TEST: Final[tuple[TestedOn, ...]] = ("private", "clean")
_TRAIN_SHARE: Final = 0.7  # learn from 70%, test on 30%
OVERLAP: Final = (1.0 - _TRAIN_SHARE) / _TRAIN_SHARE
"""The size of a test part over that of its training part. Repetitions share data, which widens intervals."""
_LAMS: Final = (0.0, 0.5, 1.0)

Ints = NDArray[np.int64]
Data = LabelledTexts | tuple[Sequence[str], Sequence[Any]]


@sealed
def utility(
    data: Data,
    mechanisms: Embedding | Mechanism | Setting | Iterable[Mechanism | Setting],
    *,
    test: Data | None = None,
    name: str = "texts",
    classifier: Classifier = "bow",
    repetitions: int = 5,
    tested_on: Sequence[TestedOn] | Literal["private", "clean", "both"] = "both",
    seed: int = 0,
    cache: Path | bool = True,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> UtilityResult:
    """Train a classifier on private text at each setting, and test it on private and on clean text.

    The splits are the same at all settings, so settings can be compared in pairs. The noise comes from a
    seed, so only scores are returned, and no text.

    Parameters
    ----------
    data : LabelledTexts, or texts and labels
        See `load_labelled` for files.
    mechanisms : mechanisms, or Embedding
        Which settings; see `make_grid`. An embedding stands for λ = 0, 0.5, 1 and the paper's ε on it.
    test : LabelledTexts, or texts and labels, optional
        Test on these, instead of on a random 30% of the data (the same share of each label).
    name : str
        What to call texts that have no name.
    classifier : str or estimator
        "bow", "embeddings", "fasttext" (extra `utility`), or an estimator of scikit-learn that takes texts:
        a pipeline that begins with a vectorizer. Labels are the numbers 0, 1, … of their alphabetical order.
    repetitions : int
        How many splits and draws.
    tested_on : str or list of str
        "private", "clean" or "both".
    seed : int
        Makes the splits and the noise repeatable.
    cache : bool or Path
        Whether to keep finished scores (no texts), so that an interrupted call continues when it is repeated:
        in the user's cache folder, or in this folder. Only this user can read them.
    watch : callable
        Called with the number of finished fits and the number of all fits.

    Examples
    --------
    >>> import wordveil as wv
    >>> texts, labels = ["win free money", "dinner at home"] * 20, ["spam", "ham"] * 20
    >>> grid = wv.evaluation.make_grid(wv.load_embedding(), [40.0], [0.0], dims=[20])
    >>> result = wv.evaluation.utility((texts, labels), grid, repetitions=2, cache=False)
    >>> row = result.rows()[-1]
    >>> row["statistic"], row["label"], row["tested_on"], row["mean"]
    ('f1', 'spam', 'clean', 1.0)
    """
    labelled = _with_test(as_labelled(data, name), test)
    if labelled.only_tested:
        warnings.warn(
            f"{labelled.name}: {labelled.only_tested} of the labels are those of tested records only; no "
            "classifier can predict them.",
            stacklevel=3,
        )
    grid = make_grid(mechanisms, EPSILONS, _LAMS) if isinstance(mechanisms, Embedding) else mechanisms
    settings = as_settings(grid, "utility")
    check_whole(repetitions, "repetitions", "utility", 1, 1000)
    check_whole(seed, "seed", "utility", 0)
    check_classifier(classifier, "utility")
    run = _Run(labelled, classifier, repetitions, _kinds_of_test(tested_on), seed)
    run.open_cache(cache)
    total, done = repetitions * (1 + len(settings)), 0
    scored: list[list[Matrices]] = []
    for setting in (None, *settings):
        scored.append([])
        for number in range(repetitions):
            scored[-1].append(run.matrices(setting, number, settings[0]))
            done += 1
            watch(done, total)
    return _result(run, settings, scored)


def _kinds_of_test(tested_on: object) -> tuple[TestedOn, ...]:
    """Return the kinds of text to test on: of one name, of "both", or of a list."""
    names = (tested_on,) if isinstance(tested_on, str) else tested_on
    listed = _KINDS_OF_TEST if names == ("both",) else tuple(names) if isinstance(names, Iterable) else ()
    if not listed or any(name not in _KINDS_OF_TEST for name in listed):
        raise parameter_error("tested_on", "utility", "be private, clean or both", tested_on)
    return tuple(dict.fromkeys(listed))


def _with_test(data: LabelledTexts, test: Data | None) -> LabelledTexts:
    """Return data with a fixed split, if there is a second collection to test on."""
    if test is None:
        return data
    texts, labels = as_pair(test, "the texts to test on", "utility", "test")
    is_test = [False] * len(data.texts) + [True] * len(texts)
    return replace(data, texts=data.texts + texts, labels=data.labels + labels, is_test=is_test)


@dataclass(eq=False)
class _Run:
    """The fits of one experiment."""

    data: LabelledTexts
    classifier: Classifier
    repetitions: int
    tested_on: tuple[TestedOn, ...]
    seed: int

    def __post_init__(self) -> None:
        self.plain = [join(split(text)) for text in self.data.texts]
        self.splits = [self._split(number) for number in range(self.repetitions)]
        if not all(any(self.plain[row] for row in rows.tolist()) for rows, _ in self.splits):
            raise FormatError("The texts to learn from contain no words.")
        self.fits = Fits()
        self._cache: ScoreCache | None = None

    def open_cache(self, cache: Path | bool) -> None:
        """Use the folder for scores, if there is one and only this user can read it."""
        if cache is False or not classifier_digest(self.classifier):
            return
        everything = [
            *self.data.texts,
            *self.data.labels,
            "".join("1" if test else "0" for test in self.data.is_test or ()),
        ]
        with suppress(OSError, MachineError):
            folder = cache if isinstance(cache, Path) else user_scores()
            self._cache = ScoreCache(folder, everything, len(self.data.classes))

    def _split(self, number: int) -> tuple[Ints, Ints]:
        if self.data.is_test is not None:
            is_test = np.array(self.data.is_test)
            return np.flatnonzero(~is_test), np.flatnonzero(is_test)
        return random_split(self.data.codes, self.seed, number)

    @property
    def overlap(self) -> float | None:
        """How much random splits share; None for a fixed split."""
        return OVERLAP if self.data.is_test is None else None

    @property
    def majority(self) -> int:
        """The most frequent label of the tested records."""
        return int(np.bincount(np.concatenate([self.data.codes[rows] for _, rows in self.splits])).argmax())

    def matrices(self, setting: Setting | None, number: int, first: Setting) -> Matrices:
        """Return the confusion matrices of one repetition, from the cache if they are there.

        `first` is a setting whose vectors the classifier may use for unperturbed text.
        """
        kinds = self.tested_on if setting is not None else ("clean",)
        facts = self._facts(setting, number, first)
        if self._cache is not None and facts is not None:
            kept = self._cache.load(facts, kinds)
            if kept is not None:
                return kept
        matrices = self._fitted(setting, number, kinds, first)
        if self._cache is not None and facts is not None:
            self._cache.save(facts, matrices)
        return matrices

    def _facts(self, setting: Setting | None, number: int, first: Setting) -> dict[str, Any] | None:
        """Return what the scores depend on besides the texts; None if it can't be known."""
        facts: dict[str, Any] = {
            "seed": self.seed,
            "repetition": number,
            "classifier": classifier_digest(self.classifier),
            "vectors": (setting or first).mechanism.embedding.fingerprint,
        }
        if setting is None:
            return facts | ({} if self.classifier == "embeddings" else {"vectors": None})
        code = class_digest(type(setting.mechanism))
        return facts | {"setting": setting.mechanism.setting(), "code": code} if code else None

    def _fitted(self, setting: Setting | None, number: int, kinds: Sequence[str], first: Setting) -> Matrices:
        private = self.plain
        if setting is not None:
            texts: dict[str, list[str | None]] = {"text": [*self.data.texts]}
            perturber = Perturber(setting.mechanism)
            answers, _ = perturbed_texts(perturber, insecure_key(self.seed), number, 0, texts)
            private = [text or "" for text in answers["text"]]
        train_rows, test_rows = self.splits[number]
        codes = self.data.codes
        tests = [private if kind == "private" else self.plain for kind in kinds]
        predicted = classify(
            self.classifier,
            [private[row] for row in train_rows.tolist()],
            codes[train_rows],
            [[texts_of_kind[row] for row in test_rows.tolist()] for texts_of_kind in tests],
            (setting or first).mechanism.embedding,
            self.fits,
        )
        size = len(self.data.classes)
        return {
            kind: confusion(codes[test_rows], answers, size)
            for kind, answers in zip(kinds, predicted, strict=True)
        }


def random_split(codes: Ints, seed: int, number: int) -> tuple[Ints, Ints]:
    """Return the rows to learn from and the rows to test on; both have the same share of each label."""
    random = np.random.default_rng([seed, 7, number])
    train, test = [], []
    for label in range(int(codes.max()) + 1):
        rows = random.permutation(np.flatnonzero(codes == label))
        border = min(max(1, round(_TRAIN_SHARE * len(rows))), len(rows) - 1)
        train.append(rows[:border])
        test.append(rows[border:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def _result(run: _Run, settings: list[Setting], scored: list[list[Matrices]]) -> UtilityResult:
    clean = np.array([matrices["clean"] for matrices in scored[0]])
    by_setting: dict[tuple[int, str], Ints] = {
        (id(setting), kind): np.array([matrices[kind] for matrices in row])
        for setting, row in zip(settings, scored[1:], strict=True)
        for kind in run.tested_on
    }
    parts = [Scored(None, "clean", clean)] + [
        Scored(setting, kind, by_setting[id(setting), kind]) for setting in settings for kind in run.tested_on
    ]
    facts = list(utility_rows(run.data, parts, run.overlap))
    families = families_of(settings)
    verdicts = [
        verdict
        for family in families
        for kind in run.tested_on
        for verdict in _verdicts(run, family, families, kind, by_setting, clean)
    ]
    return UtilityResult(run.data.name, _settings(run, settings), facts, verdicts, is_private=True)


def _verdicts(
    run: _Run,
    family: Family,
    families: list[Family],
    kind: str,
    matrices: dict[tuple[int, str], Ints],
    clean: Ints,
) -> Iterator[Verdict]:
    table = np.array([[matrices[id(setting), kind] for setting in row] for row in family.members])
    grid = ScoredGrid(family.lams, family.epsilons, table, clean, run.overlap)
    labels = list(enumerate(run.data.classes)) if run.data.paper_name == "sms" else []
    where = {"where": family.distinction(families)} if len(families) > 1 else {}
    for verdict in utility_claims(grid, labels):
        yield with_numbers(verdict, where | {"tested_on": kind})


def _settings(run: _Run, settings: list[Setting]) -> dict[str, Any]:
    facts = [setting.facts() for setting in settings]

    def different(name: str) -> list[Any]:
        return sorted({fact[name] for fact in facts if fact[name] is not None})

    data, tested = run.data, len(run.splits[0][1])
    return {
        "data": data.name,
        "paper": data.paper_name,
        "records": len(data.texts),
        "tested_records": tested,
        "split": "fixed" if data.is_test is not None else "random, 70% to learn from",
        "labels": list(data.classes),
        "majority_label": data.classes[run.majority],
        "positive": data.positive,
        "classifier": classifier_name(run.classifier),
        "failed_fits": run.fits.failed,
        "repetitions": run.repetitions,
        "tested_on": list(run.tested_on),
        "seed": run.seed,
        **vectors_of(settings),
        "mechanism": different("mechanism"),
        "dims": different("dims"),
        "epsilons": different("epsilon"),
        "lams": different("lam"),
        "answer": different("answer"),
        **block_list_facts(settings),
        "preprocessing": "the tokens of wordveil's rule, with spaces between them",
    }
