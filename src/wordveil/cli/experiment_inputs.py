"""Inputs of the experiments: number lists, texts of any table or pipe, sweeps with a progress bar."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordveil.cli.console import count_progress, note
from wordveil.cli.inputs import opened
from wordveil.embedding import Embedding
from wordveil.errors import MachineError, ParameterError, check_whole
from wordveil.evaluation.datasets import recognise_dataset
from wordveil.evaluation.sweep import Grid, Sweep, sweep
from wordveil.evaluation.sweep_cache import user_sweeps
from wordveil.evaluation.word_selection import select_words
from wordveil.tables import Layout, open_table

__all__ = ["parse_dims", "parse_numbers", "read_texts", "run_sweep", "selected_ids"]


def parse_numbers(text: str, name: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated list."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--{name} must be numbers with commas between them.") from None


def parse_dims(text: str, dim: int) -> list[int]:
    """Return the dimensions of a comma-separated list in ascending order; "all" is `dim`."""
    parts = [str(dim) if part.strip() == "all" else part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ParameterError("--dims must be whole numbers with commas between them, or all.")
    return sorted({check_whole(int(part), "dims", "privacy", 1, dim) for part in parts})


def selected_ids(embedding: Embedding, words: str, seed: int) -> NDArray[np.int64]:
    """Return the ids of the selected words, with a note if some listed words have no vector."""
    selection = select_words(embedding, words, seed)
    if selection.missing:
        note(f"{words}: {selection.missing:,} words have no vector and are left out.")
    return selection.ids


def read_texts(file: Path, columns: list[str], layout: Layout) -> Iterator[str]:
    """Yield one text per row: columns are joined, a null counts as empty, and `-` is standard input."""
    dataset = None if str(file) == "-" or layout != Layout() else recognise_dataset(file)
    if dataset is not None:
        layout, columns = dataset.layout, columns or [dataset.text]
    with (
        opened(str(file), layout, other="text") as (source, name, file_layout, compression),
        open_table(source, name, file_layout, columns, compression=compression) as table,
    ):
        for chunk in table.chunks():
            for row in zip(*chunk.texts.values(), strict=True):
                yield " ".join(text or "" for text in row)


def run_sweep(
    embedding: Embedding,
    grid: Grid,
    ids: NDArray[np.int64],
    workers: int,
    device: str,
    *,
    keep: bool = True,
) -> Sweep:
    """Run a sweep with a progress bar; `keep` stores its blocks, so a second run continues from them."""
    cache = _writable_cache() if keep else None
    with count_progress("drawing") as watch:
        return sweep(embedding, grid, ids, workers=workers, device=device, cache=cache, watch=watch)


def _writable_cache() -> Path | None:
    """Return the folder for blocks of sweeps, or None with a note if it can't be written."""
    try:
        return user_sweeps()
    except (OSError, MachineError):
        note("The cache folder can't be written. An interrupted run will start again from the beginning.")
        return None
