import threading
import time

import pytest

from wordveil.nearest import threads
from wordveil.nearest.threads import Scratch, in_threads, one_thread


def names_of(most: int) -> set[str]:
    left, seen, lock = list(range(20)), set(), threading.Lock()

    def work() -> bool:
        with lock:
            if not left:
                return False
            left.pop()
        seen.add(threading.current_thread().name)
        time.sleep(0.002)
        return True

    in_threads(work, most)
    assert not left
    return seen


def test_several_threads_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "all_cores", lambda: 3)
    assert len(names_of(10)) == 3
    assert len(names_of(2)) == 2
    assert names_of(1) == {threading.current_thread().name}
    with one_thread():
        assert names_of(10) == {threading.current_thread().name}
    assert len(names_of(10)) == 3


def test_work_within_work_stays_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "all_cores", lambda: 3)
    found, left = [], [1, 2, 3]

    def work() -> bool:
        if not left:
            return False
        left.pop()
        found.append(len(names_of(10)))
        return True

    in_threads(work, 3)
    assert found == [1, 1, 1]


def test_an_error_in_any_thread_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "all_cores", lambda: 3)
    count = 0

    def work() -> bool:
        nonlocal count
        count += 1
        time.sleep(0.001)
        if count > 10:
            raise ValueError("enough")
        return True

    with pytest.raises(ValueError, match="enough"):
        in_threads(work, 3)
    assert count < 20


def test_scratch_memory_is_each_threads_own() -> None:
    scratch, found = Scratch(), []
    mine = scratch.array("a", 10, float)
    assert scratch.array("a", 5, float) is mine
    assert len(scratch.array("a", 20, float)) == 20
    other = threading.Thread(target=lambda: found.append(scratch.array("a", 5, float)))
    other.start()
    other.join()
    assert found[0] is not scratch.array("a", 5, float)
