"""Read vectors from any file: detect its format and call the right reader."""

import codecs
from pathlib import Path
from typing import Final, Literal, get_args

from wordveil.embedding.formats.archives import ZIP_MAGIC, OpenedFile, open_file
from wordveil.embedding.formats.fasttext_model import MAGIC, read_fasttext_model
from wordveil.embedding.formats.numbers import is_number
from wordveil.embedding.formats.numpy_files import read_npy, read_npz
from wordveil.embedding.formats.selection import Collector, ReadOptions, Summary
from wordveil.embedding.formats.text import parse_header, read_text
from wordveil.embedding.formats.word2vec_binary import read_word2vec_binary
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.vectors import Embedding
from wordveil.errors import FormatError, ParameterError, sealed
from wordveil.folders import checked_path, printable_name

__all__ = ["FORMATS", "VectorFormat", "detect_format", "read_embedding"]

VectorFormat = Literal["glove", "word2vec", "word2vec-binary", "fasttext", "npy", "npz"]
FORMATS: Final[tuple[str, ...]] = get_args(VectorFormat)


@sealed
def read_embedding(
    path: str | Path,
    *,
    format: VectorFormat | None = None,
    member: str | None = None,
    row_words: str | Path | None = None,
    options: ReadOptions = ReadOptions(),
    provenance: Provenance | None = None,
    public: bool = False,
) -> tuple[Embedding, Summary]:
    r"""Read vectors from a file, and report what was left out.

    Parameters
    ----------
    path : path
        GloVe or word2vec text, fastText .vec, word2vec binary, fastText .bin, .npy or .npz; plain,
        gzipped, or in a .zip.
    format : str, optional
        One of `FORMATS` (default: detected from the content).
    member : str, optional
        The member of a zip file to read. Required if it has several.
    row_words : path, optional
        For .npy: a file with the word of each row, one word per line (default: NAME.words.txt beside it).
    options : ReadOptions
        Which words to keep, and how to change them.
    provenance : Provenance, optional
        Default: the name of the file, as name and as source.
    public : bool
        Declares that the file was not derived from the private text; otherwise there is a PrivacyWarning.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> _ = file.write_text("cat 1.0 0.5\ndog 0.9 0.4\n")
    >>> embedding, summary = read_embedding(file, public=True)
    >>> embedding.words, summary.sentences()
    (('cat', 'dog'), [])
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(f"The 'format' parameter of read_embedding must be one of {', '.join(FORMATS)}.")
    path = checked_path(path, "path", "read_embedding")
    word_list = None if row_words is None else checked_path(row_words, "row_words", "read_embedding")
    with open_file(path, member) as source:
        kind = format or detect_format(source)
        if word_list is not None and kind != "npy":
            raise ParameterError("Row words (--row-words) can only be used with an .npy file.")
        collector = _read(kind, source, options, word_list)
    if provenance is None:
        name = printable_name(path.name)
        provenance = Provenance(name=name, source=name)
    return collector.finish(provenance, public=public)


def _read(kind: str, source: OpenedFile, options: ReadOptions, row_words: Path | None) -> Collector:
    match kind:
        case "npy":
            return read_npy(source, options, row_words)
        case "npz":
            return read_npz(source, options)
        case "fasttext":
            return read_fasttext_model(source, options)
        case "word2vec-binary":
            return read_word2vec_binary(source, options)
        case _:
            return read_text(source, options, header=kind == "word2vec")


def detect_format(source: OpenedFile) -> str:
    """Return the format of a source, judged by its first bytes."""
    head = source.head
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(ZIP_MAGIC):
        return "npz"
    if head.startswith(MAGIC):
        return "fasttext"
    line, _, rest = head.removeprefix(codecs.BOM_UTF8).partition(b"\n")
    header = parse_header(line)
    if header is None:
        if b"\0" in head:
            raise FormatError(
                f"{source.name}: the format is not recognised. Hint: --format takes {', '.join(FORMATS)}."
            )
        return "glove"
    return "word2vec" if _continues_as_text(rest, header[1]) else "word2vec-binary"


def _continues_as_text(rest: bytes, dim: int) -> bool:
    """Return whether a header is followed by text, that is, whether the first numbers are decimal."""
    fields = rest[: 64 + 4 * dim].split(b"\n")[0].split()
    numbers = fields[1:-1] if len(fields) > 2 else fields[1:]
    return not rest or (bool(numbers) and is_number(numbers[-1]))
