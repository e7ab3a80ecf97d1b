"""Parquet, through pyarrow (extra `files`): types, compression and row groups stay as in the input."""

import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from wordveil.errors import FormatError, MissingExtraError
from wordveil.tables.arrow import bare_field, first_not_utf8
from wordveil.tables.base import CHUNK_BYTES, CHUNK_ROWS, Chunk, Columns, Source, Table
from wordveil.tables.blocks import TOO_LONG
from wordveil.tables.columns import not_text, positions
from wordveil.tables.layout import Layout
from wordveil.tables.registry import Format, register_format
from wordveil.tokens import LARGEST_TEXT

__all__ = ["Parquet"]

# The largest row group that is written: all of it is held in memory. Larger ones compress a little better.
_GROUP_BYTES: Final = 16 << 20
_BUFFER_BYTES: Final = 1 << 20  # per column; with any buffer, Arrow reads page by page and not by row groups
# A chunk ends after a multiple of this many rows, as if they were read in batches of 4. A resumed run must
# cut its input where the first one did.
_STEP_ROWS: Final = 4
# Steps per batch, unless rows are large. Arrow decodes a batch at once, and each row may have 16 MiB. Batches
# of 4, 16, 32 and 64 rows of two columns take 3.1, 0.8, 0.4 and 0.2 µs per row.
_STEPS: Final = 4
# Bytes per row on average, above which a batch has one step. Of smaller rows, 1,024 fill a chunk and 1 MiB
# does not, so it rarely matters that a slice may count a byte more than a batch of its own would.
_LARGE_ROW: Final = 512
# What the ends of an array may add to its size when it is cut in two: an offset, and a byte of validity.
_CUT_BYTES: Final = 16
# A slice of these refers to all of their values, so the sizes of slices do not add up to that of the batch.
_SHARED: Final = ("dictionary", "view", "run_end_encoded")
# Arrow checks the size of a page after that many rows. With its default of 1,024, a page of records of 1 MiB
# would grow to a gigabyte.
_PAGE_ROWS: Final = 16
_ENCRYPTED: Final = b"PARE"  # the last bytes of a file whose footer is encrypted


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "files", "Parquet") from None
    return pa


class Parquet(Table):
    """A Parquet file. A dictionary-encoded text column becomes a plain one; no metadata is written.

    The output has the row groups of the input, without empty ones. Those over 16 MiB are split, since each is
    held in memory when the output is assembled.
    """

    def __init__(self, source: Source, text: list[str], keep: list[str]) -> None:
        super().__init__(source)
        self._arrow = _pyarrow()
        self._check_kind()
        try:
            self._file = self._arrow.parquet.ParquetFile(source.file, buffer_size=_BUFFER_BYTES)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._unreadable(error, ": is not a Parquet file, or it is damaged") from None
        schema = self._file.schema_arrow
        places = positions(schema.names, [*text, *keep], source.name)
        names = sorted(places, key=lambda name: places[name])
        self.text = tuple(name for name in names if name in text)
        self.kept = tuple(name for name in names if name in keep)
        self.names = tuple(schema.names)
        self._read_fields = [schema.field(name) for name in names]
        self._schema = self._arrow.schema([self._field(schema.field(name)) for name in names])
        self._leaves = self._chosen_leaves()
        self._rows_read = 0

    def _check_kind(self) -> None:
        file = self._source.file
        if not file.seek(0, io.SEEK_END):
            raise FormatError(f"{self._source.name}: is empty. Hint: is it the right file?")
        file.seek(-min(len(_ENCRYPTED), file.tell()), io.SEEK_END)
        if file.read(len(_ENCRYPTED)) == _ENCRYPTED:
            raise self._encrypted()
        file.seek(0)

    def _encrypted(self) -> FormatError:
        return FormatError(f"{self._source.name}: is encrypted. Hint: decrypt it first.")

    def _unreadable(self, error: Exception, problem: str) -> FormatError:
        # Arrow has no exception classes for these. A file may have a plain footer and encrypted columns.
        if "crypt" in str(error):
            return self._encrypted()
        if "UTF8" in str(error):
            problem = problem.replace("is damaged", "is not valid UTF-8")
        return FormatError(f"{self._source.name}{problem}.")

    def _field(self, field: Any) -> Any:
        types = self._arrow.types
        if field.name not in self.text:
            return bare_field(field)
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if types.is_null(kind):  # a column without any value; padding fills it
            filled = self._arrow.string() if self._source.policy.pads_nulls else kind
            return self._arrow.field(field.name, filled)
        if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
            raise not_text(
                field.name, self._source.name, str(kind).split("<")[0]
            )  # str() of a struct lists its fields
        return self._arrow.field(field.name, kind, field.nullable)

    @property
    def done(self) -> float:
        """The share of the rows that has been read."""
        total = self._file.metadata.num_rows
        return self._rows_read / total if total else 0.0

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows; a chunk never spans two row groups."""
        for group in range(self._file.num_row_groups):
            for batches in self._cut(group):
                yield self._chunk(
                    group, self._arrow.Table.from_batches(batches).combine_chunks().to_batches()[0]
                )

    def _cut(self, group: int) -> Iterator[list[Any]]:
        """Yield the batches of a row group in lists that are small enough when they are decoded.

        The sizes in the file are no help: a value may be stored once and repeated a thousand times.
        """
        step = self._step_rows()
        held: list[Any] = []
        rows = most_bytes = 0
        for batch in self._batches(group, step):
            held.append(batch)
            rows += batch.num_rows
            most_bytes += self._most_bytes(batch, step)
            if rows > CHUNK_ROWS or most_bytes >= CHUNK_BYTES:
                *lists, held = self._cut_by_steps(held, step)
                yield from lists
                rows, most_bytes = sum(part.num_rows for part in held), self._size(held)
            elif rows == CHUNK_ROWS:
                yield held
                held, rows, most_bytes = [], 0, 0
        if held:
            yield held

    def _cut_by_steps(self, batches: list[Any], step: int) -> list[list[Any]]:
        """Return the batches in lists that end where the first limit is reached; the last is incomplete."""
        lists: list[list[Any]] = [[]]
        rows = size = 0
        for batch in batches:
            for start in range(0, batch.num_rows, step):
                part = batch.slice(start, step)
                lists[-1].append(part)
                rows += part.num_rows
                size += self._size([part])
                if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
                    lists.append([])
                    rows = size = 0
        return lists

    def _size(self, steps: list[Any]) -> int:
        padding = self._source.padding * len(self.text)
        return sum(max(int(part.nbytes), padding * int(part.num_rows)) for part in steps)

    def _most_bytes(self, batch: Any, step: int) -> int:
        """Return no less than what the steps of a batch add up to; to measure each takes longer."""
        padding = self._source.padding * len(self.text)
        cuts = -(-batch.num_rows // step) * len(self._leaves)
        return int(batch.nbytes + padding * batch.num_rows + _CUT_BYTES * cuts)

    def _step_rows(self) -> int:
        """Return after how many rows a chunk may end; if padding makes answers long, one may fill it."""
        return min(_STEP_ROWS, max(1, CHUNK_BYTES // max(1, self._source.padding * len(self.text))))

    def _batch_rows(self, group: int, step: int) -> int:
        """Return how many rows are decoded at a time."""
        about = self._file.metadata.row_group(group)
        size = sum(about.column(leaf).total_uncompressed_size for leaf in self._leaves)
        is_large = size > _LARGE_ROW * about.num_rows
        is_shared = any(mark in str(field.type) for field in self._read_fields for mark in _SHARED)
        return step if is_large or is_shared else step * _STEPS

    def _batches(self, group: int, step: int) -> Iterator[Any]:
        rows = self._batch_rows(group, step)
        try:
            for batch in self._file.iter_batches(rows, row_groups=[group], columns=self._schema.names):
                if batch.num_rows:
                    yield batch
        except (self._arrow.ArrowException, OSError) as error:
            where = f", row {self._rows_read + 1} or later"
            raise self._unreadable(error, f"{where}: is damaged") from None

    def _chosen_leaves(self) -> list[int]:
        """Return the leaf columns of the file that belong to the chosen columns; a nested one has several.

        Arrow aborts the process when asked about an encrypted column. So columns that are left out are never
        asked about, and the others only after a row could be read.
        """
        try:
            for group in range(min(1, self._file.num_row_groups)):
                for _ in self._file.iter_batches(1, row_groups=[group], columns=self._schema.names):
                    break
        except (self._arrow.ArrowException, OSError) as error:
            if "crypt" in str(error):
                raise self._encrypted() from None  # any other damage is reported when it is reached
        names = self._schema.names
        paths = [self._file.schema.column(leaf).path for leaf in range(len(self._file.schema))]
        return [
            leaf
            for leaf, path in enumerate(paths)
            if path in names or any(path.startswith(f"{name}.") for name in names)
        ]

    def _chunk(self, group: int, batch: Any) -> Chunk:
        texts: Columns = {name: self._texts(batch.column(name)) for name in self.text}
        for name in self.text:
            for number, text in enumerate(texts[name]):
                if text and len(text) > LARGEST_TEXT // 4 and len(text.encode()) > LARGEST_TEXT:
                    raise FormatError(
                        f"{self._source.name}, row {self._rows_read + number + 1}: '{name}' {TOO_LONG}"
                    )
        self._rows_read += batch.num_rows
        return Chunk(batch.num_rows, texts, (group, batch))

    def _texts(self, column: Any) -> list[str | None]:
        try:
            texts: list[str | None] = column.to_pylist()
        except UnicodeDecodeError:
            row = self._rows_read + first_not_utf8(column) + 1
            raise FormatError(f"{self._source.name}, row {row}: is not valid UTF-8.") from None
        return texts

    def values(self, chunk: Chunk, name: str) -> list[str | None]:
        """Return a kept column of a chunk; whole numbers, floats and booleans as JSON."""
        values = chunk.rest[1].column(name).to_pylist()
        if not all(value is None or type(value) in (str, int, float, bool) for value in values):
            raise FormatError(
                f"{self._source.name}: column '{name}' holds neither text nor numbers. Hint: use another one."
            )
        return [value if value is None or type(value) is str else json.dumps(value) for value in values]

    def encode(self, chunk: Chunk, answers: Columns) -> bytes:
        """Return the length of an Arrow stream, the number of the row group, and the chunk as that stream."""
        group, batch = chunk.rest
        columns = [
            self._arrow.array(answers[field.name], field.type)
            if field.name in answers
            else batch.column(field.name)
            for field in self._schema
        ]
        written = self._arrow.record_batch(columns, schema=self._schema)
        out = io.BytesIO()
        with self._arrow.ipc.new_stream(out, self._schema) as stream:
            stream.write_batch(written)
        data = out.getvalue()
        return b"".join((len(data).to_bytes(8, "little"), group.to_bytes(8, "little"), data))

    assembled = True

    def assemble(self, parts: BinaryIO, target: BinaryIO) -> None:
        """Write the Parquet file, with the row groups of the input unless they are too large."""
        with self._arrow.parquet.ParquetWriter(
            target, self._schema, compression=self._codecs(), write_batch_size=_PAGE_ROWS
        ) as writer:
            batches: list[Any] = []
            current = size = 0
            for group, batch in self._read_parts(parts):
                if batches and (group != current or size >= _GROUP_BYTES):
                    self._write_group(writer, batches)
                    batches, size = [], 0
                current = group
                batches.append(batch)
                size += batch.nbytes
            if batches:
                self._write_group(writer, batches)

    def _codecs(self) -> dict[str, str]:
        """Return the compression of each leaf column of the input."""
        if not self._file.num_row_groups:
            return {}
        group = self._file.metadata.row_group(0)
        columns = [group.column(leaf) for leaf in self._leaves]
        codecs = {column.path_in_schema: column.compression.lower() for column in columns}
        return {path: "none" if codec == "uncompressed" else codec for path, codec in codecs.items()}

    def _read_parts(self, parts: BinaryIO) -> Iterator[tuple[int, Any]]:
        while head := parts.read(16):
            size, group = int.from_bytes(head[:8], "little"), int.from_bytes(head[8:], "little")
            with self._arrow.ipc.open_stream(parts.read(size)) as stream:
                yield group, stream.read_next_batch()

    def _write_group(self, writer: Any, batches: list[Any]) -> None:
        table = self._arrow.Table.from_batches(batches, self._schema)
        writer.write_table(table, row_group_size=max(1, table.num_rows))


def _open(source: Source, _: Layout, text: list[str], keep: list[str]) -> Table:
    return Parquet(source, text, keep)


register_format(Format("parquet", "Parquet", (".parquet", ".pq"), _open, seekable=True, streams=False))
