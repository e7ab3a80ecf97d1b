"""From a file or a pipe straight into a pipe: nothing to resume, no manifest, and the ledger passed by."""

from collections.abc import Iterable
from typing import BinaryIO

from wordveil.engines import LocalEngine
from wordveil.errors import ParameterError
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey
from wordveil.runs.job import EngineMaker
from wordveil.tables import Layout, open_table
from wordveil.tables.compression import Compression
from wordveil.tables.files import PARQUET_IS_NO_PIPE

__all__ = ["perturb_pipe"]


def perturb_pipe(
    source: BinaryIO,
    target: BinaryIO,
    name: str,
    *,
    perturber: Perturber,
    text: str | Iterable[str] = (),
    keep: str | Iterable[str] = (),
    layout: Layout,
    compression: Compression = "",
    workers: int | None = None,
    engine: EngineMaker | None = None,
    key: RunKey | None = None,
) -> tuple[str, ...]:
    """Write rows as they come, each as soon as it is perturbed; return the columns that were left out.

    With an insecure key rows are put together as in a file, whenever they come, so that it can be repeated.

    Examples
    --------
    >>> import io
    >>> import wordveil as wv
    >>> veil = wv.Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> out = io.BytesIO()
    >>> perturb_pipe(io.BytesIO(b"book a flight"), out, "notes", perturber=veil, layout=Layout("text"))
    ()
    >>> len(out.getvalue().split())
    3
    """
    if layout.format == "parquet":
        raise ParameterError(PARQUET_IS_NO_PIPE)
    noise = RunKey() if key is None else key
    table = open_table(source, name, layout, text, keep, compression=compression, prompt=noise.secure)
    make = engine or (lambda veil, run_key: LocalEngine(veil, run_key, workers))
    with make(perturber, noise) as running:
        target.write(table.head())
        for done in running.perturb(table.chunks()):
            target.write(table.encode(done.chunk, done.answers))
            target.flush()
        target.flush()
    return table.left_out
