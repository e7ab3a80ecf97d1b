"""A Spark cluster, through PySpark's Arrow path (extra `spark`).

The prepared vectors go out once, as a broadcast, and so does the key, in a broadcast of its own: never in a
plan, a log or the event log. Every batch derives its noise from where it stands and what it holds, so that a
task that is tried again, or twice at once, gives the same rows.
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
from wordveil.engines.transport import Row, SentPerturber, answer_row, chunk_row, perturbed_chunk
from wordveil.errors import (
    MachineError,
    ParameterError,
    PrivacyWarning,
    parameter_error,
    sealed,
)
from wordveil.nearest.threads import one_thread
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey, checked_key
from wordveil.tables.base import CHUNK_BYTES, Chunk, padded_letters
from wordveil.tables.columns import checked_names, not_text, positions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkEngine", "perturb", "spark_engine"]

_CHUNKS_A_CORE: Final = 16
_WHERE: Final = "The frame"


@sealed
def perturb(
    frame: "DataFrame",
    *,
    perturber: Perturber,
    text: str | Iterable[str],
    keep: str | Iterable[str] = (),
    key: RunKey | None = None,
) -> "DataFrame":
    """Return a Spark frame with the texts made private, and the kept columns; all others are left out.

    As lazy as any other: whatever writes it runs it. A frame that is computed twice is perturbed twice, and
    gives the same rows both times as long as Spark cuts it into the same partitions; to be sure, write it
    once and read that. The workers need wordveil installed, but not the vectors.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table.
    perturber : Perturber
        What makes text private; sent out once however many frames it is used for.
    text, keep : names of columns
        Those to perturb, and those to keep as they are.
    key : RunKey, optional
        For a repeatable experiment; by default a new key from the operating system.
    """
    if not isinstance(perturber, Perturber):
        raise parameter_error("perturber", "perturb", "be a Perturber", perturber)
    key = checked_key(key, "perturb")
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
    run = _Broadcasts.of(frame.sparkSession, perturber, key)
    picked = frame.select([f"`{name.replace('`', '``')}`" for name in names])
    # Spark's own mapInArrow stumbles over names with dots, so they are numbers on the way.
    plain = picked.toDF(*map(str, range(len(names))))
    numbers = {str(names.index(name)): name for name in chosen}
    rows = CHUNK_BYTES // max(1, padded_letters(perturber.policy) * len(chosen))
    done = plain.mapInArrow(_rows_of(run, numbers, max(1, rows)), _bare(plain.schema))
    return done.toDF(*names)


def _bare(kind: Any) -> Any:
    """Return a type without the comments and other metadata of its fields, which would be carried over."""
    types = library().sql.types
    if isinstance(kind, types.StructType):
        return types.StructType(
            [types.StructField(each.name, _bare(each.dataType), each.nullable) for each in kind]
        )
    if isinstance(kind, types.ArrayType):
        return types.ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, types.MapType):
        return types.MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind


def _check_encryption(session: "SparkSession") -> None:
    """Warn if the key of the run would lie on disk as it is, in a session that is not ours."""
    if session.conf.get("spark.io.encryption.enabled", "false") != "true":
        warnings.warn(
            "Spark keeps the key of the run in its local folders, as it is, while the application lives: "
            "whoever can read them can take the noise away. Hint: start the session with "
            "spark.io.encryption.enabled=true.",
            PrivacyWarning,
            stacklevel=4,
        )


_sent: "weakref.WeakKeyDictionary[Perturber, tuple[str, Any]]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class _Broadcasts:
    """What travels to the workers: the prepared vectors, and the key of the run."""

    prepared: Any
    secret: Any

    @classmethod
    def of(cls, session: "SparkSession", perturber: Perturber, key: RunKey) -> "_Broadcasts":
        try:
            context = session.sparkContext
        except Exception:  # Spark Connect has its own way to say that it has none
            raise ParameterError(
                "Spark Connect has no broadcasts. Hint: use a session that runs beside the cluster."
            ) from None
        number, prepared = _sent.get(perturber, ("", None))
        if number != context.applicationId:
            prepared = context.broadcast(SentPerturber(perturber, here=context.master.startswith("local")))
            _sent[perturber] = context.applicationId, prepared
        return cls(prepared, context.broadcast(key.expose()))

    def opened(self) -> tuple[Perturber, RunKey]:
        """Return what was sent, on a worker."""
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
            with one_thread():  # Spark runs a worker a core
                answers, _ = perturbed_texts(perturber, key, task.partitionId(), ordinal, texts)
            columns = [
                pa.array(answers[chosen[each.name]], each.type)
                if each.name in chosen
                else batch.column(each.name)
                for each in batch.schema
            ]
            yield pa.record_batch(columns, schema=batch.schema)

    return rows


def _chunks_of(run: _Broadcasts) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what a worker does with chunks of a file, each in a row of its own."""

    def chunks(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        perturber, key = run.opened()
        for batch in batches:
            for row in batch.to_pylist():
                answers = answer_row(perturber, key, row)
                yield pa.RecordBatch.from_pylist([answers], schema=batch.schema)

    return chunks


class SparkEngine(Engine):
    """Sends the chunks of a file to a cluster, some for every core at a time, and takes the answers back.

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
        self._wave = max(1, session.sparkContext.defaultParallelism) * _CHUNKS_A_CORE
        self._ordinal = 0

    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:  # noqa: ARG002  # nobody else reads
        """Yield each chunk with its answers, in the order of the chunks."""
        waiting = iter(chunks)
        while wave := list(islice(waiting, self._wave)):
            rows = [chunk_row(self._ordinal + number, chunk) for number, chunk in enumerate(wave)]
            self._ordinal += len(wave)
            yield from map(perturbed_chunk, wave, self._answers(rows))

    def _answers(self, rows: list[Row]) -> list[Row]:
        import pyarrow as pa

        kinds = {"ordinal": pa.int64(), "columns": pa.string(), "texts": pa.list_(pa.list_(pa.binary()))}
        try:
            sent = self._session.createDataFrame(pa.Table.from_pylist(rows, pa.schema(kinds)))
            spread = sent.repartition(len(rows))
            answers = spread.mapInArrow(_chunks_of(self._run), spread.schema).toArrow().to_pylist()
        except failures() as error:
            if "No module named 'wordveil'" in str(error):
                raise MachineError(
                    f"The workers of Spark lack wordveil. Hint: install it there; {PYTHON} says where."
                ) from None
            raise MachineError(
                f"Spark gave up ({type(error).__name__}). Hint: {LOG_HINT}; --resume goes on."
            ) from None
        return sorted(answers, key=lambda row: int(row["ordinal"]))

    def close(self) -> None:
        """Take the key back from the workers, and end the session if it was made for this engine."""
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
    """Return what makes an engine on the Spark of that URL; by default on all cores of this machine."""
    pyspark = library()
    check_java()
    url = url_of(master)

    def make(perturber: Perturber, key: RunKey) -> SparkEngine:
        running = pyspark.sql.SparkSession.getActiveSession()
        if running is not None:  # somebody else's, with settings of its own, and not for us to stop
            _check_encryption(running)
            return SparkEngine(perturber, key, running)
        session = start_session(url)
        try:
            return SparkEngine(perturber, key, session, stop=True)
        except BaseException:
            session.stop()
            raise

    return make
