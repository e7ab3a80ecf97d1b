"""Tests that need a real Spark, which `make test-spark` runs; and what is reported without Java."""

import base64
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv

SECRET = "Zanzibar"


@pytest.mark.parametrize(
    "java", [None, 'echo openjdk version \\"11.0.2\\" >&2', "exit 1", 'echo java version \\"1.8.0\\" >&2']
)
def test_without_java_one_line_says_what_to_install(
    java: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordveil.engines.spark.library", lambda: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if java is not None:
        (tmp_path / "java").write_text(f"#!/bin/sh\n{java}\n")
        (tmp_path / "java").chmod(0o755)
    with pytest.raises(wv.MachineError, match=r"needs Java 17 or later.*openjdk-17-jre-headless") as caught:
        wv.spark.spark_engine()
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "absent"))
    with pytest.raises(wv.MachineError, match="needs Java 17"):
        wv.spark.spark_engine()


def test_spark_connect_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.engines.spark.library", lambda: None)
    (tmp_path / "java").write_text('#!/bin/sh\necho openjdk version \\"17.0.2\\" >&2\n')
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(wv.ParameterError, match="Spark Connect has no broadcasts"):
        wv.spark.spark_engine("sc://host")


spark_only = pytest.mark.spark


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def session(events: Path) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", events.as_uri())
        .config("spark.eventLog.compress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.io.encryption.enabled", "true")
        .getOrCreate()
    )
    yield session
    session.stop()
    del os.environ["PYSPARK_PYTHON"]


def frame(session: Any, rows: int = 200) -> Any:
    data = [(i, None if i % 5 == 0 else "tea at noon " * 3, f"{SECRET}{i}") for i in range(rows)]
    return session.createDataFrame(data, "n long, `the.text` string, secret string").repartition(4)


@spark_only
def test_a_frame_keeps_its_rows_and_drops_other_columns(session: Any, same: wv.Perturber) -> None:
    private = wv.spark.perturb(frame(session), perturber=same, text="the.text", keep="n")
    assert private.columns == ["n", "the.text"]
    texts = {row["n"]: row["the.text"] for row in private.collect()}
    assert len(texts) == 200
    assert texts == {i: None if i % 5 == 0 else " ".join(["tea at noon"] * 3) for i in range(200)}


@spark_only
def test_equal_texts_share_no_noise_and_computing_twice_gives_the_same(
    session: Any, noisy: wv.Perturber
) -> None:
    private = wv.spark.perturb(frame(session), perturber=noisy, text="the.text", keep="n")
    first, second = ({row["n"]: row["the.text"] for row in private.collect()} for _ in "ab")
    assert first == second
    texts = [text for text in first.values() if text is not None]
    assert len(set(texts)) == len(texts) == 160
    other = wv.spark.perturb(frame(session), perturber=noisy, text="the.text", keep="n")
    assert {row["n"]: row["the.text"] for row in other.collect()} != first


@spark_only
@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"text": "the.txt"}, "did you mean column 2"),
        ({"text": "n"}, "column 'n' is not text but long"),
        ({"text": []}, "Which column"),
        ({"text": "the.text", "keep": "the.text"}, "both"),
        ({"text": "the.text", "perturber": None}, "must be a Perturber"),
    ],
)
def test_bad_parameters_are_refused(
    session: Any, same: wv.Perturber, chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(wv.WordveilError, match=message):
        wv.spark.perturb(frame(session), **{"perturber": same} | chosen)


@spark_only
def test_the_vectors_are_sent_once(session: Any, same: wv.Perturber, monkeypatch: pytest.MonkeyPatch) -> None:
    perturber = wv.Perturber(same.mechanism)
    sent = []
    real = type(session.sparkContext).broadcast

    def counted(self: Any, value: Any) -> Any:
        sent.append(type(value).__name__)
        return real(self, value)

    monkeypatch.setattr(type(session.sparkContext), "broadcast", counted)
    for _ in range(3):
        wv.spark.perturb(frame(session, 5), perturber=perturber, text="the.text").collect()
    assert sorted(sent) == ["SentPerturber", "tuple", "tuple", "tuple"]


@spark_only
def test_key_and_text_are_in_no_plan_and_no_event_log(
    session: Any, events: Path, same: wv.Perturber, capfd: pytest.CaptureFixture[str]
) -> None:
    key = wv.RunKey()
    secret, _ = key.expose()
    private = wv.spark.perturb(frame(session), perturber=same, text="the.text", key=key)
    private.explain("extended")
    plan = capfd.readouterr().out
    assert "mapInArrow" in plan or "MapInArrow" in plan
    private.collect()
    with wv.spark.SparkEngine(same, key, session) as engine:
        from wordveil.tables import Chunk

        list(engine.perturb([Chunk(1, {"m": [SECRET]}, None)]))
    logs = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert b"MapInArrow" in logs
    text = repr(secret)[2:-1].encode()
    for form in (secret, secret.hex().encode(), text, base64.b64encode(secret)):
        assert form not in logs
        assert form not in plan.encode()
    assert SECRET.encode() not in logs


@spark_only
def test_a_worker_that_is_killed_changes_nothing(session: Any, noisy: wv.Perturber) -> None:
    key = wv.RunKey()
    big = session.range(40_000, numPartitions=8).selectExpr("id n", "repeat('tea at noon ', 60) m")
    private = wv.spark.perturb(big, perturber=noisy, text="m", keep="n", key=key)
    killed: list[int] = []

    def kill() -> None:
        # A worker is a child of the daemon: kill the first two that are seen.
        deadline = time.monotonic() + 60
        while len(killed) < 2 and time.monotonic() < deadline:
            processes = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout
            rows = [line.split(None, 2) for line in processes.splitlines()[1:]]
            daemons = {pid for pid, _, args in rows if "pyspark.daemon" in args}
            for pid, parent, args in rows:
                if "pyspark.daemon" in args and parent in daemons and int(pid) not in killed:
                    time.sleep(0.4)
                    try:
                        os.kill(int(pid), signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    killed.append(int(pid))
                    break
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    results = sorted((row["n"], row["m"]) for row in private.collect())
    killer.join()
    assert len(killed) == 2
    assert [n for n, _ in results] == list(range(40_000))
    assert all(len(m.split()) == 180 for _, m in results)
    undisturbed = sorted((row["n"], row["m"]) for row in private.collect())
    assert results == undisturbed  # a task that is retried gives the same rows


@spark_only
def test_the_command(tmp_path: Path) -> None:
    script = shutil.which("wordveil", path=str(Path(sys.executable).parent))
    assert script is not None
    (tmp_path / "in.csv").write_text("n,m\n" + "".join(f"{i},tea at noon\n" for i in range(2500)))
    options = ["--text", "m", "--keep", "n", "--epsilon", "6", "--dims", "5"]
    done = subprocess.run(
        [script, "perturb", tmp_path / "in.csv", tmp_path / "out.csv", *options, "--engine", "spark", "--master", "local[2]"],
        capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert [int(n) for n, _ in rows] == list(range(2500))
    assert all(len(m.split()) == 3 for _, m in rows)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "out.csv.manifest.json").read_text())["output"]["rows"] == 2500


@spark_only
def test_a_missing_cluster_is_reported_in_one_line(tmp_path: Path) -> None:
    script = shutil.which("wordveil", path=str(Path(sys.executable).parent))
    assert script is not None
    (tmp_path / "in.txt").write_text("tea\n")
    done = subprocess.run(
        [script, "perturb", tmp_path / "in.txt", tmp_path / "out.txt", "--epsilon", "6", "--dims", "5",
         "--engine", "spark", "--master", "nonsense://x"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.fullmatch(r"wordveil: Spark did not start \(\w+\)\. Hint: .*\n", done.stderr)
    assert not (tmp_path / "out.txt").exists()


@spark_only
def test_missing_texts_are_padded_like_empty_ones(session: Any, small: wv.Embedding) -> None:
    table = session.createDataFrame([("tea",), (None,), ("",)], "m string")
    padded = wv.Perturber(wv.Mahalanobis(small, 1.0), wv.Policy(pad_to=4))
    rows = wv.spark.perturb(table, perturber=padded, text="m").collect()
    assert [len(row["m"].split()) for row in rows] == [4, 4, 4]
    with pytest.warns(wv.PrivacyWarning):
        policy = wv.Policy(pad_to=4, unsafe_keep_nulls=True)
    keeping = wv.Perturber(wv.Mahalanobis(small, 1.0), policy)
    rows = wv.spark.perturb(table, perturber=keeping, text="m").collect()
    assert [row["m"] is None for row in rows] == [False, True, False]


@spark_only
def test_batches_are_sliced_when_padded_far(session: Any, small: wv.Embedding) -> None:
    """One Arrow batch of 60 texts is a batch of 3 million words, unless it is sliced."""
    table = session.range(60, numPartitions=1).selectExpr("id n", "'tea' m")
    perturber = wv.Perturber(wv.Mahalanobis(small, 1.0), wv.Policy(pad_to=50_000))
    rows = wv.spark.perturb(table, perturber=perturber, text="m", keep="n").selectExpr(
        "n", "size(split(m, ' ')) words", "md5(m) digest"
    )
    results = rows.collect()
    assert [(row["n"], row["words"]) for row in results] == [(n, 50_000) for n in range(60)]
    assert len({row["digest"] for row in results}) == 60


@spark_only
def test_metadata_of_columns_is_not_carried_over(session: Any, same: wv.Perturber) -> None:
    from pyspark.sql import types

    note = {"note": SECRET}
    nested = types.StructType([types.StructField("x", types.LongType(), metadata=note)])
    schema = types.StructType(
        [
            types.StructField("m", types.StringType(), metadata=note),
            types.StructField("k", nested, metadata=note),
            types.StructField("a", types.ArrayType(nested)),
        ]
    )
    table = session.createDataFrame([("tea", (1,), [(2,)])], schema)
    private = wv.spark.perturb(table, perturber=same, text="m", keep=["k", "a"])
    assert SECRET in table.schema.json()
    assert SECRET not in private.schema.json()
    assert private.collect() == table.collect()


@spark_only
def test_a_session_without_encryption_raises_a_warning(
    session: Any, same: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = type(session.conf).get
    for value, warned in (("false", True), ("true", False)):
        monkeypatch.setattr(
            type(session.conf),
            "get",
            lambda self, name, *default, value=value: (
                value if "encryption" in name else real(self, name, *default)
            ),
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            wv.spark.perturb(frame(session, 2), perturber=same, text="the.text")
        assert any("spark.io.encryption.enabled=true" in str(warning.message) for warning in caught) == warned


def session_processes(number: int) -> list[str]:
    """Return the processes of a session that are still running."""
    listed = subprocess.run(["ps", "-eo", "pid,sid,stat,args"], capture_output=True, text=True).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()[1:]]
    return [f"{pid} {args}" for pid, sid, state, args in rows if int(sid) == number and state[0] != "Z"]


def command(folder: Path) -> list[str]:
    script = str(Path(sys.executable).parent / "wordveil")
    (folder / "in.csv").write_text("m\n" + "please call me at the red house\n" * 40_000)
    options = ["--text", "m", "--epsilon", "6", "--dims", "5", "--engine", "spark", "--master", "local[2]"]
    return [script, "perturb", str(folder / "in.csv"), str(folder / "out.csv"), *options]


@spark_only
def test_ctrl_c_while_spark_starts_leaves_no_java(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path), stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        while process.poll() is None and not any("java" in line for line in session_processes(process.pid)):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (130, "wordveil: stopped.\n")
    deadline = time.monotonic() + 30
    while session_processes(process.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert session_processes(process.pid) == []


@spark_only
def test_a_killed_java_is_reported_in_one_line(tmp_path: Path) -> None:
    journal = tmp_path / ".out.csv.wordveil" / "journal"
    with subprocess.Popen(
        command(tmp_path), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > 1):
            time.sleep(0.05)
        for line in session_processes(process.pid):
            if "/java " in line:
                os.kill(int(line.split()[0]), signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    assert errors.count("\n") == 1, errors
    assert errors.startswith("wordveil: Spark failed (")
    assert "--resume continues the run" in errors
