"""What a setting is worth, in words: the headline, the two reasons to warn, profiles, and results that are kept."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil import exposure as exposure_module
from wordveil.attacker import GuessRate, guess_rate, word_exposures
from wordveil.exposure import Exposure, WatchedWord, measure_exposure, watch
from wordveil.intervals import Share
from wordveil.prior import Prior, default_prior
from wordveil.profiles import PROFILES
from wordveil.watched_words import WATCHED_WORDS

SENSITIVE = list(WATCHED_WORDS)[:60]
CROWD = 2000


class Still(wv.Mechanism):
    """Has no closed form; every word stays."""

    guarantee: Any = None  # nobody asks for it here

    def __init__(self, embedding: wv.Embedding) -> None:
        self.embedding = embedding

    def parameters(self) -> dict[str, Any]:
        return {}

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        return np.maximum(ids, 0)


def crowded(isolated: int) -> tuple[wv.Laplace, Prior]:
    """Return a setting that hides a crowd of frequent words, and some of the sensitive words among them.

    The first `isolated` ones stand alone, far from everything, and are rare.
    """
    rng = np.random.default_rng(8)
    places = rng.normal(size=(len(SENSITIVE) + CROWD, 3))
    places[:isolated] = 1000.0 * np.arange(1, isolated + 1)[:, None]
    names = SENSITIVE + [f"w{i}" for i in range(CROWD)]
    counts = {name: 1.0 if name in WATCHED_WORDS else 1000.0 for name in names}
    embedding = wv.Embedding(names, places, public=True)
    return wv.Laplace(embedding, 1.0), Prior.from_counts(embedding, counts, public=True)


def worth(prior: Prior, **changes: Any) -> Exposure:
    rate = GuessRate(Share(0.3125, 0.2799, 0.3411), 0.0539, 1000, exact=True)
    return replace(Exposure(prior, "sees the noisy vectors", rate, 100, (), documented=False), **changes)


def names_of(count: int) -> tuple[str, ...]:
    return tuple(f"w{i}" for i in range(count))


OTHER_COUNTS = "knows the counts of words that were used"
KNOWN: list[tuple[Callable[[wv.Embedding], Prior], str]] = [
    (Prior.english, "knows how often English words are used"),
    (
        Prior.by_rank,
        "knows how often words are used (rank-based: guessed from the order of the vectors)",
    ),
    (Prior.uniform, "thinks that all words are equally frequent"),
    (lambda emb: Prior.from_counts(emb, {"tea": 3, "at": 1}, public=True), OTHER_COUNTS),
    (lambda emb: Prior.from_counts(emb, {"tea": 3}, public=True, name="our hospital"), OTHER_COUNTS),
]


@pytest.mark.parametrize(("make", "known"), KNOWN)
def test_the_headline_names_what_the_attacker_knows(
    small: wv.Embedding, make: Callable[[wv.Embedding], Prior], known: str
) -> None:
    assert worth(make(small)).headline == (
        f"Someone who {known}, and sees the noisy vectors, names the word in 31.2% of cases (27.9% to 34.2%); "
        "5.4% by guessing alone. Context can raise this."
    )


def test_the_headline_without_a_closed_form(small: wv.Embedding) -> None:
    result = measure_exposure(Still(small), Prior.uniform(small))
    assert not result.rate.exact
    assert result.headline.startswith(
        "Someone who thinks that all words are equally frequent, and sees the answers, names the word in "
    )
    low, high = result.rate.success.low, result.rate.success.high
    assert f"in {np.floor(1000 * low) / 10}% to {np.ceil(1000 * high) / 10}% of cases (bounds by draws" in (
        result.headline
    )
    assert "there is no closed form); 5.3% by guessing alone. Context can raise this." in result.headline
    assert "the best guess is right in at least" in result.warning


def test_the_default_prior_is_that_of_english(glove: wv.Embedding, small: wv.Embedding) -> None:
    assert measure_exposure(wv.Laplace(glove.project(3), 1.0)).prior.name == "english"
    foreign = wv.Embedding(["thé", "glace", "brume"], np.eye(3), public=True)
    assert measure_exposure(wv.Laplace(foreign, 1.0)).prior.name == "rank-based"
    assert measure_exposure(wv.Laplace(small, 1.0)).prior is default_prior(small)


@pytest.mark.parametrize(("low", "warns"), [(0.5, False), (0.50099, True), (0.99, True)])
def test_it_warns_if_the_lower_limit_exceeds_a_half(small: wv.Embedding, low: float, warns: bool) -> None:
    rate = GuessRate(Share(0.995, low, 1.0), 0.05, 1000, exact=True)
    warning = worth(Prior.uniform(small), rate=rate).warning
    assert bool(warning) == warns
    if warns:
        lowest = {0.50099: "50.0%", 0.99: "99.0%"}[low]  # rounded down
        assert warning.startswith(
            f"This setting protects little: the best guess is right in at least {lowest} of cases. Hint: --profile"
        )
        assert "\n" not in warning
    assert worth(Prior.uniform(small), rate=rate, documented=True).warning == ""


@pytest.mark.parametrize(
    ("watched", "exposed", "warns"),
    [(100, 10, False), (100, 11, True), (153, 15, False), (153, 16, True), (1, 1, True), (0, 0, False)],
)
def test_it_warns_if_more_than_a_tenth_is_exposed(
    small: wv.Embedding, watched: int, exposed: int, warns: bool
) -> None:
    changes: dict[str, Any] = {"watched": watched, "exposed": names_of(exposed)}
    warning = worth(Prior.uniform(small), **changes).warning
    assert bool(warning) == warns
    if warns:
        assert (
            f"little: {exposed} of {watched} words on sensitive topics are recognised more than four"
            in warning
        )
    assert worth(Prior.uniform(small), documented=True, **changes).warning == ""


@pytest.mark.parametrize(("isolated", "warns"), [(6, False), (7, True), (60, True)])
def test_rare_words_far_from_all_others_are_exposed(isolated: int, warns: bool) -> None:
    result = measure_exposure(*crowded(isolated))
    assert result.rate.success.high < 0.1
    assert result.watched == 60
    assert set(result.exposed) == set(SENSITIVE[:isolated])
    assert bool(result.warning) == warns
    assert not result.documented


def test_a_word_is_exposed_by_the_largest_of_its_shares() -> None:
    for shares in ((0.96, 0.0, 0.0), (0.0, 0.96, 0.0), (0.0, 0.0, 0.96)):
        word = WatchedWord("gay", "orientation", *shares, draws=25)
        assert (word.largest, word.is_exposed) == (0.96, True)
    assert WatchedWord("gay", "orientation", 0.84, 0.0, 0.0, draws=25).is_exposed
    assert not WatchedWord("gay", "orientation", 0.80, 0.80, 0.80, draws=25).is_exposed


def test_watched_words_come_in_order_and_only_if_they_are_known() -> None:
    mechanism, prior = crowded(2)
    topics = {SENSITIVE[9]: "health", SENSITIVE[1]: "health", "zanzibar": "travel", "w3": "crowd"}
    words = watch(mechanism, prior, topics, 40)
    assert {(word.word, word.topic) for word in words} == {
        (word, topic) for word, topic in topics.items() if word != "zanzibar"
    }
    assert words[0].word == SENSITIVE[1]
    assert [word.largest for word in words] == sorted((word.largest for word in words), reverse=True)
    assert words[0][2:] == (1.0, 1.0, 1.0, 40)
    assert watch(mechanism, prior, {"zanzibar": "travel"}, 40) == ()


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_does_not_warn(name: str) -> None:
    result = measure_exposure(PROFILES[name].load())
    assert (result.prior.name, result.documented, result.warning) == ("english", True, "")
    assert result.watched > 100


def test_a_profile_is_documented_for_english_only() -> None:
    mechanism = PROFILES["strong"].load()
    mostly_one = Prior.from_counts(mechanism.embedding, {"tea": 99, "the": 1}, public=True)
    result = measure_exposure(mechanism, mostly_one)
    assert not result.documented
    assert "the best guess is right in at least" in result.warning


def test_no_protection_is_noticed_on_the_default_vectors(glove: wv.Embedding) -> None:
    result = measure_exposure(wv.Laplace(glove.project(3), 1e9))
    assert "the best guess is right in at least 98" in result.warning
    assert len(result.exposed) == result.watched > 100


def test_the_same_facts_for_machines() -> None:
    mechanism, prior = crowded(7)
    result = measure_exposure(mechanism, prior)
    facts = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert facts == result.to_dict()
    success = result.rate.success
    assert facts == {
        "sees": "sees the noisy vectors",
        "best_guess": {
            "share": success.share,
            "low": success.low,
            "high": success.high,
            "guess_without_output": prior.guess,
            "draws": 1000,
            "closed_form": True,
        },
        "prior": {"name": "your own counts", "fingerprint": prior.fingerprint, "declared_public": True},
        "sensitive_words": {"watched": 60, "exposed": 7},
    }


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the measurements, as they are made."""
    made: list[str] = []

    def counted(name: str, measure: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            made.append(name)
            return measure(*args, **options)

        return call

    monkeypatch.setattr(exposure_module, "guess_rate", counted("rate", guess_rate))
    monkeypatch.setattr(exposure_module, "word_exposures", counted("words", word_exposures))
    return made


def test_a_setting_is_measured_once(calls: list[str]) -> None:
    mechanism, prior = crowded(1)
    first = measure_exposure(mechanism, prior)
    assert calls == ["words", "words", "rate"]
    again = wv.Laplace(mechanism.embedding, 1.0)
    assert measure_exposure(again, Prior("your own counts", prior.shares, prior.declared_public)) is first
    assert wv.Perturber(again).exposure(prior) is first
    assert len(calls) == 3


def test_another_setting_is_measured_again(calls: list[str]) -> None:
    mechanism, prior = crowded(1)
    embedding = mechanism.embedding
    changed = type("Laplace", (wv.Laplace,), {"__module__": wv.Laplace.__module__, "name": "laplace"})
    cases = [
        (mechanism, prior),
        (wv.Laplace(embedding, 1.1), prior),
        (wv.Mahalanobis(embedding, 1.0, 0.0), prior),
        (wv.Mahalanobis(embedding, 1.0, 0.5), prior),
        (changed(embedding, 1.0), prior),  # as if it had been defined again in a notebook
        (mechanism, Prior.uniform(embedding)),
        (mechanism, Prior("another name", prior.shares, declared_public=True)),
        (mechanism, Prior(prior.name, prior.shares[::-1], declared_public=True)),
        (mechanism, Prior(prior.name, prior.shares, declared_public=False)),
    ]
    results = [measure_exposure(*case) for case in cases]
    assert len({id(result) for result in results}) == calls.count("rate") == len(cases)
    assert not results[-1].to_dict()["prior"]["declared_public"]
    assert results[0].rate.success.share < results[1].rate.success.share
