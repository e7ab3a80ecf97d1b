import pickle
import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

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
    ("name", "value", "message"),
    [
        ("unsafe_drop", True, "how many words are outside"),
        ("unsafe_mask", "[X]", "which words are outside"),
        ("unsafe_keep", True, "names, numbers, addresses"),
        ("unsafe_keep_punctuation", True, "punctuation"),
        ("unsafe_keep_case", True, "capitals"),
        ("unsafe_exempt", ["the", "A"], "exempt list"),
    ],
)
def test_unsafe_choices_warn_once_and_say_why(name: str, value: object, message: str) -> None:
    with pytest.warns(wv.PrivacyWarning, match=message) as caught:
        policy = wv.Policy(**{name: value})  # type: ignore[arg-type]  # one of the parameters
    assert len(caught) == 1
    assert policy.unsafe == (name,)
    assert policy.to_dict()["unsafe"] == [name]
    assert message in policy.revealed[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(policy)) == policy


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
@pytest.mark.parametrize(
    ("choices", "message"),
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
def test_refuses(choices: dict[str, object], message: str) -> None:
    with pytest.raises(wv.ParameterError, match=message):
        wv.Policy(**choices)  # type: ignore[arg-type]  # that is the test


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_dropping_with_padding_is_safe_only_alone() -> None:
    policy = wv.Policy(pad_to=5, unsafe_drop=True, unsafe_keep_case=True)
    assert policy.unsafe == ("unsafe_drop", "unsafe_keep_case")
    assert "in spite of the padding" in policy.revealed[-1]


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_exempt_words_are_folded() -> None:
    assert wv.Policy(unsafe_exempt=["The", "DON'T"]).unsafe_exempt == {"the", "don't"}  # type: ignore[arg-type]  # any iterable


def test_cutting_a_bag_keeps_a_random_choice() -> None:
    """Each of 12 words survives a cut to 4 in a third of the cases, wherever it is.

    Each count is binomial with n = 3,000 and p = 1/3: six standard deviations, 155, have α < 1e-8 in all. The
    first words alone would be 2,000 off, and a choice that prefers one place by a fifth 200.
    """
    ids = list(range(12))
    policy, stream = wv.Policy(pad_to=4, bag=True), wv.secure_stream()
    counts = np.zeros(12)
    for _ in range(3000):
        chosen = policy.resized(ids, -1, wv.PrivateReport(), stream)
        assert len(set(chosen)) == 4
        counts[chosen] += 1
    assert np.abs(counts - 1000).max() < 155
    assert policy.resized([7], -1, wv.PrivateReport(), stream) == [7, -1, -1, -1]
    assert wv.Policy(pad_to=4).resized(ids, -1, wv.PrivateReport(), stream) == [0, 1, 2, 3]


def test_a_bag_hides_what_came_first(small: wv.Embedding) -> None:
    bag = wv.Perturber(wv.Laplace(small, 1.0), wv.Policy(pad_to=4, bag=True)).guarantee
    assert not any("first" in fact for fact in bag.not_covered)
    text = " ".join(small.words[:9])
    other = " ".join(reversed(small.words[:9]))
    assert bag.exponent(text, other) == pytest.approx(0.0, abs=1e-9)


def test_the_guarantee_of_cut_bags(small: wv.Embedding) -> None:
    """The `pad_to` largest exponents of a matching; the worst case, if only one text is cut."""
    mechanism = wv.Laplace(small, 1.0)
    bag = wv.Perturber(mechanism, wv.Policy(pad_to=2, bag=True)).guarantee
    first, second = small.words[:4], small.words[4:8]
    matchings = [
        sorted(mechanism.guarantee.exponent(a, b) for a, b in zip(first, order, strict=True))
        for order in permutations(second)
    ]
    best = min(matchings, key=sum)
    assert bag.exponent(" ".join(first), " ".join(second)) == pytest.approx(sum(best[-2:]))
    worst = 2 * mechanism.guarantee.worst_case.upper
    assert bag.exponent(" ".join(first), " ".join(second[:3])) == pytest.approx(worst)
    assert bag.exponent(first[0], " ".join(second)) == pytest.approx(worst)
    assert bag.exponent(first[0], " ".join(second[:2])) < worst


@dataclass(frozen=True, eq=False)
class RecordingGuarantee(wv.MetricGuarantee):
    """Remembers the ids of the texts that it compares."""

    compared: list[list[int]] = field(default_factory=list)

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        self.compared.extend(np.ravel(texts).tolist() for texts in (ids, others))
        return super().exponents(ids, others)


@dataclass(frozen=True, eq=False)
class RecordingMechanism(wv.Mechanism):
    """Remembers the ids of each text that it perturbs, and answers with the first word."""

    embedding: wv.Embedding
    perturbed: list[list[int]] = field(default_factory=list)

    @cached_property
    def guarantee(self) -> RecordingGuarantee:
        return RecordingGuarantee(1.0, wv.Metric.from_embedding(self.embedding, 0.0), self.embedding)

    def parameters(self) -> dict[str, Any]:
        return {}

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        self.perturbed.append(ids.tolist())
        return np.zeros_like(ids)


@pytest.mark.parametrize("bag", [False, True])
@pytest.mark.parametrize(
    ("pad_to", "drop"), [(None, False), (3, False), (5, False), (9, False), (3, True), (5, True), (9, True)]
)
def test_the_guarantee_is_about_the_words_that_are_perturbed(
    small: wv.Embedding, bag: bool, pad_to: int | None, drop: bool
) -> None:
    """What is dropped, added and cut must be the same for both, or the promise is about other texts.

    Each text has four known and two unknown words. A bag that is cut is compared before the cut.
    """
    mechanism = RecordingMechanism(small)
    perturber = wv.Perturber(mechanism, wv.Policy(pad_to=pad_to, bag=bag, unsafe_drop=drop))
    texts = ["Zoë: tea at noon on qwxz", "qwxz fire! Please call me, ann"]
    perturber.guarantee.exponent(*texts)
    for text in texts:
        perturber(text)
    assert len(mechanism.perturbed[0]) == (pad_to or 6)
    for compared, perturbed in zip(mechanism.guarantee.compared, mechanism.perturbed, strict=True):
        if bag:
            assert Counter(perturbed) <= Counter(compared)
            assert len(compared) == max(len(perturbed), 4 if drop else 6)
        else:
            assert perturbed == compared


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_layouts_drop_and_pad_the_same_words(small: wv.Embedding) -> None:
    """With and without a layout, the mechanism gets the same words."""
    mechanism = RecordingMechanism(small)
    for pad_to in (2, 9):
        for keep_case in (False, True):
            policy = wv.Policy(pad_to=pad_to, unsafe_drop=True, unsafe_keep_case=keep_case)
            wv.Perturber(mechanism, policy)("Zoë books tea at noon, qwxz")
    assert mechanism.perturbed[0] == mechanism.perturbed[1]
    assert mechanism.perturbed[2] == mechanism.perturbed[3]
