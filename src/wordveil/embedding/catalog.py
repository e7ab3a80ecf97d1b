"""Embeddings by name: those that installed packages bring, and those that the user imported."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from wordveil.embedding.formats.reading import read_embedding
from wordveil.embedding.store import StoreDtype, looks_like_store, open_store, save_store
from wordveil.embedding.vectors import Embedding
from wordveil.errors import ParameterError, UnknownNameError

__all__ = [
    "DEFAULT_NAME",
    "Entry",
    "check_new_name",
    "entries",
    "import_embedding",
    "load_embedding",
    "user_folder",
]

DEFAULT_NAME: Final = "glove-840b-300d"
_GROUP: Final = "wordveil.embeddings"
_SUFFIX: Final = ".safetensors"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Entry:
    """An embedding that can be asked for by name."""

    name: str
    path: Path
    origin: str


def user_folder() -> Path:
    """Return the folder that imported embeddings are kept in, by the platform's conventions."""
    return user_data_path("wordveil", appauthor=False) / "embeddings"


def entries() -> list[Entry]:
    """Return every embedding that has a name: the installed packages' first, then the user's own."""
    return [*_installed(), *_imported()]


def _installed() -> Iterator[Entry]:
    for point in sorted(entry_points(group=_GROUP), key=lambda point: point.name):
        path = Path(point.load())
        package = point.dist.name if point.dist is not None else point.value
        yield Entry(point.name, path, f"package {package}")


def _imported() -> Iterator[Entry]:
    folder = user_folder()
    if folder.is_dir():
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            if not path.name.startswith("."):
                yield Entry(path.name.removesuffix(_SUFFIX), path, "imported")


def load_embedding(source: str | Path | None = None) -> Embedding:
    """Return the embedding of that name or in that file; without a name, the default one.

    A stored embedding is mapped, so that this takes milliseconds; other files are read whole.

    Examples
    --------
    >>> emb = load_embedding()
    >>> emb
    Embedding('glove-840b-300d', 33,752 words, 300 dimensions)
    >>> [word for word, cosine in emb.neighbours("boston", 3)]
    ['chicago', 'seattle', 'baltimore']
    """
    if source is None:
        source = DEFAULT_NAME
    path = source if isinstance(source, Path) else _resolve(source)
    if path.is_file():  # a pipe can be read only once
        with path.open("rb") as file:
            head = file.read(16)
        if looks_like_store(head):
            return open_store(path)
    embedding, _ = read_embedding(path)
    return embedding


def _resolve(name: str) -> Path:
    known = {entry.name: entry.path for entry in reversed(entries())}
    if name in known:
        return known[name]
    path = Path(name)
    if path.exists() or path.name != name or path.suffix:
        return path
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        hint = f"did you mean '{close[0]}'?"
    elif name == DEFAULT_NAME:
        hint = "pip install ./packages/wordveil-glove brings the default one."
    else:
        hint = "'wordveil embedding list' shows the names; a path works too."
    raise UnknownNameError(f"There is no embedding of that name. Hint: {hint}")


def import_embedding(
    embedding: Embedding, name: str, *, dtype: StoreDtype = "float32", force: bool = False
) -> Path:
    """Store `embedding` in the user's data folder, so that it can be asked for as `name`."""
    path = check_new_name(name, force=force)
    save_store(embedding, path, dtype=dtype, force=force)
    return path


def check_new_name(name: str, *, force: bool = False) -> Path:
    """Return where an embedding called `name` would be kept; refuse names that are taken or odd."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            "The name of an embedding must be up to 64 small letters, digits, dots, dashes and "
            "underscores, and begin with a letter or digit."
        )
    if any(entry.name == name for entry in _installed()):
        raise ParameterError(f"'{name}' is the name of an installed package's vectors. Hint: choose another.")
    path = user_folder() / f"{name}{_SUFFIX}"
    if path.exists() and not force:
        raise ParameterError(f"There is an embedding '{name}' already. Hint: --force replaces it.")
    return path
