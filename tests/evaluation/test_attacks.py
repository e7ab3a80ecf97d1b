"""Attacks: against closed forms, against brute force, and at both ends of ε."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.evaluation import attacks
from wordveil.evaluation.attacks import Attacks, EasyWord, attack
from wordveil.evaluation.attacks_context import public_model
from wordveil.evaluation.attacks_linkage import _groups_of, by_channel, observe
from wordveil.evaluation.attacks_texts import release_attacks
from wordveil.evaluation.attacks_words import _why, averaging, topic_prior, word_attacks
from wordveil.mechanisms import mechanism_names

from .attacked_texts import TEXTS, named


class Choice(wv.Mechanism):
    """The exponential mechanism, with its closed form: Pr[u | w] ∝ exp(-(ε/2)·‖φ(w) - φ(u)‖)."""

    def __init__(self, embedding: wv.Embedding, epsilon: float) -> None:
        self.embedding, self.epsilon = embedding, epsilon
        rows = np.vstack((embedding.vectors, embedding.centroid)).astype(np.float64)
        scores = -epsilon / 2.0 * np.linalg.norm(rows[:, None] - rows[None, :-1], axis=2)
        weights = np.exp(scores)
        self.table = weights / weights.sum(axis=1, keepdims=True)

    @property
    def guarantee(self) -> wv.MetricGuarantee:
        return wv.MetricGuarantee(self.epsilon, wv.Metric.from_embedding(self.embedding, 0.0), self.embedding)

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}

    def channel(self) -> wv.Channel:
        return ChoiceChannel(self.table)

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        steps = np.cumsum(self.table, axis=1)[ids]
        return np.asarray(
            np.minimum((stream.uniforms((len(ids), 1)) > steps).sum(axis=1), len(self.embedding) - 1)
        )


class ChoiceChannel(wv.Channel):
    def __init__(self, table: NDArray[np.float64]) -> None:
        self.table = table

    def observe(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[Any]:
        steps = np.cumsum(self.table, axis=1)[ids]
        return np.asarray(
            np.minimum((stream.uniforms((len(ids), 1)) > steps).sum(axis=1), self.table.shape[1] - 1)
        )

    def log_likelihoods(self, seen: NDArray[Any], words: slice) -> NDArray[np.float64]:
        return np.asarray(np.log(self.table[words][:, seen].T))

    def answers(self, seen: NDArray[Any]) -> NDArray[np.int64]:
        return seen

    def of_answers(self, answers: NDArray[np.int64]) -> NDArray[Any]:
        return answers


@pytest.fixture(scope="module")
def choice(small: wv.Embedding) -> Choice:
    return Choice(small, 2.5)


@pytest.fixture(scope="module")
def prior(small: wv.Embedding) -> wv.Prior:
    return wv.Prior.by_rank(small)


def test_attacks_on_words_agree_with_the_exact_bayes_success(choice: Choice, prior: wv.Prior) -> None:
    """Intervals at 95% or more each; the seeds are fixed."""
    joint = prior.shares[:, None] * choice.table
    attacks = word_attacks(choice, prior, 20_000)
    best = named(attacks, "best guess").success
    assert best.low <= joint.max(axis=0).sum() <= best.high
    assert best.high - best.low < 0.03
    identity = named(attacks, "the answer itself").success
    assert identity.low <= np.trace(joint[:-1]) <= identity.high
    # The largest p(w)·exp(-ε·d): twice the exponent of the posterior, and without its normaliser.
    words = np.append(np.arange(len(choice.table) - 1), -1)
    exponents = np.array([choice.guarantee.exponents(words, answer) for answer in range(joint.shape[1])])
    guesses = (np.log(prior.shares) - exponents).argmax(axis=1)
    surrogate = named(attacks, "surrogate from ε·d alone").success
    assert surrogate.low <= joint[guesses, np.arange(joint.shape[1])].sum() <= surrogate.high
    by_posterior = joint.argmax(axis=0)
    assert (guesses != by_posterior).any()
    assert named(attacks, "best guess from answers").success.high >= joint.max(axis=0).sum() - 0.01


@pytest.mark.parametrize("name", mechanism_names())
def test_closed_forms_of_registered_mechanisms_agree(small: wv.Embedding, prior: wv.Prior, name: str) -> None:
    """Where an attacker sees the answers themselves, S is a finite sum."""
    needed: dict[str, Any] = {"unsafe_no_uniform_guarantee": True} if name == "custext" else {}
    mechanism = wv.make_mechanism(name, small, 2.5, **needed)
    channel = mechanism.valid_channel()
    if channel is None or channel.sees != "sees the answers":
        pytest.skip("its closed form is not that of its answers")
    table = np.exp(channel.log_likelihoods(np.arange(len(small)), slice(0, len(small) + 1))).T
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-3)
    exact = (prior.shares[:, None] * table).max(axis=0).sum()
    best = named(word_attacks(mechanism, prior, 20_000), "best guess").success
    assert best.low <= exact <= best.high


def test_two_releases_agree_with_the_exact_bayes_success(choice: Choice, prior: wv.Prior) -> None:
    twice = prior.shares[:, None, None] * choice.table[:, :, None] * choice.table[:, None, :]
    one, two = (attack.success for attack in averaging(choice, prior, 20_000, (1, 2)))
    assert two.low <= twice.max(axis=0).sum() <= two.high
    assert one.low <= (prior.shares[:, None] * choice.table).max(axis=0).sum() <= one.high
    assert two.low > one.high


def test_a_prior_that_knows_the_topic_tells_more(choice: Choice, prior: wv.Prior) -> None:
    plain = named(topic_prior(choice, prior, 8000, spread=0.0), "topic prior")
    changed = named(topic_prior(choice, prior, 8000), "topic prior")
    assert plain.null == pytest.approx(prior.guess)
    assert plain.success.low <= (prior.shares[:, None] * choice.table).max(axis=0).sum() <= plain.success.high
    assert changed.null > plain.null
    assert changed.success.share > plain.success.share


def shares(result: Attacks, group: str, **setting: object) -> dict[str, float]:
    return {
        attack.name: attack.success.share
        for attack in result.attacks
        if attack.group == group and all(attack.setting.get(key) == value for key, value in setting.items())
    }


def test_both_ends_of_epsilon(small: wv.Embedding, same: wv.Perturber, noisy: wv.Perturber) -> None:
    model = public_model(small, TEXTS)
    options: Any = {"groups": ["context", "linkage", "attributes"], "sizes": [10], "context": model}
    clear = attack([same], TEXTS, stream=wv.insecure_stream(1), **options)
    assert clear.is_private
    linked = shares(clear, "linkage", words=None)
    assert all(value == 1.0 for name, value in linked.items() if "length alone" not in name)
    assert set(shares(clear, "context").values()) == {1.0}
    hidden = shares(attack([noisy], TEXTS, stream=wv.insecure_stream(1), **options), "linkage", words=None)
    assert hidden["likelihood, rank 1"] <= 0.8
    assert hidden["length alone, rank 1"] == pytest.approx(np.mean(_alone()), abs=1e-9)


def by_brute_force(
    mechanism: wv.Mahalanobis, originals: NDArray[np.int64], seen: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return Σ -ε‖φ(w) - v‖_RM of each noisy text and original, with A and its inverse from NumPy."""
    vectors = mechanism.embedding.vectors.astype(np.float64)
    dim, sigma = vectors.shape[1], np.cov(vectors, rowvar=False)
    matrix = mechanism.lam * sigma / (np.trace(sigma) / dim) + (1.0 - mechanism.lam) * np.eye(dim)
    inverse = np.linalg.inv(matrix)
    scores = np.zeros((len(seen), len(originals)))
    for i, table in enumerate(seen):
        for j, words in enumerate(originals):
            for word, point in zip(words, table @ mechanism.metric.axes.T, strict=True):
                away = vectors[word] - point
                scores[i, j] -= mechanism.epsilon * np.sqrt(away @ inverse @ away)
    return scores


def test_likelihood_linkage_is_the_sum_over_words_and_releases(glove: wv.Embedding) -> None:
    """Ten texts of three words at ε = 2 and λ = 0.5, where some are found and some are not."""
    space = wv.Embedding(glove.words[:500], glove.vectors[:500, :6], public=True)
    mechanism = wv.Mahalanobis(space, 2.0, 0.5)
    perturber = wv.Perturber(mechanism)
    known = [number for number, word in enumerate(space.words) if word.isalpha() and word.islower()]
    originals = np.random.default_rng(8).choice(known, (10, 3))
    texts = [" ".join(space.words[number] for number in row) for row in originals]
    stream = wv.insecure_stream(9)
    runs = [observe(perturber, texts, 10, stream) for _ in range(2)]
    brute = []
    for run in runs:
        assert run.seen is not None
        brute.append(by_brute_force(mechanism, originals, run.seen))
        np.testing.assert_allclose(by_channel(mechanism.channel(), run, run.seen, 501), brute[-1], rtol=1e-9)
    attacks = release_attacks(perturber, texts, 10, (1, 2), wv.insecure_stream(9))
    shares = [attack.success.share for attack in attacks if attack.name == "linkage by likelihood, rank 1"]
    expected = [
        float((table.argmax(axis=1) == np.arange(10)).mean()) for table in (brute[0], brute[0] + brute[1])
    ]
    assert shares == pytest.approx(expected)
    assert 0.2 < expected[0] < expected[1]


def test_a_sorted_file_is_sampled(same: wv.Perturber) -> None:
    """Of 400 sorted texts 20 are attacked: the first 20 alone would all be of three words."""
    texts = ["tea at noon"] * 200 + ["please call me at the house"] * 200
    result = attack([same], texts, groups=["linkage"], sizes=[20], stream=wv.insecure_stream(1))
    lengths = {item.setting.get("words") for item in result.attacks} - {None}
    assert {"3 to 3", "6 to 6"} <= lengths


def test_why_a_word_is_easy_looks_at_its_neighbours() -> None:
    places = [[0.0], [0.1], [0.2], [50.0], [50.1], [50.2], [100.0]]
    space = wv.Embedding(["a", "b", "c", "d", "e", "f", "g"], places, public=True)
    rare, common = (
        wv.Prior.from_counts(space, {"a": weight} | dict.fromkeys("bcdefg", 10), public=True)
        for weight in (1, 1000)
    )
    mechanism = wv.Laplace(space, 1.0)
    assert "not isolated" in _why(mechanism, rare, 0, 1e9)
    assert "not used more" in _why(mechanism, rare, 0, 1e9)
    assert "; used more" in _why(mechanism, common, 0, 0.0)


def _alone() -> list[float]:
    lengths = [len(text.split()) for text in TEXTS]
    return [1.0 / lengths.count(length) for length in lengths]


@pytest.mark.slow
def test_no_attacker_gains_from_pure_noise(glove: wv.Embedding) -> None:
    """60 texts of 5 words at an ε of 1e-6: each attacker is right about once; 12 times has a probability below 1e-9."""
    random = np.random.default_rng(6)
    texts = [" ".join(glove.words[i] for i in random.integers(0, 3000, 5)) for _ in range(60)]
    perturber = wv.Perturber(wv.Laplace(glove.project(10), 1e-6))
    result = attack([perturber], texts, groups=["linkage"], sizes=[60], stream=wv.insecure_stream(2))
    rank_1 = {
        name: value for name, value in shares(result, "linkage", words=None).items() if "rank 1" in name
    }
    assert len(rank_1) == 6
    assert max(rank_1.values()) < 0.2


def test_attacks_that_are_not_possible_are_refused(same: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="None of the attacks is possible: linkage"):
        attack([same], groups=["linkage"])


def test_texts_without_words_are_refused(same: wv.Perturber) -> None:
    for texts in ([], ["", "@@", "!!", "?"]):
        with pytest.raises(wv.FormatError, match="column of texts has no words"):
            attack([same], texts, groups=["words"], draws=50)


def test_the_easiest_words_are_looked_for_only_with_words(
    same: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []

    def look(mechanism: wv.Mechanism, prior: wv.Prior) -> tuple[EasyWord, ...]:
        looked.append(mechanism)
        return ()

    monkeypatch.setattr(attacks, "easiest_words", look)
    attack([same], TEXTS, groups=["linkage"], sizes=[4])
    assert not looked
    attack([same], groups=["words"], draws=50)
    assert len(looked) == 1


def test_groups_of_lengths_do_not_overlap() -> None:
    lengths = np.array([9] * 5 + [17] * 4 + [3, 4, 95])
    ranges = [(lengths[group].min(), lengths[group].max()) for group in _groups_of(lengths)]
    assert ranges == [(9, 9), (17, 95)] or all(a[1] < b[0] for a, b in itertools.pairwise(ranges))
    assert len(ranges) >= 2
    assert _groups_of(np.full(9, 4)) == []


def test_padding_hides_the_length(small: wv.Embedding) -> None:
    perturber = wv.Perturber(wv.Mahalanobis(small, 1e9), wv.Policy(pad_to=8))
    result = attack([perturber], TEXTS, groups=["linkage"], sizes=[10], stream=wv.insecure_stream(1))
    assert shares(result, "linkage")["length alone, rank 1"] == pytest.approx(0.1)
    assert shares(result, "linkage")["likelihood, rank 1"] == 1.0


def test_a_bag_has_no_likelihood(small: wv.Embedding) -> None:
    perturber = wv.Perturber(wv.Mahalanobis(small, 3.0), wv.Policy(bag=True))
    result = attack([perturber], TEXTS, groups=["linkage"], sizes=[10], stream=wv.insecure_stream(1))
    names = shares(result, "linkage")
    assert "tf-idf, rank 1" in names
    assert not any(name.startswith(("likelihood", "surrogate", "learned")) for name in names)


def test_a_watched_word_is_found_at_a_large_epsilon(glove: wv.Embedding) -> None:
    perturber = wv.Perturber(wv.Laplace(glove.project(10), 1e6))
    texts = ["my cancer is back", "tea at noon", "she is pregnant", "the red house"]
    result = attack([perturber], texts, groups=["attributes"], sizes=[4], stream=wv.insecure_stream(1))
    assert set(shares(result, "attributes").values()) == {1.0}
    assert {attack.null for attack in result.attacks} == {0.5}


def test_more_releases_tell_more(glove: wv.Embedding) -> None:
    perturber = wv.Perturber(wv.Laplace(glove.project(10), 5.0))
    result = attack(
        [perturber], TEXTS, groups=["averaging"], sizes=[10], draws=300, stream=wv.insecure_stream(1)
    )
    words = [attack.success.share for attack in result.find("averaging", "best guess")]
    texts = [attack.success.share for attack in result.find("averaging", "linkage by tf-idf, rank 1")]
    assert words[0] < words[1] < words[2] < words[3]
    assert texts[0] < texts[3]


@pytest.mark.parametrize(
    ("options", "match"),
    [({"groups": ["nothing"]}, "groups"), ({"draws": 3}, "draws"), ({"queries": 1}, "queries"), ({"sizes": [10, 3]}, "sizes")],
)  # fmt: skip
def test_refuses(same: wv.Perturber, options: dict[str, Any], match: str) -> None:
    with pytest.raises(wv.ParameterError, match=match):
        attack([same], TEXTS, **options)
    with pytest.raises(wv.ParameterError, match="perturbers"):
        attack([], TEXTS)
    with pytest.raises(wv.FormatError, match="at least 4 texts"):
        attack([same], TEXTS[:3], groups=["linkage"])
