"""Two mechanisms that answer differently never pass for one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.stopped_runs import StoppedRun

import wordveil as wv
from wordveil import perturber as perturber_module
from wordveil.runs import run as run_module

from .response import Response


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
    assert "exp(exponent) times as likely" in text
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
