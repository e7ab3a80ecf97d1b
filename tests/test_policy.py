import pickle
import warnings

import pytest

import wordveil as wv


def test_safe_by_default_and_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for policy in (
            wv.Policy(),
            wv.Policy(pad_to=5),
            wv.Policy(bag=True),
            wv.Policy(pad_to=5, unsafe_drop=True),
        ):
            assert policy.unsafe == policy.revealed == ()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("unsafe_drop", True, "how many words are outside"),
        ("unsafe_mask", "[X]", "which words are outside"),
        ("unsafe_keep", True, "names, numbers, addresses"),
        ("unsafe_keep_punctuation", True, "punctuation"),
        ("unsafe_keep_case", True, "capitals"),
        ("unsafe_exempt", ["the", "A"], "exempt list"),
    ],
)
def test_what_is_unsafe_warns_once_and_says_why(name: str, value: object, told: str) -> None:
    with pytest.warns(wv.PrivacyWarning, match=told) as caught:
        policy = wv.Policy(**{name: value})  # type: ignore[arg-type]  # one of the parameters
    assert len(caught) == 1
    assert policy.unsafe == (name,)
    assert policy.to_dict()["unsafe"] == [name]
    assert told in policy.revealed[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(policy)) == policy


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"pad_to": 0}, "'pad_to'"),
        ({"pad_to": 2.5}, "'pad_to'"),
        ({"pad_to": True}, "'pad_to'"),
        ({"unsafe_mask": ""}, "'unsafe_mask'"),
        ({"unsafe_mask": "two words"}, "'unsafe_mask'"),
        ({"unsafe_mask": "\x1b[2J"}, "'unsafe_mask'"),
        ({"unsafe_drop": True, "unsafe_keep": True}, "only one"),
        ({"unsafe_mask": "X", "unsafe_keep": True}, "only one"),
        ({"unsafe_keep_punctuation": True, "bag": True}, "bag or pad_to"),
        ({"unsafe_keep_punctuation": True, "pad_to": 3}, "bag or pad_to"),
        ({"unsafe_exempt": "the"}, "list of words"),
        ({"unsafe_exempt": None}, "list of words"),
        ({"unsafe_drop": "no"}, "True or False"),
        ({"bag": 1}, "True or False"),
        ({"unsafe_exempt": ["two words"]}, "Word 0"),
        ({"unsafe_exempt": ["a", 5]}, "Word 1"),
    ],
)
def test_refuses(choices: dict[str, object], told: str) -> None:
    with pytest.raises(wv.ParameterError, match=told):
        wv.Policy(**choices)  # type: ignore[arg-type]  # that is the test


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_dropping_with_padding_is_safe_only_alone() -> None:
    policy = wv.Policy(pad_to=5, unsafe_drop=True, unsafe_keep_case=True)
    assert policy.unsafe == ("unsafe_drop", "unsafe_keep_case")
    assert "in spite of the padding" in policy.revealed[-1]


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_exempt_words_are_folded() -> None:
    assert wv.Policy(unsafe_exempt=["The", "DON'T"]).unsafe_exempt == {"the", "don't"}  # type: ignore[arg-type]  # any iterable


def test_what_a_cut_shows_of_the_order_is_said(small: wv.Embedding) -> None:
    """The first words survive a cut, so that sorting the output does not hide all of the order."""
    mechanism = wv.Laplace(small, 1.0)
    cut = "of a text of more than 4 words, which come first in it: the others are cut off"
    assert cut in wv.Perturber(mechanism, wv.Policy(pad_to=4, bag=True)).guarantee.not_covered
    assert cut in str(wv.Perturber(mechanism, wv.Policy(pad_to=4, bag=True)).guarantee).replace("\n", " ")
    for policy in (wv.Policy(bag=True), wv.Policy(pad_to=4)):
        assert cut not in wv.Perturber(mechanism, policy).guarantee.not_covered
