import itertools
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import wordveil as wv
from wordveil import perturber as module

EMB = wv.Embedding(
    ["book", "a", "flight", "to", "boston", "please", "don't", "tea"],
    np.random.default_rng(1).normal(size=(8, 3)),
    public=True,
)


@dataclass(frozen=True)
class FixedSequence(wv.Mechanism):
    """Answers with the words of the vocabulary one after the other, whatever the input is."""

    embedding: wv.Embedding = EMB

    @property
    def guarantee(self) -> wv.MetricGuarantee:
        return wv.Laplace(self.embedding, 1.0).guarantee

    def parameters(self) -> dict[str, Any]:
        return {}

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        return np.arange(len(ids)) % len(self.embedding)


PERTURBER = wv.Perturber(FixedSequence())
ADDRESSES = st.sampled_from(["", "http://", "www.", "a@b.c", "#", "@"])
ANY_TEXT = (
    st.builds(str.__add__, ADDRESSES, st.text(st.characters(), max_size=80))
    | st.text(st.characters(), max_size=80)
    | st.text("ab '-_.@#:/1,é東👍\u200d\u0301\ud800\x00\u2028\u202e\n ", max_size=80)
)


@given(ANY_TEXT)
@settings(max_examples=1000)
def test_nothing_of_the_input_is_copied(text: str) -> None:
    """All inputs of one token count give the same bytes."""
    count = len(PERTURBER.tokenizer.ids(text))
    expected = " ".join(itertools.islice(itertools.cycle(EMB.words), count))
    assert PERTURBER(text) == expected
    expected.encode("utf-8")
    assert len(expected.splitlines()) <= 1


@given(ANY_TEXT)
@settings(max_examples=300)
def test_with_padding_not_even_the_length_is_revealed(text: str) -> None:
    assert wv.Perturber(FixedSequence(), wv.Policy(pad_to=3))(text) == "book a flight"
    dropping = wv.Policy(pad_to=3, unsafe_drop=True)
    assert wv.Perturber(FixedSequence(), dropping)(text) == "book a flight"
    assert wv.Perturber(FixedSequence(), wv.Policy(pad_to=3, bag=True))(text) == "a book flight"


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
@given(ANY_TEXT)
@settings(max_examples=300)
def test_unsafe_choices_still_give_one_line_of_utf8(text: str) -> None:
    policy = wv.Policy(unsafe_keep=True, unsafe_keep_punctuation=True, unsafe_keep_case=True)
    answer = wv.Perturber(FixedSequence(), policy)(text)
    answer.encode("utf-8")
    assert len(answer.splitlines()) <= 1
    assert "  " not in answer
    assert not any(letter < " " or "\x7f" <= letter < "\xa0" for letter in answer)


def test_same_length_same_support() -> None:
    """With every unsafe choice off, unknown words, names and numbers reach every answer that others reach."""
    angles = np.arange(6) * np.pi / 3.0
    circle = wv.Embedding(
        [f"w{i}" for i in range(6)], np.column_stack((np.cos(angles), np.sin(angles))), public=True
    )
    perturber = wv.Perturber(wv.Laplace(circle, 0.5))
    everything = {f"{a} {b}" for a in circle.words for b in circle.words}
    for text in ("w0 w3", "Zoë 555-0101", "w1 me@mail.example"):
        assert set(perturber.perturb([text] * 5_000, stream=wv.insecure_stream(1))) == everything


@dataclass(frozen=True)
class Recording(FixedSequence):
    """Answers as FixedSequence does, and remembers the ids that it got."""

    perturbed_ids: list[int] = field(default_factory=list)

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        self.perturbed_ids.extend(ids.tolist())
        return super()._perturb(ids, stream)


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
@pytest.mark.parametrize(
    ("choices", "perturbed_ids"),
    [
        ({}, [7, 3, 4, -1, 5, -1]),
        ({"pad_to": 8}, [7, 3, 4, -1, 5, -1, -1, -1]),
        ({"pad_to": 2}, [7, 3]),
        ({"bag": True}, [7, 3, 4, -1, 5, -1]),
        ({"unsafe_drop": True}, [7, 3, 4, 5]),
        ({"unsafe_drop": True, "pad_to": 5}, [7, 3, 4, 5, -1]),
        ({"unsafe_mask": "X"}, [7, 3, 4, 5]),
        ({"unsafe_mask": "X", "pad_to": 8}, [7, 3, 4, 5, -1, -1]),
        ({"unsafe_mask": "X", "pad_to": 3}, [7, 3, 4]),
        ({"unsafe_keep": True}, [7, 3, 4, 5]),
        ({"unsafe_keep_case": True}, [7, 3, 4, -1, 5, -1]),
        ({"unsafe_exempt": frozenset({"to"})}, [7, 4, -1, 5, -1]),
        ({"unsafe_exempt": frozenset({"to"}), "pad_to": 3}, [7, 4]),
    ],
)
def test_the_ids_that_the_mechanism_gets(choices: dict[str, object], perturbed_ids: list[int]) -> None:
    mechanism = Recording()
    wv.Perturber(mechanism, wv.Policy(**choices))("Tea to Boston Qwxz please zoë")  # type: ignore[arg-type]  # one
    assert mechanism.perturbed_ids == perturbed_ids


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_gaps_around_dropped_words_are_kept() -> None:
    perturber = wv.Perturber(FixedSequence(), wv.Policy(unsafe_drop=True, unsafe_keep_punctuation=True))
    assert perturber("Tea (qwxz), please! #_ boston.") == "book (), a! flight."


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_exempt_and_kept_tokens_are_not_cut() -> None:
    exempt = wv.Policy(unsafe_exempt=frozenset({"new-york"}))
    assert wv.Perturber(FixedSequence(), exempt)("Tea New-York") == "book new-york"
    keep = wv.Policy(unsafe_keep=True)
    assert (
        wv.Perturber(FixedSequence(), keep)("1,000 https://A.B/c Well-Known")
        == "1,000 https://A.B/c Well-Known"
    )


def test_padding_counts_towards_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_TOKENS", 100)
    assert [len(block) for block in module._blocks([""] * 10, 50)] == [2] * 5


@pytest.fixture
def real() -> wv.Perturber:
    return wv.Perturber(wv.Laplace(EMB, 3.0))


TEXTS = ["Book a flight to Boston, please!", "", "Tea?", "unknown words only", "…", "DON'T book a-flight"] * 7


def test_the_words_are_the_mechanisms_answers(real: wv.Perturber) -> None:
    ids = [number for text in TEXTS for number in real.tokenizer.ids(text)]
    answers = real.mechanism.perturb_ids(ids, stream=wv.insecure_stream(4))
    expected = " ".join(EMB.words[i] for i in answers)
    private = real.perturb(TEXTS, stream=wv.insecure_stream(4))
    assert " ".join(text for text in private if text) == expected
    assert [len(text.split()) for text in private[:6]] == [6, 0, 1, 3, 0, 4]


@pytest.mark.parametrize("block", [1, 10, 1000])
def test_the_block_size_changes_no_answer(
    real: wv.Perturber, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = real.perturb(TEXTS, stream=wv.insecure_stream(5))
    monkeypatch.setattr(module, "_BLOCK_TOKENS", block)
    assert real.perturb(TEXTS, stream=wv.insecure_stream(5)) == expected


def test_a_generator_of_texts(real: wv.Perturber) -> None:
    def texts() -> Iterator[str]:
        yield from TEXTS

    assert real.perturb(texts(), stream=wv.insecure_stream(6)) == real.perturb(
        TEXTS, stream=wv.insecure_stream(6)
    )


def test_the_private_report_counts(real: wv.Perturber) -> None:
    _, report = real.perturb(["Book a qwxz", "tea zzz zzz", ""], report=True)
    assert (report.texts, report.tokens, report.unknown) == (3, 6, 3)
    assert str(report).startswith("private report, not for release: texts 3, tokens 6, unknown 3")
    _, padded = wv.Perturber(real.mechanism, wv.Policy(pad_to=2)).perturb(["a", "a to tea book"], report=True)
    assert (padded.padded, padded.truncated, padded.tokens) == (1, 2, 5)
    padded.add(report)
    assert (padded.tokens, padded.texts) == (11, 5)


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
@pytest.mark.parametrize(
    ("choices", "expected", "counts"),
    [
        ({"unsafe_drop": True}, "book a flight to", {"dropped": 2}),
        ({"unsafe_mask": "[X]"}, "book a flight [X] to [X]", {"masked": 2}),
        ({"unsafe_keep": True}, "book a flight Qwxz to zoë", {"kept": 2}),
        ({"unsafe_keep": True, "unsafe_keep_case": True}, "Book a FLIGHT Qwxz to zoë", {"kept": 2}),
        ({"unsafe_keep_case": True}, "Book a FLIGHT To boston please", {}),
        ({"unsafe_keep_punctuation": True}, "book a, (flight) to boston: please!", {}),
        ({"unsafe_exempt": frozenset({"tea", "please"})}, "tea book a flight please to", {"kept": 2}),
        ({"unsafe_mask": "[X]", "pad_to": 3}, "book a flight", {"masked": 2, "truncated": 3}),
        ({"unsafe_mask": "[X]", "pad_to": 8}, "book a flight [X] to [X] boston please", {"padded": 2}),
        (
            {"unsafe_exempt": frozenset({"tea", "please"}), "bag": True},
            "a book flight please tea to",
            {"kept": 2},
        ),
    ],
)
def test_unsafe_choices(choices: dict[str, object], expected: str, counts: dict[str, int]) -> None:
    perturber = wv.Perturber(FixedSequence(), wv.Policy(**choices))  # type: ignore[arg-type]  # one of them
    answers, report = perturber.perturb([" Tea to, (BOSTON) Qwxz please: zoë! "], report=True)
    assert answers == [expected]
    assert report.unknown == 2
    for name, count in counts.items():
        assert getattr(report, name) == count


def test_refuses(real: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="list of texts"):
        real.perturb("one text")
    with pytest.raises(wv.ParameterError, match=r"Text 1 .* must be a str. Got a NoneType") as caught:
        real.perturb(["my secret", None])  # type: ignore[list-item]  # that is the test
    assert "secret" not in str(caught.value)
    with pytest.raises(wv.ParameterError, match="'stream'"):
        real("tea", stream=7)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(wv.ParameterError, match="must be a str"):
        real.guarantee.exponent("tea", None)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(wv.ParameterError, match="a mechanism and a Policy"):
        wv.Perturber("laplace")  # type: ignore[arg-type]  # that is the test


def test_a_text_over_16_mib_is_refused_and_one_of_10_mb_works() -> None:
    with pytest.raises(wv.ParameterError, match="over 16 MiB"):
        PERTURBER("tea " * (5 << 20))
    assert len(PERTURBER("tea " * 2_500_000)) > 10_000_000


def test_pickles_and_shares_between_threads(real: wv.Perturber) -> None:
    real("warm the caches")
    copy = pickle.loads(pickle.dumps(real))
    assert copy.perturb(TEXTS, stream=wv.insecure_stream(7)) == real.perturb(
        TEXTS, stream=wv.insecure_stream(7)
    )
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: tuple(real.perturb(TEXTS)), range(8)))
    assert len(set(answers)) == 8


def test_the_guarantee_of_two_texts(real: wv.Perturber) -> None:
    promise = real.guarantee
    assert isinstance(promise.word, wv.MetricGuarantee)
    metric, vectors = promise.word.metric, EMB.vectors.astype(np.float64)
    a, b, c = (vectors[EMB.index[word]] for word in ("book", "tea", "boston"))
    centre = EMB.centroid
    expected = 3.0 * (metric.distance(a, b) + metric.distance(c, centre))
    assert promise.exponent("book boston", "Tea qwxz") == pytest.approx(expected)
    assert promise.exponent("", "…") == 0.0
    with pytest.raises(wv.ParameterError, match="different numbers of words"):
        promise.exponent("book", "book tea")


def test_the_guarantee_of_a_bag_is_the_best_matching() -> None:
    perturber = wv.Perturber(wv.Laplace(EMB, 3.0), wv.Policy(bag=True))
    assert perturber.guarantee.exponent("book tea boston", "boston book tea") == pytest.approx(0.0, abs=1e-9)
    words = ("book", "tea", "to"), ("boston", "please", "a")
    sums = [
        sum(perturber.mechanism.guarantee.exponent(x, y) for x, y in zip(words[0], order, strict=True))
        for order in itertools.permutations(words[1])
    ]
    assert perturber.guarantee.exponent(" ".join(words[0]), " ".join(words[1])) == pytest.approx(min(sums))
    assert "matching" in str(perturber.guarantee)
    assert "the order of the texts" in perturber.guarantee.not_covered


def test_the_guarantee_of_padded_texts() -> None:
    perturber = wv.Perturber(wv.Laplace(EMB, 3.0), wv.Policy(pad_to=3))
    distance = wv.Metric.euclidean(3).distance(EMB.vector("tea"), EMB.centroid)
    assert perturber.guarantee.exponent("book", "book tea") == pytest.approx(3.0 * float(distance))
    dropping = wv.Perturber(wv.Laplace(EMB, 3.0), wv.Policy(pad_to=3, unsafe_drop=True))
    assert dropping.guarantee.exponent("qwxz tea", "tea") == 0.0
    facts = perturber.guarantee.to_dict()
    assert facts["covers_texts_of_different_lengths"]
    assert facts["local_dp_epsilon_per_text"] == pytest.approx(
        3 * perturber.mechanism.guarantee.worst_case.upper
    )
    assert "the number of words in a text" not in facts["not_covered"]
    assert "padded or cut to 3 words" in str(perturber.guarantee).replace("\n", " ")


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_the_guarantee_names_what_is_unsafe(real: wv.Perturber) -> None:
    assert "Texts of different numbers of words are not covered" in str(real.guarantee).replace("\n", " ")
    perturber = wv.Perturber(real.mechanism, wv.Policy(unsafe_keep=True))
    assert "names, numbers, addresses" in str(perturber.guarantee).replace("\n", " ")
    with pytest.raises(wv.ParameterError, match="unsafe choices"):
        perturber.guarantee.exponent("a", "to")
    padded = wv.Perturber(real.mechanism, wv.Policy(unsafe_keep=True, pad_to=3)).guarantee
    assert "UNSAFE CHOICES WERE MADE" in str(padded)
    assert not padded.to_dict()["covers_texts_of_different_lengths"]
    assert "local_dp_epsilon_per_text" not in padded.to_dict()
    assert "the number of words in a text" in padded.not_covered
    assert any("in spite of the padding" in what for what in padded.not_covered)


def test_the_key_of_a_run_is_checked(real: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="'perturber' parameter of f must be a Perturber"):
        module.checked_run_key(None, None, "f")
    with pytest.raises(wv.ParameterError, match="'key' parameter of f must be a RunKey"):
        module.checked_run_key(real, 7, "f")  # type: ignore[arg-type]  # that is the test
    assert module.checked_run_key(real, None, "f").secure
    key = wv.insecure_key(1)
    with pytest.warns(wv.PrivacyWarning, match="The noise comes from a seed"):
        assert module.checked_run_key(real, key, "f", stacklevel=3) is key
