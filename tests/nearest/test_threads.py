import threading
import time

import pytest

from wordveil.nearest import threads
from wordveil.nearest.threads import Scratch, in_threads, one_thread


def names_of(most: int) -> set[str]:
    remaining, seen, lock = list(range(20)), set(), threading.Lock()

    def work() -> bool:
        with lock:
            if not remaining:
                return False
            remaining.pop()
        seen.add(threading.current_thread().name)
        time.sleep(0.002)
        return True

    in_threads(work, most)
    assert not remaining
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
    thread_counts, remaining = [], [1, 2, 3]

    def work() -> bool:
        if not remaining:
            return False
        remaining.pop()
        thread_counts.append(len(names_of(10)))
        return True

    in_threads(work, 3)
    assert thread_counts == [1, 1, 1]


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
    scratch, from_other = Scratch(), []
    from_this = scratch.array("a", 10, float)
    assert scratch.array("a", 5, float) is from_this
    assert len(scratch.array("a", 20, float)) == 20
    other = threading.Thread(target=lambda: from_other.append(scratch.array("a", 5, float)))
    other.start()
    other.join()
    assert from_other[0] is not scratch.array("a", 5, float)
