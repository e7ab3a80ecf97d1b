import copy
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from randomgen import AESCounter, ChaCha

import wordveil as wv
from wordveil import randomness


def little(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


def first_bytes(cipher: AESCounter | ChaCha, count: int) -> str:
    return b"".join(int(word).to_bytes(8, "little") for word in cipher.random_raw(count // 8)).hex()


def test_aes_gives_the_published_blocks() -> None:
    """FIPS 197, appendix C.1, and the first block of NIST SP 800-38A, F.5.1."""
    key = "000102030405060708090a0b0c0d0e0f"
    plain = "00112233445566778899aabbccddeeff"
    cipher = AESCounter(key=little(key), counter=little(plain))
    assert first_bytes(cipher, 16) == "69c4e0d86a7b0430d8cdb78070b4c55a"
    key, counter = "2b7e151628aed2a6abf7158809cf4f3c", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
    cipher = AESCounter(key=little(key), counter=little(counter))
    assert first_bytes(cipher, 16) == "ec8cdf7398607cb0f2d21675ea9ea1e4"


def test_chacha20_gives_the_published_stream() -> None:
    """RFC 8439, appendix A.1, test vectors 1 (block 0) and 2 (block 1) of the zero key."""
    first = (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    second = (
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )
    assert first_bytes(ChaCha(key=0, counter=0, rounds=20), 128) == first + second


def test_the_cipher_is_aes_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    key = bytes(range(32))
    expected = AESCounter(key=int.from_bytes(key[:16], "little"))
    if not expected.use_aesni:
        expected = ChaCha(key=int.from_bytes(key, "little"), rounds=20)
    cipher = randomness._generator(key).bit_generator
    assert first_bytes(cipher, 64) == first_bytes(expected, 64)

    class Slow:
        use_aesni = 0

        def __init__(self, key: int) -> None: ...

    monkeypatch.setattr(randomness, "AESCounter", Slow)
    cipher = randomness._generator(key).bit_generator
    assert first_bytes(cipher, 64) == first_bytes(ChaCha(key=int.from_bytes(key, "little")), 64)


def test_it_fails_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("no cipher")

    monkeypatch.setattr(randomness, "AESCounter", broken)
    with pytest.raises(RuntimeError, match="no cipher"):
        wv.secure_stream().normals((1,))


def draws(stream: wv.Stream) -> tuple[float, ...]:
    return (*stream.normals((4,)).tolist(), *stream.gammas(3.0, 4).tolist())


def test_secure_streams_are_all_different() -> None:
    assert len({draws(wv.secure_stream()) for _ in range(100)}) == 100


def test_a_seed_repeats_and_says_that_it_is_insecure() -> None:
    assert draws(wv.insecure_stream(7)) == draws(wv.insecure_stream(7))
    assert draws(wv.insecure_stream(7)) != draws(wv.insecure_stream(8))
    assert (wv.insecure_stream(7).secure, wv.secure_stream().secure) == (False, True)


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, "7"])
def test_a_seed_is_a_whole_number(seed: int) -> None:
    with pytest.raises(wv.ParameterError, match="'seed'"):
        wv.insecure_stream(seed)


KINDS: dict[str, Callable[[wv.Stream, int], np.ndarray]] = {
    "normals": lambda stream, count: stream.normals((count, 3)),
    "gammas": lambda stream, count: stream.gammas(3.0, count),
    "uniforms": lambda stream, count: stream.uniforms((count, 3)),
    "exponentials": lambda stream, count: stream.exponentials((count, 3)),
    "gumbels": lambda stream, count: stream.gumbels((count, 3)),
    "integers": lambda stream, count: stream.integers(1000, (count, 3)),
    "permutations": lambda stream, count: np.array([stream.permutation(9) for _ in range(count)]).reshape(
        -1, 9
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_draw_first_at_once_draw_different_numbers(kind: str) -> None:
    """Each made a generator of its own, under the same key: half of 3,000 pairs were equal."""
    with ThreadPoolExecutor(2) as pool:
        for _ in range(500):
            stream, barrier = wv.secure_stream(), threading.Barrier(2)

            def draw(_: int, stream: wv.Stream = stream, barrier: threading.Barrier = barrier) -> bytes:
                barrier.wait()
                return KINDS[kind](stream, 8).tobytes()

            assert len(set(pool.map(draw, range(2)))) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_blocks_and_other_kinds_change_nothing(kind: str) -> None:
    """Each kind has a generator of its own: all others, drawn in between, leave it as it was."""
    for make in (lambda: wv.insecure_stream(3), lambda key=wv.RunKey(): key.stream("x")):
        uncut, cut = make(), make()
        parts = []
        for size in (1, 4, 7, 8):
            parts.append(KINDS[kind](cut, size))
            for other in KINDS.keys() - {kind}:
                KINDS[other](cut, size)
        np.testing.assert_array_equal(KINDS[kind](uncut, 20), np.concatenate(parts))


@pytest.mark.parametrize("make", [wv.secure_stream, lambda: wv.insecure_stream(3)])
def test_every_kind_has_a_key_of_its_own(make: Callable[[], wv.Stream]) -> None:
    stream = make()
    for draw in KINDS.values():
        draw(stream, 1)
    raw = [generator.bit_generator.random_raw(4).tolist() for generator in stream._generators.values()]
    assert len({number for numbers in raw for number in numbers}) == 4 * len(KINDS)


@pytest.mark.parametrize("high", [0, -1, 1.5, True, 1 << 63])
def test_the_range_of_integers_is_a_whole_number(high: int) -> None:
    with pytest.raises(wv.ParameterError, match="'high'"):
        wv.insecure_stream(3).integers(high, (2,))


def test_a_key_is_256_bits_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr("secrets.token_bytes", lambda count: sizes.append(count) or bytes(count))  # type: ignore[func-returns-value]  # append returns None
    assert draws(wv.secure_stream()) == draws(wv.secure_stream())
    assert sizes == [32, 32]


@pytest.mark.parametrize("make", [wv.secure_stream, lambda: wv.insecure_stream(3)])
def test_deviates_are_float64(make: Callable[[], wv.Stream]) -> None:
    stream = make()
    for drawn in (stream.normals((10_000,)), stream.gammas(300.0, 10_000)):
        assert drawn.dtype == np.float64
        assert (drawn == drawn.astype(np.float32)).mean() < 1e-3


def test_a_run_key_derives_the_same_stream_from_the_same_context_only() -> None:
    key = wv.RunKey()
    assert draws(key.stream("part", 1, b"x")) == draws(key.stream("part", 1, b"x"))
    contexts: list[tuple[str | bytes | int, ...]] = [
        (), ("",), (b"",), (0,), ("0",), ("a", "b"), ("ab",), ("ab", ""), ("", "ab"), (b"ab",), (1, 23), (12, 3),
        (-1,), ("\ud800",), ("asb",), ("a\0b",), ("as" + "\1" + "\0" * 7 + "b",),
    ]  # fmt: skip
    assert len({draws(key.stream(*context)) for context in contexts}) == len(contexts)
    assert draws(wv.RunKey().stream("part")) != draws(wv.RunKey().stream("part"))


@pytest.mark.parametrize("part", [True, 1.5, None, ("a",)])
def test_a_context_of_other_things_is_refused(part: str) -> None:
    with pytest.raises(wv.ParameterError, match="str, bytes and int"):
        wv.RunKey().stream(part)


@pytest.mark.parametrize("make", [wv.secure_stream, lambda: wv.insecure_stream(1), wv.RunKey])
def test_nothing_random_is_pickled_or_copied_or_shown(make: Callable[[], wv.Stream | wv.RunKey]) -> None:
    source = make()
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(wv.WordveilError, match="can't be pickled or copied"):
            act(source)
    assert repr(source) in ("<Stream>", "<RunKey>")


def _use_in_child(source: wv.Stream | wv.RunKey, channel: "multiprocessing.SimpleQueue[str]") -> None:
    try:
        if isinstance(source, wv.RunKey):
            source.stream("x")
        else:
            source.normals((3,))
    except wv.WordveilError as error:
        outcome = str(error)
    else:
        outcome = "it drew"
    if isinstance(source, wv.Stream):
        try:
            source.gammas(2.0, 3)
        except wv.WordveilError:
            pass
        else:
            outcome = "it drew"
    channel.put(outcome)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("make", [wv.secure_stream, lambda: wv.insecure_stream(1), wv.RunKey])
def test_a_forked_child_never_repeats_its_parents_noise(make: Callable[[], wv.Stream | wv.RunKey]) -> None:
    context = multiprocessing.get_context("fork")
    channel = context.SimpleQueue()
    process = context.Process(target=_use_in_child, args=(make(), channel))
    process.start()
    outcome = channel.get()
    process.join()
    assert "forked process" in outcome


def _fresh_in_child(
    make: Callable[[], wv.Stream], channel: "multiprocessing.SimpleQueue[tuple[float, ...]]"
) -> None:
    channel.put(draws(make()))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("make", [wv.secure_stream, randomness.thread_stream])
def test_forked_children_draw_streams_of_their_own(make: Callable[[], wv.Stream]) -> None:
    draws(make())  # a stream that is there before the fork
    context = multiprocessing.get_context("fork")
    channel = context.SimpleQueue()
    processes = [context.Process(target=_fresh_in_child, args=(make, channel)) for _ in range(4)]
    for process in processes:
        process.start()
    seen = {draws(make()), *(channel.get() for _ in processes)}
    for process in processes:
        process.join()
    assert len(seen) == 5


@pytest.mark.parametrize("secret", [b"", b"x" * 31, b"x" * 33, bytearray(32), "x" * 32, None])
def test_a_key_has_32_bytes(secret: bytes) -> None:
    with pytest.raises(wv.ParameterError, match="32 bytes"):
        wv.RunKey.of_run(secret, secure=True)
    with pytest.raises(wv.ParameterError, match="True or False"):
        wv.RunKey.of_run(bytes(32), secure=1)  # type: ignore[arg-type]  # that is the test


def test_threads_have_streams_of_their_own() -> None:
    everyone_is_here = threading.Barrier(8)

    def draw(_: int) -> tuple[tuple[float, ...], int]:
        everyone_is_here.wait(10)
        return draws(randomness.thread_stream()), id(randomness.thread_stream())

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(draw, range(8)))
    assert len(set(results)) == len({numbers for numbers, _ in results}) == 8
    assert len({stream for _, stream in results}) == 8


def test_the_stream_of_a_thread_goes_on_and_gets_a_new_key_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(randomness, "_CALLS_PER_KEY", 3)
    monkeypatch.setattr(randomness, "_this_thread", randomness._OfThisThread())
    streams = [randomness.thread_stream() for _ in range(7)]
    assert [streams.index(stream) for stream in streams] == [0, 0, 0, 3, 3, 3, 6]
    assert len({draws(stream) for stream in streams}) == 7
    assert all(stream.secure for stream in streams)


def test_the_stream_of_a_thread_gets_a_new_key_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "_this_thread", randomness._OfThisThread())
    first = randomness.thread_stream()
    assert randomness.thread_stream() is first
    monkeypatch.setattr(randomness, "_SECONDS_PER_KEY", -1.0)
    assert randomness.thread_stream() is not first


def test_a_count_that_was_passed_over_still_renews_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal handler that perturbs in the middle of `thread_stream` can leave it."""
    monkeypatch.setattr(randomness, "_this_thread", randomness._OfThisThread())
    first = randomness.thread_stream()
    randomness._this_thread.calls_left = -1
    assert randomness.thread_stream() is not first
