import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import wordveil as wv
from wordveil.embedding.store import open_store, save_store

ABOUT = wv.Provenance(name="tiny", source="test", licence="CC0", preprocessing="none")


@pytest.fixture
def emb() -> wv.Embedding:
    draws = np.random.default_rng(1)
    return wv.Embedding(
        ["naïve", "東京", "new york", "👍"], draws.normal(size=(4, 5)), provenance=ABOUT, public=True
    )


def test_round_trip(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    assert save_store(emb, path) == emb.fingerprint
    back = open_store(path)
    assert back.words == emb.words
    assert back.provenance == ABOUT
    assert back.fingerprint == emb.fingerprint
    np.testing.assert_array_equal(back.vectors, emb.vectors)
    back.verify()
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.safetensors"]


def test_float16_is_rounded_and_fingerprinted_as_rounded(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    fingerprint = save_store(emb, path, dtype="float16")
    back = open_store(path)
    np.testing.assert_array_equal(back.vectors, emb.vectors.astype(np.float16).astype(np.float32))
    assert back.fingerprint == fingerprint == wv.Embedding(back.words, back.vectors, public=True).fingerprint
    back.verify()


def test_a_float32_store_is_mapped_not_copied(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    save_store(emb, path)
    back = open_store(path)
    assert np.shares_memory(back.vectors, back._stored)


def test_other_programs_can_read_it(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    save_store(emb, path)
    tensors = load_file(path)
    np.testing.assert_array_equal(tensors["vectors"], emb.vectors)
    ends = tensors["offsets"]
    assert tensors["words"].tobytes()[ends[1] : ends[2]].decode() == "東京"


def test_too_large_for_float16_names_the_word(tmp_path: Path) -> None:
    emb = wv.Embedding(["small", "huge"], [[1.0], [70_000.0]], public=True)
    with pytest.raises(wv.FormatError, match="word 2 is too large for float16"):
        save_store(emb, tmp_path / "x.safetensors", dtype="float16")
    assert not list(tmp_path.iterdir())


def test_a_projection_is_not_stored(emb: wv.Embedding, tmp_path: Path) -> None:
    with pytest.raises(wv.ParameterError, match="project it after loading"):
        save_store(emb.project(2), tmp_path / "x")


def test_metadata_that_would_write_on_the_terminal_is_refused(tmp_path: Path) -> None:
    tensors, metadata = good_parts()
    save_file(tensors, tmp_path / "x", metadata | {"name": "\x1b[2J"})
    with pytest.raises(wv.FormatError, match="control characters"):
        open_store(tmp_path / "x")


def test_a_single_vector_that_is_not_finite(tmp_path: Path) -> None:
    tensors, metadata = good_parts()
    tensors["vectors"] = np.full((2, 3), np.inf, dtype=np.float32)
    save_file(tensors, tmp_path / "x", metadata)
    with pytest.raises(wv.FormatError, match="not a finite number"):
        open_store(tmp_path / "x").vector("a")


def test_unknown_dtype(emb: wv.Embedding, tmp_path: Path) -> None:
    with pytest.raises(wv.ParameterError, match="'dtype'"):
        save_store(emb, tmp_path / "x", dtype="int8")  # type: ignore[arg-type]  # that is the test


def test_refuses_to_replace_without_force(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    path.write_bytes(b"old")
    with pytest.raises(wv.ParameterError, match="exists already"):
        save_store(emb, path)
    assert path.read_bytes() == b"old"
    save_store(emb, path, force=True)
    open_store(path).verify()


def tampered(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_verify_detects_a_changed_vector(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    save_store(emb, path)
    header = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    tampered(path, header + 4)
    changed = open_store(path)
    with pytest.raises(wv.IntegrityError, match="changed or damaged"):
        changed.verify()
    with pytest.raises(wv.IntegrityError):
        changed.project(2)


def test_verify_detects_a_changed_word(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    save_store(emb, path)
    tampered(path, path.stat().st_size - 9)
    with pytest.raises(wv.FormatError):
        open_store(path).verify()


def good_parts() -> tuple[dict[str, np.ndarray], dict[str, str]]:
    tensors = {
        "vectors": np.ones((2, 3), dtype=np.float32),
        "offsets": np.array([0, 1, 2]),
        "words": np.frombuffer(b"ab", dtype=np.uint8),
    }
    return tensors, {"form": "wordveil-embedding-1", "fingerprint": "0" * 64}


def test_the_parts_below_are_good_until_spoilt(tmp_path: Path) -> None:
    tensors, metadata = good_parts()
    save_file(tensors, tmp_path / "x", metadata)
    assert open_store(tmp_path / "x").words == ("a", "b")


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"vectors": np.ones((2, 3), dtype=np.float64)}, "'vectors' is missing or of the wrong kind"),
        ({"vectors": np.ones(6, dtype=np.float32)}, "'vectors' is missing or of the wrong kind"),
        ({"vectors": np.ones((1, 3), dtype=np.float32)}, "fewer than 2 words"),
        ({"vectors": np.ones((3, 3), dtype=np.float32)}, "do not fit"),
        ({"offsets": np.array([0, 1, 3])}, "do not fit"),
        ({"offsets": np.array([1, 1, 2])}, "do not fit"),
        ({"offsets": np.array([0, 0, 2])}, "overlap or are empty"),
        ({"offsets": np.array([0, 9, 2])}, "overlap or are empty"),
        ({"offsets": None}, "'offsets' is missing"),
        ({"words": np.array([97.0, 98.0])}, "'words' is missing or of the wrong kind"),
        ({"words": np.frombuffer(b"a\xff", dtype=np.uint8)}, "not valid UTF-8"),
        ({"words": np.frombuffer(b"a\n", dtype=np.uint8)}, "control characters"),
        ({"words": np.frombuffer(b"aa", dtype=np.uint8)}, "twice"),
        ({"vectors": np.full((2, 3), np.nan, dtype=np.float32)}, "word 0 .* not a finite"),
    ],
)
def test_refuses_inconsistent_tensors(
    spoilt: dict[str, np.ndarray | None], message: str, tmp_path: Path
) -> None:
    tensors, metadata = good_parts()
    present = {key: value for key, value in (tensors | spoilt).items() if value is not None}
    save_file(present, tmp_path / "x", metadata)
    with pytest.raises(wv.FormatError, match=message):
        vars(loaded := open_store(tmp_path / "x")), loaded.id_of("a"), loaded.vectors


def test_refuses_other_safetensors_and_damaged_ones(emb: wv.Embedding, tmp_path: Path) -> None:
    save_file({"weights": np.ones(3)}, tmp_path / "other")
    with pytest.raises(wv.FormatError, match="not an embedding stored by wordveil"):
        open_store(tmp_path / "other")
    save_store(emb, tmp_path / "good")
    data = (tmp_path / "good").read_bytes()
    for name, content in {"short": data[:-1], "long": data + b"x", "junk": b"\xff" * 100}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(wv.FormatError, match="not a valid safetensors file"):
            open_store(tmp_path / name)


def test_a_header_that_claims_more_than_the_file_is_refused(emb: wv.Embedding, tmp_path: Path) -> None:
    path = tmp_path / "x"
    save_store(emb, path)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["vectors"]["shape"] = [1 << 40, 1 << 10]
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    with pytest.raises(wv.FormatError, match="not a valid safetensors file"):
        open_store(path)


WRITER = """
import resource, sys, time, pathlib, numpy as np, wordveil as wv
from wordveil.embedding import store
path = pathlib.Path(sys.argv[1])
emb = wv.Embedding([f"w{i}" for i in range(20000)], np.ones((20000, 50)) * np.arange(20000)[:, None], public=True)
if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
else:
    blocks = store._little_endian_blocks
    def slowly(*arguments):
        for block in blocks(*arguments):
            print("writing", flush=True)
            yield block
            for _ in range(600):  # short sleeps: a signal just before a long one would wait for its end
                time.sleep(0.05)
    store._little_endian_blocks = slowly
store.save_store(emb, path, force=True)
"""


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(path), "full"], capture_output=True, text=True, check=False
    )
    assert "OSError" in done.stderr
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.safetensors"]


def test_ctrl_c_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"old")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), "slow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs ignore it
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert len(list(tmp_path.iterdir())) == 2
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in errors
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.safetensors"]


def test_a_file_that_appears_in_the_meantime_is_not_replaced(emb: wv.Embedding, tmp_path: Path) -> None:
    from wordveil.atomic import atomic_write

    path = tmp_path / "x"
    with pytest.raises(wv.ParameterError, match="exists already"), atomic_write(path) as file:
        file.write(b"new")
        path.write_bytes(b"other")
    assert path.read_bytes() == b"other"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
