"""A Spark cluster, through PySpark's Arrow path (extra `spark`).

The perturber is sent to the workers once, as a broadcast. So is the key, in a broadcast of its own: it never
appears in a plan, a log or the event log. Every batch derives its noise from its position and its
content, so a task that is retried, or runs twice at once, gives the same rows.
"""

import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from wordveil.engines.base import Engine, EngineMaker, Perturbed, perturbed_texts
from wordveil.engines.spark_session import (
    LOG_HINT,
    PYTHON,
    check_java,
    failures,
    library,
    silence_for_good,
    silent_threads,
    start_session,
    url_of,
)
from wordveil.engines.transport import SentPerturber, SentRow, answer_row, chunk_row, perturbed_chunk
from wordveil.errors import (
    MachineError,
    ParameterError,
    PrivacyWarning,
    sealed,
)
from wordveil.nearest.threads import one_thread
from wordveil.perturber import Perturber, check_prior, checked_run_key, warn_if_weak
from wordveil.prior import Prior
from wordveil.randomness import RunKey
from wordveil.tables.base import CHUNK_BYTES, Chunk, padded_letters
from wordveil.tables.columns import checked_names, not_text, positions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkEngine", "perturb", "spark_engine"]

# Chunks sent to each core in one Spark job. Fewer mean more jobs, each with its own scheduling; more hold
# more rows in the driver's memory (16 chunks: about 16 MiB per core) and delay the next commit. Not measured.
_CHUNKS_PER_CORE: Final = 16
_WHERE: Final = "The frame"


@sealed
def perturb(
    frame: "DataFrame",
    *,
    perturber: Perturber,
    text: str | Iterable[str],
    keep: str | Iterable[str] = (),
    key: RunKey | None = None,
    prior: Prior | None = None,
) -> "DataFrame":
    """Return a Spark frame with the texts made private, and the kept columns; all others are left out.

    Like any Spark frame it is lazy: nothing runs before it is written. A frame that is computed twice is
    perturbed twice, and gives the same rows both times as long as Spark cuts it into the same partitions. To
    be sure, write it once and read that. Workers on other machines need wordveil,
    but not the vectors.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table.
    perturber : Perturber
        Perturbs the texts; sent to the workers once, for any number of frames.
    text, keep : str or iterable of str
        Columns to perturb, and columns to keep as they are.
    key : RunKey, optional
        For a repeatable experiment; by default a new key from the operating system.
    prior : Prior, optional
        How often words are used (default: in English). There is a PrivacyWarning if the setting protects
        little.
    """
    run_key = checked_run_key(perturber, key, "perturb")
    check_prior(perturber, prior, "perturb")
    types = library().sql.types
    chosen, kept = checked_names(text, keep)
    if not chosen:
        raise ParameterError("Which column is to be perturbed? Hint: text=….")
    places = positions(frame.columns, [*chosen, *kept], _WHERE)
    names = [name for name in frame.columns if name in places]
    for name in chosen:
        if not isinstance(frame.schema[name].dataType, types.StringType):
            raise not_text(name, _WHERE, frame.schema[name].dataType.typeName())
    _check_encryption(frame.sparkSession)
    warn_if_weak(perturber, prior)
    run = _Broadcasts.of(frame.sparkSession, perturber, run_key)
    selected = frame.select([f"`{name.replace('`', '``')}`" for name in names])
    # Spark's mapInArrow fails on names with dots, so columns are numbered meanwhile.
    numbered = selected.toDF(*map(str, range(len(names))))
    numbers = {str(names.index(name)): name for name in chosen}
    rows = CHUNK_BYTES // max(1, padded_letters(perturber.policy) * len(chosen))
    private = numbered.mapInArrow(_rows_of(run, numbers, max(1, rows)), _bare(numbered.schema))
    return private.toDF(*names)


def _bare(kind: Any) -> Any:
    """Return a type without the comments and other metadata of its fields, which would be carried over."""
    types = library().sql.types
    if isinstance(kind, types.StructType):
        return types.StructType(
            [types.StructField(field.name, _bare(field.dataType), field.nullable) for field in kind]
        )
    if isinstance(kind, types.ArrayType):
        return types.ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, types.MapType):
        return types.MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind


def _check_encryption(session: "SparkSession") -> None:
    """Warn if a session that is not ours would store the key of the run on disk in plain form."""
    if session.conf.get("spark.io.encryption.enabled", "false") != "true":
        warnings.warn(
            "Spark keeps the key of the run unencrypted in its local folders while the application runs: "
            "whoever can read them can remove the noise. Hint: start the session with "
            "spark.io.encryption.enabled=true.",
            PrivacyWarning,
            stacklevel=4,
        )


_sent: "weakref.WeakKeyDictionary[Perturber, tuple[str, Any]]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class _Broadcasts:
    """What is sent to the workers: the prepared vectors, and the key of the run."""

    prepared: Any
    secret: Any

    @classmethod
    def of(cls, session: "SparkSession", perturber: Perturber, key: RunKey) -> "_Broadcasts":
        try:
            context = session.sparkContext
        except Exception:  # Spark Connect has none, and raises an error of its own
            raise ParameterError(
                "Spark Connect has no broadcasts. Hint: use a session that runs beside the cluster."
            ) from None
        application, prepared = _sent.get(perturber, ("", None))
        if application != context.applicationId:
            prepared = context.broadcast(SentPerturber(perturber, here=context.master.startswith("local")))
            _sent[perturber] = context.applicationId, prepared
        return cls(prepared, context.broadcast(key.expose()))

    def opened(self) -> tuple[Perturber, RunKey]:
        """Return the perturber and the key, on a worker."""
        return self.prepared.value.perturber, RunKey.of_run(*self.secret.value)


def _rows_of(run: _Broadcasts, chosen: dict[str, str], most: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what a worker does with the batches of a partition of a frame, `most` rows at a time."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        perturber, key = run.opened()
        task = TaskContext.get()
        assert task is not None
        slices = (batch.slice(start, most) for batch in batches for start in range(0, batch.num_rows, most))
        for ordinal, batch in enumerate(slices):
            texts = {name: batch.column(number).to_pylist() for number, name in chosen.items()}
            with one_thread():  # Spark runs one worker per core
                answers, _ = perturbed_texts(perturber, key, task.partitionId(), ordinal, texts)
            columns = [
                pa.array(answers[chosen[field.name]], field.type)
                if field.name in chosen
                else batch.column(field.name)
                for field in batch.schema
            ]
            yield pa.record_batch(columns, schema=batch.schema)

    return rows


def _chunks_of(run: _Broadcasts) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what a worker does with chunks of a file, one chunk per row."""

    def chunks(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        perturber, key = run.opened()
        for batch in batches:
            for row in batch.to_pylist():
                answers = answer_row(perturber, key, row)
                yield pa.RecordBatch.from_pylist([answers], schema=batch.schema)

    return chunks


class SparkEngine(Engine):
    """Sends the chunks of a file to a cluster, several per core at a time, and collects the answers.

    The same chunks with the same key give the same answers as the threads of this process.
    """

    def __init__(
        self, perturber: Perturber, key: RunKey, session: "SparkSession", *, stop: bool = False
    ) -> None:
        self._session, self._stop = session, stop
        self._silence = ExitStack()
        if stop:
            self._silence.enter_context(silent_threads())
        self._run = _Broadcasts.of(session, perturber, key)
        self._wave = max(1, session.sparkContext.defaultParallelism) * _CHUNKS_PER_CORE
        self._ordinal = 0

    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:  # noqa: ARG002  # chunks are read in this thread
        """Yield each chunk with its answers, in the order of the chunks."""
        waiting = iter(chunks)
        while wave := list(islice(waiting, self._wave)):
            rows = [chunk_row(self._ordinal + number, chunk) for number, chunk in enumerate(wave)]
            self._ordinal += len(wave)
            yield from map(perturbed_chunk, wave, self._answers(rows))

    def _answers(self, rows: list[SentRow]) -> list[SentRow]:
        import pyarrow as pa

        kinds = {"ordinal": pa.int64(), "columns": pa.string(), "texts": pa.list_(pa.list_(pa.binary()))}
        try:
            sent = self._session.createDataFrame(pa.Table.from_pylist(rows, pa.schema(kinds)))
            spread = sent.repartition(len(rows))
            answers = spread.mapInArrow(_chunks_of(self._run), spread.schema).toArrow().to_pylist()
        except failures() as error:
            if "No module named 'wordveil'" in str(error):
                raise MachineError(
                    f"wordveil is not installed on the Spark workers. Hint: {PYTHON} names the Python to use."
                ) from None
            raise MachineError(
                f"Spark failed ({type(error).__name__}). Hint: {LOG_HINT}; --resume continues the run."
            ) from None
        return sorted(answers, key=lambda row: int(row["ordinal"]))

    def close(self) -> None:
        """Remove the key from the workers, and stop the session if it was started for this engine."""
        with suppress(*failures()):  # if the cluster is gone, the key is gone with it
            self._run.secret.destroy()
        if self._stop:
            try:
                self._session.stop()
                self._silence.close()
            except failures():
                self._silence.close()
                silence_for_good()


def spark_engine(master: str | None = None) -> EngineMaker:
    """Return the maker of an engine on the Spark of that URL (default: all cores of this machine)."""
    pyspark = library()
    check_java()
    url = url_of(master)

    def make(perturber: Perturber, key: RunKey) -> SparkEngine:
        running = pyspark.sql.SparkSession.getActiveSession()
        if running is not None:  # not started here, so it is not configured or stopped here
            _check_encryption(running)
            return SparkEngine(perturber, key, running)
        session = start_session(url)
        try:
            return SparkEngine(perturber, key, session, stop=True)
        except BaseException:
            session.stop()
            raise

    return make
