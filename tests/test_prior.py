"""Priors: known facts about English, lists that are short or damaged, and draws that follow the shares."""

import copy
import pickle
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordveil as wv
from wordveil.errors import MachineError, ParameterError, PrivacyWarning
from wordveil.prior import Prior, default_prior
from wordveil.word_counts import english_counts

SECRET = "Zanzibar-pregnant-555"
MAKERS = [Prior.english, Prior.by_rank, Prior.uniform]


@pytest.fixture(scope="module")
def english(glove: wv.Embedding) -> Prior:
    return Prior.english(glove)


@pytest.fixture(scope="module")
def tea() -> wv.Embedding:
    return wv.Embedding(["tea", "ice", "fog", "don", "t"], np.eye(5), public=True)


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    english_counts.cache_clear()
    monkeypatch.setitem(sys.modules, "wordveil_english", None)


def share(prior: Prior, embedding: wv.Embedding, word: str) -> float:
    word_id = embedding.id_of(word)
    assert word_id is not None
    return float(prior.shares[word_id])


def test_english_has_known_orders_of_magnitude(glove: wv.Embedding, english: Prior) -> None:
    by_rank = Prior.by_rank(glove)
    assert share(english, glove, "the") == pytest.approx(0.054, abs=0.001)
    assert share(english, glove, "i") == pytest.approx(0.015, abs=0.001)
    assert 1e-5 < share(english, glove, "pregnant") < 1e-4
    # The vectors are in the order of a cased corpus, where these are rarer than they are.
    assert share(english, glove, "boston") > 4 * share(by_rank, glove, "boston")
    assert share(english, glove, "i") > 10 * share(by_rank, glove, "i")
    assert english.shares[-1] == pytest.approx(0.030, abs=0.0005)
    assert by_rank.shares[-1] == 0.03


def test_the_best_guess_is_the_most_frequent_word(glove: wv.Embedding, english: Prior) -> None:
    assert glove.words[english.best_guess] == "the"
    assert english.guess == share(english, glove, "the")
    outside = Prior("mostly outside", np.array([0.1, 0.2, 0.7]))
    assert (outside.best_guess, outside.guess) == (-1, 0.7)


def test_parts_of_a_word_are_counted(glove: wv.Embedding, english: Prior) -> None:
    assert "don't" not in glove
    alone = english_counts()["t"] / sum(english_counts().values())
    assert share(english, glove, "t") > 5 * alone  # from don't, can't, isn't


@pytest.mark.parametrize("make", MAKERS)
def test_every_prior_is_a_distribution(glove: wv.Embedding, make: Callable[[wv.Embedding], Prior]) -> None:
    prior = make(glove)
    assert prior.shares.shape == (len(glove) + 1,)
    assert prior.shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert prior.shares.min() > 0.0
    assert prior.declared_public
    with pytest.raises(ValueError, match="read-only"):
        prior.shares[0] = 1.0


def test_a_projection_has_the_same_prior(small: wv.Embedding) -> None:
    for make in MAKERS:
        assert make(small).fingerprint == make(small.project(2)).fingerprint


def test_rank_based_shares_fall_by_the_law(small: wv.Embedding) -> None:
    shares = Prior.by_rank(small).shares[:-1]
    ranks = np.arange(1, len(small) + 1)
    assert shares * (ranks + 2.7) == pytest.approx(shares[0] * 3.7, rel=1e-12)
    assert shares.sum() == pytest.approx(0.97)


def test_names(tea: wv.Embedding) -> None:
    assert [make(tea).name for make in MAKERS] == ["english", "rank-based", "uniform"]
    assert Prior.from_counts(tea, {"tea": 1}, public=True).name == "your own counts"
    assert Prior.from_counts(tea, {"tea": 1}, public=True, name="hospital").content().name == (
        "hospital, content words"
    )


@pytest.mark.parametrize(
    "name", ["english", "English", "rank-based", "uniform", " uniform ", "english, content words"]
)
def test_the_names_of_built_in_priors_are_reserved(tea: wv.Embedding, name: str) -> None:
    with pytest.raises(ParameterError, match="that of a built-in prior"):
        Prior.from_counts(tea, {"tea": 1}, public=True, name=name)


@pytest.mark.parametrize("name", ["", "x" * 65, "two\nlines", 7, None])
def test_a_name_fits_on_a_line(tea: wv.Embedding, name: Any) -> None:
    with pytest.raises(ParameterError, match="'name' parameter"):
        Prior.from_counts(tea, {"tea": 1}, public=True, name=name)


def test_counts_are_split_by_the_public_rule(tea: wv.Embedding) -> None:
    counts = {"tea": 5, "TEA": 1, "don't": 2, "ice-fog": 3, "rain": 4, "!": 9}
    shares = Prior.from_counts(tea, counts, public=True).shares
    assert shares == pytest.approx(np.array([6, 3, 3, 2, 2, 4]) / 20)


def test_words_without_a_count_get_the_smallest(tea: wv.Embedding) -> None:
    shares = Prior.from_counts(tea, {"tea": 1e6, "ice": 10, "rain": 500}, public=True).shares
    assert shares == pytest.approx(np.array([1e6, 10, 10, 10, 10, 500]) / (1e6 + 540))


def test_words_without_a_count_get_one_percent_together(glove: wv.Embedding) -> None:
    prior = Prior.from_counts(glove, {"the": 3, "of": 1}, public=True)
    assert share(prior, glove, "the") == pytest.approx(0.75 * 0.99)
    assert share(prior, glove, "boston") == pytest.approx(0.01 / (len(glove) - 1))


def test_a_count_of_zero_is_like_none(tea: wv.Embedding) -> None:
    some = Prior.from_counts(tea, {"tea": 50, "ice": 2, "fog": 0, "rain": 0}, public=True)
    assert np.array_equal(some.shares, Prior.from_counts(tea, {"tea": 50, "ice": 2}, public=True).shares)


def test_the_unit_of_the_counts_does_not_matter(tea: wv.Embedding) -> None:
    counts = {"tea": 7.0, "ice": 2.0, "rain": 3.0}
    expected = Prior.from_counts(tea, counts, public=True)
    for unit in (1e-9, 1e199):
        scaled = {word: count * unit for word, count in counts.items()}
        assert Prior.from_counts(tea, scaled, public=True).fingerprint == expected.fingerprint


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), -float("inf"), 1e300, "3", None, True])
def test_a_bad_count_is_named_by_its_position(tea: wv.Embedding, check_sealed: Any, bad: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"^Count 1 \(counted from 0\) .*number from 0 to 1e\+200"
    ) as error:
        Prior.from_counts(tea, {"tea": 1, SECRET: bad}, public=True)
    check_sealed(error.value, SECRET)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({}, "count above 0"),
        ({"tea": 0, "ice": 0.0}, "count above 0"),
        ({"tea": 1, 5: 2}, r"Word 1 \(counted from 0\) .* Got an int"),
        ([("tea", 1)], "mapping of words to counts"),
        ({SECRET: 4, "!": 7}, "None of the counted words"),
    ],
)
def test_counts_that_say_nothing_are_refused(
    tea: wv.Embedding, check_sealed: Any, counts: Any, message: str
) -> None:
    with pytest.raises(ParameterError, match=message) as error:
        Prior.from_counts(tea, counts, public=True)
    assert "\n" not in str(error.value)
    check_sealed(error.value, SECRET)


def test_counts_that_nobody_declared_public_warn(tea: wv.Embedding) -> None:
    with pytest.warns(PrivacyWarning, match=r"derived from the private text.*settings chosen by") as caught:
        prior = Prior.from_counts(tea, {"tea": 1})
    assert caught[0].filename == __file__
    assert not prior.declared_public
    assert not prior.content().declared_public
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Prior.from_counts(tea, {"tea": 1}, public=True).declared_public
    with pytest.raises(ParameterError, match="'public' parameter"):
        Prior.from_counts(tea, {"tea": 1}, public="yes")  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    "shares",
    [
        [0.5, 0.5],
        [[0.5, 0.5, 0.0]],
        [0.5, 0.6, -0.1],
        [0.5, 0.5, 0.1],
        [0.5, 0.5, np.nan],
        [0.0, 0.0, np.inf],
    ],
)
def test_shares_that_are_no_distribution_are_refused(shares: Any) -> None:
    with pytest.raises(ParameterError):
        Prior("x", np.array(shares))


def test_the_fingerprint_is_that_of_the_content(glove: wv.Embedding, english: Prior) -> None:
    # The same package and vocabulary must give this on every machine.
    assert english.fingerprint == "f98e07ed1e075ea964bab5c2748abd1c4fbc85dddbc917913d5d4a5a94a2805a"
    assert Prior("another name", english.shares * (1 + 1e-13)).fingerprint == english.fingerprint
    assert Prior.by_rank(glove).fingerprint != english.fingerprint
    changed = english.shares.copy()
    changed[5] += 1e-8
    changed[6] -= 1e-8
    assert Prior("english", changed).fingerprint != english.fingerprint


@pytest.mark.parametrize("remake", [copy.deepcopy, lambda prior: pickle.loads(pickle.dumps(prior))])
def test_copies_and_pickles_are_equal_and_read_only(english: Prior, remake: Callable[[Prior], Prior]) -> None:
    english.draw(np.zeros(1))  # what is computed on demand does not travel
    again = remake(english)
    assert (again.name, again.fingerprint) == (english.name, english.fingerprint)
    assert not again.shares.flags.writeable
    assert len(pickle.dumps(english)) < 9 * len(english.shares)


def test_content_leaves_out_frequent_words_and_the_outside(glove: wv.Embedding, english: Prior) -> None:
    content = english.content()
    assert (content.shares[:-1] == 0.0).sum() == 200
    assert content.shares[-1] == 0.0
    assert content.shares.sum() == pytest.approx(1.0, abs=1e-12)
    for word in ("the", "is", "would", "people"):
        assert share(content, glove, word) == 0.0
    kept = content.shares > 0.0
    assert english.shares[kept].max() <= english.shares[:-1][~kept[:-1]].min()
    assert content.shares[kept] / english.shares[kept] == pytest.approx(1 / english.shares[kept].sum())
    assert content.guess < 0.002
    assert share(content, glove, "boston") == pytest.approx(1e-4, rel=0.2)


@pytest.mark.parametrize(("words", "left_out"), [(2, 0), (18, 1), (1_999, 199), (2_000, 200), (2_001, 200)])
def test_content_of_a_small_vocabulary_is_not_empty(words: int, left_out: int) -> None:
    embedding = wv.Embedding([f"w{i}" for i in range(words)], np.eye(words, 2), public=True)
    for prior in (Prior.by_rank(embedding), Prior.uniform(embedding)):
        zeros = prior.content().shares[:-1] == 0.0
        assert zeros[:left_out].all()  # of equals, the first
        assert not zeros[left_out:].any()


def test_a_prior_without_content_words_says_so() -> None:
    with pytest.raises(ParameterError, match="content words"):
        Prior("only outside", np.array([0.0, 0.0, 1.0])).content()


def test_the_default_is_english_where_it_fits(glove: wv.Embedding, small: wv.Embedding) -> None:
    assert default_prior(glove).name == "english"
    assert default_prior(glove) is default_prior(glove)
    assert Prior.english(small).shares[-1] > 0.5
    assert default_prior(small).name == "rank-based"
    other = wv.Embedding(["xqzzy", "zzyqx"], [[0.0], [1.0]], public=True)
    assert default_prior(other).name == "rank-based"


@pytest.mark.usefixtures("without_package")
def test_without_the_package_the_default_is_rank_based(glove: wv.Embedding) -> None:
    fresh = wv.Embedding(
        glove.words, glove.vectors[:, :1], public=True
    )  # that of `glove` may be known already
    assert default_prior(fresh).name == "rank-based"
    with pytest.raises(MachineError, match=r"pip install \./packages/wordveil-english\.$") as error:
        Prior.english(fresh)
    assert "\n" not in str(error.value)


# n = 200,000 draws and a chi-square test over the 60 most frequent ids and all others together, at α = 1e-6.
# A share that is wrong by 10% at "the" (n·p = 10,800, 10 standard deviations) is found, and so are those below.
DRAWS, ALPHA, CELLS = 200_000, 1e-6, 60
Sampler = Callable[[Prior, NDArray[np.float64]], NDArray[np.int64]]


def p_value(prior: Prior, sampler: Sampler) -> float:
    ids = sampler(prior, np.random.default_rng(14).random(DRAWS))
    frequent = np.argsort(-prior.shares)[:CELLS]
    observed = np.bincount(ids % len(prior.shares), minlength=len(prior.shares))[frequent]
    expected = prior.shares[frequent]
    counts = np.append(observed, DRAWS - observed.sum())
    means = DRAWS * np.append(expected, 1.0 - expected.sum())
    return float(stats.chi2.sf(((counts - means) ** 2 / means).sum(), CELLS))


def squared(prior: Prior, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    return Prior("", prior.shares**2 / (prior.shares**2).sum()).draw(uniforms)


def nobody_outside(prior: Prior, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    return Prior("", np.append(prior.shares[:-1], 0.0) / prior.shares[:-1].sum()).draw(uniforms)


def shifted(prior: Prior, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(prior.draw(uniforms) + 1)


def test_draws_follow_the_shares(english: Prior) -> None:
    assert p_value(english, Prior.draw) > ALPHA


@pytest.mark.parametrize("wrong", [squared, nobody_outside, shifted])
def test_wrong_draws_are_found(english: Prior, wrong: Sampler) -> None:
    assert p_value(english, wrong) < ALPHA


def test_draws_at_the_edges() -> None:
    prior = Prior("x", np.array([0.0, 0.5, 0.0, 0.25, 0.25]))
    just_below = np.nextafter([0.5, 0.75, 1.0], 0.0)
    assert prior.draw(np.array([0.0, 0.5, 0.75])).tolist() == [1, 3, -1]
    assert prior.draw(just_below).tolist() == [1, 3, -1]
    assert prior.draw(np.zeros((2, 3))).shape == (2, 3)
    assert prior.draw(np.zeros(0)).dtype == np.int64
    content = Prior("x", np.array([0.1] * 10 + [0.0]))  # ten times 0.1 is less than 1
    assert content.draw(np.nextafter([1.0], 0.0)).tolist() == [9]


@pytest.mark.parametrize("bad", [-0.1, 1.0, np.nan])
def test_draws_take_numbers_below_one(english: Prior, bad: float) -> None:
    with pytest.raises(ParameterError, match="'uniforms' parameter"):
        english.draw(np.array([0.5, bad]))
