"""Fits fastText's classifier in a process of its own: python -m wordveil.evaluation.fasttext_fit TRAIN TEST.

Some fits of the library stop with a NaN, because of memory that it does not clear; a process of its own can
be given memory that is. Prints a label a line; ends with 3 after a NaN.
"""

import sys
from pathlib import Path
from typing import Final

__all__ = ["NAN"]

NAN: Final = 3


def main() -> int:
    """Fit, predict and print."""
    import fasttext

    train, test = sys.argv[1:]
    try:
        model = fasttext.train_supervised(train, dim=100, epoch=5, lr=0.1, thread=1, verbose=0)
    except RuntimeError:
        return NAN
    texts = Path(test).read_text(encoding="utf-8").split("\n")[:-1]
    found, _ = model.predict(texts)
    sys.stdout.write("".join(f"{int(bool(each) and each[0] == '__label__1')}\n" for each in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
