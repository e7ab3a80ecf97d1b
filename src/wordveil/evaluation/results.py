"""What the experiments return: plain facts, verdicts and settings, which JSON can hold."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from wordveil.errors import FormatError, MissingExtraError
from wordveil.evaluation.claim_words import worded
from wordveil.evaluation.paper_statements import paper_statement
from wordveil.evaluation.verdicts import Verdict

__all__ = [
    "DensityResult",
    "FrontierResult",
    "PaperResult",
    "PrivacyResult",
    "Result",
    "TuningResult",
    "UtilityResult",
    "load_result",
    "result_from_dict",
]


@dataclass(frozen=True, repr=False)
class Result:
    """The result of an experiment.

    Attributes
    ----------
    name : str
        What was measured: the name of the vectors or of the data.
    settings : dict
        Everything that the numbers depend on, as plain JSON values.
    facts : list of dict
        The rows, as plain JSON values: one for each setting and statistic.
    claims : list of Verdict
        The claims that these numbers can say something about.
    is_private : bool
        Whether the numbers were computed from texts that may be private.
    """

    kind: ClassVar[str] = ""

    name: str
    settings: dict[str, Any]
    facts: list[dict[str, Any]]
    claims: list[Verdict] = field(default_factory=list)
    is_private: bool = False

    def __repr__(self) -> str:
        """Return the kind and the size, in one line."""
        sizes = f"{len(self.rows())} rows, {len(self.verdicts())} verdicts"
        return f"<{type(self).__name__} of {self.name!r}: {sizes}{', private' if self.is_private else ''}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary, the verdicts and the main table of the report."""
        # By name, since reports know results and not the other way round.
        report = import_module("wordveil.report.report").make_report(self)
        return str(report._repr_html_())

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows, as plain JSON values."""
        return [dict(row) for row in self.facts]

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each claim that was tested."""
        return list(self.claims)

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame (extra `frames`)."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "frames", "to_frame()") from None
        return pd.DataFrame(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values; `result_from_dict` is the way back."""
        values = asdict(self)
        rows, _ = values.pop("facts"), values.pop("claims")
        claims = [verdict.to_dict() for verdict in self.claims]
        return {"kind": self.kind, **values, "rows": rows, "claims": claims}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Return the result that `to_dict` was called on."""
        result = result_from_dict(facts)
        if not isinstance(result, cls):
            raise FormatError(f"This is not the result of the experiment '{cls.kind}'.")
        return result


@dataclass(frozen=True, repr=False)
class PrivacyResult(Result):
    """N_w and S_w of public words.

    A row has the columns statistic ("N_w" or "S_w"), unit, setting (its name, if it has one), vectors,
    mechanism, dims, lam, epsilon, answer and options (the other options, as text), and over all words: mean,
    deviation, the 95% interval of the mean by blocks (low, high; null if there are too few blocks) and by
    the paper's rule (paper_low, paper_high), and the percentiles p5, p50 and p95.
    """

    kind: ClassVar = "privacy"


@dataclass(frozen=True, repr=False)
class DensityResult(Result):
    """How densely the words of texts lie.

    There is one row: the table of the paper's appendix. `points` are the dots of its figure, one per word
    and λ, without the word: distance (to the nearest neighbour), lam, epsilon and n_w (in percent).
    """

    kind: ClassVar = "density"

    points: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class UtilityResult(Result):
    """Scores of classifiers trained on private text.

    A row has the columns data, setting (its name, if it has one), vectors, mechanism, dims, lam, epsilon,
    answer, options, tested_on ("private" or "clean"), statistic (accuracy, macro_precision, macro_recall,
    macro_f1, and for each label precision, recall and f1), label (null unless it is about one), mean, low and
    high (the 95% interval, in [0, 1]; null if there is none), unperturbed, majority and chance (the same
    statistic of the classifier on unperturbed text, of always answering with the most frequent label, and of
    guessing all labels equally often), predicted (how many tested records of a repetition get this label;
    null unless it is about one), and for the accuracy p_majority (the p-value of "it is not better than
    the most frequent label"; else null). Rows with a null in mechanism are about unperturbed text.
    """

    kind: ClassVar = "utility"


@dataclass(frozen=True, repr=False)
class PaperResult(Result):
    """All experiments of the paper: a row per claim, with what the paper says and what came out.

    A row has the columns part, data, claim, paper, ours and outcome. `parts` are the results of the single
    experiments, by `to_dict`; rows and claims come from these, and are not kept beside them.
    """

    kind: ClassVar = "paper"

    parts: list[dict[str, Any]] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per claim of the parts."""
        return [
            {
                "part": part.kind,
                "data": part.name,
                "claim": verdict.claim,
                "paper": paper_statement(verdict.claim, part.settings),
                "ours": verdict.evidence,
                "outcome": verdict.outcome,
            }
            for part in map(result_from_dict, self.parts)
            for verdict in part.verdicts()
        ]

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each claim of the parts."""
        return [Verdict(f"{row['data']}: {row['claim']}", row["outcome"], row["ours"]) for row in self.rows()]


@dataclass(frozen=True, repr=False)
class FrontierResult(Result):
    """What settings are worth: attacks, exposed words, what is proven, closeness, and what texts are worth.

    There is one row per setting, with the columns space, setting, vectors, mechanism, dims, lam, epsilon,
    answer and options. Shares carry their 95% interval as NAME_low and NAME_high:

    - attack, attack_content: S, on running text and on its content words; attack_alone is a guess without
      output. answers_attack, answers_attack_content: someone who sees only answers, at least.
    - watched: how often watched words are recognised; watched_above_half counts those above one half.
    - exponent, exponent_p95, exponent_worst: ε·d to the ten words nearest in meaning in all dimensions
      (median and 95th percentile), and between any two words.
    - n_w, n_w_p95: the mean and the 95th percentile over words, in percent.
    - cosine_KIND, near_10_KIND, near_100_KIND, unchanged_KIND for tokens, content and uniform words, and
      the same with `constant_` and `random_` before it, for the best constant answer and a random word.
    - accuracy and linkage if there were labelled texts, with their baselines.
    - undominated, undominated_accuracy: whether no other setting is clearly better in S or in closeness (in
      accuracy) and not clearly worse in the other: beyond the intervals.
    """

    kind: ClassVar = "frontier"


@dataclass(frozen=True, repr=False)
class TuningResult(Result):
    """The setting that serves a goal best, the runner-up, and what was tried.

    `chosen` and `runner_up` are rows like those of a frontier, with their `toml`; null if no setting was
    measured. `is_met` says whether the chosen one satisfies all constraints by the unfavourable end of their
    intervals, `shortfall` how far it is from that, and `traded` what the choice gives up, in sentences. The
    rows are all settings that were tried: what was measured, with how many draws.
    """

    kind: ClassVar = "tuning"

    problem: dict[str, Any] = field(default_factory=dict)
    chosen: dict[str, Any] | None = None
    runner_up: dict[str, Any] | None = None
    contenders: list[dict[str, Any]] = field(default_factory=list)
    is_met: bool = False
    shortfall: str = ""
    traded: list[str] = field(default_factory=list)


_KINDS: Final[dict[str, type[Result]]] = {
    kind.kind: kind
    for kind in (PrivacyResult, DensityResult, UtilityResult, PaperResult, FrontierResult, TuningResult)
}


def result_from_dict(facts: Mapping[str, Any]) -> Result:
    """Return the result that `to_dict` was called on.

    Examples
    --------
    >>> import json
    >>> result = PrivacyResult("glove", {"draws": 100}, [{"statistic": "N_w", "mean": 1.5}])
    >>> result_from_dict(json.loads(json.dumps(result.to_dict()))) == result
    True
    """
    known = _KINDS.get(str(facts.get("kind")))
    if known is None:
        raise FormatError(f"This is not a result of an experiment: 'kind' must be {', '.join(_KINDS)}.")
    values = {name: value for name, value in facts.items() if name not in ("kind", "rows", "claims")}
    try:
        verdicts = [_verdict(verdict) for verdict in facts["claims"]]
        return known(**values, facts=[_row(row) for row in facts["rows"]], claims=verdicts)
    except (KeyError, TypeError, ValueError):
        raise FormatError("This is not a result of an experiment: it has other keys.") from None


_RENAMED: Final = {
    "words_a_record_mean": "words_per_record_mean",
    "words_a_record_deviation": "words_per_record_deviation",
}
"""Columns of older results, and what they are called now."""


def _row(values: Mapping[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(name, name): value for name, value in values.items()}


def _verdict(values: Mapping[str, Any]) -> Verdict:
    """Return a claim from its numbers, or from its sentences, whose evidence older results call `found`."""
    if "name" in values:
        return worded(**values)
    evidence = values["evidence"] if "evidence" in values else values["found"]
    return Verdict(values["claim"], values["outcome"], evidence)


def load_result(path: Path | str) -> Result:
    """Return the result in a JSON file, as a report wrote it.

    The parts of a result of the paper may be names of other files in the same folder, without ".json".

    Examples
    --------
    >>> import tempfile
    >>> result = PrivacyResult("glove", {"draws": 100}, [{"statistic": "N_w", "mean": 1.5}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "privacy.json")
    ...     _ = path.write_text(json.dumps(result.to_dict()), encoding="utf-8")
    ...     load_result(path) == result
    True
    """
    facts = _read_facts(Path(path))
    if "parts" in facts:
        facts["parts"] = [
            _read_facts(Path(path).with_name(f"{part}.json")) if isinstance(part, str) else part
            for part in facts["parts"]
        ]
    return result_from_dict(facts)


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise FormatError(f"{path}: is not a result of an experiment in JSON.")
    return facts
