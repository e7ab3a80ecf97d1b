"""The frontier: any mechanism, the same numbers as the parts it is made of, and measurements that are kept."""

import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import wordveil as wv
from wordveil.attacker import guess_from_answers, guess_rate
from wordveil.evaluation.closeness import draw_words, measure_closeness
from wordveil.evaluation.fixed_neighbours import by_meaning
from wordveil.evaluation.frontier_experiment import frontier
from wordveil.evaluation.frontier_measures import Effort, Measurer
from wordveil.evaluation.frontier_probes import PROBES, smaller
from wordveil.evaluation.frontier_rings import undominated
from wordveil.evaluation.frontier_spaces import Curve, Space, list_curves, spread_epsilons
from wordveil.evaluation.results import result_from_dict
from wordveil.mechanisms import mechanism_names, registry
from wordveil.mechanisms.answers import units_of

TEXTS = ["book a flight to boston", "call me at noon please", "the red house is on fire now"] * 8
DATA = TEXTS, ["travel", "call", "fire"] * 8


def small_frontier(small: wv.Embedding, **options: Any) -> wv.evaluation.FrontierResult:
    chosen: dict[str, Any] = {"lams": [0.0], "attacks": [0.4], "draws": 200, "word_draws": 5, "cache": False}
    return frontier(small, **(chosen | options))


def test_a_result_is_named_after_all_vectors(small: wv.Embedding) -> None:
    spaces = [Space(small, "map-a"), Space(small.project(2), "vectors-b"), Space(small, "vectors-b")]
    options: dict[str, Any] = {"lams": [0.0], "epsilons": [2.0], "answers": ["nearest"]}
    result = frontier(spaces, **options, draws=20, word_draws=2, cache=False)
    assert result.name == "map-a and vectors-b"
    assert small_frontier(small, epsilons=[2.0]).name == "these vectors"


def test_a_row_has_the_numbers_of_its_parts(small: wv.Embedding) -> None:
    result = small_frontier(small, lams=[0.5], epsilons=[2.0], answers=["nearest"])
    row = result.rows()[0]
    mechanism = wv.Mahalanobis(small, 2.0, 0.5)
    prior = wv.Prior.by_rank(small)
    rate = guess_rate(mechanism, prior, draws=200, stream=wv.insecure_stream(0))
    assert (row["attack"], row["attack_low"], row["attack_high"]) == rate.success
    assert row["attack_alone"] == prior.guess
    content = guess_rate(mechanism, prior.content(), draws=200, stream=wv.insecure_stream(0))
    assert row["attack_content"] == content.success.share
    answers = guess_from_answers(mechanism, prior, draws=100, stream=wv.insecure_stream(0))
    assert row["answers_attack"] == answers.share
    assert row["exponent"] == by_meaning(mechanism)["p50"]
    assert row["exponent_worst"] == mechanism.guarantee.worst_case.upper
    assert row["space"] == "all 3 dims"
    for kind in ("tokens", "content", "uniform"):
        assert -1.0 <= row[f"random_cosine_{kind}"] <= 1.0
        assert row[f"constant_near_10_{kind}"] <= row[f"constant_near_100_{kind}"] == 1.0
    assert result_from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert not result.is_private


@dataclass(frozen=True, eq=False, repr=False)
class Coin(wv.Mechanism):
    """Keeps a word or answers with a random one; it has no closed form here."""

    name: ClassVar = "coin"
    options: ClassVar = ()
    embedding: wv.Embedding
    epsilon: float

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}

    @property
    def guarantee(self) -> wv.guarantee.Guarantee:
        return wv.Laplace(self.embedding, self.epsilon).guarantee

    def _perturb(self, ids: Any, stream: Any) -> Any:
        others = stream.integers(len(self.embedding), ids.shape)
        stays = stream.uniforms(ids.shape) < self.epsilon / (1.0 + self.epsilon)
        return np.where(stays & (ids >= 0), ids, others)


def test_every_registered_mechanism(small: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._registered, "coin", Coin)  # it must be gone after this test
    names = [name for name in mechanism_names() if name != "custext"]  # which needs an unsafe option
    assert "coin" in names
    result = small_frontier(small, mechanisms=names, answers=["nearest"], lams=[0.0, 1.0])
    rows = result.rows()
    measured = {row["mechanism"] for row in rows}
    assert measured == set(names) - {"laplace"}  # Mahalanobis with λ = 0
    coin = next(row for row in rows if row["mechanism"] == "coin")
    assert not coin["attack_exact"]
    assert coin["attack_low"] <= 0.4 <= coin["attack_high"]


def test_settings_are_placed_where_the_attacker_is_right_that_often(small: wv.Embedding) -> None:
    """S at 3,000 other draws is within 0.08 of each target: 400 draws place it to 0.05 at two deviations."""
    result = small_frontier(small, attacks=[0.3, 0.6], answers=["nearest"])
    for row, target in zip(result.rows(), (0.3, 0.6), strict=True):
        mechanism = wv.Laplace(small, row["epsilon"])
        rate = guess_rate(mechanism, wv.Prior.by_rank(small), draws=3000, stream=wv.insecure_stream(5))
        assert rate.success.share == pytest.approx(target, abs=0.08)


def test_all_draws_correct_where_a_setting_is_placed(small: wv.Embedding) -> None:
    """400 draws place it; S in the table, from all of them, is then as near to the target as it can be told."""
    result = small_frontier(small, attacks=[0.3, 0.6], answers=["nearest"], draws=2000)
    assert [row["attack"] for row in result.rows()] == pytest.approx([0.3, 0.6], abs=0.01)


def test_spread_epsilons_moves_by_what_the_precise_function_is_off() -> None:
    def attack(epsilon: float) -> float:
        return epsilon / (1.0 + epsilon)

    targets = [0.25, 0.5]
    epsilons = spread_epsilons(attack, targets, lambda epsilon: attack(epsilon) + 0.04)
    assert [attack(epsilon) + 0.04 for epsilon in epsilons] == pytest.approx(targets, abs=0.005)


def test_spread_epsilons_finds_each_target_and_survives_impossible_ones() -> None:
    calls: list[float] = []

    def attack(epsilon: float) -> float:
        calls.append(epsilon)
        return 0.1 + 0.8 * epsilon / (3.0 + epsilon)

    epsilons = spread_epsilons(attack, [0.3, 0.5, 0.7])
    assert epsilons == pytest.approx([1.0, 3.0, 9.0], rel=0.03)
    assert len(calls) < 25
    assert len(spread_epsilons(lambda _: 0.5, [0.2, 0.9])) == 2


def test_no_point_behind_another_is_undominated() -> None:
    rows = [{"attack": a, "y": y} for a, y in ((0.2, 0.5), (0.2, 0.6), (0.3, 0.6), (0.4, 0.9), (0.5, 0.8))]
    undominated(rows, "y", "best")
    assert [row["best"] for row in rows] == [False, True, False, True, False]


def test_what_a_constant_answer_reaches_is_not_marked() -> None:
    rows: list[dict[str, Any]] = [
        {"attack": attack, "y": y, "null": 0.37} for attack, y in ((0.1, 0.3), (0.2, 0.37), (0.3, 0.4))
    ]
    undominated(rows, "y", "best", "null")
    assert [row["best"] for row in rows] == [False, False, True]


def test_bounds_on_the_attack_count_by_their_upper_end() -> None:
    rows: list[dict[str, Any]] = [
        {"attack": 0.1, "attack_high": 0.5, "attack_exact": False, "y": 0.6},
        {"attack": 0.2, "attack_high": 0.25, "attack_exact": True, "y": 0.6},
    ]
    undominated(rows, "y", "best")
    assert [row["best"] for row in rows] == [False, True]


def test_a_setting_is_beaten_beyond_the_intervals_only() -> None:
    def row(attack: float, y: float, **more: Any) -> dict[str, Any]:
        ends = {
            "attack_low": attack - 0.03,
            "attack_high": attack + 0.03,
            "y_low": y - 0.02,
            "y_high": y + 0.02,
        }
        return {"attack": attack, "y": y, "null": 0.3, **ends, **more}

    # S of the second is larger by chance; the third is clearly worse; the fourth is clearly more private.
    rows = [row(0.300, 0.6), row(0.302, 0.61), row(0.298, 0.5), row(0.15, 0.4), row(0.1, 0.31)]
    undominated(rows, "y", "best", "null")
    assert [row["best"] for row in rows] == [True, True, False, True, False]
    # What promises nothing between some words is not marked, and beats nothing.
    rows = [row(0.3, 0.6, exponent_worst=60.0), row(0.2, 0.9, exponent_worst=1e200)]
    undominated(rows, "y", "best", "null")
    assert [row["best"] for row in rows] == [True, False]


def test_closeness_agrees_with_all_pairs(glove: wv.Embedding) -> None:
    """The limits of a sample decide like ranks over the whole vocabulary."""
    mechanism = wv.Laplace(glove.project(10), 6.0)
    prior = wv.Prior.english(glove).content()
    sample = draw_words(mechanism.embedding, prior, draws=300)
    result = measure_closeness(mechanism, prior, stream=wv.insecure_stream(3), sample=sample)
    answers = mechanism.perturb_ids(sample.ids, stream=wv.insecure_stream(3))
    units = units_of(glove)
    table = units[sample.ids] @ units.T
    own = table[np.arange(len(table)), answers]
    closer = (table > own[:, None] + 1e-6).sum(axis=1)
    assert result.cosine.share == pytest.approx(float(own.mean()), abs=1e-5)
    assert result.near_10.share == pytest.approx(float((closer < 10).mean()))
    assert result.near.share == pytest.approx(float((closer < 100).mean()))
    assert 0.2 < result.near_10.share < result.near.share < 0.8


def test_laplace_is_not_measured_twice(small: wv.Embedding) -> None:
    space = Space(small)
    both = list_curves([space], ["laplace", "mahalanobis"], [0.0, 1.0], ["nearest"])
    assert [curve.mechanism for curve in both] == ["mahalanobis", "mahalanobis"]
    alone = list_curves([space], ["laplace", "mahalanobis"], [1.0], ["nearest"])
    assert {curve.mechanism for curve in alone} == {"laplace", "mahalanobis"}


def test_labelled_texts_add_accuracy_and_linkage_with_baselines(small: wv.Embedding) -> None:
    result = small_frontier(
        small, data=DATA, epsilons=[1e6], answers=["nearest"], repetitions=2, linked=20, name="trips"
    )
    row = result.rows()[0]
    assert row["accuracy"] == row["accuracy_unperturbed"] == 1.0
    assert row["accuracy_majority"] == pytest.approx(1 / 3, abs=0.05)
    assert row["linkage"] == pytest.approx(3 / 20, abs=0.05)  # equal texts can't be told apart
    assert result.is_private
    assert (result.name, result.settings["linked_texts"]) == ("trips", 20)


def test_measurements_are_kept_and_used_again(
    small: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"epsilons": [2.0], "cache": tmp_path, "data": DATA, "repetitions": 2}
    first = small_frontier(small, **options)
    files = [path for path in tmp_path.iterdir() if path.suffix == ".json"]
    assert len(files) > 15
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert b"boston" not in path.read_bytes()
    with monkeypatch.context() as broken:
        for probe in PROBES:
            broken.setitem(PROBES, probe, lambda *_: pytest.fail("it was measured before"))
        assert small_frontier(small, **options) == first
        others: list[dict[str, Any]] = [
            {"draws": 201},
            {"seed": 1},
            {"epsilons": [2.5]},
            {"lams": [0.5]},
            {"prior": wv.Prior.uniform},
        ]
        for other in others:
            with pytest.raises(pytest.fail.Exception):
                small_frontier(small, **{**options, **other})
    files[0].write_bytes(b"{")
    assert small_frontier(small, **options) == first


def test_other_texts_have_other_measurements(small: wv.Embedding, tmp_path: Path) -> None:
    effort, mechanism = Effort(draws=50, word_draws=2, repetitions=2), wv.Laplace(small, 1e6)
    first = Measurer(data=wv.evaluation.LabelledTexts("a", *DATA), cache=tmp_path, linked=50)
    other = Measurer(
        data=wv.evaluation.LabelledTexts("a", [f"tea {text}" for text in TEXTS[:6]], DATA[1][:6]),
        cache=tmp_path,
        linked=50,
    )
    assert first.measure("linkage", mechanism, effort)["linkage_candidates"] == 24
    assert other.measure("linkage", mechanism, effort)["linkage_candidates"] == 6


def test_an_attack_is_measured_once_for_all_answers(
    small: wv.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    probe = PROBES["attack"]

    def counted(*arguments: Any) -> dict[str, Any]:
        calls.append("attack")
        return probe(*arguments)

    monkeypatch.setitem(PROBES, "attack", counted)
    small_frontier(small, epsilons=[2.0], answers=["nearest", "closest", "likeliest"])
    assert len(calls) == 1
    small_frontier(small, epsilons=[2.0], lams=[0.0, 1.0], answers=["nearest", "closest"])
    assert len(calls) == 3


def test_blocked_words_never_stay(small: wv.Embedding) -> None:
    blocked = wv.BlockList([word for word in small.words if word != small.words[0]], public=True)
    effort = Effort(draws=50, word_draws=4)
    share = 100.0 / len(small)  # one word of all is allowed
    facts = Measurer(cache=False).measure("n_w", wv.Laplace(small, 1e6, blocked=blocked), effort)
    assert facts["n_w"] == pytest.approx(share)


def test_smaller_data_keep_labels_and_parts() -> None:
    is_test = [row % 2 == 0 for row in range(240)]
    data = wv.evaluation.LabelledTexts("a", 10 * TEXTS, 10 * DATA[1], is_test=is_test)
    part = smaller(data, 60, 0)
    assert part.classes == data.classes
    assert len(part.texts) == 60
    assert part.is_test is not None
    assert sum(part.is_test) == 30
    assert [part.labels.count(label) for label in part.classes] == [20, 20, 20]
    assert smaller(data, 240, 0) is data


def test_a_curve_as_a_settings_file(small: wv.Embedding) -> None:
    curve = Curve(Space(small, 'a "path"', 2), "vickrey", {"t": 0.5})
    assert curve.toml(2.5).splitlines() == [
        "epsilon = 2.5", 'embedding = "a \\"path\\""', "dims = 2", "", "[mechanism]", 'name = "vickrey"', "t = 0.5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attacks": []}, "'attacks'"),
        ({"attacks": [1.5]}, "'attacks'"),
        ({"epsilons": [-1.0]}, "'epsilons'"),
        ({"lams": [2.0]}, "'lams'"),
        ({"answers": ["best"]}, "answers"),
        ({"draws": 0}, "'draws'"),
        ({"mechanisms": []}, "nothing to compare"),
    ],
)
def test_mistakes(small: wv.Embedding, options: dict[str, Any], message: str) -> None:
    with pytest.raises(wv.ParameterError, match=message):
        small_frontier(small, **options)
