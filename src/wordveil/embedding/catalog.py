"""Embeddings by name: those that installed packages bring, and those that the user imported."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from wordveil.embedding.formats.reading import read_embedding
from wordveil.embedding.store import StoreDtype, looks_like_store, open_store, save_store
from wordveil.embedding.vectors import Embedding, warn_unless_public
from wordveil.errors import MachineError, ParameterError, UnknownNameError, sealed
from wordveil.folders import checked_path, user_folder

__all__ = [
    "DEFAULT_NAME",
    "Entry",
    "check_new_name",
    "entries",
    "import_embedding",
    "load_embedding",
    "stores_folder",
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


def stores_folder() -> Path:
    """Return the folder that imported embeddings are kept in, by the platform's conventions."""
    return user_folder("data", "imported vectors") / "embeddings"


def entries() -> list[Entry]:
    """Return every embedding that has a name: the installed packages' first, then the user's own."""
    return [*_installed(), *_imported()]


def _installed() -> Iterator[Entry]:
    for point in sorted(entry_points(group=_GROUP), key=lambda point: point.name):
        path = Path(point.load())
        package = point.dist.name if point.dist is not None else point.value
        yield Entry(point.name, path, f"package {package}")


def _imported() -> Iterator[Entry]:
    try:
        paths = sorted(stores_folder().iterdir())
    except (OSError, MachineError):  # no home, or one that can't be read: then nothing was imported there
        return
    for path in paths:
        if path.name.endswith(_SUFFIX) and not path.name.startswith("."):
            yield Entry(path.name.removesuffix(_SUFFIX), path, "imported")


@sealed
def load_embedding(source: str | Path | None = None, *, public: bool = False) -> Embedding:
    """Return the embedding of that name or in that file; without a name, the default one.

    A stored embedding is mapped, so that this takes milliseconds; other files are read whole. Vectors that
    came with a package are public; of others somebody must have said so when they were imported, or say so
    now with `public`, or there is a PrivacyWarning.

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
    path = checked_path(source, "source", "load_embedding")
    if not isinstance(source, Path):
        path, shipped = _resolve(str(path))
        public = public or shipped
    if path.is_file():  # a pipe can be read only once
        with path.open("rb") as file:
            head = file.read(16)
        if looks_like_store(head):
            return warn_unless_public(open_store(path, public=public), stacklevel=4)
    embedding, _ = read_embedding(path, public=public)
    return embedding


def _resolve(name: str) -> tuple[Path, bool]:
    """Return where an embedding is, and whether it came with a package."""
    shipped = {entry.name: entry.path for entry in _installed()}
    if name in shipped:
        return shipped[name], True
    known = shipped | {entry.name: entry.path for entry in _imported()}
    path = Path(name)
    if name in known or path.exists() or path.name != name or path.suffix:
        return known.get(name, path), False
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
    path = stores_folder() / f"{name}{_SUFFIX}"
    if path.exists() and not force:
        raise ParameterError(f"There is an embedding '{name}' already. Hint: --force replaces it.")
    return path
