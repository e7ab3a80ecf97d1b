"""Mechanisms with a block list: for every registered one, and exactly for the additive ones."""

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.own_mechanisms import WithoutGuarantee

import wordveil as wv
from wordveil.attacker import guess_rate, word_exposures
from wordveil.engines.transport import SentPerturber
from wordveil.evaluation.calibration import calibrate_unchanged
from wordveil.mechanisms import mechanism_class, mechanism_names
from wordveil.mechanisms.answers import ANSWERS, PRIOR_POWER, AnswerName, units_of
from wordveil.mechanisms.cleaning import cleaned
from wordveil.nearest import BruteSearch
from wordveil.prior import default_prior
from wordveil.profiles import PROFILES, is_profile

WORDS = 300
BLOCKED = wv.BlockList([f"w{i}" for i in range(0, WORDS, 7)], public=True)


@pytest.fixture(scope="module")
def embedding() -> wv.Embedding:
    vectors = np.random.default_rng(8).normal(size=(WORDS, 6))
    vectors[[14, 15, 200]] = vectors[14]  # equal words, of which the first is blocked
    return wv.Embedding([f"w{i}" for i in range(WORDS)], vectors, public=True)


@pytest.fixture(params=mechanism_names())
def mechanism(request: pytest.FixtureRequest, embedding: wv.Embedding) -> wv.Mechanism:
    options = mechanism_class(request.param).options
    unsafe: dict[str, Any] = {option.name: True for option in options if option.name.startswith("unsafe_")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wv.PrivacyWarning)
        return wv.make_mechanism(request.param, embedding, 2.0, **unsafe)


def ids_of(count: int = 3000) -> NDArray[np.int64]:
    return np.random.default_rng(2).integers(-1, WORDS, count)


def nearest_allowed(embedding: wv.Embedding, points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest allowed word by definition, in the coordinates of the embedding."""
    allowed = np.flatnonzero(~BLOCKED.mask(embedding))
    rows = embedding.vectors[allowed].astype(np.float64)
    return np.asarray(allowed[((points[:, None] - rows) ** 2).sum(axis=2).argmin(axis=1)])


def test_no_mechanism_answers_a_blocked_word(mechanism: wv.Mechanism, embedding: wv.Embedding) -> None:
    clean, mask = mechanism.blocking(BLOCKED), BLOCKED.mask(embedding)
    plain, answers = (each.perturb_ids(ids_of(), stream=wv.insecure_stream(1)) for each in (mechanism, clean))
    assert 0.05 < mask[plain].mean() < 0.3
    assert not mask[answers].any()
    # The noise is the same, and an allowed answer is already the best allowed one.
    assert (answers == plain)[~mask[plain]].all()
    assert type(clean) is type(mechanism)
    assert mechanism.blocked is None
    assert not mask[clean.perturb_ids(np.flatnonzero(mask))].any()


def test_mechanisms_that_are_not_additive_use_the_public_map(
    mechanism: wv.Mechanism, embedding: wv.Embedding
) -> None:
    if type(mechanism) in (wv.Mahalanobis, wv.Laplace):
        pytest.skip("they answer with the nearest allowed word to the noisy point")
    plain = mechanism.perturb_ids(ids_of(), stream=wv.insecure_stream(1))
    mapped = nearest_allowed(embedding, embedding.vectors.astype(np.float64))
    expected = np.where(BLOCKED.mask(embedding)[plain], mapped[plain], plain)
    answers = mechanism.blocking(BLOCKED).perturb_ids(ids_of(), stream=wv.insecure_stream(1))
    np.testing.assert_array_equal(answers, expected)


def test_the_list_is_part_of_the_identity(mechanism: wv.Mechanism) -> None:
    clean = mechanism.blocking(BLOCKED)
    assert clean.parameters() == mechanism.parameters() | {"block_list": BLOCKED.fingerprint[:16]}
    assert clean.setting()["block_list"] == BLOCKED.fingerprint[:16]
    assert "block_list" in repr(clean)
    other = mechanism.blocking(BLOCKED.changed(block=["w1"], public=True))
    unblocked = clean.blocking(None)
    assert unblocked.parameters() == mechanism.parameters()
    fingerprints = [wv.Perturber(each).fingerprint for each in (mechanism, clean, other, unblocked)]
    assert len(set(fingerprints)) == 3
    assert fingerprints[0] == fingerprints[3]
    assert clean.guarantee.to_dict() == mechanism.guarantee.to_dict()


def test_pickles_and_workers_have_the_list(mechanism: wv.Mechanism) -> None:
    clean = mechanism.blocking(BLOCKED)
    expected = clean.perturb_ids(ids_of(500), stream=wv.insecure_stream(1))
    sent = pickle.loads(pickle.dumps(SentPerturber(wv.Perturber(clean)))).perturber
    for copy in (pickle.loads(pickle.dumps(clean)), sent.mechanism):
        assert copy.setting() == clean.setting()
        np.testing.assert_array_equal(copy.perturb_ids(ids_of(500), stream=wv.insecure_stream(1)), expected)
    assert sent.fingerprint == wv.Perturber(clean).fingerprint


def test_the_attacker_gains_the_same(mechanism: wv.Mechanism, embedding: wv.Embedding) -> None:
    """S is what the best guess gains before the list applies; how often a word stays does depend on the list."""
    clean, prior = mechanism.blocking(BLOCKED), wv.Prior.uniform(embedding)
    if mechanism.valid_channel() is None:
        pytest.skip("without a closed form S is bounded by draws of the answers themselves")
    assert guess_rate(clean, prior, draws=200) == guess_rate(mechanism, prior, draws=200)
    exposures = word_exposures(clean, prior, np.array([0, 1, 7]), draws=50)
    assert exposures.unchanged[[0, 2]].tolist() == [0.0, 0.0]
    channel = clean.valid_channel()
    assert channel is not None
    plain = mechanism.valid_channel()
    assert plain is not None
    assert channel.sees == plain.sees
    np.testing.assert_array_equal(
        channel.answers(channel.observe(ids_of(200), wv.insecure_stream(3))),
        clean.perturb_ids(ids_of(200), stream=wv.insecure_stream(3)),
    )


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_the_nearest_allowed_word_to_the_noisy_point(embedding: wv.Embedding, lam: float) -> None:
    mechanism = wv.Mahalanobis(embedding, 2.0, lam, blocked=BLOCKED)
    points = mechanism._noisy_points(ids_of(), wv.insecure_stream(4))
    answers = mechanism.perturb_ids(ids_of(), stream=wv.insecure_stream(4))
    allowed = np.flatnonzero(~BLOCKED.mask(embedding))
    expected = allowed[BruteSearch(mechanism._places[:-1][allowed]).nearest(points)]
    np.testing.assert_array_equal(answers, expected)
    assert (
        answers != cleaned(wv.Mahalanobis(embedding, 2.0, lam)._nearest(points), embedding, BLOCKED)
    ).any()


def test_of_equal_words_the_lowest_allowed_one_is_answered(embedding: wv.Embedding) -> None:
    for mechanism in (
        wv.Laplace(embedding, 1e9, blocked=BLOCKED),
        wv.Mahalanobis(embedding, 1e9).blocking(BLOCKED),
    ):
        assert mechanism.perturb_ids([14, 15, 200]).tolist() == [15, 15, 15]
    assert cleaned(np.array([14, 15, 200]), embedding, BLOCKED).tolist() == [15, 15, 200]


def test_the_public_map_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over blocks of rows, some of them blocked entirely, the nearest allowed word is the same."""
    from wordveil.mechanisms import cleaning

    vectors = np.random.default_rng(3).integers(0, 4, size=(90, 2)).astype(float)  # with many equals
    embedding = wv.Embedding([f"w{i}" for i in range(90)], vectors, public=True)
    blocked = wv.BlockList([f"w{i}" for i in (*range(40, 50), 3, 77)], public=True)
    mask = blocked.mask(embedding)
    allowed = np.flatnonzero(~mask)
    distances = ((vectors[:, None] - vectors[allowed]) ** 2).sum(axis=2)
    expected = np.where(mask, allowed[distances.argmin(axis=1)], np.arange(90))
    for size in (90, 10, 7):
        monkeypatch.setattr(
            cleaning, "row_blocks", lambda rows, size=size: (slice(i, i + size) for i in range(0, rows, size))
        )
        np.testing.assert_array_equal(cleaning._map(embedding, mask), expected)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("answer", ANSWERS[1:])
def test_other_answers_leave_the_posterior_as_it_is(
    glove: wv.Embedding, answer: AnswerName, compiled: bool
) -> None:
    """Scores and weights are those of all words; only what is answered is restricted. Up to float32."""
    axes = glove.project(5)
    prior = default_prior(axes)
    often = np.argsort(-prior.shares[:-1])[:400:2]
    blocked = wv.BlockList([axes.words[i] for i in often], public=True)
    mask, mechanism = blocked.mask(axes), wv.Laplace(axes, 4.0, answer=answer, blocked=blocked)
    ids = prior.draw(wv.insecure_stream(1).uniforms((150,)))
    points, units = mechanism._noisy_points(ids, wv.insecure_stream(2)), units_of(axes).astype(np.float64)
    search: Any = mechanism._posterior_search
    if not compiled:
        search._compiled = None
    expected = []
    for point in points:
        distances = np.linalg.norm(mechanism._places[:-1] - point, axis=1)
        scores = PRIOR_POWER * np.log(prior.shares[:-1]) - 4.0 * distances
        best = np.argsort(-scores)[:150] if answer == "closest" else np.arange(len(axes))
        values = scores
        if answer == "closest":
            values = np.full(len(axes), -np.inf)
            values[best] = units[best] @ (np.exp(scores[best] - scores.max()) @ units[best])
        expected.append(np.where(mask, -np.inf, values).argmax())
    answers = mechanism._nearest(points)
    assert not mask[answers].any()
    assert (wv.Laplace(axes, 4.0, answer=answer)._nearest(points) != answers).mean() > 0.1
    assert (answers == expected).mean() > 0.98


def test_closest_when_all_candidates_are_blocked(embedding: wv.Embedding) -> None:
    """Only three words are allowed, and none is among the 150 best: the allowed word with the best score."""
    kept = ["w1", "w2", "w3"]
    blocked = wv.BlockList([word for word in embedding.words if word not in kept], public=True)
    closest, likeliest = (
        wv.Laplace(embedding, 50.0, answer=answer, blocked=blocked) for answer in ("closest", "likeliest")
    )
    points = closest._noisy_points(ids_of(400), wv.insecure_stream(2))
    answers = closest._nearest(points)
    assert set(answers.tolist()) == {1, 2, 3}
    search: Any = closest._posterior_search
    for point, answer in zip(points, answers, strict=True):
        distances = np.linalg.norm(closest._places[:-1] - point, axis=1)
        scores = search._log_shares - 50.0 * distances
        if np.argsort(-scores)[:150].min() > 3:
            assert answer == likeliest._nearest(point[None])[0]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Slotted(WithoutGuarantee):
    """A user's own mechanism, with slots: it answers the next word."""

    embedding: wv.Embedding
    step: int

    def parameters(self) -> dict[str, Any]:
        return {"step": self.step}

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        return np.asarray((ids + self.step) % len(self.embedding))


def test_a_mechanism_of_a_user(embedding: wv.Embedding) -> None:
    mechanism = Slotted(embedding, 1).blocking(BLOCKED)
    for each in (mechanism, pickle.loads(pickle.dumps(mechanism))):
        assert each.parameters() == {"step": 1, "block_list": BLOCKED.fingerprint[:16]}
        expected = nearest_allowed(embedding, embedding.vectors[[7]].astype(np.float64))[0]
        assert each.perturb_ids([5, 6]).tolist() == [6, expected]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_list_that_comes_after_the_first_use(embedding: wv.Embedding, answer: AnswerName) -> None:
    """What a mechanism prepared without the list is not used with it, nor the other way round."""
    plain, clean = (wv.Laplace(embedding, 2.0, answer=answer, blocked=blocked) for blocked in (None, BLOCKED))
    for used, other in ((plain, clean), (clean, plain)):
        expected = other.perturb_ids(ids_of(), stream=wv.insecure_stream(1))
        used.perturb_ids(ids_of(100))
        changed = used.blocking(other.blocked)
        np.testing.assert_array_equal(changed.perturb_ids(ids_of(), stream=wv.insecure_stream(1)), expected)


def test_a_list_that_blocks_no_word_changes_nothing(embedding: wv.Embedding) -> None:
    mechanism = wv.Laplace(embedding, 2.0)
    clean = mechanism.blocking(wv.BlockList.english())
    assert clean._answer_search is mechanism._search
    streams = wv.insecure_stream(1), wv.insecure_stream(1)
    first, second = (
        m.perturb_ids(ids_of(), stream=s) for m, s in zip((mechanism, clean), streams, strict=True)
    )
    np.testing.assert_array_equal(first, second)


def test_bad_lists_are_refused(embedding: wv.Embedding) -> None:
    mistakes: tuple[Callable[[], object], ...] = (
        lambda: wv.Laplace(embedding, 1.0, blocked=["w1"]),  # type: ignore[arg-type]  # the mistake
        lambda: wv.Mahalanobis(embedding, 1.0).blocking("w1"),  # type: ignore[arg-type]  # the mistake
        lambda: wv.make_mechanism("laplace", embedding, 1.0, blocked={"w1"}),  # type: ignore[arg-type]  # the mistake
    )
    for make in mistakes:
        with pytest.raises(wv.ParameterError, match=r"'blocked' parameter of .* must be a BlockList or None"):
            make()
    everything = wv.BlockList(embedding.words, public=True)
    for answer in ANSWERS:
        with pytest.raises(wv.ParameterError, match="leaves no word of the vocabulary"):
            wv.Laplace(embedding, 1.0, answer=answer, blocked=everything).perturb_ids([1])


def test_profiles(glove: wv.Embedding) -> None:
    blocked = wv.BlockList.english()
    clean = wv.Perturber.from_profile("balanced", blocked=blocked)
    assert clean.mechanism.blocked is blocked
    assert is_profile(clean.mechanism)
    assert clean.exposure().documented
    assert clean.exposure().rate == wv.Perturber.from_profile("balanced").exposure().rate
    assert wv.Perturber.from_profile("balanced").mechanism.blocked is None
    assert PROFILES["strong"].load().blocked is None
    assert mechanism_class("laplace")(glove, 1.0).blocked is None  # type: ignore[call-arg]  # every class takes these


def test_a_calibration_takes_the_list_into_account(embedding: wv.Embedding) -> None:
    """A blocked word never stays, so that more ε is needed for the same share."""
    plain = calibrate_unchanged(lambda epsilon: wv.Laplace(embedding, epsilon), 0.5)
    clean = calibrate_unchanged(lambda epsilon: wv.Laplace(embedding, epsilon, blocked=BLOCKED), 0.5)
    assert clean.epsilon > plain.epsilon
