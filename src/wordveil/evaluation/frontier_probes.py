"""The measurements at one setting, each a function from a mechanism to plain facts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from wordveil.attacker import guess_from_answers, guess_rate, word_exposures
from wordveil.errors import ParameterError
from wordveil.evaluation.closeness import measure_closeness
from wordveil.evaluation.datasets import LabelledTexts
from wordveil.evaluation.draws import AdditiveDraws
from wordveil.evaluation.fixed_neighbours import by_meaning
from wordveil.evaluation.grid import Grid
from wordveil.evaluation.linkage import measure_linkage
from wordveil.evaluation.settings import Setting, families_of
from wordveil.evaluation.utility_experiment import utility
from wordveil.evaluation.word_selection import select_words
from wordveil.intervals import Share, clopper_pearson
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.policy import Policy
from wordveil.randomness import insecure_stream
from wordveil.watched_words import WATCHED_WORDS

if TYPE_CHECKING:
    from wordveil.evaluation.frontier_measures import Effort, Measurer

__all__ = ["KINDS", "PRIVATE", "PROBES", "order_interval", "smaller"]

KINDS: Final = ("tokens", "content", "uniform")
"""Running text, its content words, and the vocabulary with all words equally likely."""
PRIVATE: Final = ("accuracy", "linkage")
"""The probes that read private texts."""
_OTHER_STREAM: Final = 1000  # added to the seed: mechanisms may use the same kind of draws as the words
_SHARED: Final = 8  # words that share directions: few, so that a percentile over words is hardly affected

Facts = dict[str, Any]


def _attack(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    return _guessed(measurer, mechanism, effort, "tokens", "attack")


def _content(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    return _guessed(measurer, mechanism, effort, "content", "attack_content")


def _guessed(measurer: "Measurer", mechanism: Mechanism, effort: "Effort", kind: str, name: str) -> Facts:
    prior = measurer.priors(mechanism)[kind]
    rate = guess_rate(mechanism, prior, draws=effort.draws, stream=insecure_stream(effort.seed))
    return spread(name, rate.success) | {f"{name}_alone": rate.alone, f"{name}_exact": rate.exact}


def _answers(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    """Measure the attacker who sees only answers."""
    facts: Facts = {}
    for kind, name in (("tokens", "answers_attack"), ("content", "answers_attack_content")):
        prior = measurer.priors(mechanism)[kind]
        stream = insecure_stream(effort.seed)
        # As many are drawn to learn from as to test on.
        draws = max(2, effort.draws // 2)
        facts |= spread(name, guess_from_answers(mechanism, prior, draws=draws, stream=stream))
    return facts


def _watched(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    """Measure how often watched words are recognised, on average by the best of three guesses, and each."""
    known = [word for word in WATCHED_WORDS if word in mechanism.embedding]
    if not known:
        return spread("watched", None) | {"watched_words": 0, "watched_each": [], "watched_above_half": 0}
    ids = mechanism.embedding.ids_of(known)
    prior = measurer.priors(mechanism)["tokens"]
    stream = insecure_stream(effort.seed)
    shares = word_exposures(mechanism, prior, ids, draws=effort.word_draws, stream=stream)
    count = len(known) * effort.word_draws
    means = [float(table.mean()) for table in shares[:3]]
    return spread("watched", clopper_pearson(round(max(means) * count), count)) | {
        "watched_words": len(known),
        "watched_each": [float(share) for share in shares.largest],
        "watched_above_half": int((shares.largest > 0.5).sum()),
    }


def _exponent(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:  # noqa: ARG001  # no draws
    near = by_meaning(mechanism)
    return {
        "exponent": near["p50"],
        "exponent_p95": near["p95"],
        "exponent_worst": mechanism.guarantee.worst_case.upper,
    }


def _closeness(measurer: "Measurer", mechanism: Mechanism, effort: "Effort", kind: str) -> Facts:
    sample = measurer.sample(mechanism, kind, effort)
    prior = measurer.priors(mechanism)[kind]
    stream = insecure_stream(effort.seed + _OTHER_STREAM)
    result = measure_closeness(mechanism, prior, draws=effort.draws, stream=stream, sample=sample)
    facts = spread(f"cosine_{kind}", result.cosine)
    facts |= spread(f"near_10_{kind}", result.near_10) | spread(f"near_100_{kind}", result.near)
    facts |= {f"unchanged_{kind}": result.unchanged.share}
    nulls = {"cosine": "", "near_10": "_near_10", "near_100": "_near"}
    return facts | {
        f"{null}_{name}_{kind}": getattr(result, f"{null}{ending}")
        for null in ("constant", "random")
        for name, ending in nulls.items()
    }


def _unchanged(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:  # noqa: ARG001  # needs no prior
    """Measure how often a random word of the vocabulary stays; each is drawn once: independent draws."""
    stream = insecure_stream(effort.seed)
    ids = stream.integers(len(mechanism.embedding), (effort.draws,))
    answers = mechanism.perturb_ids(ids, stream=insecure_stream(effort.seed + _OTHER_STREAM))
    return spread("unchanged", clopper_pearson(int((answers == ids).sum()), effort.draws))


def _unchanged_each(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    """Measure N_w, as shares, of a sample of the vocabulary."""
    ids = select_words(mechanism.embedding, measurer.words, 0).ids
    repeated = np.repeat(ids, effort.word_draws)
    answers = mechanism.perturb_ids(repeated, stream=insecure_stream(effort.seed))
    shares = (answers == repeated).reshape(len(ids), effort.word_draws).mean(axis=1)
    return {"unchanged_each": shares.tolist()}


def _n_w(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    """Measure N_w in percent, by the fast draws of a sweep where the nearest word answers."""
    setting, draws = Setting(mechanism), effort.word_draws
    family, epsilon = families_of([setting])[0], setting.epsilon
    if family.is_additive and epsilon is not None:
        ids = select_words(mechanism.embedding, measurer.words, 0).ids
        grid = Grid((epsilon,), (family.lams[0] or 0.0,), draws, seed=effort.seed)
        sweep_draws = AdditiveDraws(mechanism.embedding, grid)
        blocks = (ids[start : start + _SHARED] for start in range(0, len(ids), _SHARED))
        stays = [sweep_draws.block(block, number)[0][0, 0] for number, block in enumerate(blocks)]
        shares = np.concatenate(stays) / draws
    else:
        shares = np.array(measurer.measure("unchanged_each", mechanism, effort)["unchanged_each"])
    return {"n_w": 100.0 * float(shares.mean()), "n_w_p95": 100.0 * float(np.quantile(shares, 0.95))}


def _linkage(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    """Measure how often a private text is linked to its original, by its words and its length."""
    perturber = Perturber(mechanism, Policy(pad_to=measurer.pad_to))
    texts = _data(measurer).texts
    stream = insecure_stream(effort.seed)
    result = measure_linkage(perturber, texts, most=measurer.linked, stream=stream)
    return spread("linkage", result.by_both.rank_1) | {
        "linkage_by_guessing": result.guessing[0],
        "linkage_by_length": result.by_length.rank_1.share,
        "linkage_candidates": result.candidates,
    }


def _accuracy(measurer: "Measurer", mechanism: Mechanism, effort: "Effort") -> Facts:
    """Measure a classifier that learns from private text, and from unperturbed text beside it."""
    cache = measurer.cache / "scores" if isinstance(measurer.cache, Path) else measurer.cache
    result = utility(
        _data(measurer),
        mechanism,
        classifier=measurer.classifier,
        repetitions=effort.repetitions,
        tested_on=(measurer.tested_on,),
        seed=effort.seed,
        cache=cache,
    )
    rows = [row for row in result.rows() if row["statistic"] == "accuracy"]
    clean, private = (
        next(row for row in rows if (row["mechanism"] is None) == is_clean) for is_clean in (True, False)
    )
    names = ("majority", "chance", "p_majority")
    return (
        spread("accuracy", _whole_range(private))
        | spread("accuracy_unperturbed", _whole_range(clean))
        | {f"accuracy_{name}": private[name] for name in names}
    )


def _whole_range(row: Facts) -> Share:
    """Return a score with its interval, which is all of [0, 1] after a single repetition."""
    low, high = row["low"], row["high"]
    return Share(row["mean"], 0.0 if low is None else low, 1.0 if high is None else high)


def _data(measurer: "Measurer") -> LabelledTexts:
    if measurer.data is None:
        raise ParameterError("Accuracy and linkage need labelled texts. Hint: data=…, or --data FILE.")
    return measurer.data


def spread(name: str, share: Share | None) -> Facts:
    """Return a share and its interval as three facts."""
    ends = (None, None, None) if share is None else share
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))


def order_interval(values: list[float], percentile: float, draws: int) -> Share:
    """Return a percentile over words of how often something happens to each, with a 95% interval.

    The ends are the order statistics of the sample of words that enclose the percentile, the upper one
    raised to the upper limit of a word that was drawn that often; it is 1 if the sample is too small to have
    one. Few draws spread the shares of words, so high percentiles come out too large rather than too small.

    Examples
    --------
    >>> order_interval([0.0] * 90 + [1.0] * 10, 50, 20).share, order_interval([0.0] * 100, 99, 20).high
    (0.0, 1.0)
    """
    from scipy.stats import binom

    ordered, share = np.sort(np.asarray(values)), percentile / 100.0
    count = len(ordered)
    middle = float(np.quantile(ordered, share, method="inverted_cdf"))
    low, high = (int(binom.ppf(end, count, share)) for end in (0.025, 0.975))
    upper = 1.0 if high >= count else clopper_pearson(round(float(ordered[high]) * draws), draws).high
    return Share(middle, float(ordered[max(low - 1, 0)]), upper)


def smaller(data: LabelledTexts, most: int, seed: int) -> LabelledTexts:
    """Return at most that many of the texts, at random with the same share of each label and part."""
    if len(data.texts) <= most:
        return data
    random = np.random.default_rng([seed, 11])
    parts: dict[tuple[str, bool], list[int]] = {}
    for row, label in enumerate(data.labels):
        parts.setdefault((label, bool(data.is_test and data.is_test[row])), []).append(row)
    chosen: list[int] = []
    for rows in parts.values():
        size = min(len(rows), max(4, round(most * len(rows) / len(data.texts))))
        chosen += random.choice(rows, size, replace=False).tolist()
    kept = sorted(chosen)
    return replace(
        data,
        texts=[data.texts[row] for row in kept],
        labels=[data.labels[row] for row in kept],
        is_test=None if data.is_test is None else [data.is_test[row] for row in kept],
    )


Probe = Callable[["Measurer", Mechanism, "Effort"], Facts]
PROBES: "Final[dict[str, Probe]]" = {
    "attack": _attack,
    "content": _content,
    "answers": _answers,
    "watched": _watched,
    "exponent": _exponent,
    "unchanged": _unchanged,
    "unchanged_each": _unchanged_each,
    "n_w": _n_w,
    "linkage": _linkage,
    "accuracy": _accuracy,
} | {f"closeness_{kind}": lambda m, x, e, kind=kind: _closeness(m, x, e, kind) for kind in KINDS}  # type: ignore[misc]
