"""Presidio: the operator and the placeholders, with its real engines, offline."""

import logging
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from presidio_analyzer import RecognizerResult
from presidio_analyzer.predefined_recognizers import EmailRecognizer
from presidio_anonymizer import AnonymizerEngine, OperatorConfig

import wordveil as wv

from .checks import ROOT, SECRET, TEXT, check_distinct, check_no_keys, check_no_secret, run, small_perturber

CARD = "4111 1111 1111 1111"
MAIL = f"{SECRET}@example.org"
MESSAGE = f"please call {SECRET} at noon: {CARD}, {MAIL} and the red house"


@pytest.fixture(scope="module")
def analyzer() -> Any:
    return wv.presidio.pattern_analyzer()


@pytest.fixture(scope="module")
def around(perturber: wv.Perturber) -> Callable[..., str]:
    def call(text: str, results: Any, **options: Any) -> str:
        return wv.presidio.perturb_around(
            text, results, perturber=perturber, unsafe_keep_placeholders=True, **options
        )

    return call


def spans(*places: tuple[str, int, int, float]) -> list[RecognizerResult]:
    return [RecognizerResult(*place) for place in places]


def test_the_analyzer_finds_patterns_without_a_network(analyzer: Any) -> None:
    text = f"{CARD} {MAIL} 192.0.2.7 DE89370400440532013000 078-05-1120 (212) 555-0101"
    types = {result.entity_type for result in analyzer.analyze(text, "en")}
    assert types >= {"CREDIT_CARD", "EMAIL_ADDRESS", "IP_ADDRESS", "IBAN_CODE", "PHONE_NUMBER"}
    assert not analyzer.analyze("Ann Miller lives in Boston", "en")  # names need a model


def test_the_recognizer_of_presidio_asks_the_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Why there is another one. If this fails, Presidio has changed."""
    import tldextract

    hosts: list[str] = []

    def look_up(host: str, *_: Any, **__: Any) -> Any:
        hosts.append(host)
        raise OSError("no network in tests")

    fresh = tldextract.TLDExtract(cache_dir=str(tmp_path))
    monkeypatch.setattr("tldextract.extract", fresh)
    monkeypatch.setattr("socket.getaddrinfo", look_up)
    assert EmailRecognizer().validate_result(MAIL)
    assert hosts


def test_placeholders_stay_and_all_else_is_perturbed(analyzer: Any, around: Callable[..., str]) -> None:
    answers = [around(MESSAGE, analyzer.analyze(MESSAGE, "en")) for _ in range(20)]
    for answer in answers:
        words = answer.split()
        assert [word for word in words if "<" in word] == ["<CREDIT_CARD>", "<EMAIL_ADDRESS>"]
        assert [words.index("<CREDIT_CARD>"), words.index("<EMAIL_ADDRESS>"), len(words)] == [5, 6, 11]
        assert SECRET not in answer
        assert "4111" not in answer
    assert len(set(answers)) > 15  # 9 perturbed words each


def test_every_call_draws_anew(around: Callable[..., str]) -> None:
    check_distinct(around(TEXT, spans(("NAME", 0, len(SECRET), 1.0))) for _ in range(5))


def test_entities_that_overlap_are_one(around: Callable[..., str], same: wv.Perturber) -> None:
    """Nothing of either may be left, and nothing beside them dropped."""
    text = "call me at noon now"
    places = spans(("A", 5, 10, 0.4), ("B", 8, 15, 0.9), ("C", 9, 10, 0.1))
    assert (
        wv.presidio.perturb_around(text, places, perturber=same, unsafe_keep_placeholders=True)
        == "call <B> now"
    )
    assert around(text, spans(("A", 0, len(text), 1.0))) == "<A>"
    assert len(around(text, []).split()) == 5
    next_to = spans(("A", 0, 4, 1.0), ("B", 4, 7, 1.0))
    assert around(text, next_to).split()[:2] == ["<A>", "<B>"]


def test_the_operator_perturbs_entities_and_only_them(analyzer: Any, perturber: wv.Perturber) -> None:
    engine = AnonymizerEngine()
    engine.add_anonymizer(wv.presidio.WordveilOperator)
    operators = {"DEFAULT": OperatorConfig("wordveil", {"perturber": perturber})}
    place = spans(("NAME", 4, 4 + len(TEXT), 1.0))
    answers = [engine.anonymize(f"now {TEXT} !", place, operators).text for _ in range(4)]
    check_distinct(answers)
    assert all(answer.startswith("now ") and answer.endswith(" !") for answer in answers)
    raw = engine.anonymize(MESSAGE, analyzer.analyze(MESSAGE, "en"), operators).text
    assert SECRET in raw  # in what was not recognized: docs/integrations/presidio.md says so
    with pytest.raises(wv.ParameterError, match="must be a Perturber"):
        engine.anonymize(f"now {TEXT} !", place, {"DEFAULT": OperatorConfig("wordveil", {})})


def test_the_operator_warns() -> None:
    engine = AnonymizerEngine()
    engine.add_anonymizer(wv.presidio.WordveilOperator)
    operators = {"DEFAULT": OperatorConfig("wordveil", {"perturber": small_perturber(100.0)})}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine.anonymize("call me", spans(("NAME", 0, 4, 1.0)), operators)
    first, second = caught
    assert "did not recognize stays as it is" in str(first.message)
    assert "This setting protects little" in str(second.message)
    for warning in caught:
        assert warning.category is wv.PrivacyWarning
        assert warning.filename == __file__


def test_logs_have_no_text(
    analyzer: Any, around: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        around(MESSAGE, analyzer.analyze(MESSAGE, "en"))
    assert SECRET not in caplog.text


def test_what_is_revealed_must_be_asked_for(perturber: wv.Perturber, small: wv.Embedding) -> None:
    for value in (False, 1, None):
        with pytest.raises(wv.ParameterError, match="unsafe_keep_placeholders=True"):
            wv.presidio.perturb_around(TEXT, [], perturber=perturber, unsafe_keep_placeholders=value)  # type: ignore[arg-type]
    with pytest.warns(wv.PrivacyWarning, match="shows where entities are"):
        wv.presidio.perturb_around(TEXT, [], perturber=perturber, unsafe_keep_placeholders=True)
    for policy in (wv.Policy(pad_to=3), wv.Policy(bag=True)):
        padded = wv.Perturber(wv.Mahalanobis(small, 0.01), policy)
        with pytest.raises(wv.ParameterError, match="must not pad or sort"):
            wv.presidio.perturb_around(TEXT, [], perturber=padded, unsafe_keep_placeholders=True)


@pytest.mark.parametrize("place", [(-1, 3), (3, 2), (0, 10_000)])
def test_results_of_another_text_are_refused(place: tuple[int, int], around: Callable[..., str]) -> None:
    with pytest.raises(wv.ParameterError, match="those of this text"):
        around(TEXT, spans(("A", *place, 1.0)))


@pytest.mark.parametrize(
    "results",
    [
        None,
        7,
        [{"start": 0, "end": 3, "score": 1.0, "entity_type": "A"}],
        [RecognizerResult("A", 0, 3, None)],
        [RecognizerResult(None, 0, 3, 1.0)],
        [RecognizerResult("A", 0.5, 3, 1.0)],
        [SECRET],
    ],
)
def test_what_is_no_result_is_refused(results: Any, around: Callable[..., str]) -> None:
    with pytest.raises(wv.ParameterError, match=r"'results' .* must be a list of RecognizerResult") as caught:
        around(TEXT, results)
    assert SECRET not in str(caught.value)


def test_what_is_written(watched: Path) -> None:
    lines = run(
        """
        analyzer = wv.presidio.pattern_analyzer()
        warnings.simplefilter("ignore")
        for _ in range(3):
            text = TEXT + " " + SECRET + "@example.org"
            options = dict(perturber=small_perturber(), unsafe_keep_placeholders=True)
            print(wv.presidio.perturb_around(text, analyzer.analyze(text, "en"), **options))
        """,
        watched,
    )
    check_distinct(lines)
    assert not check_no_secret(watched)  # nothing at all, not even a list of domains
    check_no_keys(watched)


def test_no_page_installs_a_model_by_name() -> None:
    """The package index has packages of others under the names of spaCy's models."""
    install = re.compile(
        r"(pip|uv|pipx|poetry|conda)\b.*\b(install|add)\b.*\b[a-z]{2}[-_]core[-_]", re.IGNORECASE
    )
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").iterdir()]
    pages += (ROOT / "src" / "wordveil").rglob("*.py")
    assert len(pages) > 100
    for page in pages:
        if page.is_file():
            assert not install.search(page.read_text(encoding="utf-8")), page
