"""The columns of a table of files, as Spark reads them: one type a column, whatever its type in each file.

A column that a file lacks is null there; narrower numbers of older files are widened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as with_default
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import SourceError, first_line, printable
from starskip.lake.nested_values import list_offsets, map_entries, with_padding
from starskip.lake.snapshot_columns import char_lengths
from starskip.lake.spark_types import char_lengths_of_fields, spark_type
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name, column_path

_LONGEST_INT = 2**31
_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_UNSIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


@dataclass(frozen=True, slots=True)
class TableSchema:
    """``columns``: the files' and the partition columns, in order; ``partition``: the latter's names.

    ``chars``: n of each CHAR(n) column, at any depth, by its path; its values are padded when read.
    """

    columns: pa.Schema
    partition: tuple[str, ...]
    chars: Mapping[tuple[str, ...], int] = with_default(default_factory=dict, hash=False)

    def types(self) -> Mapping[tuple[str, ...], pa.DataType]:
        """Return the Arrow types of columns and of fields of structs, by path."""
        return dict(_paths((), self.columns))

    def types_by_name(self) -> Mapping[str, pa.DataType]:
        """Return the same by dotted name."""
        return {column_name(path): kind for path, kind in self.types().items()}

    def partition_value(self, name: str, text: str | None) -> pa.Scalar:
        """Return a partition's value."""
        value = pa.scalar(text, pa.string()).cast(self.columns.field(name).type)
        return pc.utf8_rpad(value, self.chars[name,]) if (name,) in self.chars else value

    def to_text(self) -> str:
        """Return the schema of the files as text, for ``options`` of a table source."""
        fields = [each for each in self.columns if each.name not in self.partition]
        return bytes(pa.schema(fields).serialize().to_pybytes()).hex()


def table_schema(
    snapshot: TableSnapshot,
    known: str | None,
    of_files: Callable[[], Mapping[pa.Schema, str]],
    lengths: Mapping[str, int] | None = None,
) -> TableSchema:
    """Return the schema of a table: its log's, else ``known`` merged with the schemas ``of_files``.

    ``known``: the ``to_text`` of when the indexes were made; with None ``of_files`` covers all files.
    ``of_files``: schemas, each with the path of a file that has it. ``lengths``: of CHAR(n) columns of plain
    files when the indexes were made; without it the first file's are taken, as in Spark. Raises SourceError
    naming the first file whose columns have no common type with the files before it.
    """
    found: dict[pa.Schema, str] = {}
    if snapshot.schema is not None:
        found[snapshot.schema] = snapshot.path
    else:
        if known is not None:
            found[schema_of_text(known)] = snapshot.path
        for schema, path in of_files().items():
            found.setdefault(schema, path)
    fields: dict[pa.Schema, str] = {}
    for schema, path in found.items():
        fields.setdefault(pa.schema([normal_field(each) for each in schema]), path)
    try:
        together = pa.unify_schemas(list(fields), promote_options="permissive") if fields else pa.schema([])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        together = _unified_file_by_file(snapshot, fields)
    for name in snapshot.partition_columns:
        at = together.get_field_index(name)
        kind = together.field(at).type if snapshot.schema is not None and at >= 0 else None
        field = pa.field(name, kind or _partition_type(partition_values(snapshot, name)))
        together = together.append(field) if at < 0 else together.set(at, field)
    if snapshot.schema is not None:
        chars = char_lengths(snapshot.columns)
    elif known is not None:
        chars = {column_path(name): length for name, length in (lengths or {}).items()}
    else:
        first = next(iter(found), pa.schema([]))
        chars = char_lengths_of_fields(each for each in first if each.name not in snapshot.partition_columns)
    return TableSchema(together, snapshot.partition_columns, chars)


def _unified_file_by_file(snapshot: TableSnapshot, schemas: Mapping[pa.Schema, str]) -> pa.Schema:
    """Return one schema for all files, or raise SourceError for the first file that does not fit."""
    together = pa.schema([])
    for schema, path in schemas.items():
        try:
            together = pa.unify_schemas([together, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise SourceError(
                f"{path}: {_differing_column(schema, together) or f'{first_line(error)}, as to'} other files "
                f"of {snapshot.path}",
                source=path,
            ) from error
    return together


def _differing_column(
    one: Iterable[pa.Field], other: Iterable[pa.Field], within: tuple[str, ...] = ()
) -> str:
    """Return the first column, or field of a struct, that has no common type in both, with Spark's names."""
    types = {field.name: field.type for field in other}
    for field in one:
        mine, theirs = field.type, types.get(field.name, field.type)
        try:
            pa.unify_schemas(
                [pa.schema([(field.name, each)]) for each in (mine, theirs)], promote_options="permissive"
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            path = (*within, field.name)
            if pa.types.is_struct(mine) and pa.types.is_struct(theirs):
                return _differing_column(mine, theirs, path)
            name = printable(column_name(path), 100)
            return f"column {name} is {spark_type(mine)} here and {spark_type(theirs)} in"
    return ""


def schema_of_text(text: str) -> pa.Schema:
    """Return the schema of the files that ``to_text`` wrote."""
    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text)))


def partition_values(snapshot: TableSnapshot, name: str) -> list[str | None]:
    """Return each file's value of a partition column as text, from its folder or the log."""
    return [dict(each).get(name) for each in snapshot.files["partition"].to_pylist()]


def normal_field(field: pa.Field) -> pa.Field:
    """Return a field with the Arrow type of Spark's type for it."""
    return pa.field(field.name, normal_type(field.type))


def normal_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type of the Spark type for a column of a file."""
    if pa.types.is_dictionary(kind):
        return normal_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz is not None else None)
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_struct(kind):
        return pa.struct([normal_field(each) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(normal_type(kind.key_type), normal_type(kind.item_type))
    if any(is_of(kind) for is_of in _LISTS):
        return pa.list_(pa.field("element", normal_type(kind.value_type)))
    return _UNSIGNED.get(kind, kind)


def conformed(table: pa.Table, schema: TableSchema, names: Sequence[str], rows: int) -> pa.Table:
    """Return columns of a file as the table has them; null for columns that the file lacks.

    Raises pa.ArrowException for values that their column's type cannot hold.
    """
    columns = []
    for name in names:
        kind = schema.columns.field(name).type
        if name in table.column_names:
            columns.append(with_padding(cast_column(table[name], kind), name, schema.chars))
        else:
            columns.append(pa.chunked_array([pa.nulls(rows, kind)]))
    return pa.table(columns, schema=pa.schema([schema.columns.field(name) for name in names]))


def cast_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column, in structs, lists and maps too; nanoseconds are cut to microseconds, as Spark cuts them.

    A field that a struct lacks is null.
    """
    if column.type.equals(kind):
        return column
    return pa.chunked_array([_cast(each, kind) for each in column.chunks], kind)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type.equals(kind):
        return array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_struct(kind) and pa.types.is_struct(array.type):
        parts = dict(zip((each.name for each in array.type), array.flatten(), strict=True))
        fields = [
            _cast(parts[each.name], each.type) if each.name in parts else pa.nulls(len(array), each.type)
            for each in kind
        ]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=array.is_null())
    if pa.types.is_map(kind) and pa.types.is_map(array.type):
        entries = map_entries(array)
        keys, items = entries.flatten().flatten()
        keys, items = _cast(keys, kind.key_type), _cast(items, kind.item_type)
        return pa.MapArray.from_arrays(list_offsets(entries), keys, items, type=kind)
    if pa.types.is_list(kind) and any(is_of(array.type) for is_of in _LISTS):
        inner = _cast(array.flatten(), kind.value_type)
        return pa.ListArray.from_arrays(list_offsets(array), inner, type=kind)
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        zone = array.type.tz
        array = pc.floor_temporal(array, unit="microsecond").cast(pa.timestamp("us", zone), safe=False)
    return array.cast(kind)


def field_values(table: pa.Table, path: tuple[str, ...]) -> pa.Array:
    """Return the values of a column or of a field of structs; null where a struct is."""
    column = table[path[0]]
    for name in path[1:]:
        column = pc.struct_field(column, name)
    found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _paths(
    above: tuple[str, ...], fields: Iterable[pa.Field]
) -> Iterable[tuple[tuple[str, ...], pa.DataType]]:
    for field in fields:
        path = (*above, field.name)
        yield path, field.type
        if pa.types.is_struct(field.type):
            yield from _paths(path, field.type)


def _partition_type(values: Sequence[str | None]) -> pa.DataType:
    """Return the first of int, bigint, double, date and string that fits all ("Partition Discovery")."""
    known = [each for each in values if each is not None]
    if not known:
        return pa.string()
    if all(_is(int, each) for each in known):
        short = all(-_LONGEST_INT <= int(each) < _LONGEST_INT for each in known)
        return pa.int32() if short else pa.int64()
    if all(_is(float, each) for each in known):
        return pa.float64()
    return pa.date32() if all(_is(date.fromisoformat, each) for each in known) else pa.string()


def _is(parse: Any, text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return "_" not in text and text.strip() == text
