"""Sources of noise: keyed cryptographic streams, and seeds for those who explicitly want no secrecy.

A secure stream is a NumPy generator over AES-128 in counter mode, or over ChaCha20 where the processor has no
AES instructions, under a key from the operating system. There is no fallback to an ordinary generator.
"""

import hashlib
import os
import secrets
import threading
import time
import warnings
from collections.abc import Callable
from typing import Final, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray
from randomgen import AESCounter, ChaCha

from wordveil.errors import ParameterError, PrivacyWarning, WordveilError, check_whole

__all__ = [
    "RunKey",
    "Stream",
    "insecure_key",
    "insecure_stream",
    "secure_stream",
    "thread_stream",
    "warn_if_insecure",
]

_KEY_BYTES: Final = 32  # 256 bits, the security level of the generator
# Calls, and seconds, after which a thread gets a new key. A key costs 80 µs, more than the rest of a call
# with one word. Whoever reads the memory of the process learns the noise of at most that many earlier calls.
_CALLS_PER_KEY: Final = 1000
_SECONDS_PER_KEY: Final = 10.0
_DIRECTIONS: Final = b"directions"
_RADII: Final = b"radii"
_UNIFORMS: Final = b"uniforms"
_EXPONENTIALS: Final = b"exponentials"
_GUMBELS: Final = b"gumbels"
_INTEGERS: Final = b"integers"
_PERMUTATIONS: Final = b"permutations"
_PURPOSES: Final = (_DIRECTIONS, _RADII, _UNIFORMS, _EXPONENTIALS, _GUMBELS, _INTEGERS, _PERMUTATIONS)

_generation = 0


def _count_fork() -> None:
    global _generation  # noqa: PLW0603  # forks are counted per process
    _generation += 1


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_count_fork)


class _OfOneProcess:
    """Can't be used after a fork or pickled, so no two processes share noise."""

    def __init__(self) -> None:
        self._home = (os.getpid(), _generation)

    def _is_home(self) -> bool:
        return self._home == (os.getpid(), _generation)

    def _check_home(self) -> None:
        if not self._is_home():
            raise WordveilError(
                "A source of noise can't be used in a forked process, which would repeat its parent's noise. "
                "Hint: create it in the process that uses it."
            )

    def __reduce__(self) -> NoReturn:
        raise WordveilError("A source of noise can't be pickled or copied. Hint: create it where it is used.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@final
class Stream(_OfOneProcess):
    """A source of random numbers of several kinds, each kind from a generator of its own.

    Because each kind has its own generator, splitting a request into blocks changes no number, and drawing
    one kind does not affect another. Create one by `secure_stream`, `insecure_stream` or `RunKey.stream`.

    Examples
    --------
    >>> stream = insecure_stream(7)
    >>> stream.secure, stream.normals((2, 3)).shape, stream.gammas(3.0, 2).shape
    (False, (2, 3), (2,))
    >>> stream.integers(10, (4,)).dtype
    dtype('int64')
    """

    def __init__(self, make_generator: Callable[[bytes], np.random.Generator], *, secure: bool) -> None:
        super().__init__()
        self._make_generator = make_generator
        self._generators: dict[bytes, np.random.Generator] = {}
        self.secure: Final = secure

    def _generator(self, purpose: bytes) -> np.random.Generator:
        """Return the generator of one kind of numbers; most streams need only one or two of them."""
        self._check_home()
        if purpose not in self._generators:
            # Of two threads that need it first, both must get the same one: two would repeat each other's
            # numbers. `setdefault` is atomic, and unlike a lock nothing that a fork could inherit.
            self._generators.setdefault(purpose, self._make_generator(purpose))
        return self._generators[purpose]

    def normals(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return independent standard normal deviates, by NumPy's float64 ziggurat."""
        return self._generator(_DIRECTIONS).standard_normal(shape)

    def gammas(self, shape: float, size: int) -> NDArray[np.float64]:
        """Return independent deviates of the gamma distribution of that shape and scale 1."""
        return self._generator(_RADII).standard_gamma(shape, size)

    def uniforms(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return independent deviates that are uniform on [0, 1), multiples of 2⁻⁵³."""
        return self._generator(_UNIFORMS).random(shape)

    def exponentials(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return independent deviates of the exponential distribution of mean 1, by NumPy's ziggurat."""
        return self._generator(_EXPONENTIALS).standard_exponential(shape)

    def gumbels(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return independent deviates of the standard Gumbel distribution, -log(-log(U)).

        The index of the largest of `scores + gumbels` is drawn with probability ∝ exp(scores), to within the
        53 bits of U: a choice whose probability is below 2⁻⁵³ is never drawn.
        """
        return self._generator(_GUMBELS).gumbel(size=shape)

    def integers(self, high: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return independent whole numbers that are uniform on 0, …, high - 1, without bias."""
        high = check_whole(high, "high", "Stream.integers", 1, 1 << 62)
        return self._generator(_INTEGERS).integers(high, size=shape, dtype=np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """Return the numbers 0, …, count - 1 in random order, each order equally likely."""
        count = check_whole(count, "count", "Stream.permutation", 0, 1 << 32)
        return self._generator(_PERMUTATIONS).permutation(count)


@final
class RunKey(_OfOneProcess):
    """The secret of one run, from the operating system; it derives streams and is never written to disk.

    Examples
    --------
    >>> key = RunKey()
    >>> a, b = key.stream("part", 0), key.stream("part", 1)
    >>> bool((a.normals((5,)) == b.normals((5,))).any())
    False
    """

    def __init__(self) -> None:
        super().__init__()
        self._secret = secrets.token_bytes(_KEY_BYTES)
        self.secure = True

    def expose(self) -> tuple[bytes, bool]:
        """Return the secret itself, to send it to other processes of the same run: never store or log it.

        They recreate the key with `RunKey.of_run`. There is no other way to get the secret.
        """
        self._check_home()
        return self._secret, self.secure

    @classmethod
    def of_run(cls, secret: bytes, secure: bool) -> Self:
        """Return the key of a run that another process has started, from the result of its `expose`."""
        if not isinstance(secret, bytes) or len(secret) != _KEY_BYTES:
            raise ParameterError(
                f"The secret of a RunKey must be {_KEY_BYTES} bytes, as expose() returns them."
            )
        if not isinstance(secure, bool):
            raise ParameterError("Whether a RunKey is secure must be True or False, as expose() returns it.")
        key = cls()
        key._secret, key.secure = secret, secure
        return key

    def stream(self, *context: str | bytes | int) -> Stream:
        """Return the stream of a context: the same for equal contexts, independent for different ones."""
        self._check_home()
        packed = _pack(context)
        return Stream(lambda purpose: _generator(self._derive(packed, purpose)), secure=self.secure)

    def _derive(self, packed: bytes, purpose: bytes) -> bytes:
        keyed = hashlib.blake2b(
            packed, key=self._secret, digest_size=_KEY_BYTES, person=purpose, usedforsecurity=True
        )
        return keyed.digest()


def _pack(context: tuple[str | bytes | int, ...]) -> bytes:
    """Return the parts, each after its type and length, so no two contexts give the same bytes."""
    packed = b""
    for part in context:
        match part:
            case bool():
                raise ParameterError("The context of a stream must consist of str, bytes and int.")
            case str():
                kind, data = b"s", part.encode("utf-8", "surrogatepass")
            case bytes():
                kind, data = b"b", part
            case int():
                kind, data = b"i", str(part).encode("ascii")
            case _:
                raise ParameterError("The context of a stream must consist of str, bytes and int.")
        packed += kind + len(data).to_bytes(8, "little") + data
    return packed


def _generator(key: bytes) -> np.random.Generator:
    """Return a generator whose bits are the key stream of a cipher."""
    number = int.from_bytes(key, "little")
    cipher = AESCounter(key=number % (1 << 128))
    if not cipher.use_aesni:
        cipher = ChaCha(key=number, rounds=20)
    return np.random.Generator(cipher)


def secure_stream() -> Stream:
    """Return a new stream under a key of its own from the operating system.

    Examples
    --------
    >>> secure_stream().secure
    True
    """
    return RunKey().stream()


class _OfThisThread(threading.local):
    """The secure stream of a thread, and how many calls may still use it."""

    stream: Stream | None = None
    calls_left = 0
    renewed_at = 0.0


_this_thread = _OfThisThread()


def thread_stream() -> Stream:
    """Return a secure stream for one call: that of the calling thread, under a key that is renewed often.

    No two threads share one, and a forked process starts with a new key. Two copies of one process, as from
    a snapshot of a virtual machine, share a key until it is renewed.

    Examples
    --------
    >>> thread_stream().secure
    True
    """
    local = _this_thread
    stream, now = local.stream, time.monotonic()
    is_old = local.calls_left <= 0 or now - local.renewed_at > _SECONDS_PER_KEY
    if stream is None or is_old or not stream._is_home():
        stream = local.stream = secure_stream()
        local.calls_left, local.renewed_at = _CALLS_PER_KEY, now
    local.calls_left -= 1
    return stream


def insecure_key(seed: int) -> RunKey:
    """Return a key that anyone who knows `seed` can repeat: for experiments, never for release.

    Examples
    --------
    >>> insecure_key(7).stream("part", 0).secure
    False
    """
    seed = check_whole(seed, "seed", "insecure_key", 0)
    secret = hashlib.blake2b(str(seed).encode("ascii"), digest_size=_KEY_BYTES, person=b"insecure-seed")
    return RunKey.of_run(secret.digest(), secure=False)


def insecure_stream(seed: int) -> Stream:
    """Return a stream that anyone who knows `seed` can repeat: for experiments, never for release.

    Examples
    --------
    >>> bool((insecure_stream(7).normals((3,)) == insecure_stream(7).normals((3,))).all())
    True
    """
    seed = check_whole(seed, "seed", "insecure_stream", 0)

    def make_generator(purpose: bytes) -> np.random.Generator:
        child = np.random.SeedSequence(seed, spawn_key=(_PURPOSES.index(purpose),))
        return np.random.Generator(np.random.PCG64DXSM(child))

    return Stream(make_generator, secure=False)


def warn_if_insecure(source: Stream | RunKey, stacklevel: int = 3) -> None:
    """Raise a PrivacyWarning if the noise for private text would come from a seed."""
    if not source.secure:
        warnings.warn(
            "The noise comes from a seed: whoever knows or guesses it can remove the noise. The guarantee "
            "does not cover that.",
            PrivacyWarning,
            stacklevel=stacklevel,
        )
