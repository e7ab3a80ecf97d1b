"""Where the noise comes from: no two calls, threads, processes, batches or columns may share it.

Answers to the same words are compared. Two runs that share no noise agree as often as two direct draws of the
mechanism do, which is measured; two that share noise agree more often.
"""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding, pickled_vectors
from wordveil.engines.base import perturbed_texts, stream_of
from wordveil.errors import PrivacyWarning, WordveilError
from wordveil.evaluation.audit_black_box import Factory
from wordveil.evaluation.audit_confusion import WORDS, noisy_mechanism
from wordveil.evaluation.audit_rates import ALPHA, Rate, agreement_rate
from wordveil.evaluation.audit_result import Check, not_tested
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey, Stream

__all__ = ["differ", "plain", "streams"]

GROUP: Final = "streams"
_DRAWS: Final = 50 * WORDS  # answers per run
_SHARED: Final = 0.1  # of the answers: how much shared noise is looked for
_SECONDS: Final = 60  # for a child process: Python starts in one or two, and a busy machine is slower
_SPARK: Final = "an audit starts no Spark, which takes Java and some time; tests/engines/test_spark.py does"

# A fresh process whose clock stands still: noise that follows from the time would repeat.
_CHILD: Final = """
import pickle, random, sys, time
for name in ("time", "monotonic", "perf_counter"):
    setattr(time, name, lambda: 1.0e9)
    setattr(time, name + "_ns", lambda: 10**18)
path, pickled = pickle.loads(sys.stdin.buffer.read())
sys.path[:] = path
random.seed(0)
mechanism, ids = pickle.loads(pickled)
sys.stdout.buffer.write(mechanism.perturb_ids(ids).tobytes())
"""

Answers = NDArray[np.int64]


def streams(
    make: Factory, epsilon: float, perturb: Callable[[Mechanism], Perturber], key: RunKey
) -> list[Check]:
    """Return the checks of the default streams, and of those that engines derive for a perturber."""
    mechanism = noisy_mechanism(make, epsilon)
    ids = np.arange(_DRAWS) % WORDS
    perturber = perturb(mechanism)
    chance = agreement_rate(mechanism, ids, key)
    return [
        _secure(mechanism, ids),
        differ("calls", [mechanism.perturb_ids(ids) for _ in range(4)], chance),
        differ("threads", _in_threads(mechanism, ids), chance),
        _forks(mechanism, ids, chance),
        _processes(mechanism, ids, chance),
        perturber_calls(perturber, chance),
        _contexts(perturber, mechanism),
        _columns(perturber, chance),
        _settings(make, mechanism.embedding, epsilon, perturb),
        not_tested(GROUP, "Spark tasks share no noise", _SPARK),
    ]


def differ(
    where: str, runs: Sequence[NDArray[Any]], chance: Rate, group: str = GROUP, share: float = _SHARED
) -> Check:
    """Return whether no two runs on the same words agree more often than two direct draws do.

    The power is stated for noise that is shared for a share of the words.
    """
    name = f"{where} share no noise"
    size = min(map(len, runs))
    if not size:
        return not_tested(group, name, "there are no words to compare")
    if not chance.is_chance and not chance.should_vary:
        why = "two direct draws agree nearly always, and no smaller ε or distance makes them differ"
        return not_tested(group, name, why)
    pairs = list(combinations([run[:size] for run in runs], 2))
    most = max(int((a == b).sum()) for a, b in pairs)
    limit = chance.most(size, len(pairs))
    evidence = (
        f"of {size:,} answers to the same words, at most {most:,} agree between {len(runs)} {where}; "
        f"chance explains up to {limit:,}"
    )
    if not chance.is_chance:
        evidence = "answers repeat with streams that share nothing, where all words are nearly equally likely"
    mistake = f"noise that {where} share for {share:.0%} of the words"
    power = chance.power(share, size, len(pairs))
    return Check(group, name, chance.is_chance and most <= limit, evidence, ALPHA, mistake, power)


def plain(perturber: Perturber) -> Perturber:
    """Return the perturber without padding and bags, so that every word has its place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        policy = replace(perturber.policy, pad_to=None, bag=False)
    return type(perturber)(perturber.mechanism, policy)


def perturber_calls(perturber: Perturber, chance: Rate) -> Check:
    """Perturb one text several times without a stream."""
    text = _text(perturber)
    called = plain(perturber)
    runs = [called(text).split() for _ in range(2)] + [called.perturb([text])[0].split() for _ in range(2)]
    return differ("calls of a perturber", [np.array(run) for run in runs], chance)


def _text(perturber: Perturber) -> str:
    """Return all words, as often as the direct draws have them."""
    return " ".join(list(perturber.mechanism.embedding.words) * (_DRAWS // WORDS))


def _secure(mechanism: Mechanism, ids: Answers) -> Check:
    """Look at the stream that a call without one uses."""
    seen: list[object] = []

    def record(self: Mechanism, words: Answers, stream: Stream) -> Answers:
        seen.append(stream)
        return type(mechanism)._perturb(self, words, stream)

    spy: Mechanism = object.__new__(type("Spy", (type(mechanism),), {"_perturb": record}))
    vars(spy).update(vars(mechanism))
    spy.perturb_ids(ids)
    secure = [isinstance(stream, Stream) and stream.secure for stream in seen]
    evidence = "the default stream is cryptographic, under a key from the operating system"
    if not secure:
        return not_tested(GROUP, "default streams are secure", "perturb_ids does not call _perturb")
    if not all(secure):
        evidence = "the default stream is not a secure one"
    return Check(
        GROUP, "default streams are secure", all(secure), evidence, 0.0, "a default stream that is not secure"
    )


def _in_threads(mechanism: Mechanism, ids: Answers) -> list[Answers]:
    runs: list[Answers] = []
    workers = [threading.Thread(target=lambda: runs.append(mechanism.perturb_ids(ids))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return runs


@contextmanager
def _quiet_fork() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
        yield


def _forks(mechanism: Mechanism, ids: Answers, chance: Rate) -> Check:
    """Fork twice: the children and the parent must all draw their own noise."""
    if not hasattr(os, "fork"):
        return not_tested(GROUP, "forks share no noise", "this machine has no fork")
    context = multiprocessing.get_context("fork")
    mechanism.perturb_ids(ids)  # so that there is a stream that a child could inherit
    runs: list[Any] = []
    for _ in range(2):
        reader, writer = context.Pipe(duplex=False)
        child = context.Process(target=_draw, args=(mechanism, ids, writer))
        with _quiet_fork():
            child.start()
        runs.append(reader.recv() if reader.poll(_SECONDS) else None)
        child.join(_SECONDS)
    if any(isinstance(run, str) for run in runs):
        evidence, mistake = "a stream of the parent is refused in a fork", "a stream that a fork inherits"
        return Check(GROUP, "forks share no noise", True, evidence, 0.0, mistake)
    if any(run is None for run in runs):
        return not_tested(GROUP, "forks share no noise", "a forked process did not answer")
    return differ("forks", [mechanism.perturb_ids(ids), *runs], chance)


def _draw(mechanism: Mechanism, ids: Answers, writer: Any) -> None:
    try:
        writer.send(mechanism.perturb_ids(ids))
    except WordveilError as error:
        writer.send(type(error).__name__)


def _processes(mechanism: Mechanism, ids: Answers, chance: Rate) -> Check:
    """Start two fresh processes whose clocks show the same time."""
    name = "spawned processes share no noise"
    try:
        with pickled_vectors():
            message = pickle.dumps((sys.path, pickle.dumps((mechanism, ids))))
    except (pickle.PicklingError, AttributeError, TypeError):
        return not_tested(GROUP, name, "the mechanism can't be pickled")
    runs = []
    for _ in range(2):
        with suppress(subprocess.SubprocessError):
            ran = subprocess.run(  # noqa: S603  # this Python, and code of ours
                [sys.executable, "-c", _CHILD],
                input=message,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
            runs.append(np.frombuffer(ran.stdout, dtype=np.int64))
    if len(runs) < 2:
        return not_tested(GROUP, name, "a fresh process can't import the mechanism")
    return differ("spawned processes", runs, chance)


def _contexts(perturber: Perturber, mechanism: Mechanism) -> Check:
    """Derive the streams of batches that differ in one part of their context, as all engines do."""
    key = RunKey()
    texts = [" ".join(mechanism.embedding.words)] * 4
    base = (0, 0, "column", texts)
    cases = {
        "partition": (1, 0, "column", texts),
        "ordinal": (0, 1, "column", texts),
        "column": (0, 0, "other", texts),
        "content": (0, 0, "column", texts[:3]),
        "partition and ordinal": (10, 0, "column", texts),
    }
    first = stream_of(perturber, key, *base).normals((8,))
    again = stream_of(perturber, key, *base).normals((8,))
    shared = [
        part
        for part, case in cases.items()
        if (stream_of(perturber, key, *case).normals((8,)) == first).any()
    ]
    repeats = bool((first == again).all())
    evidence = "batches that differ in partition, ordinal, column or content have their own streams"
    if shared:
        evidence = f"batches that differ in {', '.join(shared)} share noise"
    elif not repeats:
        evidence = "a batch that is perturbed again gets other noise, so that a retried batch averages"
    return Check(
        GROUP,
        "streams that engines derive for batches differ, and a retried batch repeats its own",
        not shared and repeats,
        evidence,
        0.0,
        "a context without partition, ordinal, column or content",
    )


def _columns(perturber: Perturber, chance: Rate) -> Check:
    """Perturb equal texts in two columns, in two batches, and twice in one column."""
    key, called, text = RunKey(), plain(perturber), _text(perturber)
    columns: dict[str, list[str | None]] = {"a": [text] * 2, "b": [text] * 2}
    batches = [perturbed_texts(called, key, 0, ordinal, columns)[0] for ordinal in range(2)]
    runs = [
        np.array((answer or "").split())
        for batch in batches
        for column in batch.values()
        for answer in column
    ]
    return differ("equal texts, columns and batches", runs, chance)


def _settings(
    make: Factory, embedding: Embedding, epsilon: float, perturb: Callable[[Mechanism], Perturber]
) -> Check:
    """Use one key at two settings: the noise must not be the same."""
    key = RunKey()
    perturbers = [perturb(make(embedding, factor * epsilon)) for factor in (1.0, 2.0)]
    numbers = [perturber.derive_stream(key, 0, "a").normals((8,)) for perturber in perturbers]
    shared = bool((numbers[0] == numbers[1]).any())
    evidence = (
        "one key gives other noise at another ε" if not shared else "one key gives the same noise at two ε"
    )
    mistake = "noise under a key that does not depend on ε"
    return Check(GROUP, "two settings share no noise under one key", not shared, evidence, 0.0, mistake)
