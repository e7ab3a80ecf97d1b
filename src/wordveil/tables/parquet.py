"""Parquet: types, compression and row groups as in the input, through pyarrow (extra `files`)."""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from wordveil.errors import FormatError, MissingExtraError
from wordveil.tables.base import Answers, Chunk, Source, Table
from wordveil.tables.blocks import TOO_LONG
from wordveil.tables.columns import not_text, positions
from wordveil.tokens import LARGEST_TEXT

__all__ = ["Parquet"]

_CHUNK_ROWS: Final = 1024


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "files", "Parquet") from None
    return pa


class Parquet(Table):
    """A Parquet file. A dictionary-encoded text column becomes a plain one; file metadata is not written.

    One row group at a time is held in memory when the output is put together.
    """

    def __init__(self, source: Source, text: list[str], keep: list[str]) -> None:
        super().__init__(source)
        self._arrow = _pyarrow()
        try:
            self._file = self._arrow.parquet.ParquetFile(source.file)
        except (self._arrow.ArrowException, OSError):
            raise FormatError(f"{source.name}: is no Parquet file, or is damaged.") from None
        schema = self._file.schema_arrow
        places = positions(schema.names, [*text, *keep], source.name)
        names = sorted(places, key=lambda name: places[name])
        self.text = tuple(name for name in names if name in text)
        self.kept = tuple(name for name in names if name in keep)
        self.left_out = tuple(name for name in schema.names if name not in places)
        self._schema = self._arrow.schema([self._field(schema.field(name)) for name in names])
        self._rows_read = 0

    def _field(self, field: Any) -> Any:
        types = self._arrow.types
        if field.name not in self.text:
            return field
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if types.is_null(kind):
            return self._arrow.field(field.name, kind)
        if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
            raise not_text(field.name, self._source.name, str(kind))
        return self._arrow.field(field.name, kind, field.nullable)

    @property
    def done(self) -> float:
        """Which share of the rows has been read."""
        total = self._file.metadata.num_rows
        return self._rows_read / total if total else 0.0

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, never across the end of a row group."""
        for group in range(self._file.num_row_groups):
            batches = self._file.iter_batches(
                batch_size=_CHUNK_ROWS, row_groups=[group], columns=self._schema.names
            )
            try:
                for batch in batches:
                    if batch.num_rows:
                        yield self._chunk(group, batch)
            except (self._arrow.ArrowException, OSError):
                raise FormatError(
                    f"{self._source.name}, row {self._rows_read + 1} or later: is damaged."
                ) from None

    def _chunk(self, group: int, batch: Any) -> Chunk:
        texts: Answers = {name: self._texts(batch.column(name)) for name in self.text}
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
            for number, value in enumerate(column, self._rows_read + 1):
                if value.is_valid and not _is_utf8(value.as_buffer().to_pybytes()):
                    raise FormatError(f"{self._source.name}, row {number}: is not valid UTF-8.") from None
            raise
        return texts

    def encode(self, chunk: Chunk, answers: Answers) -> bytes:
        """Return the chunk as an Arrow stream after its length and the number of its row group."""
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

    def close(self) -> None:
        """Close what a packed file was unpacked to."""
        if self._source.file is not self._source.raw:
            self._source.file.close()

    assembled = True

    def assemble(self, parts: BinaryIO, target: BinaryIO) -> None:
        """Write the Parquet file, with the row groups of the input."""
        with self._arrow.parquet.ParquetWriter(target, self._schema, compression=self._codecs()) as writer:
            batches: list[Any] = []
            current = 0
            for group, batch in self._read_parts(parts):
                if group != current and batches:
                    self._write_group(writer, batches)
                    batches = []
                current = group
                batches.append(batch)
            if batches:
                self._write_group(writer, batches)

    def _codecs(self) -> dict[str, str]:
        """Return how each column of the input is compressed."""
        if not self._file.num_row_groups:
            return {}
        group = self._file.metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
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


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
