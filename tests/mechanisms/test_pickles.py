"""A pickle refers to vectors by name and fingerprint where it can, and includes them where it can't."""

import dataclasses
import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.embedding import pickled_vectors, save_store
from wordveil.embedding.catalog import stores_folder

MEGABYTE = 1 << 20
IDS = np.arange(-1, 200)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> wv.Embedding:
    """Vectors that the user imported as 'mine', different in every test: equal ones are kept in memory."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    vectors = np.random.default_rng(zlib.crc32(request.node.name.encode())).normal(size=(500, 20))
    embedding = wv.Embedding([f"w{i}" for i in range(500)], vectors, public=True)
    save_store(embedding, stores_folder() / "mine.safetensors")
    return wv.load_embedding("mine", public=True)


def answers(mechanism: wv.Mechanism) -> np.ndarray:
    return mechanism.perturb_ids(IDS, stream=wv.insecure_stream(1))


def test_the_default_vectors_are_left_out(glove: wv.Embedding) -> None:
    mechanism = wv.Mahalanobis(wv.load_embedding(), 10.0, 1.0)
    data = pickle.dumps(mechanism)
    assert len(data) < 3 * MEGABYTE  # the eigenbasis
    with pickled_vectors():
        assert len(pickle.dumps(mechanism)) > 90 * MEGABYTE
    again = pickle.loads(data)
    np.testing.assert_array_equal(answers(again), answers(mechanism))
    assert again.setting() == mechanism.setting()
    assert again.embedding.public
    assert pickle.loads(data).embedding is again.embedding
    assert len(pickle.dumps(again)) < 3 * MEGABYTE


def test_another_process_gives_the_same_answers() -> None:
    mechanism = wv.Mahalanobis(wv.load_embedding(), 10.0, 1.0)
    script = (
        "import pickle, sys, numpy as np, wordveil as wv\n"
        "mechanism = pickle.load(sys.stdin.buffer)\n"
        "ids = mechanism.perturb_ids(np.arange(-1, 200), stream=wv.insecure_stream(1))\n"
        "print(*ids)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=pickle.dumps(mechanism), capture_output=True, check=True
    )
    np.testing.assert_array_equal(np.array(done.stdout.split(), dtype=int), answers(mechanism))


def test_projections_and_arrays_are_included(glove: wv.Embedding, small: wv.Embedding) -> None:
    for embedding in (glove.project(3), small):
        mechanism = wv.Laplace(embedding, 2.0)
        assert not embedding.pickles_by_name
        again = pickle.loads(pickle.dumps(mechanism))
        np.testing.assert_array_equal(again._places, mechanism._places)


def test_imported_vectors(stored: wv.Embedding) -> None:
    mechanism = wv.Mahalanobis(stored, 2.0, 0.5)
    again = pickle.loads(pickle.dumps(mechanism))
    np.testing.assert_array_equal(answers(again), answers(mechanism))


def test_by_path_they_are_included(stored: wv.Embedding) -> None:
    assert not wv.load_embedding(stores_folder() / "mine.safetensors", public=True).pickles_by_name


def test_vectors_that_are_not_there(stored: wv.Embedding) -> None:
    mechanism = wv.Laplace(stored, 2.0)
    data = pickle.dumps(mechanism)
    with pickled_vectors():
        complete = pickle.dumps(mechanism)
    os.unlink(stores_folder() / "mine.safetensors")  # noqa: PTH108  # as somebody would
    with pytest.raises(wv.MachineError, match=r"The vectors 'mine' are not on this machine\. Hint: install"):
        pickle.loads(data)
    np.testing.assert_array_equal(answers(pickle.loads(complete)), answers(mechanism))


def test_other_vectors_of_that_name(stored: wv.Embedding, small: wv.Embedding) -> None:
    data = pickle.dumps(wv.Laplace(stored, 2.0))
    save_store(small, stores_folder() / "mine.safetensors", force=True)
    with pytest.raises(wv.IntegrityError, match="are not those of the pickle"):
        pickle.loads(data)


def test_the_eigenbasis_of_a_pickle_is_used(stored: wv.Embedding) -> None:
    """One from another machine may have other signs: it must not be computed again, nor taken from a cache."""
    usual = pickle.loads(pickle.dumps(wv.Mahalanobis(stored, 2.0, 0.5)))
    spectrum = stored.spectrum
    flipped = dataclasses.replace(spectrum, axes=spectrum.axes * np.array([-1.0] + [1.0] * 19))
    vars(stored)["_spectrum"] = flipped
    mechanism = wv.Mahalanobis(wv.load_embedding("mine", public=True), 2.0, 0.5)
    other = wv.Mahalanobis(stored, 2.0, 0.5)
    again = pickle.loads(pickle.dumps(other))
    np.testing.assert_array_equal(again.metric.axes, flipped.axes)
    np.testing.assert_array_equal(again.embedding.spectrum.axes, flipped.axes)
    np.testing.assert_array_equal(usual.embedding.spectrum.axes, spectrum.axes)
    assert again.embedding is not usual.embedding
    assert (again._places[:-1, 0] == -mechanism._places[:-1, 0]).all()


def test_a_perturber_that_changed_on_its_way_is_refused(small: wv.Embedding) -> None:
    perturber = wv.Perturber(wv.Laplace(small, 2.0))
    again = pickle.loads(pickle.dumps(perturber))
    assert again.fingerprint == perturber.fingerprint
    changed = pickle.loads(pickle.dumps(perturber))
    object.__setattr__(changed.mechanism, "epsilon", 2.0000001)
    with pytest.raises(wv.IntegrityError, match="parameters, vectors or code of this perturber differ"):
        changed.derive_stream(wv.RunKey(), "part")
