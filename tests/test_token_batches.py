"""Many texts at once give the ids that the rule gives for each text."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

import wordveil as wv
from wordveil.token_batches import TokenBatches
from wordveil.tokens import Tokenizer
from wordveil.word_table import MISSING, SPARE_BYTES, WordTable

_LISTED = """
    a b don't don t u.s. u s 10 10:30 1,000 1000 www x.y x y boston logan boston-logan a_b _a a_ café
    é résumé 東京 東 京 ✈ @ann ann #tag tag https naïve 0 00 k K straße strasse ﬁ fi http://a.b a@b.co m
    abcdefghijklmnop abcdefghijklmnopq internationalization
"""
WORDS = _LISTED.split()
VOCABULARY = {word: number for number, word in enumerate(dict.fromkeys(WORDS))}
TOKENIZER = Tokenizer(VOCABULARY)
FILLER = "boston fly " * 200  # a batch must be long enough for array work
PIECES = [
    *WORDS, *"'-_.,:/@#<>\"()!?;\\|`~^&*+=[]{}$%", " ", "\n", "\r\n", "\r", "\t", "\0", "\x01", "\x1c", "\x1f", "\x7f",
    "\x0b", "\x0c", "\x85", "\xa0", "\u2028", "\u200d", "\u200b", "\ufeff", "’", "‑", "\u0301", "K", "ſ", "İ",
    "👩‍🚀", "🇫🇷", "\ud800", "://", "www.", "WWW.", "HTTP://", "5", "7", "A", "Z", "zz",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(),
    st.text(st.characters(max_codepoint=127)),
    st.lists(st.sampled_from(PIECES)).map("".join),
    st.text(st.sampled_from("aZ09_'-.,:/ \n")),
)


def same_as_one_by_one(texts: list[str]) -> None:
    batches = TokenBatches(TOKENIZER, VOCABULARY)
    lists = [TOKENIZER.ids(text) for text in texts]
    ids, lengths = batches(texts)
    assert ids.dtype == lengths.dtype == np.int64
    assert lengths.tolist() == [len(numbers) for numbers in lists]
    assert ids.tolist() == [number for numbers in lists for number in numbers]


@given(st.lists(TEXTS))
@example(["a1.5 1.5a 1.,5 1..5 .5. a--b a-'b 'a' -a- _a_ a_ __ _ a'b'c 1-2 1:2:3 1/2,3 10:30. a:1"])
@example(["", " ", "\n\n", "a\0b", "\0", "", "\r\n", "-", "'", "."])
@example(["see www.a.b/(x),y", "a@b.co", "#tag @ann", "a://b", "no marks at all"])
def test_the_rule_is_the_same(texts: list[str]) -> None:
    same_as_one_by_one([*texts, FILLER])
    same_as_one_by_one([FILLER, *texts])
    same_as_one_by_one(texts)


def test_all_pairs_and_triples_of_ascii_characters() -> None:
    characters = [chr(code) for code in range(128)]
    same_as_one_by_one([f"a{x}b 1{x}2 {x}a a{x} 1{x}b {x}1{x}" for x in characters] + [FILLER])
    few = "aA1_'-.,:/ \n@#(\0"
    for x in few:
        same_as_one_by_one([f"{x}{y}{z}" + w for y in few for z in few for w in few])


def test_a_batch_of_other_texts_alone() -> None:
    same_as_one_by_one(["café @ann " * 100] * 5)


@pytest.mark.parametrize("length", [2047, 2048, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_at_the_limits(length: int) -> None:
    same_as_one_by_one([("boston, don't fly " * (length // 18 + 1))[:length]])


def test_words_longer_than_a_key_are_compared_in_full() -> None:
    table = WordTable(VOCABULARY)
    words = ["abcdefghijklmnop", "abcdefghijklmnopq", "abcdefghijklmno", "abcdefgh", "a", "u.s.", "K"]
    data = "".join(words).encode() + bytes(SPARE_BYTES)
    lengths = np.array([len(word) for word in words])
    expected = [VOCABULARY["abcdefghijklmnop"], *[MISSING] * 3, VOCABULARY["a"], MISSING, MISSING]
    assert table.find(data, np.cumsum(lengths) - lengths, lengths).tolist() == expected


@pytest.mark.parametrize("vocabulary", [{}, {"u.s.": 0}, {"a": 0}])
def test_small_tables(vocabulary: dict[str, int]) -> None:
    ids = WordTable(vocabulary).find(b"a" + bytes(SPARE_BYTES), np.array([0]), np.array([1]))
    assert ids.tolist() == [vocabulary.get("a", MISSING)]


def test_a_table_that_is_crowded_leaves_words_out_and_mistakes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.word_table._MOST_PLACES", 1)
    words = [f"word{number}" for number in range(3000)]
    data = "".join(words).encode() + bytes(SPARE_BYTES)
    lengths = np.array([len(word) for word in words])
    ids = WordTable({word: number for number, word in enumerate(words)}).find(
        data, np.cumsum(lengths) - lengths, lengths
    )
    assert set((ids - np.arange(3000))[ids != MISSING]) == {0}
    assert 0 < np.count_nonzero(ids == MISSING) < 1500


@pytest.mark.parametrize(
    "policy",
    [wv.Policy(), wv.Policy(pad_to=3), wv.Policy(pad_to=3, bag=True), wv.Policy(unsafe_drop=True, pad_to=9)],
)
def test_answers_are_those_of_the_texts_one_by_one(
    policy: wv.Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(1)
    words = [f"w{number}" for number in range(200)]
    perturber = wv.Perturber(wv.Laplace(wv.Embedding(words, random.normal(size=(200, 3))), 3.0), policy)
    texts: list[str | None] = [
        " ".join(random.choice([*words, "unknown", "10:30", "café", "@ann", ",", "w1-w2", "W3."], size))
        for size in random.integers(0, 12, 400)
    ]
    texts[7] = None
    fast = perturber.perturb_column(texts, wv.insecure_key(5).stream("column"))
    monkeypatch.setattr("wordveil.token_batches._FEW_LETTERS", 1 << 40)
    slow = perturber.perturb_column(texts, wv.insecure_key(5).stream("column"))
    assert fast == slow
    assert fast[1].unknown > 20
