"""Finds columns of a table in one of its files: by field ids or by the names of a column mapping.

A column that was renamed has its former name in older files, and a former name may be another column's now:
by its name alone a column is matched in plain files only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from starskip.errors import SourceError, printable
from starskip.lake.snapshot_columns import SnapshotColumn

_FIELD_ID = b"PARQUET:field_id"


def stored_names(schema: pa.Schema, columns: Sequence[SnapshotColumn], path: str) -> Mapping[str, str | None]:
    """Return the name that each column of a table has in a Parquet file, None for a column that it lacks.

    ``schema``: the file's, as Arrow reads it; ``columns``: the snapshot's. Raises SourceError naming the file
    and a column that is missing and has a default, or that cannot be identified.
    """
    whole = [each for each in columns if len(each.path) == 1]
    found = _names(schema, whole, path)
    for column in whole:
        if found[column.path[0]] is None and column.has_default:
            raise SourceError(
                f"{path}: lacks column {printable(column.name)}, whose default only Spark fills in: rewrite "
                "the file, or query it in Spark",
                source=path,
            )
    return found


def names_without_ids(schema: pa.Schema, columns: Sequence[SnapshotColumn]) -> dict[str, Any] | None:
    """Return the names that columns have in a Parquet file without field ids, None for one with ids.

    Maps a column's name in the table to its name in the file, or to None where the file lacks the column;
    likewise for the fields of a struct. None, too, where the columns cannot be identified.
    """
    try:
        return None if any(_field_id(each) is not None for each in schema) else _tree(schema, columns)
    except SourceError:
        return None


def _tree(fields: Iterable[pa.Field], columns: Sequence[SnapshotColumn]) -> dict[str, Any]:
    there = {each.name: each.type for each in fields}
    names = _names([pa.field(name, kind) for name, kind in there.items()], columns, "")
    return {
        column.path[-1]: [stored, _inner_names(there.get(stored or ""), column)]
        for column in columns
        for stored in (names[column.path[-1]],)
    }


def _inner_names(kind: pa.DataType | None, column: SnapshotColumn) -> dict[str, Any]:
    if not pa.types.is_struct(column.kind):
        return {}
    return _tree(kind if kind is not None and pa.types.is_struct(kind) else (), column.children)


def with_names_of_today(
    found: pa.Table, schema: pa.Schema, columns: Sequence[SnapshotColumn], path: str
) -> pa.Table:
    """Return columns of a file, and fields of their structs, with their names in the table.

    ``schema``: the file's, with its ids. Fields that the table dropped are left out. Raises SourceError for a
    column with structs in lists or maps that have other names.
    """
    whole = [each for each in columns if len(each.path) == 1]
    there = _names(schema, whole, path)
    by_stored = {stored: each for each in whole if (stored := there[each.path[0]]) is not None}
    arrays, names = [], []
    for name in found.column_names:
        column, field = by_stored[name], schema.field(name)
        array = found[name]
        if _differs(field, column, path):
            array = pa.chunked_array([_renamed(each, field, column, path) for each in array.chunks])
        arrays.append(array)
        names.append(column.path[0])
    return pa.table(arrays, names=names) if arrays else found


def require_same_names(schema: pa.Schema, columns: Sequence[SnapshotColumn], path: str) -> None:
    """Raise SourceError if a column has another name in a Parquet file than in its table."""
    for name, stored in stored_names(schema, columns, path).items():
        if stored != name and (stored is not None or name in schema.names):
            raise SourceError(f"{path}: has another name for column {printable(name)}", source=path)


def _names(fields: Iterable[pa.Field], columns: Sequence[SnapshotColumn], path: str) -> dict[str, str | None]:
    """Return the names of columns, or of the fields of one struct, in a file."""
    there = list(fields)
    ids = {number: each.name for each in there if (number := _field_id(each)) is not None}
    present = {each.name for each in there}
    found: dict[str, str | None] = {}
    for column in columns:
        name = column.path[-1]
        if column.stored:
            found[name] = column.stored[-1] if column.stored[-1] in present else None
        elif ids:
            found[name] = ids.get(column.field_id or 0)
        elif column.names:
            found[name] = next((each for each in column.names if each in present), None)
        else:
            raise SourceError(
                f"{path}: has no field ids, and the table has no name mapping for it "
                "(schema.name-mapping.default): its columns cannot be identified",
                source=path,
            )
    return found


def _differs(field: pa.Field, column: SnapshotColumn, path: str) -> bool:
    """Return whether a field within a column has another name in the file than in the table."""
    kind = field.type
    if pa.types.is_struct(kind) and pa.types.is_struct(column.kind):
        names = _names(kind, column.children, path)
        own = {each.path[-1]: each for each in column.children}
        if any(
            stored != name and (stored or kind.get_field_index(name) >= 0) for name, stored in names.items()
        ):
            return True
        return any(_differs(kind.field(name), own[name], path) for name, stored in names.items() if stored)
    inner = _inner(kind)
    return len(inner) == len(column.children) and any(
        map(_differs, inner, column.children, [path] * len(inner))
    )


def _renamed(array: pa.Array, field: pa.Field, column: SnapshotColumn, path: str) -> pa.Array:
    """Return a struct, and structs in it, with the names of the table."""
    if not pa.types.is_struct(array.type):
        if _differs(field, column, path):
            raise SourceError(
                f"{path}: has other names for fields within column {printable(column.name)}, which only "
                "Spark resolves: leave the column out, rewrite the file, or query it in Spark",
                source=path,
            )
        return array
    names = _names(field.type, column.children, path)
    parts = dict(zip((each.name for each in field.type), array.flatten(), strict=True))
    arrays, fields = [], []
    for child in column.children:
        stored = names[child.path[-1]]
        if stored is not None:
            part = _renamed(parts[stored], field.type.field(stored), child, path)
            arrays.append(part)
            fields.append(pa.field(child.path[-1], part.type))
    if not arrays:
        # Only which structs are null is left.
        arrays, fields = [pa.nulls(len(array))], [pa.field("", pa.null())]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=array.is_null())


def _inner(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    return []


def _field_id(field: pa.Field) -> int | None:
    found = (field.metadata or {}).get(_FIELD_ID)
    return None if found is None else int(found)
