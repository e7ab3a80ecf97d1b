"""The block list: what is on it, what it blocks in a vocabulary, and who declared it public."""

import pickle
import unicodedata
import warnings
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.watched_words import WATCHED_WORDS

# Everyday words, plain names of topics, and what people call themselves: none of them may be blocked.
EVERYDAY = """
    hell bloody cracker crackers screw frog hooker balls nuts butt breast sex sexual porn rape penis vagina anus semen
    gay lesbian queer jewish muslim gypsy black white asian indian mexican oriental cocktail peacock dickens scrap
    assassin class passion scunthorpe analysis therapist moron idiot stupid ho hoe nip slope spook tit puss
    damning damnable craps cocked pricked prickly poofy booby spicy tardy
"""

# Words of the default vocabulary that look like a word of the list with an ending.
OTHER_WORDS = """
    assess assessed assessing cocky cumin cummings darker darkest darks dicky honks shatter spices whites
"""


def test_the_shipped_list() -> None:
    lines = files("wordveil").joinpath("block_list.txt").read_text(encoding="utf-8").splitlines()
    words = [line for line in lines if line and not line.startswith("#")]
    assert "Apache-2.0" in lines[2]
    assert len(words) == len(set(words)) == len(wv.BlockList.english().words)
    assert all(word == word.lower() and word.isascii() and word.isalpha() for word in words)
    assert wv.BlockList.english().declared_public


def test_it_has_the_usual_words_and_their_forms(glove: wv.Embedding) -> None:
    blocked = wv.BlockList.english()
    assert {"fuck", "fucking", "shit", "bitches", "nigger", "faggot", "retard", "cunt"} <= blocked.words
    assert int(blocked.mask(glove).sum()) > 100
    stems = ("fuck", "shit", "cunt", "nigger", "faggot", "bitch", "slut", "whore", "asshole", "bastard")
    missed = [
        word for word in glove.words if any(stem in word for stem in stems) and word not in blocked.words
    ]
    assert missed == []


def test_it_has_the_inflections_in_the_default_vocabulary(glove: wv.Embedding) -> None:
    """Every word of the vocabulary that is a word of the list with an ending is on it, or an everyday word."""
    endings = [
        "s",
        "es",
        "d",
        "ed",
        "er",
        "ers",
        "in",
        "ing",
        "ings",
        "y",
        "ier",
        "iest",
        "able",
        "est",
        "edest",
    ]
    blocked = wv.BlockList.english().words
    forms = {
        stem + ending
        for word in blocked
        for stem in (word, word + word[-1], word[:-1] if word[-1] in "ey" else word)
        for ending in endings
    }
    assert {"damned", "damnedest", "crippled"} <= blocked
    assert forms & set(glove.words) - blocked <= {*EVERYDAY.split(), *OTHER_WORDS.split()}


def test_it_has_no_everyday_word() -> None:
    assert not wv.BlockList.english().words & {*EVERYDAY.split(), *WATCHED_WORDS}


def test_words_are_compared_without_regard_to_case_and_width() -> None:
    emb = wv.Embedding(["Tea", "ALE", "gin", "straße"], np.eye(4), public=True)
    blocked = wv.BlockList([" ale ", "TEA", "ｇｉｎ", "", "STRASSE", "rum"], public=True)
    assert blocked.words == {"ale", "tea", "gin", "strasse", "rum"}
    with pytest.raises(wv.ParameterError, match="leaves no word of the vocabulary"):
        blocked.mask(emb)
    assert blocked.changed(allow=["Ale"], public=True).mask(emb).tolist() == [True, False, True, True]


@pytest.mark.parametrize("word", ["Ｇin", "cafe\N{COMBINING ACUTE ACCENT}", "CAFÉ", "ﬁZZ", "Straße"])
def test_words_of_a_vocabulary_are_folded_like_the_list(word: str) -> None:
    """Wide, decomposed and mixed-case words: none is answered, whichever way it is written in the list."""
    emb = wv.Embedding(["tea", word], np.eye(2) * 9, public=True)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        for written in (word, word.upper(), word.casefold()):
            blocked = wv.BlockList([unicodedata.normalize(form, written)], public=True)
            assert blocked.mask(emb).tolist() == [False, True]
    answers = wv.Laplace(emb, epsilon=1e6).blocking(blocked).perturb_ids(np.array([1] * 20))
    assert answers.tolist() == [0] * 20


def test_fingerprints() -> None:
    first = wv.BlockList(["a", "b"], public=True)
    assert first.fingerprint == wv.BlockList(["B", "a", "a"], public=True).fingerprint
    others = [["a"], ["a", "b", "c"], ["ab"], ["a\nb"], ['a", "b'], []]
    assert len({wv.BlockList(words, public=True).fingerprint for words in [*others, ["a", "b"]]}) == 7
    assert wv.BlockList(["\ud800"], public=True).fingerprint  # not valid UTF-8


def test_changed() -> None:
    english = wv.BlockList.english()
    changed = english.changed(block=["heck", "hell"], allow=["damn", "hell", "tea"], public=True)
    assert changed.words == (english.words | {"heck"}) - {"damn"}
    assert changed.fingerprint != english.fingerprint
    assert changed.changed(block=["damn"], allow=["heck"], public=True).fingerprint == english.fingerprint


def test_an_undeclared_list_warns_and_stays_undeclared() -> None:
    with pytest.warns(
        wv.PrivacyWarning, match="Nobody has declared that this block list is public"
    ) as caught:
        own = wv.BlockList(["tea"])
    assert caught[0].filename == __file__
    assert not own.declared_public
    with pytest.warns(wv.PrivacyWarning, match="Nobody has declared"):
        assert not own.changed(block=["ale"], public=True).declared_public
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy = pickle.loads(pickle.dumps(own))
    assert (copy, copy.fingerprint) == (own, own.fingerprint)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("zanzibar", "must be a list of words, not one word"),
        (b"zanzibar", "must be a list of words, not one word"),
        (["tea", 7, "zanzibar"], r"Word 1 \(counted from 0\) of a block list must be a str"),
    ],
)
def test_errors_hold_no_word(
    words: Any, message: str, check_sealed: Callable[[BaseException, str], None]
) -> None:
    with pytest.raises(wv.ParameterError, match=message) as error:
        wv.BlockList(words, public=True)
    check_sealed(error.value, "zanzibar")
    with pytest.raises(wv.ParameterError, match=message):
        wv.BlockList.english().changed(block=words, public=True)


def test_public_must_be_said_plainly() -> None:
    with pytest.raises(wv.ParameterError, match="'public' parameter of BlockList must be True or False"):
        wv.BlockList(["tea"], public="yes")  # type: ignore[arg-type]  # the mistake
