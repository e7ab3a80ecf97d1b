"""How embeddings are stored on disk: one memory-mapped safetensors file, with no pickle anywhere.

Tensors: `vectors` (float16 or float32, one row per word), `words` (one UTF-8 blob) and `offsets` (int64: 0,
then where each word ends in the blob). Metadata: form, name, source, licence, preprocessing, whether the
vectors were declared public, and the fingerprint.
"""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from wordveil.atomic import atomic_write
from wordveil.embedding.arrays import first_not_finite, row_blocks
from wordveil.embedding.checks import is_plain_word
from wordveil.embedding.fingerprint import fingerprint_of, pack_words
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.vectors import Embedding
from wordveil.errors import FormatError, MachineError, ParameterError, parameter_error

__all__ = ["StoreDtype", "looks_like_store", "open_store", "save_store"]

StoreDtype = Literal["float16", "float32"]

_FORM: Final = "wordveil-embedding-1"
# safetensors refuses headers over 100 MB; random bytes almost never pass for a length below this.
_LARGEST_HEADER: Final = 1 << 27
_DTYPES: Final[dict[str, str]] = {"float16": "F16", "float32": "F32"}
_DECLARED: Final = "declared"
_HINT: Final = "Hint: create it with 'wordveil embedding import'."


def looks_like_store(head: bytes) -> bool:
    """Return whether a file that starts with `head` is a safetensors file."""
    return len(head) > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < _LARGEST_HEADER


def save_store(
    embedding: Embedding, path: Path, *, dtype: StoreDtype = "float32", force: bool = False
) -> str:
    """Write `embedding` to `path`, completely or not at all, and return the fingerprint of what was written.

    float16 halves the file and rounds the vectors, so the fingerprint is that of the rounded vectors.
    """
    if dtype not in _DTYPES:
        raise parameter_error("dtype", "save_store", "be 'float16' or 'float32'", dtype)
    if embedding._derived:
        raise ParameterError(
            "A projection can't be stored. Hint: store the full embedding and project it after loading."
        )
    blob, offsets = pack_words(embedding.words)
    vectors = embedding.vectors if dtype == "float32" else _narrowed(embedding)
    fingerprint = fingerprint_of(blob, offsets, vectors)
    provenance = embedding.provenance
    metadata = {
        "form": _FORM,
        "name": provenance.name,
        "source": provenance.source,
        "licence": provenance.licence,
        "preprocessing": provenance.preprocessing,
        "parent": provenance.parent,
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
        raise MachineError(f"{folder}: can't be created: {error.strerror}.") from None


def _narrowed(embedding: Embedding) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        narrow = embedding.vectors.astype(np.float16)
    bad_row = first_not_finite(narrow)
    if bad_row is not None:
        raise FormatError(f"The vector of word {bad_row + 1:,} is too large for float16. Hint: use float32.")
    return narrow


def _header(metadata: dict[str, str], dtype: str, shape: tuple[int, ...], blob_size: int) -> bytes:
    rows, dim = shape
    vectors_end = rows * dim * (2 if dtype == "float16" else 4)
    offsets_end = vectors_end + (rows + 1) * 8
    words_end = offsets_end + blob_size
    fields = {
        "__metadata__": metadata,
        "vectors": {"dtype": _DTYPES[dtype], "shape": [rows, dim], "data_offsets": [0, vectors_end]},
        "offsets": {"dtype": "I64", "shape": [rows + 1], "data_offsets": [vectors_end, offsets_end]},
        "words": {"dtype": "U8", "shape": [blob_size], "data_offsets": [offsets_end, words_end]},
    }
    text = json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _little_endian_blocks(vectors: NDArray[Any], dtype: str) -> Iterator[memoryview]:
    kind = "<f2" if dtype == "float16" else "<f4"
    for block in row_blocks(len(vectors)):
        yield np.ascontiguousarray(vectors[block], dtype=kind).data.cast("B")


def open_store(path: Path, *, public: bool = False) -> Embedding:
    """Open a stored embedding. Structure and sizes are checked; the vectors are mapped, but not yet read.

    Call `verify` on the result to check words and vectors against the fingerprint. `public` declares the
    vectors public if the store itself does not.
    """
    metadata = _checked_by_library(path)
    tensors, data_start = _tensor_table(path)
    stored = _map(path, tensors, data_start, "vectors", {"F16": "<f2", "F32": "<f4"}, 2)
    offsets = np.asarray(_map(path, tensors, data_start, "offsets", {"I64": "<i8"}, 1))
    blob = _map(path, tensors, data_start, "words", {"U8": "|u1"}, 1)
    rows = len(stored)
    if rows < 2 or stored.shape[1] < 1:
        raise FormatError(f"{path}: holds fewer than 2 words or no dimensions. {_HINT}")
    if len(offsets) != rows + 1 or offsets[0] != 0 or offsets[-1] != len(blob):
        raise FormatError(f"{path}: the words do not fit the vectors: the file is damaged. {_HINT}")
    if (np.diff(offsets) <= 0).any():
        raise FormatError(f"{path}: the words overlap or are empty: the file is damaged. {_HINT}")
    try:
        provenance = Provenance(*(metadata.get(key, "") for key in Provenance.__dataclass_fields__))
    except ParameterError:
        raise FormatError(f"{path}: its metadata holds control characters. {_HINT}") from None
    return Embedding._adopt(
        _words_reader(path, blob, offsets),
        stored,
        provenance,
        fingerprint=metadata["fingerprint"],
        public=public or metadata.get("public") == _DECLARED,
    )


def _checked_by_library(path: Path) -> dict[str, str]:
    """Let safetensors check the header, types, offsets and file size, and return the metadata."""
    try:
        with safe_open(path, framework="np") as file:
            metadata: dict[str, str] = file.metadata() or {}
    except SafetensorError:
        raise FormatError(f"{path}: not a valid safetensors file. {_HINT}") from None
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
    data_start: int,
    name: str,
    dtypes: dict[str, str],
    ndim: int,
) -> NDArray[Any]:
    entry = tensors.get(name, {})
    if entry.get("dtype") not in dtypes or len(entry["shape"]) != ndim or 0 in entry["shape"]:
        raise FormatError(f"{path}: the tensor '{name}' is missing or of the wrong kind. {_HINT}")
    kind, shape = np.dtype(dtypes[entry["dtype"]]), tuple(entry["shape"])
    return np.memmap(path, kind, "r", data_start + entry["data_offsets"][0], shape)


def _words_reader(path: Path, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Callable[[], list[str]]:
    def read() -> list[str]:
        data = blob.tobytes()
        try:
            words = [data[start:end].decode("utf-8") for start, end in pairwise(offsets.tolist())]
        except UnicodeDecodeError:
            raise FormatError(f"{path}: a word is not valid UTF-8. {_HINT}") from None
        if not all(map(is_plain_word, words)):
            raise FormatError(f"{path}: a word is blank or holds control characters or line breaks. {_HINT}")
        return words

    return read
