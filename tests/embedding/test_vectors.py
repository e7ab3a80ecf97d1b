import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.embedding.checks import is_plain_word

WORDS = ["cat", "dog", "car", "bus"]
VECTORS = [[1.0, 0.1, 0.0], [0.9, 0.2, 0.1], [0.0, 1.0, -1.0], [0.1, 0.9, -1.2]]


@pytest.fixture
def emb() -> wv.Embedding:
    return wv.Embedding(WORDS, VECTORS, public=True)


def test_lookup_both_ways(emb: wv.Embedding) -> None:
    assert emb.words == tuple(WORDS)
    assert [emb.id_of(word) for word in WORDS] == [0, 1, 2, 3]
    assert emb.id_of("cow") is None
    assert emb.ids_of(["bus", "cow", "cat"]).tolist() == [3, -1, 0]
    assert "cat" in emb
    assert "cow" not in emb
    assert list(emb) == WORDS
    assert (len(emb), emb.dim) == (4, 3)


def test_vectors_are_float32_and_copied() -> None:
    array = np.array(VECTORS)
    emb = wv.Embedding(WORDS, array, public=True)
    array[:] = 0.0
    assert emb.vectors.dtype == np.float32
    np.testing.assert_array_equal(emb.vectors, np.array(VECTORS, dtype=np.float32))
    np.testing.assert_array_equal(emb.vector("dog"), emb.vectors[1])


def test_immutable(emb: wv.Embedding) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        emb.words = ()
    with pytest.raises(AttributeError, match="immutable"):
        del emb.words
    with pytest.raises(ValueError, match="read-only"):
        emb.vectors[0, 0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        emb.centroid[0] = 5.0
    with pytest.raises(AttributeError, match="immutable"):
        emb.__init__(WORDS, VECTORS)


def test_arrays_can_not_be_made_writeable(glove: wv.Embedding, emb: wv.Embedding) -> None:
    for embedding in (emb, emb.project(2), glove, pickle.loads(pickle.dumps(emb))):
        for array in (embedding.vectors, embedding.spectrum.axes, embedding.centroid):
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True


@pytest.mark.parametrize("name", ["\x1b[2J", "\ud800", "a\nb", 5])
def test_provenance_is_printable(name: str) -> None:
    with pytest.raises(wv.ParameterError, match="printable"):
        wv.Provenance(name=name)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], [[1.0]], "at least 2 words"),
        (["a", "b"], [[1.0]], "at least 2 words"),
        (["a", "b", "c"], [[1.0], [2.0]], "3 words and 2 vectors"),
        (["a", "a"], [[1.0], [2.0]], "word 1 is a repeat"),
        (["a", " "], [[1.0], [2.0]], "Word 1"),
        (["a", "b\nc"], [[1.0], [2.0]], "Word 1"),
        (["a", "\ud800"], [[1.0], [2.0]], "Word 1"),
        (["a", 5], [[1.0], [2.0]], "Word 1"),
        ("ab", [[1.0], [2.0]], "list of str"),
        (["a", "b"], [1.0, 2.0], "a table"),
        (["a", "b"], [["x"], ["y"]], "a table"),
        (["a", "b"], [[1.0], [np.nan]], "word 1 .* finite"),
        (["a", "b"], [[1e39], [1.0]], "word 0 .* finite"),
    ],
)
def test_refuses(words: list[str], vectors: list[list[float]], message: str) -> None:
    with pytest.raises(wv.ParameterError, match=message):
        wv.Embedding(words, vectors, public=True)


def test_neighbours_are_by_cosine_and_leave_the_word_out(emb: wv.Embedding) -> None:
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    cosines = unit @ unit[0]
    order = sorted((i for i in range(4) if i != 0), key=lambda i: -cosines[i])
    close = emb.neighbours("cat", 10)
    assert [word for word, _ in close] == [WORDS[i] for i in order]
    np.testing.assert_allclose([c for _, c in close], cosines[order], rtol=1e-5)


def test_neighbours_of_an_unknown_word_do_not_quote_it(emb: wv.Embedding) -> None:
    with pytest.raises(wv.UnknownNameError) as caught:
        emb.neighbours("secret")
    assert "secret" not in str(caught.value)


def test_a_zero_vector_has_cosine_zero() -> None:
    emb = wv.Embedding(["nil", "a", "b"], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], public=True)
    assert emb.neighbours("nil") == [("a", 0.0), ("b", 0.0)]


def sample(rows: int, dim: int) -> NDArray[np.float64]:
    draws = np.random.default_rng(5)
    return draws.normal(size=(rows, dim)) @ draws.normal(size=(dim, dim)) + draws.normal(size=dim)


def test_spectrum_is_that_of_the_sample_covariance() -> None:
    emb = wv.Embedding([f"w{i}" for i in range(5000)], sample(5000, 7), public=True)
    raw = emb.vectors.astype(np.float64)
    covariance = np.cov(raw, rowvar=False)
    scaled = covariance / (np.trace(covariance) / 7)
    spectrum = emb.spectrum
    np.testing.assert_allclose(spectrum.centroid, raw.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(spectrum.covariance, scaled, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(spectrum.mean_variance, np.trace(covariance) / 7, rtol=1e-12)
    np.testing.assert_allclose(spectrum.eigenvalues.sum(), 7.0, rtol=1e-12)
    assert (np.diff(spectrum.eigenvalues) >= 0).all()
    np.testing.assert_allclose(spectrum.axes.T @ spectrum.axes, np.eye(7), atol=1e-12)
    assert emb.spectrum is spectrum
    assert (spectrum.axes[np.abs(spectrum.axes).argmax(axis=0), np.arange(7)] > 0.0).all()


def test_spectrum_of_equal_vectors_is_zero() -> None:
    emb = wv.Embedding(["a", "b"], [[1.0, 2.0], [1.0, 2.0]], public=True)
    assert emb.spectrum.mean_variance == 0.0
    assert (emb.spectrum.eigenvalues == 0.0).all()


def test_projection_keeps_the_top_axes_and_increases_no_distance() -> None:
    emb = wv.Embedding([f"w{i}" for i in range(300)], sample(300, 6), public=True)
    for k in (1, 3, 6):
        small = emb.project(k)
        assert small.dim == k
        variances = small.vectors.astype(np.float64).var(axis=0, ddof=1)
        expected = emb.spectrum.eigenvalues[::-1][:k] * emb.spectrum.mean_variance
        np.testing.assert_allclose(variances, expected, rtol=1e-4)
        full = np.linalg.norm(emb.vectors[:50, None] - emb.vectors[None, :50], axis=2)
        projected = np.linalg.norm(small.vectors[:50, None] - small.vectors[None, :50], axis=2)
        assert (projected <= full * (1 + 1e-5) + 1e-5).all()
    np.testing.assert_allclose(projected, full, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("k", [0, 4, -1, 1.5, True])
def test_projection_refuses(emb: wv.Embedding, k: int) -> None:
    with pytest.raises(wv.ParameterError, match="from 1 to 3"):
        emb.project(k)


def test_fingerprint_changes_with_words_order_and_vectors(emb: wv.Embedding) -> None:
    same = wv.Embedding(WORDS, VECTORS, provenance=wv.Provenance(name="other name"), public=True)
    assert same.fingerprint == emb.fingerprint
    assert len(emb.fingerprint) == 64
    nudged = np.array(VECTORS, dtype=np.float32)
    nudged[3, 2] = np.nextafter(nudged[3, 2], 0.0)
    others = [
        wv.Embedding(["cat", "dog", "car", "tram"], VECTORS, public=True),
        wv.Embedding(["dog", "cat", "car", "bus"], VECTORS, public=True),
        wv.Embedding(["ca", "tdog", "car", "bus"], VECTORS, public=True),
        wv.Embedding(WORDS, nudged, public=True),
    ]
    assert len({emb.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_fingerprint_of_a_projection_is_of_its_parent_and_k(emb: wv.Embedding) -> None:
    same = wv.Embedding(WORDS, VECTORS, public=True)
    assert emb.project(2).fingerprint == same.project(2).fingerprint
    assert len({emb.fingerprint, emb.project(2).fingerprint, emb.project(3).fingerprint}) == 3
    emb.project(2).verify()


def test_pickles_with_words_vectors_and_fingerprint(glove: wv.Embedding, emb: wv.Embedding) -> None:
    for original in (emb, emb.project(2), glove):
        copy = pickle.loads(pickle.dumps(original))
        assert copy.words == original.words
        assert copy.fingerprint == original.fingerprint
        np.testing.assert_array_equal(copy.vectors, original.vectors)
        copy.verify()
        original.spectrum  # noqa: B018  # computes it
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(original))._spectrum.axes, original.spectrum.axes
        )
        with pytest.raises(ValueError, match="read-only"):
            copy.vectors[0, 0] = 1.0


def test_repr_says_how_large(emb: wv.Embedding) -> None:
    assert repr(emb) == "Embedding(4 words, 3 dimensions)"


@pytest.mark.parametrize(
    "word", ["a", "don't", "naïve", "東京", "new york", "e-mail", "👍", "👩\u200d🚀", "שלום", "क्षि"]
)
def test_plain_words(word: str) -> None:
    assert is_plain_word(word)


@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "\u00a0",
        "a\tb",
        "a\nb",
        "a\x85b",
        "a\u2028b",
        "\x00",
        "\x1b[2J",
        "\u202eevil",
        "\ud800",
        "\ufeff",
        "a\u200bb",
        "a\xadb",
        " a",
        "a ",
        "a" * 1001,
    ],
)
def test_words_that_are_not_plain(word: str) -> None:
    assert not is_plain_word(word)


def test_default_vectors(glove: wv.Embedding) -> None:
    assert (len(glove), glove.dim) == (33_752, 300)
    glove.verify()
    for word, expected in {
        "king": {"queen", "prince"},
        "monday": {"tuesday", "friday"},
        "boston": {"chicago", "philadelphia"},
        "diabetes": {"diabetic", "obesity"},
    }.items():
        assert expected <= {other for other, _ in glove.neighbours(word, 6)}


def test_threads_share_one_embedding() -> None:
    emb = wv.load_embedding()
    seen: list[int | None] = []
    threads = [threading.Thread(target=lambda: seen.append(emb.id_of("king"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 1


def test_import_is_light_and_the_default_opens_quickly() -> None:
    """It takes under 0.2 s of processor time after the import, and reads only part of the 20 MB file."""
    code = (
        "import sys, time, wordveil as wv\n"
        "wv.load_embedding  # imports it\n"
        "heavy = {'pandas', 'sklearn', 'torch', 'matplotlib', 'pyspark', 'spacy', 'gensim', 'pyarrow'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "start = time.process_time()\n"
        "emb = wv.load_embedding()\n"
        "vector = emb.vector('king')\n"
        "seconds = time.process_time() - start\n"
        "assert vector.shape == (300,)\n"
        "assert 'vectors' not in vars(emb)\n"
        "smaps = open('/proc/self/smaps').read().split('glove-840b-300d.safetensors\\n')[1:]\n"
        "resident = sum(int(part.split('Rss:')[1].split()[0]) for part in smaps)\n"
        "print(seconds, resident)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, resident_kib = map(float, done.stdout.split())
    assert seconds < 0.2
    assert 0 < resident_kib < 5_000
