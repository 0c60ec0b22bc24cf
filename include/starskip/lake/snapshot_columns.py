"""Columns of a snapshot and what its files are split by: how a table format names them in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from starskip.predicates.column_name import column_name


@dataclass(frozen=True, slots=True)
class SnapshotColumn:
    """A column, or a field of structs, by its ``path`` of names in the table.

    ``field_id``: the id that it has in files, None where names alone count. ``stored``: its path of names in
    files, which Iceberg's files tell themselves, by their ids. ``has_default``: files without it do not have
    nulls in it.
    """

    path: tuple[str, ...]
    kind: pa.DataType
    field_id: int | None = None
    stored: tuple[str, ...] = ()
    has_default: bool = False

    @property
    def name(self) -> str:
        """The dotted name, parts in backticks where they need it."""
        return column_name(self.path)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """What files are split by: ``name`` is that of the column in ``TableSnapshot.partitions``.

    ``source``: the column's path, None of one that was dropped. ``transform``: as Iceberg writes it,
    "identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour"; Delta has "identity" alone.
    ``spec_ids``: the specs, of Iceberg, that have it; a file of another one has null.
    """

    name: str
    source: tuple[str, ...] | None
    transform: str = "identity"
    spec_ids: tuple[int, ...] = ()
    field_id: int | None = None


def struct_columns(fields: Iterable[pa.Field], above: tuple[str, ...] = ()) -> Iterator[SnapshotColumn]:
    """Yield the columns, and fields of structs at any depth, that are matched by their names alone."""
    for each in fields:
        path = (*above, each.name)
        yield SnapshotColumn(path, each.type, stored=path)
        if pa.types.is_struct(each.type):
            yield from struct_columns(each.type, path)
