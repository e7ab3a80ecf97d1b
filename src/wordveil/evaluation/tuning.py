"""Chooses a setting for a goal: the paper's two constrained problems, and not over λ alone."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from wordveil.embedding import Embedding
from wordveil.errors import check_whole, sealed
from wordveil.evaluation.classifiers import Classifier, check_classifier, classifier_name
from wordveil.evaluation.datasets import as_labelled
from wordveil.evaluation.frontier_experiment import Data, setting_row
from wordveil.evaluation.frontier_measures import Effort, Measurer
from wordveil.evaluation.frontier_probes import smaller
from wordveil.evaluation.frontier_spaces import Space, as_spaces, list_curves, names_of
from wordveil.evaluation.results import TuningResult
from wordveil.evaluation.settings import LAMS
from wordveil.evaluation.tuning_problem import Problem, check_possible, make_problem
from wordveil.evaluation.tuning_search import Point, Search
from wordveil.evaluation.tuning_words import how_close, traded_away
from wordveil.evaluation.utility_experiment import TestedOn
from wordveil.mechanisms.answers import AnswerName
from wordveil.nearest.devices import DeviceName
from wordveil.noise import check_epsilon
from wordveil.prior import Prior, default_prior

__all__ = ["tune"]

_FIRST_DRAWS: Final = 160  # S is then within 0.07; common draws make differences between settings smaller
_LATER_DRAWS: Final = 1000  # S is then within 0.03: enough to order the settings that are left
_FIRST_TEXTS: Final = 1500  # texts of a first look
_WATCHED: Final = 1000  # steps of the progress
_SHOWN: Final = ("attack", "content", "answers", "watched", "exponent", "unchanged", "closeness_content")


@sealed
def tune(
    spaces: Embedding | Space | Iterable[Embedding | Space],
    *,
    max_attack: float | None = None,
    max_attack_on_watched: float | None = None,
    max_linkage: float | None = None,
    max_unchanged: float | None = None,
    max_exponent: float | None = None,
    min_accuracy: float | None = None,
    min_closeness: float | None = None,
    at_percentile: float | None = None,
    mechanisms: Sequence[str] = ("mahalanobis",),
    lams: Sequence[float] = LAMS,
    answers: Sequence[AnswerName] = ("nearest", "closest"),
    epsilons: Sequence[float] | None = None,
    prior: Callable[[Embedding], Prior] = default_prior,
    data: Data | None = None,
    name: str = "texts",
    classifier: Classifier = "bow",
    tested_on: TestedOn = "private",
    repetitions: int = 5,
    linked: int = 2000,
    pad_to: int | None = None,
    draws: int = 5000,
    device: DeviceName = "cpu",
    cache: Path | bool = True,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> TuningResult:
    """Find the setting with the best utility under limits for privacy, or the other way round.

    Every space, mechanism, λ and answer is tried at several ε with few draws; the best are measured again
    with more, λ is refined between the values of the grid, and for the last few, ε is moved to the limits.
    That ε is then measured again, with draws other than those that chose it, and moved back if these
    exceed a limit. A constraint is satisfied if the unfavourable end of its 95% interval is within the limit.

    Parameters
    ----------
    spaces : embeddings
        Vectors, projections and maps; a `Space` also says how the command line names it.
    max_attack : float
        S, how often the best guess of an attacker is right.
    max_attack_on_watched : float
        How often words on sensitive topics are recognised: the mean, or a percentile over words.
    max_linkage : float
        How often a text is linked to its original (needs `data`).
    max_unchanged : float
        How often a word of the vocabulary stays: the mean, or a percentile over words.
    max_exponent : float
        ε·d to the ten words nearest in meaning, at the median.
    min_accuracy : float
        Of a classifier, relative to that on unperturbed text (needs `data` and three repetitions). It is
        satisfied only if the classifier is significantly better than the most frequent label.
    min_closeness : float
        The mean cosine of content words and their answers.
    at_percentile : float, optional
        Judge this percentile over words where the mean is judged otherwise.
    mechanisms, lams, answers, epsilons, prior
        What is tried; see `frontier`.
    data, name, classifier, tested_on, repetitions, linked
        Labelled texts; see `frontier`. If they are private, so is a choice that was made with them.
    pad_to : int, optional
        The length that texts are padded to before they are linked.
    draws : int
        Words that are drawn for the contenders.
    device, cache, watch
        See `frontier`.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding()
    >>> result = wv.evaluation.tune(
    ...     emb.project(5), max_attack=0.3, lams=[0.0], answers=["closest"], draws=600, cache=False
    ... )
    >>> result.is_met, result.chosen["answer"], result.chosen["attack_high"] <= 0.3
    (True, 'closest', True)
    """
    labelled = None if data is None else as_labelled(data, name, "tune")
    limits = {
        "attack": max_attack,
        "attack_on_watched": max_attack_on_watched,
        "linkage": max_linkage,
        "unchanged": max_unchanged,
        "exponent": max_exponent,
        "accuracy": min_accuracy,
        "closeness": min_closeness,
    }
    problem = make_problem(limits, at_percentile=at_percentile, has_texts=labelled is not None)
    check_whole(draws, "draws", "tune", 100)
    # The interval of two repetitions has one degree of freedom: no accuracy would be high enough.
    check_whole(repetitions, "repetitions", "tune", 2 if min_accuracy is None else 3, 1000)
    check_classifier(classifier, "tune")
    chosen = as_spaces(spaces, "tune")
    curves = list_curves(chosen, mechanisms, sorted(set(lams)), answers, device)
    placed = None if epsilons is None else [check_epsilon(e, "tune", "epsilons") for e in epsilons]
    measurer = Measurer(prior, labelled, classifier, tested_on, linked, pad_to, cache=cache)
    check_possible(max_attack, (prior(space.embedding).guess for space in chosen))
    search = Search(
        problem,
        measurer,
        replace(measurer, data=None if labelled is None else smaller(labelled, _FIRST_TEXTS, 0)),
        Effort(min(draws, _FIRST_DRAWS), 4, 1),
        Effort(min(draws, _LATER_DRAWS), 10, 2),
        Effort(draws, 30, repetitions, seed=1),  # ε is settled with these, and confirmed with further seeds
        lambda share: watch(round(_WATCHED * share), _WATCHED),
    )
    contenders = search.run(curves, placed, sorted(set(lams)))
    return _result(search, contenders, names_of(chosen) if labelled is None else labelled.name)


def _result(search: Search, contenders: list[Point], name: str) -> TuningResult:
    problem, measurer = search.problem, search.measurer
    rows = [_full_row(search, point) for point in contenders]
    best = contenders[0]
    is_met = best.excess() <= 0.0
    return TuningResult(
        name,
        _settings(search, best),
        list(search.tried.values()),
        [],
        measurer.data is not None,
        problem=problem.to_dict(),
        chosen=rows[0],
        runner_up=rows[1] if len(rows) > 1 else None,
        contenders=rows,
        is_met=is_met,
        shortfall="" if is_met else how_close(best),
        traded=traded_away(problem, rows),
    )


def _full_row(search: Search, point: Point) -> dict[str, Any]:
    """Return everything that is known about a contender."""
    mechanism = point.curve.at(point.epsilon)
    row = setting_row(point.curve, point.epsilon)
    probes = [*_SHOWN, *(("linkage", "accuracy") if search.measurer.data is not None else ())]
    for probe in probes:
        row |= search.measurer.measure(probe, mechanism, point.effort)
    row = {name: value for name, value in row.items() if not isinstance(value, list)}
    limited = dict(point.shares) | ({} if point.goal is None else {search.problem.goal: point.goal})
    judged = {
        name: {**share._asdict(), "limit": _limit(search.problem, name)} for name, share in limited.items()
    }
    return row | {"judged": judged, "excess": point.excess(), "toml": point.curve.toml(point.epsilon)}


def _limit(problem: Problem, name: str) -> float | None:
    return next((limit.limit for limit in problem.constraints if limit.name == name), None)


def _settings(search: Search, best: Point) -> dict[str, Any]:
    rows, measurer = list(search.tried.values()), search.measurer

    def different(name: str) -> list[Any]:
        return sorted({row[name] for row in rows if row[name] is not None})

    facts: dict[str, Any] = {
        "settings_tried": search.settings_tried,
        "spaces": different("space"),
        "mechanisms": different("mechanism"),
        "lams": different("lam"),
        "answers": different("answer"),
        "draws": [effort.draws for effort in (search.first, search.later, search.last)],
        "seeds": [effort.seed for effort in (search.first, search.later, search.last, best.effort)],
    }
    if measurer.data is not None:
        facts |= {
            "data": measurer.data.name,
            "records": len(measurer.data.texts),
            "classifier": classifier_name(measurer.classifier),
            "tested_on": measurer.tested_on,
            "repetitions": search.last.repetitions,
            "linked_texts": min(measurer.linked, len(measurer.data.texts)),
            "pad_to": measurer.pad_to,
        }
    return facts
