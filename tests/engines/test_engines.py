"""One test body for every registered engine; `make test-spark` runs it on Spark."""

import itertools
import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.engines import (
    Engine,
    EngineKind,
    EngineMaker,
    LocalEngine,
    engine_kinds,
    engine_maker,
    register_engine,
)
from wordveil.engines import registry as engine_registry
from wordveil.engines.base import perturbed_texts, stream_of
from wordveil.nearest.threads import join_all
from wordveil.tables import Chunk

from .toy import OneByOne

SMALL: dict[str, Any] = {"workers": 2, "master": "local[2]"}
"""Options that keep an engine to two cores, where it has them."""


def by_name(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.spark if name == "spark" else ())


@pytest.fixture(params=[by_name(name) for name in engine_kinds()])
def make(request: pytest.FixtureRequest) -> EngineMaker:
    kind = engine_kinds()[request.param]
    return engine_maker(kind.name, **{option: SMALL[option] for option in kind.takes})


def chunks(count: int, rows: int = 20) -> list[Chunk]:
    texts: list[str | None] = ["tea at noon", None, "", "Zanzibar \ud800 please"]
    return [
        Chunk(rows, {"a": [texts[(i + j) % 4] for j in range(rows)], "b": ["tea"] * rows}, i)
        for i in range(count)
    ]


def test_every_chunk_once_and_in_order(make: EngineMaker, same: wv.Perturber) -> None:
    with make(same, wv.RunKey()) as engine:
        results = list(engine.perturb(chunks(70)))
    assert [result.chunk.rest for result in results] == list(range(70))
    for result in results:
        for name, texts in result.chunk.texts.items():
            lengths = [None if text is None else len(text.split()) for text in result.answers[name]]
            expected = {None: None, "tea at noon": 3, "": 0, "Zanzibar \ud800 please": 2, "tea": 1}
            assert lengths == [expected[text] for text in texts]
        assert result.answers["b"] == ["tea"] * 20
    total = wv.PrivateReport()
    for result in results:
        total.add(result.report)
    assert (total.texts, total.unknown) == (70 * 35, 70 * 5)


def test_equal_keys_give_equal_answers_on_every_engine(make: EngineMaker, noisy: wv.Perturber) -> None:
    with make(noisy, wv.insecure_key(3)) as engine:
        answers = [result.answers for result in engine.perturb(chunks(5))]
    key = wv.insecure_key(3)
    assert answers == [
        perturbed_texts(noisy, key, 0, ordinal, chunk.texts)[0] for ordinal, chunk in enumerate(chunks(5))
    ]


def test_equal_texts_share_no_noise(make: EngineMaker, noisy: wv.Perturber) -> None:
    texts: list[str | None] = ["tea " * 40] * 3
    equal_chunks = [Chunk(3, {"a": [*texts], "b": [*texts]}, None) for _ in range(4)]
    with make(noisy, wv.RunKey()) as engine:
        results = list(itertools.chain(engine.perturb(equal_chunks), engine.perturb(equal_chunks)))
    answers = [answer for result in results for column in result.answers.values() for answer in column]
    assert len(set(answers)) == len(answers) == 48


def test_no_chunks(make: EngineMaker, same: wv.Perturber) -> None:
    with make(same, wv.RunKey()) as engine:
        assert list(engine.perturb([])) == []


def test_an_error_while_reading_chunks_is_raised(make: EngineMaker, same: wv.Perturber) -> None:
    def broken() -> Iterator[Chunk]:
        yield from chunks(3)
        raise wv.FormatError("row 61")

    with make(same, wv.RunKey()) as engine, pytest.raises(wv.FormatError, match="row 61"):
        list(engine.perturb(broken()))


def test_a_file_through_the_engine(make: EngineMaker, same: wv.Perturber, tmp_path: Path) -> None:
    rows = [{"n": i, "m": None if i % 7 == 0 else "tea at noon"} for i in range(3000)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = wv.perturb_file(
        tmp_path / "in.jsonl", tmp_path / "out.jsonl", perturber=same, text="m", keep="n", engine=make
    )
    assert [json.loads(line) for line in run.output.read_text().splitlines()] == rows


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> EngineKind:
    """The toy engine, registered for one test."""
    monkeypatch.setattr(engine_registry, "_kinds", engine_kinds())
    kind = EngineKind("one-by-one", "one chunk at a time", lambda: OneByOne)
    register_engine(kind)
    return kind


def test_a_registered_engine_runs_a_file(toy: EngineKind, noisy: wv.Perturber, tmp_path: Path) -> None:
    assert engine_kinds()["one-by-one"] is toy
    (tmp_path / "in.csv").write_text("n,m\n" + "".join(f"{i},tea at noon\n" for i in range(3000)))
    outputs = {}
    for name in ("one-by-one", "local"):
        run = wv.perturb_file(
            tmp_path / "in.csv", tmp_path / f"{name}.csv", perturber=noisy, text="m", keep="n",
            key=wv.insecure_key(1), engine=engine_maker(name),
        )  # fmt: skip
        assert run.rows == 3000
        outputs[name] = run.output.read_bytes()
    assert outputs["one-by-one"] == outputs["local"]


def test_a_new_engine_replaces_one_of_the_same_name(toy: EngineKind) -> None:
    other = EngineKind("one-by-one", "another", lambda workers: OneByOne, frozenset({"workers"}))
    register_engine(other)
    assert engine_kinds()["one-by-one"] is other
    assert engine_maker("one-by-one", workers=3) is OneByOne


def test_an_unknown_engine_is_refused(toy: EngineKind) -> None:
    with pytest.raises(wv.ParameterError, match=r"^The engine must be one of local, spark, one-by-one\.$"):
        engine_maker("cluster")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "local",
            {"master": "local[2]"},
            "--master is not for --engine local. Hint: --engine spark takes it.",
        ),
        ("spark", {"workers": 2}, "--workers is not for --engine spark. Hint: --engine local takes it."),
        ("one-by-one", {"workers": 2}, "--workers is not for --engine one-by-one. Hint: --engine local"),
        ("one-by-one", {"master": "x"}, "--master is not for --engine one-by-one. Hint: --engine spark"),
        ("local", {"workers": 0}, "The 'workers' parameter of LocalEngine must be"),
        ("local", {"workers": 2000}, "The 'workers' parameter of LocalEngine must be"),
        ("local", {"workers": 1.5}, "The 'workers' parameter of LocalEngine must be"),
    ],
)
def test_options_of_engines_are_checked(
    name: str, options: dict[str, Any], message: str, toy: EngineKind
) -> None:
    with pytest.raises(wv.ParameterError, match=f"^{re.escape(message)}"):
        engine_maker(name, **options)


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
    usual: dict[str, Any] = {
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
    contexts = (usual, usual, usual | others[change])
    first, again, changed = (stream_of(**context).normals((8,)) for context in contexts)
    assert (first == again).all()
    assert not (first == changed).any()


def test_close_is_quick_and_restores_the_threads_of_the_linear_algebra(small: wv.Embedding) -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def blas_threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    perturber = wv.Perturber(wv.Laplace(small, 1.0))
    with threadpool_limits(2, user_api="blas"):  # the machine or the environment may allow one only
        engine: Engine = LocalEngine(perturber, wv.RunKey(), 2)
        during = blas_threads()
        next(iter(engine.perturb(chunks(1000))))
        engine.close()
        engine.close()
        assert (during, blas_threads()) == ({1}, {2})


def test_few_chunks_are_read_ahead_of_a_slow_consumer(same: wv.Perturber) -> None:
    read = 0

    def counted() -> Iterator[Chunk]:
        nonlocal read
        for chunk in chunks(500, rows=4):
            read += 1
            yield chunk

    with LocalEngine(same, wv.RunKey(), 2) as engine:
        results = engine.perturb(counted())
        next(results)
        assert read <= 2 * 2 + 3
        assert len(list(results)) == 499


class Slow(wv.Laplace):
    """Spends its time in a call that releases Python's global lock, as a C++ library does."""

    def _perturb(self, ids: Any, stream: wv.Stream) -> Any:
        time.sleep(0.05)
        return super()._perturb(ids, stream)


@pytest.mark.parametrize("reader", ["quick", "endless"])
def test_no_thread_outlives_a_closed_engine(reader: str, small: wv.Embedding) -> None:
    """A thread that is inside a C++ library when the interpreter exits aborts the process."""
    before = set(threading.enumerate())

    def source() -> Iterator[Chunk]:
        for number, chunk in enumerate(chunks(1000)):
            if reader == "endless" and number == 6:
                pipe.wait()
            yield chunk

    pipe = threading.Event()
    with LocalEngine(wv.Perturber(Slow(small, 1.0)), wv.RunKey(), 3) as engine:
        next(engine.perturb(source(), waits=reader == "endless"))
    alive = set(threading.enumerate()) - before
    assert len(alive) == (1 if reader == "endless" else 0)  # the reader of a pipe can't be stopped
    pipe.set()
    for thread in alive:
        thread.join()


def test_ctrl_c_while_waiting_for_threads_is_not_lost() -> None:
    original = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    for seconds, act in ((0.2, lambda: os.kill(os.getpid(), signal.SIGINT)), (0.5, stop.set)):
        threading.Timer(seconds, act).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            join_all([thread])
    finally:
        signal.signal(signal.SIGINT, original)
    assert not thread.is_alive()
