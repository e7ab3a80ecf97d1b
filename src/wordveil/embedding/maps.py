"""Public maps of words: positions in few dimensions, made for adding noise.

A mechanism works in any public space. On a map, words of similar meaning stand close together and the number
of words around each is similar, so that noise which hides a word leads to words that are close to it in
meaning. A map is made from public data only, the vectors and the use of words, and its numbers are the truth:
another machine may fit others.
"""

import warnings
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from wordveil.atomic import atomic_write
from wordveil.embedding.arrays import locked
from wordveil.embedding.map_fit import MapOptions, fit_map
from wordveil.embedding.map_settling import settled
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.vectors import Embedding
from wordveil.errors import MachineError, MissingExtraError, ParameterError, check_whole, parameter_error

__all__ = ["MapMethod", "WordUse", "described_map", "make_map"]

MapMethod = Literal["learned", "neighbours"]
_NEIGHBOURS: Final = 15  # UMAP's default
_DISTANCE: Final = 0.5  # UMAP's min_dist: larger values spread words more evenly


class WordUse(Protocol):
    """How often words are used: a `wv.Prior`."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of each word, and of all words outside."""

    @property
    def declared_public(self) -> bool:
        """Whether somebody has declared that it was not derived from the private text."""

    @property
    def fingerprint(self) -> str:
        """Identifies the shares."""

    def content(self) -> "WordUse":
        """Return the use of content words."""


def make_map(
    embedding: Embedding,
    dims: int = 10,
    *,
    method: MapMethod = "learned",
    prior: WordUse | None = None,
    options: MapOptions = MapOptions(),
    device: str = "cpu",
    name: str = "",
    watch: Callable[[int, int], None] = lambda *_: None,
    checkpoint: Path | None = None,
) -> Embedding:
    """Return a new embedding of the same words, on a map of few dimensions (extra `maps`).

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors.
    dims : int
        Dimensions of the map: 7 and 10 did best.
    method : str
        "neighbours" places words by UMAP. "learned" starts from that, and moves them by gradient descent, so
        that answers are close in meaning while what an attacker guesses is held at the targets of `options`.
    prior : Prior
        How often words are used; needed for "learned".
    options : MapOptions
        Steps, targets, cap and seed of "learned". 8,000 steps take 73 s on an H200.
    device : str
        "cpu" or "cuda".
    checkpoint : Path
        A file that keeps the state of an interrupted fit, to continue from. It is not removed at the end.
    """
    dims = check_whole(dims, "dims", "make_map", 2, min(embedding.dim, len(embedding) - 2))
    if method not in ("learned", "neighbours"):
        raise parameter_error("method", "make_map", "be 'learned' or 'neighbours'", method)
    if not embedding.public or (prior is not None and not prior.declared_public):
        raise ParameterError(
            "A map must be made from public vectors and public word counts, or its positions depend on the "
            "private text. Hint: public=True declares them public."
        )
    if method == "learned":
        if prior is None:
            raise ParameterError(
                "A learned map needs the use of words. Hint: prior=wv.Prior.english(embedding)."
            )
        _check_device(device)
    embedding.verify()
    positions, versions = _neighbours(embedding, dims, options.seed)
    if method == "learned" and prior is not None:
        positions, torch_version = _learned(embedding, positions, prior, options, device, watch, checkpoint)
        positions = settled(positions, prior.shares, prior.content().shares, options)
        versions = f"{versions}, {torch_version}"
    return described_map(embedding, positions, name, method, options, versions, prior)


def described_map(
    embedding: Embedding,
    positions: NDArray[np.float32],
    name: str,
    method: MapMethod,
    options: MapOptions,
    versions: str,
    prior: WordUse | None,
) -> Embedding:
    """Return fitted positions as an embedding that says what they were made from, and how."""
    dims = positions.shape[1]
    about = f"UMAP ({_NEIGHBOURS} neighbours, min_dist {_DISTANCE}, cosine, seed {options.seed})"
    if method == "neighbours" and versions:
        about += f"; {versions}"
    if method == "learned" and prior is not None:
        settings = ", ".join(f"{key} {value}" for key, value in asdict(options).items())
        about += f", then learned ({settings}; {versions}; prior {prior.name} {prior.fingerprint[:16]})"
    provenance = Provenance(
        name=name or f"{embedding.provenance.name or 'unnamed'}-map{dims}",
        source=f"a map of {embedding.provenance.name or 'vectors'}, fingerprint {embedding.fingerprint}",
        licence=embedding.provenance.licence,
        preprocessing=f"{dims} dimensions: {about}",
        parent=embedding.fingerprint,
    )
    mapped = Embedding._adopt(tuple(embedding.words), locked(positions), provenance, public=True)
    return mapped._derived_from(embedding)


def _check_device(device: str) -> None:
    """Raise an error at once if PyTorch, or the GPU that it should use, is missing."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "maps", "A learned map") from None
    if device != "cpu" and not torch.cuda.is_available():
        raise MachineError("There is no GPU that PyTorch can use. Hint: --device cpu.")


def _neighbours(embedding: Embedding, dims: int, seed: int) -> tuple[NDArray[np.float32], str]:
    """Return positions by UMAP, which keeps near words near, and its version."""
    with warnings.catch_warnings():
        # It misses TensorFlow, which is not needed, and a seed means one thread, which is what we want.
        warnings.simplefilter("ignore", ImportWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            import umap
        except ImportError:
            raise MissingExtraError("umap-learn", "maps", "A map") from None
        model = umap.UMAP(
            n_components=dims,
            n_neighbors=min(_NEIGHBOURS, len(embedding) - 1),
            min_dist=_DISTANCE,
            metric="cosine",
            random_state=seed,
        )
        positions = np.asarray(model.fit_transform(embedding.vectors), dtype=np.float32)
    return positions, f"umap-learn {version('umap-learn')}"


def _learned(
    embedding: Embedding,
    start: NDArray[np.float32],
    prior: WordUse,
    options: MapOptions,
    device: str,
    watch: Callable[[int, int], None],
    checkpoint: Path | None,
) -> tuple[NDArray[np.float32], str]:
    import torch

    state = None
    if checkpoint is not None and checkpoint.exists():
        state = torch.load(checkpoint, map_location=device, weights_only=True)  # tensors and numbers, no code

    def save(state: dict[str, Any]) -> None:
        if checkpoint is not None:
            with atomic_write(checkpoint, force=True) as file:
                torch.save(state, file)

    fit = fit_map(
        embedding.vectors,
        start,
        prior.shares,
        prior.content().shares,
        options,
        device=device,
        watch=watch,
        state=state,
        save=save,
    )
    return fit.positions, f"PyTorch {torch.__version__} on {device}"
