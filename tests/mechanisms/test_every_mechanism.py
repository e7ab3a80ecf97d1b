"""One test body for every registered mechanism: a new one is tested as soon as it is registered."""

import json
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.mechanisms import REQUIRED, mechanism_class, mechanism_names

EPSILON = 2.0
# How many times the promised ε is caught: 1.5, but more where the promise is not tight.
TOO_LARGE = {"exponential": 3.0, "tem": 3.0, "clustered": 3.0, "custext": 3.0}
# What a mechanism can't be made without.
NEEDED: dict[str, dict[str, Any]] = {"custext": {"unsafe_no_uniform_guarantee": True}}

# How many random numbers a word needs depends on the words that are drawn together with it.
BY_REJECTION = {"exponential", "tem"}


def make(kind: type[wv.Mechanism], embedding: wv.Embedding, epsilon: float, **options: Any) -> wv.Mechanism:
    name = kind.registered_name()
    return wv.make_mechanism(name, embedding, epsilon, **(NEEDED.get(name, {}) | options))


@pytest.fixture(params=mechanism_names())
def kind(request: pytest.FixtureRequest) -> type[wv.Mechanism]:
    return mechanism_class(request.param)


@pytest.fixture
def embedding() -> wv.Embedding:
    rng = np.random.default_rng(8)
    return wv.Embedding([f"w{i}" for i in range(300)], rng.normal(size=(300, 6)), public=True)


@pytest.fixture
def mechanism(kind: type[wv.Mechanism], embedding: wv.Embedding) -> wv.Mechanism:
    return make(kind, embedding, EPSILON)


def test_it_is_documented(kind: type[wv.Mechanism]) -> None:
    assert kind.name == kind.registered_name() == kind.name.lower()
    assert kind.paper
    assert "Guarantee: Pr[" in (kind.__doc__ or "")
    for option in kind.options:
        assert option.help
        assert not option.help.endswith(".")
        assert option.default is REQUIRED or option.check(option.default, kind.__name__) == option.default


def test_parameters_are_plain_and_complete(mechanism: wv.Mechanism, embedding: wv.Embedding) -> None:
    facts = mechanism.parameters()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["epsilon"] == EPSILON
    assert set(facts) >= {option.name for option in mechanism.options}
    assert mechanism.setting() == {"mechanism": mechanism.name, **facts, "dims": 6}
    assert f"epsilon={EPSILON}" in repr(mechanism)
    assert make(type(mechanism), embedding, 3.0).parameters() != facts


def test_every_option_changes_the_parameters(kind: type[wv.Mechanism], embedding: wv.Embedding) -> None:
    usual = make(kind, embedding, EPSILON).parameters()
    for option in kind.options:
        if option.type is float and option.low is not None and option.high is not None:
            changed: Any = (option.low + option.high) / 2.0 + 1e-3
            assert make(kind, embedding, EPSILON, **{option.name: changed}).parameters() != usual


def test_options_are_checked(kind: type[wv.Mechanism], embedding: wv.Embedding) -> None:
    with pytest.raises(
        wv.ParameterError, match=f"The mechanism '{kind.registered_name()}' has no option 'zanzibar'"
    ):
        wv.make_mechanism(kind.registered_name(), embedding, EPSILON, zanzibar=1)
    for option in kind.options:
        wrongs: list[Any] = [None, float("nan"), []]
        for wrong in wrongs + ([option.high + 1] if option.high is not None else []):
            with pytest.raises(wv.ParameterError, match=f"'{option.name}' parameter of {kind.__name__} must"):
                make(kind, embedding, EPSILON, **{option.name: wrong})
    for epsilon in (0.0, -1.0, float("nan"), float("inf"), None, True):
        with pytest.raises(wv.ParameterError, match="epsilon"):
            wv.make_mechanism(kind.registered_name(), embedding, epsilon)  # type: ignore[arg-type]  # that is the test


def test_answers_are_words_and_repeatable(mechanism: wv.Mechanism) -> None:
    ids = np.random.default_rng(2).integers(-1, 300, (40, 50))
    answers = mechanism.perturb_ids(ids, stream=wv.insecure_stream(1))
    assert answers.shape == ids.shape
    assert answers.dtype == np.int64
    assert answers.min() >= 0
    assert answers.max() < 300
    np.testing.assert_array_equal(answers, mechanism.perturb_ids(ids, stream=wv.insecure_stream(1)))
    assert (answers != mechanism.perturb_ids(ids)).any()
    assert mechanism.perturb_ids([]).shape == (0,)


@pytest.mark.parametrize("name", sorted({*mechanism_names()} - BY_REJECTION))
def test_blocks_change_no_answer(name: str, embedding: wv.Embedding) -> None:
    ids = np.random.default_rng(1).integers(-1, 300, 9000)  # of blocks of 2048 and of 4096
    mechanism = make(mechanism_class(name), embedding, 3.0)
    stream = wv.insecure_stream(1)
    parts = [mechanism.perturb_ids(part, stream=stream) for part in np.array_split(ids, 7)]
    expected = mechanism.perturb_ids(ids, stream=wv.insecure_stream(1))
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_pickles_and_threads_give_the_same_answers(mechanism: wv.Mechanism) -> None:
    ids = np.random.default_rng(2).integers(-1, 300, 500)
    expected = mechanism.perturb_ids(ids, stream=wv.insecure_stream(1))
    again = pickle.loads(pickle.dumps(mechanism))
    assert again.setting() == mechanism.setting()
    np.testing.assert_array_equal(expected, again.perturb_ids(ids, stream=wv.insecure_stream(1)))
    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(lambda _: mechanism.perturb_ids(ids, stream=wv.insecure_stream(1)), range(8)):
            np.testing.assert_array_equal(expected, answers)


def test_the_guarantee_is_consistent(mechanism: wv.Mechanism, embedding: wv.Embedding) -> None:
    promise = mechanism.guarantee
    assert isinstance(promise, wv.Guarantee)
    ids = np.arange(-1, 300)
    exponents = promise.exponents(ids[:, None], ids[None, :])
    assert exponents.shape == (301, 301)
    np.testing.assert_allclose(exponents, exponents.T, atol=1e-9)
    assert (np.diag(exponents) < 1e-9).all()
    assert promise.worst_case.lower <= exponents.max() + 1e-9
    assert exponents.max() <= promise.worst_case.upper
    assert promise.exponent("w3", "w7") == pytest.approx(exponents[4, 8])
    assert promise.nearest("w3", 1)[0][1] == pytest.approx(np.sort(exponents[4, 1:])[1])
    nearest = np.partition(exponents[1:, 1:] + np.diag(np.full(300, np.inf)), 0, axis=1)[:, 0]
    assert promise.neighbours[1].median == pytest.approx(np.median(nearest))
    facts = promise.to_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["worst_case_exponent"]["upper"] == promise.worst_case.upper
    assert promise.about_words() in str(promise)


def test_the_promise_holds_between_two_words(kind: type[wv.Mechanism]) -> None:
    """No answer is likelier by more than the exponent allows, except by chance: a rough check in two dimensions.

    200,000 draws for each of two words whose exponent is about 1. For each answer the log-ratio of the counts
    exceeds the exponent by at most 6 standard errors: α < 40·1e-8. An ε of 1.5 times the
    promised one is caught; one of 3 times for the exponential mechanisms, whose promise is not tight.
    """
    vectors = np.random.default_rng(8).normal(size=(40, 2))
    embedding = wv.Embedding([f"w{i}" for i in range(40)], vectors, public=True)

    def excess(drawn: float) -> float:
        mechanism = make(kind, embedding, drawn)
        exponents = make(kind, embedding, EPSILON).guarantee.exponents(3, np.arange(40))
        other = int(np.abs(exponents - 1.0).argmin())
        counts = [
            np.bincount(mechanism.perturb_ids(np.full(200_000, word)), minlength=40) for word in (3, other)
        ]
        seen = (counts[0] > 50) & (counts[1] > 50)
        ratio = np.log(counts[0][seen] / counts[1][seen])
        error = np.sqrt(1.0 / counts[0][seen] + 1.0 / counts[1][seen])
        return float((ratio - exponents[other] - 6.0 * error).max())

    assert excess(EPSILON) <= 0.0
    assert excess(TOO_LARGE.get(kind.registered_name(), 1.5) * EPSILON) > 0.0


def test_a_perturber_has_no_unsafe_warning(mechanism: wv.Mechanism) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(wv.Perturber(mechanism)("w3 w5 zanzibar").split()) == 3
