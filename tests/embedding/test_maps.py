"""Maps: what they say of themselves, what they refuse, and (with PyTorch and UMAP) what a fit does."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.embedding import load_parent, save_store
from wordveil.embedding.catalog import import_embedding
from wordveil.embedding.map_fit import MapOptions, _Fit, fit_map
from wordveil.embedding.map_settling import settled
from wordveil.embedding.maps import described_map, make_map

WORDS = 240
SMALL = MapOptions(steps=200, batch=96, targets=(0.3, 0.3, 0.3), cap=None)


@pytest.fixture(scope="module")
def toy() -> wv.Embedding:
    """Words in twelve clusters on a sphere of 20 dimensions."""
    random = np.random.default_rng(1)
    centres = random.normal(size=(12, 20))
    vectors = centres[np.arange(WORDS) % 12] + 0.4 * random.normal(size=(WORDS, 20))
    return wv.Embedding([f"w{i}" for i in range(WORDS)], vectors, public=True)


@pytest.fixture(scope="module")
def prior(toy: wv.Embedding) -> wv.Prior:
    return wv.Prior.by_rank(toy)


@pytest.fixture(scope="module")
def start(toy: wv.Embedding) -> NDArray[np.float32]:
    return np.asarray(toy.project(3).vectors)


def toy_map(toy: wv.Embedding, start: NDArray[np.float32]) -> wv.Embedding:
    return described_map(toy, start, "toy-map", "neighbours", MapOptions(), "", None)


def test_a_map_says_what_it_was_made_from(toy: wv.Embedding, start: NDArray[np.float32]) -> None:
    mapped = toy_map(toy, start)
    assert mapped.is_map
    assert not toy.is_map
    assert not toy.project(3).is_map
    assert mapped.words == toy.words
    assert mapped.provenance.parent == toy.project(3).provenance.parent == toy.fingerprint
    assert toy.fingerprint in mapped.provenance.source
    assert "UMAP" in mapped.provenance.preprocessing
    assert mapped.fingerprint != toy.fingerprint
    assert "on a public map of words" in str(wv.Laplace(mapped, 1.0).guarantee)
    assert "on a public map" not in str(wv.Laplace(toy, 1.0).guarantee)


def test_the_last_step_moves_function_words_closer_and_rare_words_apart(
    start: NDArray[np.float32], prior: wv.Prior
) -> None:
    content = prior.shares.copy()
    content[:10] = 0.0  # function words
    moved = settled(start, prior.shares, content, MapOptions(function_words=0.5, rare_words=1.2))
    nearest = np.linalg.norm(start[:, None] - start[None], axis=2).argsort(axis=1)[:, :100]
    before = start - start[nearest].mean(axis=1)
    after = moved - moved.mean(axis=0) + start.mean(axis=0) - start[nearest].mean(axis=1)
    shift = (after - 0.8 * before)[10:90].mean(axis=0) - 0.2 * before[10:90].mean(
        axis=0
    )  # the mean has moved
    ratios = np.linalg.norm(after - shift, axis=1) / np.linalg.norm(before, axis=1)
    rare = np.argsort(prior.shares[:-1], kind="stable")[: int(0.6 * WORDS)]
    assert ratios[:10] == pytest.approx(0.5, abs=1e-4)
    assert ratios[rare] == pytest.approx(1.2, abs=1e-4)
    others = np.setdiff1d(np.arange(10, WORDS), rare)
    assert ratios[others] == pytest.approx(1.0, abs=1e-4)
    assert np.allclose(moved.mean(axis=0), 0.0, atol=1e-5)


def test_it_is_stored_and_finds_its_parent(
    toy: wv.Embedding, start: NDArray[np.float32], tmp_path: Path
) -> None:
    mapped = toy_map(toy, start)
    path = tmp_path / "map.safetensors"
    save_store(mapped, path)
    loaded = wv.load_embedding(path)
    assert loaded.is_map
    assert loaded.provenance == mapped.provenance
    assert loaded.fingerprint == mapped.fingerprint
    with pytest.raises(wv.MachineError, match="are not on this machine"):
        load_parent(loaded)
    with pytest.raises(wv.MachineError, match="are not on this machine"):
        wv.Laplace(loaded, 1.0, answer="closest").perturb_ids([0])
    assert len(wv.Laplace(loaded, 1.0, answer="likeliest").perturb_ids([0])) == 1
    import_embedding(toy, "toy")
    assert load_parent(loaded).fingerprint == toy.fingerprint
    assert len(wv.Laplace(loaded, 1.0, answer="closest").perturb_ids([0])) == 1


def test_a_projection_that_was_not_loaded_by_name_keeps_its_parent(toy: wv.Embedding) -> None:
    assert load_parent(toy.project(3)) is toy
    assert load_parent(toy) is toy


def test_private_vectors_or_counts_are_refused(toy: wv.Embedding) -> None:
    with pytest.warns(wv.PrivacyWarning):
        private = wv.Embedding(toy.words, toy.vectors)
    with pytest.raises(wv.ParameterError, match="must be made from public vectors and public word counts"):
        make_map(private, 3)
    with pytest.warns(wv.PrivacyWarning):
        counts = wv.Prior.from_counts(toy, {"w1": 5.0})
    with pytest.raises(wv.ParameterError, match="must be made from public vectors and public word counts"):
        toy.mapped(3, prior=counts)


def test_bad_parameters(toy: wv.Embedding) -> None:
    for dims in (1, 21, 2.5):
        with pytest.raises(wv.ParameterError, match="dims"):
            make_map(toy, dims)  # type: ignore[arg-type]  # some are no whole numbers
    with pytest.raises(wv.ParameterError, match="method"):
        make_map(toy, 3, method="magic")  # type: ignore[arg-type]  # the mistake


def test_the_extra_is_named_if_it_is_missing(toy: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(wv.MissingExtraError, match="maps"):
        make_map(toy, 3, method="neighbours")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(wv.MissingExtraError, match="maps"):
        make_map(toy, 3, prior=wv.Prior.by_rank(toy))


@pytest.fixture(autouse=True)
def _one_thread(request: pytest.FixtureRequest) -> None:
    """Tables this small are slower in several threads."""
    if request.node.get_closest_marker("torch"):
        import torch

        torch.set_num_threads(1)


@pytest.mark.torch
def test_a_fit_meets_its_targets_and_gets_closer(
    toy: wv.Embedding, start: NDArray[np.float32], prior: wv.Prior
) -> None:
    fit = fit_map(toy.vectors, start, prior.shares, prior.content().shares, SMALL)
    assert fit.positions.shape == start.shape
    assert np.abs(fit.positions.mean(axis=0)).max() < 1e-3
    first, last = fit.history[0], fit.history[-1]
    assert last["cosine"] > first["cosine"] - 0.05
    assert last["tokens"] == pytest.approx(0.3, abs=0.1)
    # The library's own measure of the same thing, with words outside of the vocabulary.
    from wordveil.attacker import guess_rate

    mapped = described_map(toy, fit.positions, "", "learned", SMALL, "", prior)
    assert guess_rate(wv.Laplace(mapped, 1.0), prior).success.share == pytest.approx(last["tokens"], abs=0.1)


@pytest.mark.torch
@pytest.mark.parametrize("cap", [None, 0.2])
def test_its_derivatives_are_those_of_the_loss(
    toy: wv.Embedding, start: NDArray[np.float32], prior: wv.Prior, cap: float | None
) -> None:
    import torch

    options = MapOptions(batch=300, cap=cap)
    fit = _Fit(torch, toy.vectors, start, prior.shares, prior.content().shares, options, "cpu")
    fit.multipliers += 1.5
    fit.word_multipliers += torch.linspace(0.0, 2.0, WORDS)
    for group in range(3):
        before, multipliers = fit.generator.get_state(), fit.word_multipliers.clone()
        gradient = torch.zeros_like(fit.positions)
        cosine, success = fit._add_group(group, 100, gradient)
        fit.generator.set_state(before)
        fit.word_multipliers = multipliers
        fit.positions.requires_grad_(True)
        ids = fit._group(group, 100)
        points, places = fit._noisy(ids), fit._places()
        distances = (points[:, None, :] - places).square().sum(2).clamp_min(1e-6).sqrt()
        logs = torch.log_softmax(fit.logs[group] - distances, dim=1)
        expected_cosine = ((logs.exp()[:, :-1] @ fit.units) * fit.units[ids]).sum(1).mean()
        expected_success = logs.exp().amax(dim=1)[: fit._plain(100)].mean()
        loss = -expected_cosine + fit.multipliers[group] * expected_success
        if cap is not None:
            sharp = torch.softmax(3.0 * logs, dim=1)[torch.arange(100), ids]
            loss = loss + (multipliers[ids] * (sharp - cap)).mean()
        (expected,) = torch.autograd.grad(loss, fit.positions)
        fit.positions.requires_grad_(False)
        assert torch.allclose(cosine, expected_cosine, atol=1e-5)
        assert torch.allclose(success, expected_success, atol=1e-5)
        assert torch.allclose(gradient, expected, atol=1e-5 + 1e-3 * float(expected.abs().max()))
        assert float(expected.abs().max()) > 1e-3


@pytest.mark.torch
def test_a_cap_protects_the_most_exposed_words(
    toy: wv.Embedding, start: NDArray[np.float32], prior: wv.Prior
) -> None:
    from wordveil.attacker import word_exposures

    worst = []
    for cap in (None, 0.2):
        options = MapOptions(steps=200, batch=96, targets=(0.3, 0.3, 0.3), cap=cap)
        fit = fit_map(toy.vectors, start, prior.shares, prior.content().shares, options)
        mapped = described_map(toy, fit.positions, "", "learned", options, "", prior)
        exposures = word_exposures(wv.Laplace(mapped, 1.0), prior, np.arange(WORDS), draws=50)
        worst.append(float(np.quantile(exposures.largest, 0.95)))
    assert worst[1] < worst[0]


@pytest.mark.torch
def test_an_interrupted_fit_goes_on_where_it_stopped(
    toy: wv.Embedding, start: NDArray[np.float32], prior: wv.Prior
) -> None:
    options = MapOptions(steps=1100, batch=12, targets=(0.3, 0.3, 0.3))
    states: list[dict[str, Any]] = []
    content = prior.content().shares

    def save(state: dict[str, Any]) -> None:
        import copy

        states.append(copy.deepcopy(state))

    complete = fit_map(toy.vectors, start, prior.shares, content, options, save=save)
    assert [state["step"] for state in states] == [1000]
    resumed = fit_map(toy.vectors, start, prior.shares, content, options, state=states[0])
    assert np.allclose(resumed.positions, complete.positions, atol=1e-3)


@pytest.mark.torch
def test_both_methods_with_the_real_libraries(toy: wv.Embedding, prior: wv.Prior, tmp_path: Path) -> None:
    neighbours = toy.mapped(3, method="neighbours")
    assert (len(neighbours), neighbours.dim, neighbours.is_map) == (WORDS, 3, True)
    steps: list[int] = []
    learned = toy.mapped(
        3,
        prior=prior,
        options=MapOptions(steps=100, batch=12),
        watch=lambda done, total: steps.append(done),
        checkpoint=tmp_path / "state",
    )
    assert learned.is_map
    assert steps == [100]
    assert not (tmp_path / "state").exists()
    assert "PyTorch" in learned.provenance.preprocessing
    assert prior.fingerprint[:16] in learned.provenance.preprocessing
    assert len(wv.Perturber(wv.Laplace(learned, 1.0, answer="closest"))("w1 w2 unknown").split()) == 3
    with pytest.raises(wv.ParameterError, match="needs the use of words"):
        toy.mapped(3)
