"""Fits fastText's classifier in a process of its own: python -m wordveil.evaluation.fasttext_fit < TEXTS.

Some fits of the library stop with a NaN, because of memory that it does not clear; a process of its own can
be given memory that is. Prints 1 or 0 for each text that is asked about; ends with 3 after a NaN.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["NAN", "packed"]

NAN: Final = 3


def packed(train: Iterable[str], test: Iterable[str]) -> bytes:
    r"""Return what this module reads: how many bytes there are to learn from, those, and texts to label.

    Examples
    --------
    >>> packed(["__label__1 a\n"], ["b\n"])
    b'13\n__label__1 a\nb\n'
    """
    known = "".join(train).encode()
    return b"%d\n%b%b" % (len(known), known, "".join(test).encode())


def main() -> int:
    """Fit, predict and print."""
    import fasttext

    size = int(sys.stdin.buffer.readline())
    known = sys.stdin.buffer.read(size)
    asked = sys.stdin.buffer.read().decode().split("\n")[:-1]
    try:
        with _named(known) as path:
            model = fasttext.train_supervised(path, dim=100, epoch=5, lr=0.1, thread=1, verbose=0)
    except RuntimeError as error:
        if "NaN" not in str(error):
            raise
        return NAN
    found, _ = model.predict(asked)
    sys.stdout.write("".join("1" if each and each[0] == "__label__1" else "0" for each in found))
    return 0


@contextmanager
def _named(data: bytes) -> Iterator[str]:
    """Yield a path for some bytes, which the library wants: in memory on Linux, so that nothing can stay."""
    if sys.platform == "linux":
        number = os.memfd_create("texts")
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{number}"
    else:
        with tempfile.TemporaryDirectory() as place:  # for this user alone, and gone right after
            path = Path(place) / "texts"
            path.write_bytes(data)
            yield str(path)


if __name__ == "__main__":
    sys.exit(main())
