"""Where noise comes from: keyed cryptographic streams, and seeds for those who say that they want no secrecy.

A secure stream is a NumPy generator over AES-128 in counter mode, or over ChaCha20 where the processor has no
AES instructions, under a key from the operating system. Nothing falls back to an ordinary generator.
"""

import hashlib
import os
import secrets
import warnings
from typing import Final, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray
from randomgen import AESCounter, ChaCha

from wordveil.errors import ParameterError, PrivacyWarning, WordveilError, check_whole

__all__ = ["RunKey", "Stream", "insecure_key", "insecure_stream", "secure_stream", "warn_if_insecure"]

_KEY_BYTES: Final = 32
_DIRECTIONS: Final = b"directions"
_RADII: Final = b"radii"

_generation = 0


def _count_fork() -> None:
    global _generation  # noqa: PLW0603  # a fork is a fact of the whole process
    _generation += 1


if hasattr(os, "register_at_fork"):  # where there is no fork, there is nothing to count
    os.register_at_fork(after_in_child=_count_fork)


class _OfOneProcess:
    """Refuses to be used after a fork and to be pickled, so that no two processes share noise."""

    def __init__(self) -> None:
        self._home = (os.getpid(), _generation)

    def _check_home(self) -> None:
        if self._home != (os.getpid(), _generation):
            raise WordveilError(
                "A source of noise can't be used in a forked process, which would repeat its parent's noise. "
                "Hint: make it in the process that uses it."
            )

    def __reduce__(self) -> NoReturn:
        raise WordveilError("A source of noise can't be pickled or copied. Hint: make it where it is used.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@final
class Stream(_OfOneProcess):
    """A source of normal and of gamma deviates, each from a generator of its own.

    Because they are two, how a request is cut into blocks changes no deviate. Made by `secure_stream`,
    `insecure_stream` or `RunKey.stream`.

    Examples
    --------
    >>> stream = insecure_stream(7)
    >>> stream.secure, stream.normals((2, 3)).shape, stream.gammas(3.0, 2).shape
    (False, (2, 3), (2,))
    """

    def __init__(self, directions: np.random.Generator, radii: np.random.Generator, *, secure: bool) -> None:
        super().__init__()
        self._directions, self._radii = directions, radii
        self.secure: Final = secure

    def normals(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return independent standard normal deviates, by NumPy's float64 ziggurat."""
        self._check_home()
        return self._directions.standard_normal(shape)

    def gammas(self, shape: float, size: int) -> NDArray[np.float64]:
        """Return independent deviates of the gamma distribution of that shape and scale 1."""
        self._check_home()
        return self._radii.standard_gamma(shape, size)


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
        """Return the secret itself, to carry it to other processes of the same run: never store or log it.

        They make the key again with `RunKey.of_run`. It is the one way out, and has to be asked for by name.
        """
        self._check_home()
        return self._secret, self.secure

    @classmethod
    def of_run(cls, secret: bytes, secure: bool) -> Self:
        """Return the key of a run that another process began, from what its `expose` gave."""
        if not isinstance(secret, bytes) or len(secret) != _KEY_BYTES:
            raise ParameterError(
                f"The secret of a RunKey must be {_KEY_BYTES} bytes, as expose() gives them."
            )
        if not isinstance(secure, bool):
            raise ParameterError("Whether a RunKey is secure must be True or False, as expose() gives it.")
        key = cls()
        key._secret, key.secure = secret, secure
        return key

    def stream(self, *context: str | bytes | int) -> Stream:
        """Return the stream of this context: the same for the same, independent for any other."""
        self._check_home()
        packed = _pack(context)
        return Stream(
            _generator(self._derive(packed, _DIRECTIONS)),
            _generator(self._derive(packed, _RADII)),
            secure=self.secure,
        )

    def _derive(self, packed: bytes, purpose: bytes) -> bytes:
        keyed = hashlib.blake2b(
            packed, key=self._secret, digest_size=_KEY_BYTES, person=purpose, usedforsecurity=True
        )
        return keyed.digest()


def _pack(context: tuple[str | bytes | int, ...]) -> bytes:
    """Return the parts, each with its kind and length before it, so that no two contexts look the same."""
    packed = b""
    for part in context:
        match part:
            case bool():
                raise ParameterError("A context of a stream must be made of str, bytes and int.")
            case str():
                kind, data = b"s", part.encode("utf-8", "surrogatepass")
            case bytes():
                kind, data = b"b", part
            case int():
                kind, data = b"i", str(part).encode("ascii")
            case _:
                raise ParameterError("A context of a stream must be made of str, bytes and int.")
        packed += kind + len(data).to_bytes(8, "little") + data
    return packed


def _generator(key: bytes) -> np.random.Generator:
    """Return a generator whose bits are the key stream of a cipher."""
    whole = int.from_bytes(key, "little")
    cipher = AESCounter(key=whole % (1 << 128))
    if not cipher.use_aesni:
        cipher = ChaCha(key=whole, rounds=20)
    return np.random.Generator(cipher)


def secure_stream() -> Stream:
    """Return a new stream under a key of its own from the operating system.

    Examples
    --------
    >>> secure_stream().secure
    True
    """
    return RunKey().stream()


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
    directions, radii = np.random.SeedSequence(seed).spawn(2)
    return Stream(
        np.random.Generator(np.random.PCG64DXSM(directions)),
        np.random.Generator(np.random.PCG64DXSM(radii)),
        secure=False,
    )


def warn_if_insecure(source: Stream | RunKey, stacklevel: int = 3) -> None:
    """Raise a PrivacyWarning if the noise for somebody's text would come from a seed."""
    if not source.secure:
        warnings.warn(
            "The noise comes from a seed: whoever knows or guesses it can take the noise away. The guarantee "
            "does not cover that.",
            PrivacyWarning,
            stacklevel=stacklevel,
        )
