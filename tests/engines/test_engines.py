"""One body for every engine. Spark's is the same, in `make test-spark`."""

import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.engines import Engine, EngineMaker, LocalEngine
from wordveil.engines.base import perturbed_texts, stream_of
from wordveil.engines.spark import spark_engine
from wordveil.nearest.threads import join_all
from wordveil.tables import Chunk


def local() -> EngineMaker:
    return lambda perturber, key: LocalEngine(perturber, key, 2)


def spark() -> EngineMaker:
    return spark_engine("local[2]")


@pytest.fixture(params=[local, pytest.param(spark, marks=pytest.mark.spark)], ids=["local", "spark"])
def make(request: pytest.FixtureRequest) -> EngineMaker:
    maker: Callable[[], EngineMaker] = request.param
    return maker()


def chunks(count: int, rows: int = 20) -> list[Chunk]:
    texts: list[str | None] = ["tea at noon", None, "", "Zanzibar \ud800 please"]
    return [
        Chunk(rows, {"a": [texts[(i + j) % 4] for j in range(rows)], "b": ["tea"] * rows}, i)
        for i in range(count)
    ]


def test_every_chunk_once_and_in_order(make: EngineMaker, same: wv.Perturber) -> None:
    given = chunks(70)
    with make(same, wv.RunKey()) as engine:
        done = list(engine.perturb(given))
    assert [each.chunk.rest for each in done] == list(range(70))
    for each in done:
        for name, texts in each.chunk.texts.items():
            lengths = [None if text is None else len(text.split()) for text in each.answers[name]]
            expected = {None: None, "tea at noon": 3, "": 0, "Zanzibar \ud800 please": 2, "tea": 1}
            assert lengths == [expected[text] for text in texts]
        assert each.answers["b"] == ["tea"] * 20
    total = wv.PrivateReport()
    for each in done:
        total.add(each.report)
    assert (total.texts, total.unknown) == (70 * 35, 70 * 5)


def test_equal_keys_give_equal_answers_whatever_the_engine(make: EngineMaker, noisy: wv.Perturber) -> None:
    given = chunks(5)
    with make(noisy, wv.insecure_key(3)) as engine:
        answers = [each.answers for each in engine.perturb(given)]
    key = wv.insecure_key(3)
    assert answers == [
        perturbed_texts(noisy, key, 0, number, chunk.texts)[0] for number, chunk in enumerate(given)
    ]


def test_equal_texts_share_no_noise(make: EngineMaker, noisy: wv.Perturber) -> None:
    text: list[str | None] = ["tea " * 40] * 3
    given = [Chunk(3, {"a": [*text], "b": [*text]}, None) for _ in range(4)]
    with make(noisy, wv.RunKey()) as engine:
        done = list(itertools.chain(engine.perturb(given), engine.perturb(given)))
    answers = [answer for each in done for column in each.answers.values() for answer in column]
    assert len(set(answers)) == len(answers) == 48


def test_no_chunks(make: EngineMaker, same: wv.Perturber) -> None:
    with make(same, wv.RunKey()) as engine:
        assert list(engine.perturb([])) == []


def test_what_goes_wrong_with_a_chunk_comes_after_those_before_it(
    make: EngineMaker, same: wv.Perturber
) -> None:
    def broken() -> Iterator[Chunk]:
        yield from chunks(3)
        raise wv.FormatError("row 61")

    with make(same, wv.RunKey()) as engine, pytest.raises(wv.FormatError, match="row 61"):
        list(engine.perturb(broken()))


def test_a_file(make: EngineMaker, same: wv.Perturber, tmp_path: Path) -> None:
    rows = [{"n": i, "m": None if i % 7 == 0 else "tea at noon"} for i in range(3000)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = wv.perturb_file(
        tmp_path / "in.jsonl", tmp_path / "out.jsonl", perturber=same, text="m", keep="n", engine=make
    )
    assert [json.loads(line) for line in run.output.read_text().splitlines()] == rows


@pytest.mark.parametrize(
    "change",
    [
        "key", "partition", "ordinal", "swapped", "column", "content", "null", "split",
        "epsilon", "lam", "mechanism", "vectors", "policy",
    ],
)  # fmt: skip
def test_noise_depends_on_setting_place_and_content(change: str, small: wv.Embedding) -> None:
    key = wv.RunKey()
    perturber = wv.Perturber(wv.Laplace(small, 1.0))
    same: dict[str, Any] = {
        "perturber": perturber, "key": key, "partition": 1, "ordinal": 2, "column": "c",
        "texts": ["ab", "c", ""],
    }  # fmt: skip
    others: dict[str, dict[str, Any]] = {
        "epsilon": {"perturber": wv.Perturber(wv.Laplace(small, 2.0))},
        "lam": {"perturber": wv.Perturber(wv.Mahalanobis(small, 1.0, 0.5))},
        "mechanism": {"perturber": wv.Perturber(wv.Mahalanobis(small, 1.0, 0.0))},
        "vectors": {"perturber": wv.Perturber(wv.Laplace(small.project(2), 1.0))},
        "policy": {"perturber": wv.Perturber(wv.Laplace(small, 1.0), wv.Policy(pad_to=5))},
        "key": {"key": wv.RunKey()},
        "partition": {"partition": 3},
        "swapped": {"partition": 2, "ordinal": 1},
        "ordinal": {"ordinal": 3},
        "column": {"column": "d"},
        "content": {"texts": ["ab", "d", ""]},
        "null": {"texts": ["ab", "c", None]},
        "split": {"texts": ["a", "bc", ""]},
    }
    other = same | others[change]
    first, again, changed = (stream_of(**given).normals((8,)) for given in (same, same, other))
    assert (first == again).all()
    assert not (first == changed).any()


def test_close_is_quick_and_restores_the_threads_of_the_linear_algebra(small: wv.Embedding) -> None:
    from threadpoolctl import threadpool_info

    before = [each["num_threads"] for each in threadpool_info()]
    perturber = wv.Perturber(wv.Laplace(small, 1.0))
    engine: Engine = LocalEngine(perturber, wv.RunKey(), 2)
    during = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    next(iter(engine.perturb(chunks(1000))))
    engine.close()
    engine.close()
    assert set(during) == {1}
    assert [each["num_threads"] for each in threadpool_info()] == before


def test_memory_is_bounded_however_slow_the_taker_is(same: wv.Perturber) -> None:
    taken = 0

    def counted() -> Iterator[Chunk]:
        nonlocal taken
        for chunk in chunks(500, rows=4):
            taken += 1
            yield chunk

    with LocalEngine(same, wv.RunKey(), 2) as engine:
        running = engine.perturb(counted())
        next(running)
        assert taken <= 2 * 2 + 3
        assert len(list(running)) == 499


class Slow(wv.Laplace):
    """Takes its time inside of a call that leaves Python's lock alone, as a C++ library does."""

    def _perturb(self, ids: Any, stream: wv.Stream) -> Any:
        time.sleep(0.05)
        return super()._perturb(ids, stream)


@pytest.mark.parametrize("reader", ["quick", "endless"])
def test_no_thread_outlives_a_closed_engine(reader: str, small: wv.Embedding) -> None:
    """A thread that is inside of a C++ library when the interpreter ends aborts the process."""
    before = set(threading.enumerate())

    def source() -> Iterator[Chunk]:
        for number, chunk in enumerate(chunks(1000)):
            if reader == "endless" and number == 6:
                pipe.wait()
            yield chunk

    pipe = threading.Event()
    with LocalEngine(wv.Perturber(Slow(small, 1.0)), wv.RunKey(), 3) as engine:
        next(engine.perturb(source(), waits=reader == "endless"))
    left = set(threading.enumerate()) - before
    assert len(left) == (1 if reader == "endless" else 0)  # who reads a pipe can't be told to stop
    pipe.set()
    for thread in left:
        thread.join()


def test_ctrl_c_while_threads_are_waited_for_is_not_lost() -> None:
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    for seconds, act in ((0.2, lambda: os.kill(os.getpid(), signal.SIGINT)), (0.5, stop.set)):
        threading.Timer(seconds, act).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            join_all([thread])
    finally:
        signal.signal(signal.SIGINT, usual)
    assert not thread.is_alive()
