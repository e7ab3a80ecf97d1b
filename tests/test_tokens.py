import pickle
import time
import unicodedata

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import wordveil as wv
from wordveil import tokens
from wordveil.tokens import Tokenizer, check_text, join, pieces, split

CASES = {
    "Book a flight!": ["book", "a", "flight"],
    "Don't; o'neil-smith's": ["don't", "o'neil-smith's"],
    "it’s co‐op": ["it's", "co-op"],
    "at 10:30 on 12/05/2024, 3.14% of 1,000": ["at", "10:30", "on", "12/05/2024", "3.14", "of", "1,000"],
    "see https://a.example/x?y=1#z, www.b.example": ["see", "https://a.example/x?y=1#z,", "www.b.example"],
    "HTTPS://A.EXAMPLE": ["https://a.example"],
    "mail me.x+y@foo.co.uk now": ["mail", "me.x+y@foo.co.uk", "now"],
    "@ann_b #Delayed_2": ["@ann_b", "#delayed_2"],
    "x_y __init__ C++": ["x_y", "init__", "c"],
    "10th covid-19": ["10th", "covid-19"],
    "ＦＵＬＬ ｗｉｄｔｈ ﬁne": ["full", "width", "fine"],
    "STRASSE straße": ["strasse", "strasse"],
    "e\u0301te\u0301": ["été"],
    "नमस्ते दुनिया": ["नमस्ते", "दुनिया"],
    "مرحبا بالعالم": ["مرحبا", "بالعالم"],
    "東京へ行くnow": ["東京へ行く", "now"],
    "한국어 말": ["한국어", "말"],
    "👩\u200d🚀👍🏽🇩🇪❤️": ["👩\u200d🚀", "👍🏽", "🇩🇪", "❤️"],
    "se\u200bcret se\xadcret": ["secret", "secret"],
    "a\x00b\u2028c\ud800d\x85e": ["a", "b", "c", "d", "e"],
    "\u202eevil\u202c": ["evil"],
    "…!? — $ % ( ) ''' - --": [],
    "": [],
}


@pytest.mark.parametrize("text", CASES)
def test_the_rule(text: str) -> None:
    assert split(text) == CASES[text]


TEXTS = st.text(st.characters(), max_size=60) | st.text("ab '-_.@#:/1,é東👍\u200d\u0301 \n", max_size=60)


@given(TEXTS)
@settings(max_examples=500)
def test_any_text_gives_plain_tokens(text: str) -> None:
    for token in split(text):
        assert token
        token.encode("utf-8")
        assert not any(letter.isspace() or unicodedata.category(letter) in ("Cc", "Cs") for letter in token)
    assert split(text) == split(text)


@given(TEXTS)
@settings(max_examples=500)
def test_pieces_are_the_same_tokens(text: str) -> None:
    written, _ = pieces(text)
    assert [tokens.fold(token) for _, token in written] == split(text)


@given(st.text("ab '-_.@#:/1,w", max_size=60))
@settings(max_examples=500)
def test_the_three_scripts_agree(text: str) -> None:
    """A text of ASCII letters is split the same way beside another letter, which selects the wider rules."""
    assert split(f"{text} é") == [*split(text), "é"]
    assert split(f"{text} 東") == [*split(text), "東"]


def test_parts_are_looked_up_if_the_token_is_unknown() -> None:
    vocabulary = {
        "boston": 0,
        "logan": 1,
        "covid-19": 2,
        "delayed": 3,
        "東": 4,
        "京": 5,
        "1000": 6,
        "2024": 7,
    }
    tokenizer = Tokenizer(vocabulary)
    assert tokenizer.ids("Boston-Logan") == [0, 1]
    assert tokenizer.ids("covid-19 covid-20") == [2, -1, -1]
    assert tokenizer.ids("#delayed #lost") == [3, -1]
    assert tokenizer.ids("東京都") == [4, 5, -1]
    assert tokenizer.ids("1,000 2024 10:30") == [6, 7, -1]
    assert tokenizer.ids("boston@logan.example https://boston.example www.boston.example @boston") == [-1] * 4
    assert tokenizer.ids("bos\u200dton") == [0]
    assert tokenizer.ids("boston_logan") == [0, 1]


def test_gaps_are_normalised() -> None:
    written, tail = pieces("  Hello,\t\n World!\x00 (ok)… ")
    assert written == [(" ", "Hello"), (", ", "World"), ("! (", "ok")]
    assert tail == ")... "


def test_join() -> None:
    assert join(["a", "b"]) == "a b"
    assert join([]) == ""


def test_long_texts() -> None:
    check_text("é" * (8 << 20), 0)
    check_text("x" * (16 << 20), 0)
    with pytest.raises(wv.ParameterError, match=r"Text 3 .* over 16 MiB"):
        check_text("é" * (8 << 20) + "x", 3)
    with pytest.raises(wv.ParameterError, match=r"Text 0 .* must be a str. Got a bytes"):
        check_text(b"x", 0)


@pytest.mark.parametrize(
    "unit", ["a", "a.", "a-", "x'", "1.", "@", "a@", "www.", "é.", "\u0301", "👩\u200d", "東", "#", "-", "_"]
)
def test_the_rule_is_linear(unit: str) -> None:
    """2 MB of text that provokes backtracking take seconds; quadratic time would be hours."""
    start = time.process_time()
    split(unit * (2_000_000 // len(unit)))
    assert time.process_time() - start < 20.0


def test_a_long_run_of_mixed_marks_is_not_quadratic() -> None:
    start = time.process_time()
    assert len(split("a" + "\u0300" * 200_000 + "\u0316" * 200_000)) == 1
    assert time.process_time() - start < 10.0


def test_control_characters_end_an_address() -> None:
    assert split("http://a\x00\x1b[31mred") == ["http://a", "31mred"]


def test_the_fingerprint_and_pickling() -> None:
    assert len(tokens.RULE_FINGERPRINT) == 64
    assert pickle.loads(pickle.dumps(Tokenizer({"a": 1}))).ids("a b") == [1, -1]
