"""Answers that use the posterior: by definition, whatever the word was, and part of the identity of a mechanism."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.cli.main import main
from wordveil.mechanisms import answers as module
from wordveil.mechanisms.answers import ANSWERS, PRIOR_POWER, AnswerName, PosteriorSearch, units_of
from wordveil.prior import default_prior
from wordveil.profiles import PROFILES

POINTS = 250  # fewer than a block


@pytest.fixture(scope="module")
def axes(glove: wv.Embedding) -> wv.Embedding:
    return glove.project(10)


def noisy(mechanism: wv.Laplace, seed: int = 3) -> NDArray[np.float64]:
    ids = default_prior(mechanism.embedding).draw(wv.insecure_stream(seed).uniforms((POINTS,)))
    return mechanism._noisy_points(ids, wv.insecure_stream(seed))


def scores(mechanism: wv.Laplace, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return β·log p(u) - ε·‖φ(u) - v‖ in float64, from its definition."""
    prior = default_prior(mechanism.embedding)
    distances = np.array([np.linalg.norm(mechanism._places[:-1] - point, axis=1) for point in points])
    return np.asarray(PRIOR_POWER * np.log(prior.shares[:-1]) - mechanism.epsilon * distances)


def closest(mechanism: wv.Laplace, points: NDArray[np.float64]) -> NDArray[np.int64]:
    units = units_of(mechanism.embedding).astype(np.float64)
    result = []
    for row in scores(mechanism, points):
        best = np.argsort(-row)[:150]
        weights = np.exp(row[best] - row[best[0]])
        result.append(best[(units[best] @ (weights @ units[best])).argmax()])
    return np.array(result)


@pytest.mark.parametrize("epsilon", [2.0, 5.7, 30.0])
def test_answers_are_what_their_definition_says(axes: wv.Embedding, epsilon: float) -> None:
    """Up to the rounding of float32, which decides between words that are equally good."""
    mechanism = wv.Laplace(axes, epsilon, answer="likeliest")
    points = noisy(mechanism)
    assert (mechanism._search.nearest(points) == scores(mechanism, points).argmax(axis=1)).mean() > 0.99
    mechanism = wv.Laplace(axes, epsilon, answer="closest")
    assert (mechanism._search.nearest(points) == closest(mechanism, points)).mean() > 0.99


@pytest.mark.parametrize("answer", ANSWERS[1:])
def test_numpy_gives_the_same_answers_as_the_compiled_loops(axes: wv.Embedding, answer: AnswerName) -> None:
    mechanism = wv.Laplace(axes, 5.7, answer=answer)
    search: Any = mechanism._search
    points = noisy(mechanism)
    scaled = ((points - search._centre) * search._stretch).astype(np.float32)
    assert (search._find_slowly(scaled) == search.nearest(points)).mean() > 0.99


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_answer_depends_on_the_noisy_point_alone(
    axes: wv.Embedding, answer: AnswerName, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = wv.Laplace(axes, 5.7, answer=answer)
    points = noisy(mechanism)
    monkeypatch.setattr(type(mechanism), "_noisy_points", lambda *_: points)
    first, second = (mechanism.perturb_ids(np.full(POINTS, word)) for word in (17, 20_000))
    assert (first == second).all()


@pytest.mark.parametrize("answer", ANSWERS[1:])
def test_blocks_and_threads_change_nothing(
    axes: wv.Embedding, answer: AnswerName, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = wv.Laplace(axes, 5.7, answer=answer)
    ids = np.arange(700)
    expected = mechanism.perturb_ids(ids, stream=wv.insecure_stream(5))
    monkeypatch.setattr(module.PosteriorSearch, "block", 33)
    assert (mechanism.perturb_ids(ids, stream=wv.insecure_stream(5)) == expected).all()


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("epsilon", [1e-100, 1e9, 1e100])
def test_extreme_settings(small: wv.Embedding, answer: AnswerName, epsilon: float) -> None:
    mechanism = wv.Mahalanobis(small, epsilon, 0.5, answer=answer)
    answers = mechanism.perturb_ids(np.arange(-1, len(small)))
    assert ((answers >= 0) & (answers < len(small))).all()
    if epsilon > 1.0 and answer != "closest":
        assert (answers[1:] == np.arange(len(small))).all()


def test_fewer_words_than_candidates(small: wv.Embedding) -> None:
    assert len(small) < 150
    assert len(wv.Laplace(small, 1.0, answer="closest").perturb_words(["tea", "zanzibar"])) == 2


def test_the_guarantee_is_the_same(small: wv.Embedding) -> None:
    promises = [wv.Laplace(small, 2.0, answer=answer).guarantee.to_dict() for answer in ANSWERS]
    assert promises[0] == promises[1] == promises[2]


def test_the_answer_is_part_of_the_identity(small: wv.Embedding) -> None:
    mechanisms = [wv.Laplace(small, 2.0, answer=answer) for answer in ANSWERS]
    assert mechanisms[0].parameters() == {"epsilon": 2.0, "lam": 0.0, "answer": "nearest"}
    prior = default_prior(small).fingerprint[:16]
    for mechanism, answer in zip(mechanisms[1:], ANSWERS[1:], strict=True):
        assert mechanism.parameters() == {
            "epsilon": 2.0,
            "lam": 0.0,
            "answer": answer,
            "answer_prior": prior,
            **({"answer_vectors": small.fingerprint[:16]} if answer == "closest" else {}),
        }
    assert len({wv.Perturber(mechanism).fingerprint for mechanism in mechanisms}) == 3


@pytest.mark.parametrize("answer", ANSWERS)
def test_pickles(axes: wv.Embedding, small: wv.Embedding, answer: AnswerName) -> None:
    for embedding in (axes, small, wv.load_embedding(PROFILES["balanced"].embedding)):
        mechanism = wv.Laplace(embedding, 3.0, answer=answer)
        pickled = pickle.dumps(mechanism)
        assert len(pickled) < 5_000_000  # the 300 dimensions of a parent with a name are left out
        copy = pickle.loads(pickled)
        ids = np.arange(10)
        expected = mechanism.perturb_ids(ids, stream=wv.insecure_stream(1))
        assert (copy.perturb_ids(ids, stream=wv.insecure_stream(1)) == expected).all()


def test_a_pickle_with_vectors_brings_the_parent_along() -> None:
    mechanism = PROFILES["balanced"].load()
    with wv.embedding.pickled_vectors():
        copy = pickle.loads(pickle.dumps(mechanism))
    assert vars(copy.embedding)["_parent"].dim == 300
    assert (
        copy.perturb_ids([5], stream=wv.insecure_stream(1))
        == mechanism.perturb_ids([5], stream=wv.insecure_stream(1))
    ).all()


def test_an_unknown_answer_is_refused(small: wv.Embedding) -> None:
    with pytest.raises(wv.ParameterError, match="must be one of nearest, likeliest, closest"):
        wv.Laplace(small, 1.0, answer="best")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(wv.ParameterError, match="must be one of nearest, likeliest, closest"):
        wv.make_mechanism("mahalanobis", small, 1.0, answer="best")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.txt").write_text("tea at noon\n")
    arguments = ["perturb", str(tmp_path / "in.txt"), "-", "--epsilon", "6", "--dims", "5"]
    assert main([*arguments, "--answer", "closest", "--mechanism", "laplace"]) == 0
    assert len(capsys.readouterr().out.split()) == 3
    assert main([*arguments, "--answer", "closest", "--option", "answer=nearest"]) == 2
    assert "--answer and --option answer are the same option" in capsys.readouterr().err
    assert main([*arguments, "--answer", "best"]) == 2


def search_over(rows: NDArray[np.float64], units: NDArray[np.float32] | None = None) -> PosteriorSearch:
    """A search over rows that are all used equally often."""
    emb = wv.Embedding([f"w{i}" for i in range(len(rows))], rows, public=True)
    return PosteriorSearch(rows, np.ones(rows.shape[1]), wv.Prior.uniform(emb), units)


def test_one_better_word_among_thousands_of_equals() -> None:
    corners = np.array([[1.0 if i >> axis & 1 else -1.0 for axis in range(12)] for i in range(4096)])
    for word in (0, 1500, 4064):
        rows = corners.copy()
        rows[word, 11] *= 0.5
        assert search_over(rows).nearest(np.zeros((1, 12))).tolist() == [word]


@pytest.mark.parametrize("count", [2, 15, 17, 300, 2000, 5000])
def test_among_equals_the_lowest_index_is_answered(count: int) -> None:
    rows = np.ones((count, 3))
    points = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1e9, 0.0, 0.0]])
    for units in (None, np.ones((count, 5), np.float32)):
        search = search_over(rows, units)
        assert search.nearest(points).tolist() == [0, 0, 0]
        assert search._find_slowly(points.astype(np.float32)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dims", [2, 400])
def test_a_point_far_away_does_not_get_the_answer_of_another(dims: int) -> None:
    rows = np.random.default_rng(1).normal(size=(100, dims))
    far = np.full((1, dims), 1e100)
    alone = search_over(rows).nearest(far)[0]
    for word in (7, 42):
        assert search_over(rows).nearest(np.vstack((rows[[word]], far))).tolist() == [word, alone]
