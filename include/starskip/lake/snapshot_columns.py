"""Columns of a snapshot and what its files are split by: how a table format names them in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from starskip.predicates.column_name import column_name


@dataclass(frozen=True, slots=True)
class SnapshotColumn:
    """A column, or a field of structs, by its ``path`` of names in the table.

    ``field_id``: the id that it has in files, None where names alone count. ``stored``: its path of names in
    files, empty where ids count, as for Iceberg. ``names``: those that it may have in a file without ids
    (Iceberg's name mapping). ``has_default``: files without it do not have nulls in it. ``children``: the
    fields of a struct, the element of a list, key and value of a map. ``char_length``: n of CHAR(n), to which
    Spark pads a value that it reads. ``unlike_spark``: why Spark alone can tell what it reads, else empty.
    """

    path: tuple[str, ...]
    kind: pa.DataType
    field_id: int | None = None
    stored: tuple[str, ...] = ()
    has_default: bool = False
    names: tuple[str, ...] = ()
    children: tuple[SnapshotColumn, ...] = field(default=(), repr=False)
    char_length: int | None = None
    unlike_spark: str = ""

    @property
    def name(self) -> str:
        """The dotted name, parts in backticks where they need it."""
        return column_name(self.path)

    @property
    def identity(self) -> str:
        """The text that tells the column whatever it is called: its name in files, or its id."""
        return column_name(self.stored) if self.stored else f"#{self.field_id}"

    @property
    def reading(self) -> str:
        """The text that tells the column, and how the values of it and of its fields are padded."""
        return " ".join([self.identity, *map(str, char_lengths([self]).values())])


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field that files are split by; ``name`` is that of the column in ``TableSnapshot.partitions``.

    ``source``: the column's path, None of one that was dropped. ``transform``: as Iceberg writes it,
    "identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour"; Delta has "identity" alone.
    ``spec_ids``: the specs, of Iceberg, that have it; a file of another one has null.
    """

    name: str
    source: tuple[str, ...] | None
    transform: str = "identity"
    spec_ids: tuple[int, ...] = ()
    field_id: int | None = None


def with_fields_of_structs(columns: Iterable[SnapshotColumn]) -> Iterator[SnapshotColumn]:
    """Yield columns, each before the fields of structs that it has, at any depth."""
    for column in columns:
        yield column
        if pa.types.is_struct(column.kind):
            yield from with_fields_of_structs(column.children)


def char_lengths(columns: Iterable[SnapshotColumn]) -> Mapping[tuple[str, ...], int]:
    """Return n of each CHAR(n), by its path, in which lists have "element", maps "key" and "value"."""
    found: dict[tuple[str, ...], int] = {}
    for column in columns:
        if column.char_length is not None:
            found[column.path] = column.char_length
        found.update(char_lengths(column.children))
    return found
