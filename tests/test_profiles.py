"""The profiles keep their promise, which is computed again here from the vectors and the counts of English words."""

import numpy as np
import pytest

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.profiles import PROFILES, Profile, is_profile, load_profile

NAMES = {"gentle": 0.45, "balanced": 0.28, "strong": 0.15}


def test_there_are_three_from_gentle_to_strong() -> None:
    assert {name: profile.most_guessed for name, profile in PROFILES.items()} == NAMES
    assert [profile.name for profile in PROFILES.values()] == list(NAMES)
    epsilons = [profile.epsilon for profile in PROFILES.values()]
    assert epsilons == sorted(epsilons, reverse=True)
    assert len({profile.help for profile in PROFILES.values()}) == 3


@pytest.mark.parametrize("name", NAMES)
def test_the_best_guess_of_its_setting_is_right_as_often_as_it_says(name: str) -> None:
    """n = 20,000 draws of another seed than that of the library; the interval reaches 0.0062 at most."""
    profile = load_profile(name)
    mechanism = profile.load()
    facts = {"mechanism": profile.mechanism, "epsilon": profile.epsilon, "lam": profile.lam, "dims": 10}
    assert facts.items() <= mechanism.setting().items()
    assert mechanism.setting()["answer"] == profile.answer == "closest"
    assert is_profile(mechanism)
    prior = wv.Prior.english(mechanism.embedding)
    success = guess_rate(mechanism, prior, draws=20_000, stream=wv.insecure_stream(2026)).success
    assert success.high <= NAMES[name]
    assert success.share > NAMES[name] - 0.03  # with less noise than this, texts would be worth more


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("balancd", "did you mean 'balanced'?"),
        ("Strong", "did you mean 'strong'?"),
        ("zanzibar", "there are gentle, balanced, strong."),
        ("", "there are gentle, balanced, strong."),
        (None, "there are gentle, balanced, strong."),
        (5.7, "there are gentle, balanced, strong."),
    ],
)
def test_an_unknown_name_gives_a_hint(name: str, hint: str) -> None:
    for load in (load_profile, wv.Perturber.from_profile):
        with pytest.raises(wv.UnknownNameError) as error:
            load(name)
        assert str(error.value) == f"There is no profile of that name. Hint: {hint}"
        assert isinstance(error.value, KeyError)


def test_a_perturber_from_a_profile() -> None:
    perturber = wv.Perturber.from_profile("strong")
    assert is_profile(perturber.mechanism)
    assert perturber.mechanism.parameters()["epsilon"] == PROFILES["strong"].epsilon
    assert perturber.policy == wv.Policy()
    padded = wv.Perturber.from_profile("gentle", wv.Policy(pad_to=4))
    assert len(padded("tea at noon").split()) == 4
    assert padded.mechanism.parameters()["epsilon"] == PROFILES["gentle"].epsilon


def test_only_its_setting_on_its_vectors_is_a_profile(glove: wv.Embedding) -> None:
    profile = PROFILES["balanced"]
    vectors = wv.load_embedding(profile.embedding)
    assert is_profile(wv.Laplace(vectors, profile.epsilon, answer="closest"))
    moved = wv.Embedding(vectors.words, vectors.vectors * np.float32(2.0), public=True)
    others = [
        wv.Laplace(moved, profile.epsilon, answer="closest"),
        wv.Laplace(glove.project(10), profile.epsilon, answer="closest"),
        wv.Laplace(vectors, profile.epsilon),
        wv.Laplace(vectors, profile.epsilon, answer="likeliest"),
        wv.Laplace(vectors, profile.epsilon + 0.01, answer="closest"),
        wv.Mahalanobis(vectors, profile.epsilon, 0.5, answer="closest"),
        type("Other", (wv.Laplace,), {})(vectors, profile.epsilon, answer="closest"),
    ]
    assert not any(is_profile(mechanism) for mechanism in others)


def test_a_profile_can_not_be_changed() -> None:
    assert isinstance(PROFILES["strong"], Profile)
    with pytest.raises(AttributeError):
        PROFILES["strong"].epsilon = 100.0  # type: ignore[misc]  # the mistake
