"""Embeddings by name: those from installed packages, and those that the user imported."""

import difflib
import hashlib
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from wordveil.embedding.formats.reading import read_embedding
from wordveil.embedding.spectrum import Spectrum
from wordveil.embedding.store import StoreDtype, looks_like_store, open_store, save_store
from wordveil.embedding.vectors import Embedding, warn_unless_public
from wordveil.errors import (
    FormatError,
    IntegrityError,
    MachineError,
    ParameterError,
    UnknownNameError,
    WordveilError,
    sealed,
)
from wordveil.folders import checked_path, user_folder

__all__ = [
    "DEFAULT_NAME",
    "MAP_NAME",
    "CatalogEntry",
    "check_new_name",
    "entries",
    "import_embedding",
    "load_embedding",
    "load_parent",
    "stores_folder",
]

DEFAULT_NAME: Final = "glove-840b-300d"
MAP_NAME: Final = "glove-840b-map10"
_GROUP: Final = "wordveil.embeddings"
_SUFFIX: Final = ".safetensors"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_pickled: Final = WeakValueDictionary[tuple[object, ...], Embedding]()
_parents: Final = WeakValueDictionary[str, Embedding]()
# Keeps the last ones alive between tasks, so that each does not prepare the vectors of its mechanism again.
_last_pickled: Final = deque[Embedding](maxlen=2)


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """An embedding that can be loaded by name."""

    name: str
    path: Path
    origin: str


def stores_folder() -> Path:
    """Return the folder for imported embeddings, by the platform's conventions."""
    return user_folder("data", "imported vectors") / "embeddings"


def entries() -> list[CatalogEntry]:
    """Return every embedding that has a name: from installed packages first, then the user's own."""
    return [*_installed(), *_imported()]


def _installed() -> Iterator[CatalogEntry]:
    for point in sorted(entry_points(group=_GROUP), key=lambda point: point.name):
        path = Path(point.load())
        package = point.dist.name if point.dist is not None else point.value
        yield CatalogEntry(point.name, path, f"package {package}")


def _imported() -> Iterator[CatalogEntry]:
    try:
        paths = sorted(stores_folder().iterdir())
    except (OSError, MachineError):  # no home folder, or an unreadable one: nothing was imported
        return
    for path in paths:
        if path.name.endswith(_SUFFIX) and not path.name.startswith("."):
            yield CatalogEntry(path.name.removesuffix(_SUFFIX), path, "imported")


@sealed
def load_embedding(source: str | Path | None = None, *, public: bool = False) -> Embedding:
    """Return the embedding with that name or in that file; by default, the one that comes with wordveil.

    A stored embedding is mapped, which takes milliseconds; other files are read completely. Vectors from an
    installed package are public. Others must have been declared public when they were imported, or be
    declared so here with `public`; otherwise there is a PrivacyWarning.

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
    name = ""
    path = checked_path(source, "source", "load_embedding")
    if not isinstance(source, Path):
        path, from_package = _resolve(str(path))
        public = public or from_package
        name = str(source) if path != Path(source) else ""
    if path.is_file():  # a pipe can be read only once
        with path.open("rb") as file:
            head = file.read(16)
        if looks_like_store(head):
            embedding = warn_unless_public(open_store(path, public=public), stacklevel=4)
            if name:
                vars(embedding)["_reference"] = (_load_pickled, name)
            return embedding
    embedding, _ = read_embedding(path, public=public)
    return embedding


def load_parent(embedding: Embedding) -> Embedding:
    """Return the vectors that a projection or a map was made from; an embedding that has none is its own.

    They are looked for among the embeddings that have a name.

    Examples
    --------
    >>> emb = load_embedding()
    >>> load_parent(emb.project(10)).fingerprint == emb.fingerprint, load_parent(emb) is emb
    (True, True)
    """
    known: Embedding | None = vars(embedding).get("_known_parent")
    if known is not None:
        return known
    parent: Embedding | None = vars(embedding).get("_parent")
    if parent is None and embedding.provenance.parent:
        parent = _parents.get(embedding.provenance.parent) or _find_parent(embedding.provenance.parent)
        _parents[embedding.provenance.parent] = parent
    if parent is None:
        return embedding
    if tuple(parent.words) != tuple(embedding.words):
        raise IntegrityError("The words of a map are not those of the vectors that it was made from.")
    # Of a projection of a map, the vectors of the map. They stay in use as long as the embedding is.
    vars(embedding)["_known_parent"] = parent = load_parent(parent)
    return parent


def _find_parent(fingerprint: str) -> Embedding:
    for entry in entries():
        try:
            if open_store(entry.path).fingerprint == fingerprint:
                parent = load_embedding(entry.name)
                parent.verify()
                return parent
        except (FormatError, OSError):
            continue
    raise MachineError(
        "The vectors that this map or projection was made from are not on this machine. Hint: import them, "
        "or choose --answer nearest or likeliest."
    )


def _load_pickled(name: str, fingerprint: str, public: bool, spectrum: Spectrum | None) -> Embedding:
    """Return the embedding that a pickle refers to: one object for equal pickles, while it is in use."""
    axes = None if spectrum is None else hashlib.sha256(spectrum.axes.tobytes()).digest()
    key = (name, fingerprint, public, axes)
    known = _pickled.get(key)
    if known is not None:
        return known
    embedding = _open_named(name, fingerprint, public)
    if spectrum is not None:
        vars(embedding)["_spectrum"] = spectrum
    embedding = _pickled.setdefault(key, embedding)  # of two threads, the first; no lock that a fork inherits
    _last_pickled.append(embedding)
    return embedding


def _open_named(name: str, fingerprint: str, public: bool) -> Embedding:
    try:
        path, _ = _resolve(name)
        embedding = open_store(path, public=public)
    except (WordveilError, OSError):
        raise MachineError(
            f"The vectors '{name}' are not on this machine. Hint: install them here, or pickle with "
            "wordveil.embedding.pickled_vectors()."
        ) from None
    if embedding.fingerprint != fingerprint:
        raise IntegrityError(
            f"The vectors '{name}' on this machine are not those of the pickle. Hint: install the same ones, "
            "or pickle with wordveil.embedding.pickled_vectors()."
        )
    vars(embedding)["_reference"] = (_load_pickled, name)
    return embedding


def _resolve(name: str) -> tuple[Path, bool]:
    """Return the path of an embedding, and whether it comes from an installed package."""
    installed = {entry.name: entry.path for entry in _installed()}
    if name in installed:
        return installed[name], True
    paths = installed | {entry.name: entry.path for entry in _imported()}
    path = Path(name)
    if name in paths or path.exists() or path.name != name or path.suffix:
        return paths.get(name, path), False
    close_names = difflib.get_close_matches(name, paths, n=1)
    if close_names and name not in (DEFAULT_NAME, MAP_NAME):
        hint = f"did you mean '{close_names[0]}'?"
    elif name in (DEFAULT_NAME, MAP_NAME):
        hint = "pip install ./packages/wordveil-glove installs the default one."
    else:
        hint = "'wordveil embedding list' shows the names; a path works too."
    raise UnknownNameError(f"There is no embedding of that name. Hint: {hint}")


def import_embedding(
    embedding: Embedding, name: str, *, dtype: StoreDtype = "float32", force: bool = False
) -> Path:
    """Store `embedding` in the user's data folder, so it can be loaded as `name`."""
    path = check_new_name(name, force=force)
    save_store(embedding, path, dtype=dtype, force=force)
    return path


def check_new_name(name: str, *, force: bool = False) -> Path:
    """Return where an embedding called `name` would be stored; refuse names that are taken or malformed."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            "The name of an embedding must be up to 64 lower-case letters, digits, dots, dashes and "
            "underscores, and start with a letter or digit."
        )
    if any(entry.name == name for entry in _installed()):
        raise ParameterError(
            f"'{name}' is the name of vectors from an installed package. Hint: choose another name."
        )
    path = stores_folder() / f"{name}{_SUFFIX}"
    if path.exists() and not force:
        raise ParameterError(f"An embedding named '{name}' exists already. Hint: --force replaces it.")
    return path
