"""Fits fastText's classifier in a process of its own: python -m wordveil.evaluation.fasttext_fit < TEXTS.

Some fits stop with a NaN because the library does not clear its memory; a process of its own can be given
cleared memory. Prints the number of a label for each text to classify, one per line, and -1 for a text
without known words; exits with 3 after a NaN.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["LABEL", "NAN", "packed"]

LABEL: Final = "__label__"  # what fastText expects before a label
NAN: Final = 3  # an exit code that neither Python (1) nor a usage error (2) has


def packed(train: Iterable[str], test: Iterable[str]) -> bytes:
    r"""Return what this module reads: the size of the training texts in bytes, those texts, the test texts.

    Examples
    --------
    >>> packed(["__label__1 a\n"], ["b\n"])
    b'13\n__label__1 a\nb\n'
    """
    labelled = "".join(train).encode()
    return b"%d\n%b%b" % (len(labelled), labelled, "".join(test).encode())


def main() -> int:
    """Fit, predict and print."""
    import fasttext

    size = int(sys.stdin.buffer.readline())
    labelled = sys.stdin.buffer.read(size)
    test = sys.stdin.buffer.read().decode().split("\n")[:-1]
    try:
        with _path_of(labelled) as path:
            # fastText's defaults, except for one thread, which makes a fit repeatable.
            model = fasttext.train_supervised(path, dim=100, epoch=5, lr=0.1, thread=1, verbose=0)
    except RuntimeError as error:
        if "NaN" not in str(error):
            raise
        return NAN
    predicted, _ = model.predict(test)
    numbers = (labels[0].removeprefix(LABEL) if labels else "-1" for labels in predicted)
    sys.stdout.write("".join(f"{number}\n" for number in numbers))
    return 0


@contextmanager
def _path_of(data: bytes) -> Iterator[str]:
    """Yield a path of a file with these bytes, which the library reads; on Linux it exists in memory only."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("texts")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.TemporaryDirectory() as folder:  # readable by this user only, deleted at the end
            path = Path(folder) / "texts"
            path.write_bytes(data)
            yield str(path)


if __name__ == "__main__":
    sys.exit(main())
