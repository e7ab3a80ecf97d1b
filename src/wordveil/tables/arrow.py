"""Arrow schemas without metadata, and where an Arrow column is not valid UTF-8."""

from typing import Any

__all__ = ["bare_field", "bare_schema", "first_not_utf8"]


def bare_schema(schema: Any) -> Any:
    """Return a schema without metadata, including that of its fields.

    Tools pass metadata on, and it may be private: pandas writes the names of all columns there.
    """
    import pyarrow as pa

    return pa.schema([bare_field(field) for field in schema])


def bare_field(field: Any) -> Any:
    """Return a field of the same name and type without metadata, including that of its type."""
    import pyarrow as pa

    return pa.field(field.name, _bare_type(field.type), field.nullable)


def _bare_type(kind: Any) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_struct(kind):
        return pa.struct([bare_field(kind.field(number)) for number in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(bare_field(kind.key_field), bare_field(kind.item_field), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(bare_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(bare_field(kind.value_field))
    if types.is_list(kind):
        return pa.list_(bare_field(kind.value_field))
    if types.is_list_view(kind):
        return pa.list_view(bare_field(kind.value_field))
    if types.is_large_list_view(kind):
        return pa.large_list_view(bare_field(kind.value_field))
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _bare_type(kind.value_type), kind.ordered)
    if types.is_run_end_encoded(kind):
        return pa.run_end_encoded(kind.run_end_type, _bare_type(kind.value_type))
    return kind


def first_not_utf8(column: Any) -> int:
    """Return the position of the first value in a column of text that is not valid UTF-8."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    for number, value in enumerate(column):
        if value.is_valid:
            try:
                value.as_buffer().to_pybytes().decode("utf-8")
            except UnicodeDecodeError:
                return number
    raise AssertionError("all values are valid UTF-8")
