"""What λ, spaces, mechanisms and answers buy at equal attack, as a plain result."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding, load_parent
from wordveil.errors import ParameterError, check_whole, parameter_error, sealed
from wordveil.evaluation.classifiers import Classifier, check_classifier, classifier_name
from wordveil.evaluation.datasets import LabelledTexts, as_labelled
from wordveil.evaluation.frontier_claims import frontier_claims
from wordveil.evaluation.frontier_measures import Effort, Measurer
from wordveil.evaluation.frontier_probes import KINDS
from wordveil.evaluation.frontier_rings import undominated
from wordveil.evaluation.frontier_spaces import (
    Curve,
    Space,
    as_spaces,
    list_curves,
    names_of,
    spread_epsilons,
)
from wordveil.evaluation.results import FrontierResult
from wordveil.evaluation.utility_experiment import TestedOn
from wordveil.mechanisms.answers import AnswerName
from wordveil.nearest.devices import DeviceName
from wordveil.noise import check_epsilon
from wordveil.prior import Prior, default_prior

__all__ = ["ATTACKS", "curve_attack", "frontier", "setting_row"]

ATTACKS: Final = (0.1, 0.2, 0.3, 0.4, 0.5)
"""The attacker's success that each line is drawn through."""
_ROUGH: Final = Effort(draws=400)  # places ε to within about 0.03 of S; all draws then correct it
_WORD_PROBES: Final = (
    "attack",
    "content",
    "answers",
    "watched",
    "exponent",
    "n_w",
    *(f"closeness_{kind}" for kind in KINDS),
)
_REFERENCE: Final = 0.3  # S at which settings are compared in a table

Data = LabelledTexts | tuple[Sequence[str], Sequence[Any]]


@sealed
def frontier(
    spaces: Embedding | Space | Iterable[Embedding | Space],
    *,
    mechanisms: Sequence[str] = ("mahalanobis",),
    lams: Sequence[float] = (0.0, 1.0),
    answers: Sequence[AnswerName] = ("nearest", "closest"),
    attacks: Sequence[float] = ATTACKS,
    epsilons: Sequence[float] | None = None,
    prior: Callable[[Embedding], Prior] = default_prior,
    data: Data | None = None,
    name: str = "texts",
    classifier: Classifier = "bow",
    tested_on: TestedOn = "private",
    repetitions: int = 3,
    linked: int = 2000,
    draws: int = 2000,
    word_draws: int = 20,
    seed: int = 0,
    device: DeviceName = "cpu",
    blocked: BlockList | None = None,
    cache: Path | bool = True,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> FrontierResult:
    """Measure privacy and closeness of every mechanism in every space, with every λ, answer and ε.

    Parameters
    ----------
    spaces : embeddings
        Vectors, projections (`emb.project(k)`) and maps.
    mechanisms : list of str
        Names of mechanisms.
    lams, answers : lists
        For the mechanisms that have these options.
    attacks : list of float
        Each line is drawn through the ε at which the attacker is right about this often.
    epsilons : list of float, optional
        These ε on every line, instead.
    prior : function
        Returns how often the words of an embedding are used (default: in English).
    data : LabelledTexts, or texts and labels, optional
        Also measure what a classifier learns from these texts, and how often they are linked.
    name : str
        What to call texts that have no name.
    classifier, tested_on, repetitions
        As in `utility`, with one kind of test text.
    linked : int
        At most this many texts are linked.
    draws, word_draws : int
        Words that are drawn for each share, and draws of each word for N_w and for watched words.
    seed : int
        The words are public, and of texts only scores are returned, so it need not be secret.
    device : str
        Where mechanisms that can use a GPU search for words.
    blocked : BlockList, optional
        Words that are never answered, at every setting.
    cache : bool or Path
        Whether to keep measurements, so that an interrupted call continues when it is repeated: in the
        user's cache folder, or in this folder. Only this user can read them.
    watch : callable
        Called with the number of finished measurements and the number of all.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding()
    >>> result = wv.evaluation.frontier(
    ...     [emb.project(5), emb.project(10)], lams=[0.0], answers=["nearest"], attacks=[0.3], draws=300,
    ...     word_draws=2, cache=False,
    ... )
    >>> [row["space"] for row in result.rows()]
    ['5 axes', '10 axes']
    >>> all(0.2 < row["attack"] < 0.4 for row in result.rows())
    True
    """
    chosen = as_spaces(spaces, "frontier")
    if not isinstance(blocked, BlockList | None):
        raise parameter_error("blocked", "frontier", "be a BlockList or None", blocked)
    curves = [
        replace(curve, blocked=blocked) for curve in list_curves(chosen, mechanisms, lams, answers, device)
    ]
    check_whole(seed, "seed", "frontier", 0)
    check_whole(linked, "linked", "frontier", 2)
    check_classifier(classifier, "frontier")
    labelled = None if data is None else as_labelled(data, name, "frontier")
    effort = Effort(check_whole(draws, "draws", "frontier", 2), word_draws, repetitions, seed)
    measurer = Measurer(prior, labelled, classifier, tested_on, linked, cache=cache)
    probes = (*_WORD_PROBES, *(() if labelled is None else ("accuracy", "linkage")))
    run = _FrontierRun(measurer, curves, probes, effort, tuple(attacks), watch)
    facts = list(run.rows(_checked(attacks, epsilons)))
    undominated(facts, "cosine_content", "undominated", "constant_cosine_content")
    if labelled is not None:
        undominated(facts, "accuracy", "undominated_accuracy", "accuracy_majority")
    settings = _settings(run, facts, epsilons)
    label = names_of(chosen) if labelled is None else labelled.name
    claims = frontier_claims(facts, settings["reference_attack"])
    return FrontierResult(label, settings, facts, claims, is_private=labelled is not None)


def _checked(attacks: Sequence[float], epsilons: Sequence[float] | None) -> list[float] | None:
    """Return the ε of every line; None if they are placed by attacks."""
    if epsilons is not None:
        return sorted(check_epsilon(epsilon, "frontier", "epsilons") for epsilon in epsilons)
    if not attacks or not all(0.0 < attack < 1.0 for attack in attacks):
        raise ParameterError("The 'attacks' parameter of frontier must be numbers in (0, 1).")
    return None


class _FrontierRun:
    """Every line of a frontier, measured point by point."""

    def __init__(
        self,
        measurer: Measurer,
        curves: list[Curve],
        probes: tuple[str, ...],
        effort: Effort,
        attacks: tuple[float, ...],
        watch: Callable[[int, int], None],
    ) -> None:
        self.measurer, self.curves, self.probes, self.effort = measurer, curves, probes, effort
        self.attacks, self._watch = attacks, watch

    def rows(self, epsilons: list[float] | None) -> Iterator[dict[str, Any]]:
        """Yield a row for each ε of each line."""
        points: list[tuple[Curve, float]] = []
        estimate = len(self.curves) * (1 + len(epsilons or self.attacks) * len(self.probes))
        for number, curve in enumerate(self.curves):
            points += [(curve, epsilon) for epsilon in epsilons or self._placed(curve)]
            self._watch(number + 1, estimate)
        done, total = len(self.curves), len(self.curves) + len(points) * len(self.probes)
        for curve, epsilon in points:
            mechanism = curve.at(epsilon)
            parent = load_parent(curve.space.embedding).fingerprint
            row = setting_row(curve, epsilon) | {"parent": parent[:16]}
            for probe in self.probes:
                row |= self.measurer.measure(probe, mechanism, self.effort)
                done += 1
                self._watch(done, total)
            yield {name: value for name, value in row.items() if not isinstance(value, list)}

    def _placed(self, curve: Curve) -> list[float]:
        rough, precise = (curve_attack(self.measurer, curve, effort) for effort in (_ROUGH, self.effort))
        return spread_epsilons(rough, self.attacks, precise)


def curve_attack(measurer: Measurer, curve: Curve, effort: Effort) -> Callable[[float], float]:
    """Return the attacker's success on a line, as a function of ε."""
    return lambda epsilon: float(measurer.measure("attack", curve.at(epsilon), effort)["attack"])


def setting_row(curve: Curve, epsilon: float) -> dict[str, Any]:
    """Return the columns that identify a setting.

    Examples
    --------
    >>> import wordveil as wv
    >>> setting_row(Curve(Space(wv.load_embedding()), "laplace", {}), 2.0)["space"]
    'all 300 dims'
    """
    return {"space": _space_name(curve.space), **curve.setting(epsilon).facts()}


def _space_name(space: Space) -> str:
    embedding = space.embedding
    name = space.source or embedding.provenance.name
    if embedding.is_map:
        return f"map {name}" if name else f"map, {embedding.dim} dims"
    if space.dims is not None or embedding.provenance.parent:
        return f"{embedding.dim} axes"
    return f"all {embedding.dim} dims"


def _settings(
    run: _FrontierRun, rows: list[dict[str, Any]], epsilons: Sequence[float] | None
) -> dict[str, Any]:
    def different(name: str) -> list[Any]:
        return list(dict.fromkeys(row[name] for row in rows if row[name] is not None))

    measurer, spaces = run.measurer, {id(curve.space): curve.space for curve in run.curves}.values()
    prior = measurer.prior(run.curves[0].space.embedding)
    facts = {
        "spaces": different("space"),
        "fingerprints": [space.embedding.fingerprint for space in spaces],
        "mechanisms": different("mechanism"),
        "lams": different("lam"),
        "answers": different("answer"),
        "attacks": list(run.attacks) if epsilons is None else [],
        "epsilons": [] if epsilons is None else list(epsilons),
        "reference_attack": _REFERENCE,
        "prior": prior.name,
        "draws": run.effort.draws,
        "word_draws": run.effort.word_draws,
        "words_for_n_w": measurer.words,
        "seed": run.effort.seed,
        **({} if (blocked := run.curves[0].blocked) is None else {"block_list": blocked.fingerprint[:16]}),
    }
    if measurer.data is not None:
        facts |= {
            "data": measurer.data.name,
            "records": len(measurer.data.texts),
            "classifier": classifier_name(measurer.classifier),
            "tested_on": measurer.tested_on,
            "repetitions": run.effort.repetitions,
            "linked_texts": min(measurer.linked, len(measurer.data.texts)),
        }
    return facts
