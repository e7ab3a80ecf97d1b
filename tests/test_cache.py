"""What is kept between processes: only what fits its key and checksum is used, and nothing that fails is an error."""

import json
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import wordveil as wv
from wordveil import cache
from wordveil.cache import cached
from wordveil.embedding.catalog import import_embedding
from wordveil_glove import PREPARED_PATH

TOOLS = Path(__file__).parent.parent / "packages" / "wordveil-glove" / "tools"
KEY = {"vectors": "abc", "form": 1}


def cached_json(kind: str, key: dict[str, object], compute: Callable[[], Any]) -> Any:
    content = cached(kind, key, lambda: {"json": np.frombuffer(json.dumps(compute()).encode(), np.uint8)})
    return json.loads(content["json"].tobytes())


def arrays() -> cache.Arrays:
    return {"table": np.arange(12.0).reshape(3, 4), "codes": np.arange(-3, 3, dtype=np.int8)}


def never() -> cache.Arrays:
    raise AssertionError("it is in the cache")


def entries() -> list[Path]:
    folder = cache._user_folder()
    return sorted(folder.iterdir()) if folder.exists() else []


def test_what_was_computed_once_is_read_again() -> None:
    first = cached("test", KEY, arrays)
    again = cached("test", KEY, never)
    assert first.keys() == again.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])
        assert array.dtype == again[name].dtype
        assert not again[name].flags.writeable
    (entry,) = entries()
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(("kind", "key"), [("other", KEY), ("test", KEY | {"form": 2}), ("test", {})])
def test_another_key_is_another_entry(kind: str, key: dict[str, object]) -> None:
    cached("test", KEY, arrays)
    assert cached_json(kind, key, lambda: "computed") == "computed"


def test_an_entry_under_the_name_of_another_key_is_not_used() -> None:
    cached("test", KEY, arrays)
    (entry,) = entries()
    cached("test", {"form": 2}, lambda: {"table": np.zeros(1)})
    (other,) = set(entries()) - {entry}
    other.replace(entry)
    np.testing.assert_array_equal(cached("test", KEY, arrays)["table"], arrays()["table"])


def test_a_damaged_entry_is_computed_again() -> None:
    """One bit of each byte: of the length, the header with its names and shapes, the key, and the numbers."""
    cached("test", KEY, arrays)
    (entry,) = entries()
    content = entry.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        entry.write_bytes(damaged)
        result = cached("test", KEY, arrays)
        assert {name: array.tolist() for name, array in result.items()} == {
            name: array.tolist() for name, array in arrays().items()
        }, place
    assert len(entry.read_bytes()) == len(content)  # the order in its header is not fixed


@pytest.mark.parametrize("header", [b"abc", b"1", b"null", b"[" * 5000, b'{"__metadata__": {}}'])
def test_any_header_is_no_error(header: bytes) -> None:
    cached("test", KEY, arrays)
    (entry,) = entries()
    entry.write_bytes(len(header).to_bytes(8, "little") + header + bytes(100))
    np.testing.assert_array_equal(cached("test", KEY, arrays)["table"], arrays()["table"])


@pytest.mark.parametrize("size", [0, 1, 8, 100, 10**6])
def test_an_entry_of_another_size_is_computed_again(size: int) -> None:
    cached("test", KEY, arrays)
    (entry,) = entries()
    os.truncate(entry, size)
    np.testing.assert_array_equal(cached("test", KEY, arrays)["table"], arrays()["table"])
    np.testing.assert_array_equal(cached("test", KEY, never)["table"], arrays()["table"])


def test_a_folder_that_others_can_write_to_is_not_read() -> None:
    cached("test", KEY, arrays)
    cache._user_folder().chmod(0o777)
    assert cached_json("test", KEY, lambda: "computed") == "computed"


def test_entries_are_used_whatever_the_umask_is() -> None:
    """By default, many systems let the group write to new files."""
    before = os.umask(0o002)
    try:
        cached("test", KEY, arrays)
        np.testing.assert_array_equal(cached("test", KEY, never)["table"], arrays()["table"])
    finally:
        os.umask(before)
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in entries()] == [0o600]


def test_without_a_folder_everything_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no folder can be made in it
    assert cached_json("test", KEY, lambda: [1]) == [1]
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(cache, "user_folder", lambda *_: (_ for _ in ()).throw(wv.MachineError("no home")))
    assert cached_json("test", KEY, lambda: [2]) == [2]


def test_a_full_disk_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_write", full)
    assert cached_json("test", KEY, lambda: [1]) == [1]
    assert entries() == []


def test_the_oldest_entries_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_BYTES", 3000)
    for number in range(4):
        cached("test", {"number": number}, lambda: {"zeros": np.zeros(100)})
        for age, entry in enumerate(sorted(entries(), key=lambda path: path.stat().st_mtime)):
            os.utime(entry, (1000 + age, 1000 + age))
    assert 1 < len(entries()) < 4
    assert sum(entry.stat().st_size for entry in entries()) <= 3000
    cached("test", {"number": 3}, never)
    with pytest.raises(AssertionError):
        cached("test", {"number": 0}, never)


def test_strange_things_in_the_folder_do_not_end_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_BYTES", 3000)
    cached("test", KEY, arrays)
    folder = cache._user_folder()
    (folder / "dangling").symlink_to(folder / "nothing")
    (folder / "folder").mkdir()
    for number in range(6):
        cached("test", {"number": number}, lambda: {"zeros": np.zeros(100)})
    assert sum(entry.stat().st_size for entry in entries() if entry.suffix == ".safetensors") <= 3000


def test_an_error_of_the_computation_is_not_hidden() -> None:
    with pytest.raises(AssertionError, match="it is in the cache"):
        cached("test", KEY, never)
    assert entries() == []


def use(embedding: wv.Embedding) -> None:
    mechanism = wv.Laplace(embedding, 1.0)
    str(mechanism.guarantee)
    wv.Perturber(mechanism).exposure()


def test_nothing_is_kept_about_vectors_without_a_name(small: wv.Embedding) -> None:
    use(small)
    use(small.project(2))
    use(pickle.loads(pickle.dumps(small.project(2))))
    assert entries() == []


def test_nothing_is_kept_about_vectors_that_nobody_declared_public(small: wv.Embedding) -> None:
    with pytest.warns(wv.PrivacyWarning, match="Nobody has declared"):
        private = wv.Embedding(small.words, small.vectors)
    import_embedding(private, "private")
    with pytest.warns(wv.PrivacyWarning, match="Nobody has declared"):
        named = wv.load_embedding("private")
    use(named)
    use(named.project(2))
    assert entries() == []


def test_numbers_of_a_damaged_file_are_not_kept(small: wv.Embedding) -> None:
    path = import_embedding(small, "mine")
    content = bytearray(path.read_bytes())
    place = 8 + int.from_bytes(content[:8], "little")
    content[place + 3] ^= 0x40
    path.write_bytes(content)
    damaged = wv.load_embedding("mine")
    with pytest.raises(wv.IntegrityError):
        wv.Metric.from_embedding(damaged, 1.0)
    content[place + 3] ^= 0x40
    path.write_bytes(content)
    mended = wv.load_embedding("mine")
    np.testing.assert_allclose(mended.centroid, small.centroid)
    assert [entry.name.partition("-")[0] for entry in entries()] == ["spectrum"]


def test_what_the_profiles_need_comes_with_the_vectors() -> None:
    """If this fails, run packages/wordveil-glove/tools/make_prepared.py."""
    script = (
        "import wordveil as wv\n"
        "from wordveil import cache\n"
        "cache._write = lambda name, key, arrays: print(key)\n"
        "from wordveil.profiles import PROFILES\n"
        "for profile in PROFILES.values():\n"
        "    for blocked in (None, wv.BlockList.english()):\n"
        "        perturber = wv.Perturber(profile.load(blocked=blocked))\n"
        "        perturber.exposure(), str(perturber.guarantee)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_what_comes_with_the_vectors_is_what_would_be_computed(tmp_path: Path) -> None:
    """Every shipped entry, computed in a new process that can't see them."""
    script = (
        "import wordveil_glove, pathlib\n"
        "wordveil_glove.PREPARED_PATH = pathlib.Path('/nowhere')\n"
        f"import sys; sys.path.insert(0, {str(TOOLS)!r})\n"
        "import make_prepared; make_prepared.prepare()"
    )
    home = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=os.environ | home, check=True)
    fresh = {path.name: path for path in (tmp_path / "wordveil" / "prepared").iterdir()}
    shipped = {path.name: path for path in PREPARED_PATH.iterdir()}
    # Names hold the bits of the eigenbasis, which another processor may round differently.
    kinds = [sorted(name.partition("-")[0] for name in names) for names in (fresh, shipped)]
    assert kinds[0] == kinds[1]
    for name in fresh.keys() & shipped.keys():
        tables = [safetensors.numpy.load_file(path) for path in (fresh[name], shipped[name])]
        for label, table in tables[0].items():
            if label != "json":
                np.testing.assert_allclose(np.abs(table), np.abs(tables[1][label]), rtol=1e-6, atol=1e-9)
