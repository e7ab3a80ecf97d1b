"""Hugging Face datasets: private versions of data sets in memory, on disk, or streamed (extra `datasets`)."""

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from wordveil.errors import FormatError, ParameterError, WordveilError, check_whole, sealed
from wordveil.folders import checked_path
from wordveil.integrations.library import checked_perturber, library, perturbed_column
from wordveil.perturber import Perturber, check_prior, warn_if_weak
from wordveil.prior import Prior
from wordveil.runs.manifest import release_facts
from wordveil.runs.private_files import is_own_folder
from wordveil.tables.columns import checked_names, not_text, positions

__all__ = ["manifest", "perturb"]

hf: Final = library("datasets", "datasets", "wv.datasets")

_OWNER: Final = "wv.datasets.perturb"
_WHERE: Final = "The data set"
_MANIFEST: Final = "\n\nManifest:\n"
_NO_TYPE: Final = "null"  # of a column in which every text is missing
_TEXT_TYPES: Final = ("string", "large_string", "string_view", _NO_TYPE)

_Data = TypeVar("_Data")


@sealed
def perturb(
    dataset: _Data,
    *,
    perturber: Perturber,
    text: str | Iterable[str],
    keep: str | Iterable[str] = (),
    num_proc: int | None = None,
    cache_folder: str | Path | None = None,
    prior: Prior | None = None,
) -> _Data:
    """Return a data set of the same kind with the texts made private, and the kept columns as they are.

    All other columns are left out, and so is everything in `info`, which gets the guarantee and a manifest
    instead. The result is kept in memory, and neither a cache nor a fingerprint is derived from the texts.

    An `IterableDataset` can be read once: a second pass would draw new noise for the same texts, which adds
    to what is revealed. To read it several times, collect it first:
    `Dataset.from_list(list(private), info=private.info)`.

    Parameters
    ----------
    dataset : Dataset, DatasetDict, IterableDataset or IterableDatasetDict
        The data. What `load_dataset` has left in its own cache stays there: see docs/integrations.
    perturber, text, keep, prior
        As in `wv.perturb_frame`.
    num_proc : int, optional
        Processes to use for a Dataset (default: this one only).
    cache_folder : path, optional
        Where to store a Dataset that does not fit into memory: a folder that only you can use. It is created
        if it does not exist.

    Examples
    --------
    >>> from datasets import Dataset
    >>> import wordveil as wv
    >>> data = Dataset.from_dict({"id": [1, 2], "message": ["book a flight", None], "label": [0, 1]})
    >>> perturber = wv.Perturber.from_profile("balanced")
    >>> private = perturb(data, perturber=perturber, text="message", keep="label")
    >>> private.column_names, len(private["message"][0].split()), private["message"][1]
    (['message', 'label'], 3, None)
    >>> manifest(private)["columns"]
    {'perturbed': ['message'], 'kept_as_they_were': ['label']}
    """
    checked_perturber(perturber, _OWNER)
    check_prior(perturber, prior, _OWNER)
    chosen, kept = checked_names(text, keep)
    if not chosen:
        raise ParameterError("Which column is to be perturbed? Hint: text=….")
    if num_proc is not None:
        check_whole(num_proc, "num_proc", _OWNER, 1)
    if not isinstance(dataset, hf.Dataset | hf.DatasetDict | hf.IterableDataset | hf.IterableDatasetDict):
        raise ParameterError(
            f"The 'dataset' parameter of {_OWNER} must be a Dataset, a DatasetDict or their iterable forms."
        )
    folder = None if cache_folder is None else _private_folder(cache_folder)
    exposure = warn_if_weak(perturber, prior)
    columns = {"perturbed": chosen, "kept_as_they_were": kept}
    facts = release_facts(perturber, exposure, columns, secure=True)
    description = f"{perturber.guarantee}{_MANIFEST}{json.dumps(facts, ensure_ascii=False)}"
    parts = dict(dataset) if isinstance(dataset, Mapping) else {"": dataset}
    _check_columns(parts.values(), chosen, kept)
    private = {
        name: _perturbed(part, perturber, chosen, kept, num_proc, folder) for name, part in parts.items()
    }
    for part in private.values():
        _describe(part, description)
    return type(dataset)(private) if isinstance(dataset, Mapping) else private[""]  # type: ignore[call-arg]


def manifest(dataset: Any) -> dict[str, Any]:
    """Return the manifest of a data set that `perturb` returned, also after `save_to_disk`.

    It is in `info`, which other ways to save a data set leave out.
    """
    _, mark, text = str(dataset.info.description).partition(_MANIFEST)
    if not mark:
        raise FormatError(f"{_WHERE}: has no manifest of wordveil in its description.")
    facts: dict[str, Any] = json.loads(text)
    return facts


def _perturbed(
    part: Any,
    perturber: Perturber,
    chosen: list[str],
    kept: list[str],
    num_proc: int | None,
    folder: Path | None,
) -> Any:
    """Return one part of a data set with private texts; everything else about it is still to be removed."""
    names = [name for name in part.column_names or [*chosen, *kept] if name in {*chosen, *kept}]
    selected = part.with_format(None).select_columns(names)
    features = _private_features(selected.features, chosen)
    options = {"batched": True, "input_columns": chosen, "features": features}
    if isinstance(part, hf.IterableDataset):
        return selected.map(_Once(perturber, chosen), with_indices=True, **options)
    fingerprint = secrets.token_hex(8)  # one that is derived would be a hash of the texts
    if not len(part):  # `map` would return its input, with the files and the fingerprint that it came with
        return hf.Dataset(features.arrow_schema.empty_table(), split=part.split, fingerprint=fingerprint)
    stored: dict[str, Any] = (
        {"keep_in_memory": True}
        if folder is None
        else {"keep_in_memory": False, "cache_file_name": str(folder / f"{fingerprint}.arrow")}
    )
    private = selected.map(
        _PerturbBatch(perturber, chosen),
        load_from_cache_file=False,
        new_fingerprint=fingerprint,
        num_proc=num_proc,
        desc="Perturbing",
        **options,
        **stored,
    )
    if folder is not None:
        for file in folder.glob(f"{fingerprint}*.arrow"):
            file.chmod(0o600)
    return private


def _private_features(features: Any, chosen: list[str]) -> Any:
    """Return the types of private columns: columns of texts that are all missing have texts if padded."""
    if features is None:
        return None
    private = features.copy()
    for name in chosen:
        if private[name].dtype == _NO_TYPE:
            private[name] = hf.Value("string")
    return private


class _PerturbBatch:
    """What a process does with a batch. Its pickle has no key: every process draws its own."""

    def __init__(self, perturber: Perturber, names: list[str]) -> None:
        self._perturber, self._names = perturber, names

    def __call__(self, *columns: list[str | None]) -> dict[str, list[str | None]]:
        return {
            name: perturbed_column(self._perturber, texts)
            for name, texts in zip(self._names, columns, strict=True)
        }


class _Once(_PerturbBatch):
    """The same for a stream of batches, of which no row is perturbed twice, and none in another process."""

    def __init__(self, perturber: Perturber, names: list[str]) -> None:
        super().__init__(perturber, names)
        self._next_row, self._process = 0, os.getpid()

    @sealed
    def __call__(self, *columns_and_rows: list[Any]) -> dict[str, list[str | None]]:
        *columns, rows = columns_and_rows
        if self._process != os.getpid():
            self._refuse_copy()
        if rows[0] < self._next_row:
            raise WordveilError(
                "This IterableDataset was read before, and a second pass would draw new noise for the same "
                "texts. Hint: collect it first, by Dataset.from_list(list(…)), and read that."
            )
        self._next_row = rows[-1] + 1
        return super().__call__(*columns)

    @staticmethod
    def _refuse_copy() -> NoReturn:
        raise WordveilError(
            "A private IterableDataset can't be copied or sent to another process, which would draw new "
            "noise for the same texts. Hint: collect it first, by Dataset.from_list(list(…)), or set "
            "num_workers=0."
        )

    def __reduce__(self) -> NoReturn:
        self._refuse_copy()


def _check_columns(parts: Iterable[Any], chosen: list[str], kept: list[str]) -> None:
    """Check names and types where they are known; of a stream they may not be."""
    for part in parts:
        if part.column_names is not None:
            positions(part.column_names, [*chosen, *kept], _WHERE)
        for name in chosen if part.features is not None else ():
            kind = getattr(part.features[name], "dtype", type(part.features[name]).__name__)
            if kind not in _TEXT_TYPES:
                raise not_text(name, _WHERE, kind)


def _private_folder(path: str | Path) -> Path:
    folder = checked_path(path, "cache_folder", _OWNER)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_own_folder(folder):
        raise ParameterError(
            f"The 'cache_folder' parameter of {_OWNER} must be a folder that only you can use. "
            "Hint: chmod 700."
        )
    return folder


def _describe(private: Any, description: str) -> None:
    """Replace all that is known about a data set, such as the size of the original files."""
    info = private.info
    for field in fields(info):
        if field.name != "features":
            default = None if field.default is MISSING else field.default
            setattr(
                info, field.name, default if field.default_factory is MISSING else field.default_factory()
            )
    info.description = description
