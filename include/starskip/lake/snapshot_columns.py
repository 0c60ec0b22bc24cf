"""Columns of a snapshot and the partition fields of its files: how a table format names them in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from starskip.predicates.column_name import column_name


@dataclass(frozen=True, slots=True)
class SnapshotColumn:
    """A column, or a field of structs, by its ``path`` of names in the table.

    ``field_id``: its id in files, None where only names count. ``stored``: its path of names in files, empty
    where ids count, as for Iceberg. ``names``: its possible names in a file without ids (Iceberg's name
    mapping). ``has_default``: files without the column have its default, not nulls. ``children``: the fields
    of a struct, the element of a list, key and value of a map. ``char_length``: n of CHAR(n), to which Spark
    pads a value that it reads. ``unlike_spark``: why only Spark can read its values, else empty.
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
        """The text that identifies the column whatever its current name: its name in files, or its id."""
        return column_name(self.stored) if self.stored else f"#{self.field_id}"

    @property
    def reading(self) -> str:
        """The text that identifies the column, and how its values and its fields' values are padded."""
        return " ".join([self.identity, *map(str, char_lengths([self]).values())])


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A partition field; ``name`` is its column in ``TableSnapshot.partitions``.

    ``source``: the source column's path, None if that was dropped. ``transform``: as Iceberg writes it,
    "identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour"; Delta has "identity" alone.
    ``spec_ids``: Iceberg's specs that have the field; a file of another spec has null.
    """

    name: str
    source: tuple[str, ...] | None
    transform: str = "identity"
    spec_ids: tuple[int, ...] = ()
    field_id: int | None = None


def with_fields_of_structs(columns: Iterable[SnapshotColumn]) -> Iterator[SnapshotColumn]:
    """Yield columns, each followed by the fields of its structs, at any depth."""
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
