"""The one form on disk: a single safetensors file, memory-mapped, with no pickle anywhere.

Tensors: `vectors` (float16 or float32, a row a word), `words` (one UTF-8 blob) and `offsets` (int64, the
end of each word in the blob, the first 0). Metadata: form, name, source, licence, preprocessing, whether
they were declared public, and the fingerprint.
"""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from wordveil.embedding.arrays import first_not_finite
from wordveil.embedding.atomic import atomic_write
from wordveil.embedding.fingerprint import fingerprint_of, pack_words
from wordveil.embedding.vectors import Embedding, Provenance, is_plain_word
from wordveil.errors import FormatError, MachineError, ParameterError, parameter_error

__all__ = ["StoreDtype", "looks_like_store", "open_store", "save_store"]

StoreDtype = Literal["float16", "float32"]

_FORM: Final = "wordveil-embedding-1"
_BLOCK_ROWS: Final = 4096
_DTYPES: Final[dict[str, str]] = {"float16": "F16", "float32": "F32"}
_DECLARED: Final = "declared"
_HINT: Final = "Hint: make it with 'wordveil embedding import'."


def looks_like_store(head: bytes) -> bool:
    """Tell whether a file that begins with `head` is a safetensors file."""
    return len(head) > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27


def save_store(
    embedding: Embedding, path: Path, *, dtype: StoreDtype = "float32", force: bool = False
) -> str:
    """Write `embedding` to `path`, whole or not at all, and return the fingerprint of what was written.

    float16 halves the file and rounds the vectors, so the fingerprint is that of the rounded ones.
    """
    if dtype not in _DTYPES:
        raise parameter_error("dtype", "save_store", "be 'float16' or 'float32'", dtype)
    if embedding._derived:
        raise ParameterError(
            "A projection is not stored. Hint: store the whole embedding and project it after loading."
        )
    blob, offsets = pack_words(embedding.words)
    vectors = embedding.vectors if dtype == "float32" else _narrowed(embedding)
    fingerprint = fingerprint_of(blob, offsets, vectors)
    about = embedding.provenance
    metadata = {
        "form": _FORM,
        "name": about.name,
        "source": about.source,
        "licence": about.licence,
        "preprocessing": about.preprocessing,
        "public": _DECLARED if embedding.public else "",
        "fingerprint": fingerprint,
    }
    header = _header(metadata, dtype, vectors.shape, len(blob))
    _make_folder(path.parent)
    with atomic_write(path, force=force) as file:
        file.write(header)
        for block in _little_endian_blocks(vectors, dtype):
            file.write(block)
        file.write(offsets.astype("<i8").tobytes())
        file.write(blob.tobytes())
    return fingerprint


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"{folder}: can't be made: {error.strerror}.") from None


def _narrowed(embedding: Embedding) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        narrow = embedding.vectors.astype(np.float16)
    bad = first_not_finite(narrow)
    if bad is not None:
        raise FormatError(f"The vector of word {bad + 1:,} is too large for float16. Hint: use float32.")
    return narrow


def _header(metadata: dict[str, str], dtype: str, shape: tuple[int, ...], blob_size: int) -> bytes:
    rows, dim = shape
    ends = np.cumsum([rows * dim * (2 if dtype == "float16" else 4), (rows + 1) * 8, blob_size])
    first, second, third = (int(end) for end in ends)
    fields = {
        "__metadata__": metadata,
        "vectors": {"dtype": _DTYPES[dtype], "shape": [rows, dim], "data_offsets": [0, first]},
        "offsets": {"dtype": "I64", "shape": [rows + 1], "data_offsets": [first, second]},
        "words": {"dtype": "U8", "shape": [blob_size], "data_offsets": [second, third]},
    }
    text = json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _little_endian_blocks(vectors: NDArray[Any], dtype: str) -> Iterator[memoryview]:
    kind = "<f2" if dtype == "float16" else "<f4"
    for start in range(0, len(vectors), _BLOCK_ROWS):
        yield np.ascontiguousarray(vectors[start : start + _BLOCK_ROWS], dtype=kind).data.cast("B")


def open_store(path: Path, *, public: bool = False) -> Embedding:
    """Open a stored embedding: the structure and sizes are checked, the vectors mapped and not yet read.

    Call `verify` on the result to check the whole content against its fingerprint. `public` declares what the
    store does not say itself.
    """
    metadata = _checked_by_library(path)
    tensors, begin = _tensor_table(path)
    stored = _map(path, tensors, begin, "vectors", {"F16": "<f2", "F32": "<f4"}, 2)
    offsets = np.asarray(_map(path, tensors, begin, "offsets", {"I64": "<i8"}, 1))
    blob = _map(path, tensors, begin, "words", {"U8": "|u1"}, 1)
    rows = len(stored)
    if rows < 2 or stored.shape[1] < 1:
        raise FormatError(f"{path}: holds fewer than 2 words or no dimensions. {_HINT}")
    if len(offsets) != rows + 1 or offsets[0] != 0 or offsets[-1] != len(blob):
        raise FormatError(f"{path}: the words do not fit the vectors: the file is damaged. {_HINT}")
    if (np.diff(offsets) <= 0).any():
        raise FormatError(f"{path}: the words overlap or are empty: the file is damaged. {_HINT}")
    try:
        about = Provenance(*(metadata.get(key, "") for key in Provenance.__dataclass_fields__))
    except ParameterError:
        raise FormatError(f"{path}: its metadata holds control characters. {_HINT}") from None
    return Embedding._adopt(
        _words_reader(path, blob, offsets),
        stored,
        about,
        fingerprint=metadata["fingerprint"],
        public=public or metadata.get("public") == _DECLARED,
    )


def _checked_by_library(path: Path) -> dict[str, str]:
    """Let safetensors check header, types, offsets and file size; return the metadata."""
    try:
        with safe_open(path, framework="np") as file:
            metadata: dict[str, str] = file.metadata() or {}
    except SafetensorError:
        raise FormatError(f"{path}: not a sound safetensors file. {_HINT}") from None
    if metadata.get("form") != _FORM or len(metadata.get("fingerprint", "")) != 64:
        raise FormatError(f"{path}: not an embedding stored by wordveil. {_HINT}")
    return metadata


def _tensor_table(path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        table: dict[str, dict[str, Any]] = json.loads(file.read(size))
    return table, 8 + size


def _map(
    path: Path,
    tensors: dict[str, dict[str, Any]],
    begin: int,
    name: str,
    dtypes: dict[str, str],
    ndim: int,
) -> NDArray[Any]:
    entry = tensors.get(name, {})
    if entry.get("dtype") not in dtypes or len(entry["shape"]) != ndim or 0 in entry["shape"]:
        raise FormatError(f"{path}: the tensor '{name}' is missing or of the wrong kind. {_HINT}")
    kind, shape = np.dtype(dtypes[entry["dtype"]]), tuple(entry["shape"])
    return np.memmap(path, kind, "r", begin + entry["data_offsets"][0], shape)


def _words_reader(path: Path, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Callable[[], list[str]]:
    def read() -> list[str]:
        data, ends = blob.tobytes(), offsets.tolist()
        try:
            words = [data[a:b].decode("utf-8") for a, b in pairwise(ends)]
        except UnicodeDecodeError:
            raise FormatError(f"{path}: a word is not valid UTF-8. {_HINT}") from None
        if not all(map(is_plain_word, words)):
            raise FormatError(f"{path}: a word is blank or holds control characters or line breaks. {_HINT}")
        return words

    return read
