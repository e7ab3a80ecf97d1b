"""Two mechanisms that answer differently never pass for one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from tests.stopped_runs import StoppedRun

import wordveil as wv
from wordveil import perturber as perturber_module
from wordveil.metric import Bracket
from wordveil.runs import run as run_module


@dataclass(frozen=True, eq=False, repr=False)
class Response(wv.Mechanism):
    """Randomised response: another kind of promise, which is no distance."""

    embedding: wv.Embedding
    epsilon: float
    extra: tuple[tuple[str, Any], ...] = ()
    worst: float | None = None

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, **dict(self.extra)}

    @property
    def guarantee(self) -> "ResponseGuarantee":
        return ResponseGuarantee(self.embedding, self.epsilon, self.worst)

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        stays = stream.uniforms(ids.shape) < 1.0 - len(self.embedding) / (
            len(self.embedding) - 1 + np.exp(self.epsilon)
        )
        return np.where(stays & (ids >= 0), ids, stream.integers(len(self.embedding), ids.shape))


@dataclass(frozen=True, eq=False)
class ResponseGuarantee(wv.Guarantee):
    embedding: wv.Embedding
    epsilon: float
    worst: float | None = None

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        return np.where(np.asarray(ids) != np.asarray(others), self.epsilon, 0.0)

    @property
    def worst_case(self) -> Bracket:
        worst = self.epsilon if self.worst is None else self.worst
        return Bracket(worst, worst)


def test_a_promise_that_is_no_distance_goes_everywhere(small: wv.Embedding, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    perturber, ledger = wv.Perturber(Response(small, 2.0)), wv.Ledger(tmp_path / "ledger.sqlite")
    options: dict[str, Any] = {"perturber": perturber, "text": "m", "ledger": ledger}
    run = wv.perturb_file(tmp_path / "in.csv", tmp_path / "a.csv", **options)
    promise = json.loads(run.manifest.read_text())["guarantee"]
    assert promise["worst_case_exponent"] == {"lower": 2.0, "upper": 2.0}
    assert "epsilon" not in promise
    assert perturber.guarantee.exponent("tea at noon", "tea at boston") == 2.0
    text = str(perturber.guarantee)
    assert "exp(e) times as likely" in text
    assert "ε·d" not in text
    with pytest.warns(
        wv.PrivacyWarning, match=r"at most exp\(4\.0\) \(2\.0 \+ 2\.0\); their exponents add up"
    ):
        wv.perturb_file(tmp_path / "in.csv", tmp_path / "b.csv", again=True, **options)


def test_a_subclass_has_a_name_of_its_own(small: wv.Embedding) -> None:
    class Weaker(wv.Mahalanobis):
        def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
            return np.maximum(ids, 0)

    real, weaker = wv.Mahalanobis(small, 1.0), Weaker(small, 1.0)
    assert weaker.setting()["mechanism"] == "weaker"
    assert wv.Perturber(weaker).fingerprint != wv.Perturber(real).fingerprint


@pytest.mark.parametrize("key", ["dims", "mechanism"])
def test_parameters_can_not_hide_behind_facts(key: str, small: wv.Embedding) -> None:
    with pytest.raises(wv.ParameterError, match=r"Response\.parameters\(\) must not have the keys"):
        Response(small, 1.0, ((key, 7),)).setting()


class SameName(Response):
    """Another class whose setting is that of Response."""

    name = "response"


def test_a_run_of_another_class_is_not_resumed(
    small: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    stopped = StoppedRun(tmp_path, wv.Perturber(Response(small, 2.0)), ["tea at noon"] * 6_000)
    stopped.stop_at(3_000)
    assert SameName(small, 2.0).setting() == Response(small, 2.0).setting()
    with pytest.raises(wv.ParameterError, match="had a different input or different settings"):
        stopped(resume=True, perturber=wv.Perturber(SameName(small, 2.0)))
    run = stopped(resume=True)
    assert 0 < run.resumed_rows < run.rows == 6_000


@pytest.mark.parametrize("worst", [np.inf, np.nan, -1.0, 1e301])
def test_a_promise_that_can_not_be_recorded_is_refused_before_the_work(
    worst: float, small: wv.Embedding, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    with pytest.raises(wv.ParameterError, match=r"worst case of its guarantee must be from 0 to 1e300"):
        release(Response(small, 2.0, worst=worst), tmp_path)
    assert wv.Ledger(tmp_path / "ledger.sqlite").entries() == []
    if not np.isfinite(worst):  # without a ledger it still can't be written
        with pytest.raises(wv.ParameterError, match="The guarantee of Response must have finite numbers"):
            release(Response(small, 2.0, worst=worst), tmp_path, ledger=None)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".sqlite"] == ["in.csv"]


def test_a_choice_that_only_the_parameters_name_voids_the_sum(small: wv.Embedding, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    weak = Response(small, 2.0, (("unsafe_2nd_try", True), ("unsafe_off", False)))
    assert weak.unsafe == ("unsafe_2nd_try",)
    release(weak, tmp_path)
    (entry,) = wv.Ledger(tmp_path / "ledger.sqlite").entries()
    assert entry.setting["unsafe"] == ["unsafe_2nd_try"]
    with pytest.raises(wv.ParameterError, match="names of unsafe parameters must consist of lower-case"):
        release(Response(small, 2.0, (("unsafe_Big", True),)), tmp_path, again=True, force=True)


def release(mechanism: wv.Mechanism, folder: Path, **options: Any) -> wv.FileRun:
    options = {"ledger": wv.Ledger(folder / "ledger.sqlite")} | options
    perturber = wv.Perturber(mechanism)
    return wv.perturb_file(folder / "in.csv", folder / "out.csv", perturber=perturber, text="m", **options)


@pytest.mark.parametrize("name", ["grün", "a b", "A", "a/b", "x" * 101])
def test_names_that_can_not_be_stored(name: str, small: wv.Embedding) -> None:
    odd = type("Odd", (Response,), {"name": name})
    with pytest.raises(wv.ParameterError, match="must consist of lower-case letters, digits, - and _"):
        odd(small, 1.0).setting()
    with pytest.raises(wv.ParameterError, match="must consist of lower-case letters, digits, - and _"):
        wv.register_mechanism(odd)


def test_parameters_from_a_class_that_is_no_mechanism_name_the_block_list(small: wv.Embedding) -> None:
    class Numbers:
        def parameters(self) -> dict[str, Any]:
            return {"epsilon": 1.0}

    class Mixed(Numbers, Response):
        pass

    class Child(Mixed):
        pass

    blocked = wv.BlockList([small.words[0]], public=True)
    for kind in (Mixed, Child):
        assert kind(small, 1.0).parameters() == {"epsilon": 1.0}
        assert "block_list" in kind(small, 1.0).blocking(blocked).parameters()


@pytest.mark.parametrize("what", ["vectors", "tokenizer", "class"])
def test_the_fingerprint_covers(what: str, small: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    before = wv.Perturber(Response(small, 1.0)).fingerprint
    match what:
        case "vectors":  # of the same words and dimensions
            other = wv.Embedding(small.words, small.vectors * 2.0, public=True)
            after = wv.Perturber(Response(other, 1.0)).fingerprint
        case "tokenizer":
            monkeypatch.setattr(perturber_module, "RULE_FINGERPRINT", "another rule")
            after = wv.Perturber(Response(small, 1.0)).fingerprint
        case _:
            same_name = type("Response", (Response,), {"__qualname__": "elsewhere.Response"})
            after = wv.Perturber(same_name(small, 1.0)).fingerprint
    assert before != after


def test_releases_in_other_vectors_are_no_single_release(small: wv.Embedding, tmp_path: Path) -> None:
    """Of the same λ and dimensions, but with other vectors: the sum of ε would mean nothing."""
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    other = wv.Embedding(small.words, small.vectors * 2.0, public=True)
    ledger = wv.Ledger(tmp_path / "ledger.sqlite")
    for number, embedding in enumerate((small, other)):
        perturber = wv.Perturber(wv.Laplace(embedding, 1.0))
        options: dict[str, Any] = {"perturber": perturber, "text": "m", "ledger": ledger, "again": True}
        if number == 0:
            wv.perturb_file(tmp_path / "in.csv", tmp_path / f"{number}.csv", **options)
        else:
            with pytest.warns(wv.PrivacyWarning, match="exponents add up, each by its own rule"):
                wv.perturb_file(tmp_path / "in.csv", tmp_path / f"{number}.csv", **options)


def test_a_metric_of_other_vectors_promises_nothing(small: wv.Embedding) -> None:
    other = wv.Embedding(small.words, small.vectors * 0.01, public=True)
    for metric in (wv.Metric.from_embedding(other, 0.0), wv.Metric.euclidean(3)):
        with pytest.raises(wv.ParameterError, match="must be made from its embedding"):
            wv.MetricGuarantee(1.0, metric, small)


def test_another_metric_has_a_diameter_of_its_own(small: wv.Embedding) -> None:
    metric = wv.Metric.from_embedding(small, 1.0)
    wide = wv.Metric(1.0, metric.eigenvalues * 1e-4, metric.axes, small)
    assert wide.diameter().lower == pytest.approx(100.0 * metric.diameter().lower)
    with pytest.raises(wv.ParameterError, match="must be made from its embedding"):
        wv.MetricGuarantee(1.0, wide, small)


@pytest.mark.parametrize("name", ["name", "device", "epsilon", "embedding", "block_list"])
def test_options_that_would_be_swallowed(name: str) -> None:
    class Odd(Response):
        options: ClassVar = (wv.Option(name, int, "something", default=1),)

    with pytest.raises(wv.ParameterError, match=f"must not be called '{name}'"):
        wv.register_mechanism(Odd)


def test_whole_numbers_stay_whole() -> None:
    option = wv.Option("count", int, "how many", low=0)
    assert option.check(2**53 + 1, "Odd") == 2**53 + 1
    for wrong in (1.0, True, -1, "3"):
        with pytest.raises(wv.ParameterError, match="'count' parameter of Odd must be a whole number"):
            option.check(wrong, "Odd")


def make_options(**facts: Any) -> dict[str, Any]:
    return {"name": "n", "type": int, "help": "something", "default": 1} | facts


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"name": ""}, "must have the name of a keyword argument"),
        ({"name": "two words"}, "must have the name of a keyword argument"),
        ({"type": list}, "must have the type float, int, bool or str"),
        ({"choices": (1, 2)}, "only if its type is str"),
        ({"type": str, "default": "a", "choices": "ab"}, "must have a tuple of choices"),
        ({"low": "0"}, "must have numbers as its range"),
        ({"type": str, "default": "a", "low": 0}, "must have numbers as its range"),
        ({"low": 3, "high": 1}, "must have a finite range, from low to high"),
        ({"low": float("nan")}, "must have a finite range"),
        ({"low": 2}, "'n' parameter of Option must be a whole number"),
        ({"default": np.float32(1)}, "'n' parameter of Option must be a whole number"),
    ],
)
def test_an_option_that_could_not_be_enforced_is_refused(facts: dict[str, Any], message: str) -> None:
    wv.Option(**make_options())
    with pytest.raises(wv.ParameterError, match=message):
        wv.Option(**make_options(**facts))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("n",), "must be a tuple of wv.Option"),
        ((wv.Option("n", int, "a"), wv.Option("n", int, "b")), "must have different names"),
    ],
)
def test_options_are_checked_where_a_class_is_registered(options: Any, message: str) -> None:
    odd = type("Odd", (Response,), {"options": options})
    with pytest.raises(wv.ParameterError, match=message):
        wv.register_mechanism(odd)


@pytest.mark.parametrize(
    "answers",
    [
        lambda ids: np.full(ids.shape, -1),
        lambda ids: ids + 1_000,
        lambda ids: ids.astype(float),
        lambda ids: ids.tolist(),
        lambda ids: ids[1:],
        lambda ids: ids[:, None],
        lambda ids: ids >= 0,
        lambda ids: None,
    ],
)
def test_answers_that_are_no_words_are_refused(small: wv.Embedding, answers: Any) -> None:
    class Odd(Response):
        def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> Any:
            return answers(ids)

    with pytest.raises(wv.ParameterError, match=r"Odd\._perturb must return a flat array"):
        Odd(small, 1.0).perturb_ids([0, 1])


def test_answers_may_have_any_type_of_whole_numbers(small: wv.Embedding) -> None:
    class Short(Response):
        def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
            return ids.astype(np.uint8)

    answers = Short(small, 1.0).perturb_ids([[0, 1]])
    assert answers.tolist() == [[0, 1]]
    assert answers.dtype == np.dtype(np.int64)


def test_a_parameter_must_not_be_hidden_by_the_block_list(small: wv.Embedding) -> None:
    blocked = wv.BlockList(["ale"], public=True)

    class Child(wv.Laplace):
        def parameters(self) -> dict[str, Any]:
            return super().parameters() | {"more": 1}

    assert Child(small, 1.0).blocking(blocked).parameters()["block_list"] == blocked.fingerprint[:16]
    for values in ({"block_list": "x"}, {"block_list": "y"}):
        hidden = Response(small, 1.0, tuple(values.items()))
        for mechanism in (hidden, hidden.blocking(blocked)):
            with pytest.raises(wv.ParameterError, match="must not have the key 'block_list'"):
                mechanism.setting()


@pytest.mark.parametrize("parameters", [None, [], {1: 2}])
def test_parameters_must_be_a_dict_with_names(small: wv.Embedding, parameters: Any) -> None:
    class Odd(Response):
        def parameters(self) -> dict[str, Any]:
            return parameters  # type: ignore[no-any-return]

    with pytest.raises(wv.ParameterError, match="must return a dict whose keys are str"):
        Odd(small, 1.0).setting()


def test_a_class_that_redefines_perturb_ids_has_no_block_list(small: wv.Embedding) -> None:
    class Own(Response):
        def perturb_ids(self, ids: ArrayLike, *, stream: wv.Stream | None = None) -> NDArray[np.int64]:
            return np.zeros(np.shape(ids), np.int64)

    wv.Perturber(Own(small, 1.0))
    with pytest.raises(wv.ParameterError, match="redefines perturb_ids"):
        wv.Perturber(Own(small, 1.0).blocking(wv.BlockList(["ale"], public=True)))


def test_a_guarantee_may_have_numbers_of_numpy(small: wv.Embedding, tmp_path: Path) -> None:
    class Whole(ResponseGuarantee):
        def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[Any]:
            return np.where(np.asarray(ids) != np.asarray(others), 2, 0)

        @property
        def worst_case(self) -> Bracket:
            return Bracket(np.float64(2.0), np.float64(2.0))

        @property
        def distance(self) -> tuple[float, str]:
            return np.float32(2.0), "hops"  # type: ignore[return-value]  # the case under test

    class Odd(Response):
        @property
        def guarantee(self) -> ResponseGuarantee:
            return Whole(self.embedding, self.epsilon)

    ledger = wv.Ledger(tmp_path / "ledger.sqlite")
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    wv.perturb_file(
        tmp_path / "in.csv",
        tmp_path / "a.csv",
        perturber=wv.Perturber(Odd(small, 2.0)),
        text="m",
        ledger=ledger,
    )
    assert [entry.setting["worst_case_exponent"] for entry in ledger.entries()] == [2.0]
    guarantee = Odd(small, 2.0).guarantee
    assert guarantee.neighbours[1].median == 2.0
    assert guarantee.nearest("tea", 1)[0][1] == 2.0


@pytest.mark.parametrize("promised", [None, 2.0, (2.0, 2.0)])
def test_something_else_than_a_guarantee_is_refused(
    small: wv.Embedding, tmp_path: Path, promised: Any
) -> None:
    class Odd(Response):
        @property
        def guarantee(self) -> Any:
            return promised

    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    with pytest.raises(wv.ParameterError, match="The guarantee of Odd must be a Guarantee"):
        wv.perturb_file(
            tmp_path / "in.csv", tmp_path / "a.csv", perturber=wv.Perturber(Odd(small, 2.0)), text="m"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_parameters_that_change_after_the_guarantee_was_read(small: wv.Embedding, tmp_path: Path) -> None:
    class Thawed(Response):
        pass

    perturber = wv.Perturber(Thawed(small, 2.0))
    assert perturber.guarantee.word.worst_case.upper == 2.0
    object.__setattr__(perturber.mechanism, "epsilon", 3.0)
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    with pytest.raises(wv.IntegrityError, match="Thawed were changed after its first use"):
        wv.perturb_file(tmp_path / "in.csv", tmp_path / "a.csv", perturber=perturber, text="m")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
