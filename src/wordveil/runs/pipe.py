"""From a file or a pipe straight into a pipe: nothing to resume, no manifest, no ledger."""

from collections.abc import Callable, Iterable
from typing import BinaryIO

from wordveil.engines import EngineMaker, engine_maker
from wordveil.errors import sealed
from wordveil.perturber import Perturber, check_prior, checked_run_key, warn_if_weak
from wordveil.prior import Prior
from wordveil.randomness import RunKey
from wordveil.tables import Layout, open_table
from wordveil.tables.compression import Compression

__all__ = ["perturb_pipe"]


@sealed
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
    check: Callable[[], None] = lambda: None,
    prior: Prior | None = None,
) -> str:
    """Write each row as soon as it is perturbed; return a note about the columns that are left out.

    `check` is called after each chunk, and may raise an exception to stop. With an insecure key, rows are
    grouped as in a file, however they arrive, so that the run can be repeated.

    Examples
    --------
    >>> import io
    >>> import wordveil as wv
    >>> perturber = wv.Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> out = io.BytesIO()
    >>> perturb_pipe(io.BytesIO(b"book a flight"), out, "notes", perturber=perturber, layout=Layout("text"))
    ''
    >>> len(out.getvalue().split())
    3
    """
    layout.find_format().check_streams()
    noise = checked_run_key(perturber, key, "perturb_pipe")
    check_prior(perturber, prior, "perturb_pipe")
    opened = open_table(
        source, name, layout, text, keep, compression=compression, unbuffered=noise.secure,
        policy=perturber.policy,
    )  # fmt: skip
    make_engine = engine or engine_maker("local", workers=workers)
    with opened as table, make_engine(perturber, noise) as running:
        target.write(table.head())
        for done in running.perturb(table.chunks(), waits=True):
            target.write(table.encode(done.chunk, done.answers))
            target.flush()
            check()
        target.flush()
    warn_if_weak(perturber, prior)
    return table.left_out_note
