"""Results keep the numbers of claims and no sentences, so that a change of wording changes no result."""

import json
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.evaluation.claim_words import worded
from wordveil.evaluation.results import PrivacyResult, UtilityResult, load_result, result_from_dict
from wordveil.evaluation.utility_claims import utility_claims

from .test_claims import make_sweep
from .test_utility_claims import SPAM_AND_HAM, grid, noisy

EXPERIMENTS = Path(__file__).parent.parent.parent / "docs" / "experiments"
STORED = sorted(EXPERIMENTS.glob("*.json"))


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_results_hold_no_sentences(path: Path) -> None:
    facts = json.loads(path.read_text(encoding="utf-8"))
    for claim in facts["claims"]:
        assert set(claim) == {"name", "outcome", "numbers"}
        assert not [text for text in strings(claim["numbers"]) if text.count(" ") > 4]
    if facts["kind"] == "paper":
        assert facts["rows"] == facts["claims"] == []
    result = load_result(path)
    assert all(verdict.evidence for verdict in result.verdicts())
    page = wv.make_report(result).text("md")
    assert all(verdict.claim in page for verdict in result.verdicts() if facts["kind"] != "paper")


def test_claims_come_back_from_their_numbers() -> None:
    from wordveil.evaluation.claims import claims

    accuracy = noisy(0.75, (2, 2, 8))
    accuracy[1] += 0.1
    utility = utility_claims(grid(accuracy, (0.0, 1.0), (1.0, 5.0)), SPAM_AND_HAM)
    sweep, sparseness = make_sweep(10.0)
    for kind, verdicts in (
        (UtilityResult, utility),
        (PrivacyResult, claims(sweep, sparseness, [300.0, 301.0])),
    ):
        result = kind("x", {}, [], verdicts)
        kept = json.dumps(result.to_dict())
        assert "significan" not in kept
        assert result_from_dict(json.loads(kept)) == result


def test_results_with_sentences_can_still_be_read() -> None:
    claim = {"claim": "accuracy rises", "outcome": "holds"}
    for key in ("evidence", "found"):
        facts = {
            "kind": "utility",
            "name": "x",
            "settings": {},
            "rows": [],
            "claims": [claim | {key: "0.5, then 0.9"}],
        }
        result = result_from_dict(facts)
        assert str(result.verdicts()[0]) == "holds: accuracy rises\n       0.5, then 0.9"
        assert result.to_dict()["claims"] == [claim | {"evidence": "0.5, then 0.9"}]
    with pytest.raises(wv.FormatError, match="other keys"):
        result_from_dict(
            {
                "kind": "utility",
                "name": "x",
                "settings": {},
                "rows": [],
                "claims": [{"name": "unknown", "outcome": "holds", "numbers": {}}],
            }
        )


def test_epsilons_where_nothing_was_learnt_are_named() -> None:
    accuracy = noisy(0.75, (2, 2, 8))
    accuracy[:, 0] = 0.5
    verdict = utility_claims(grid(accuracy, (0.0, 1.0), (1.0, 5.0)))[1]
    assert verdict.evidence.startswith("accuracy minus that of λ = 0: λ = 1, ε = 5: ")
    assert "not tested, because nothing was learnt there: ε = 1" in verdict.evidence
    again = worded(verdict.name, verdict.outcome, verdict.numbers)
    assert again == verdict


@pytest.mark.parametrize(
    ("spread", "outcome", "words"),
    [
        (0.0, "holds", "is the same at every λ"),
        (2.2e-16, "holds", "is the same at every λ"),
        (0.031, "does not hold", "differs between the λ: the largest is 3.1% above the smallest"),
    ],
)
def test_the_scale_is_the_same_but_for_rounding(spread: float, outcome: Any, words: str) -> None:
    assert worded("same_scale", outcome, {"spread": spread}).evidence.endswith(f"trace(A) {words}")
