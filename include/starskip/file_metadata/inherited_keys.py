"""Find the keys of new indexes by their columns: an index must not show a column that another encrypts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.skipping.registry import specification_parts
from starskip.skipping.skipping_index import SkippingIndex


@dataclass(frozen=True, slots=True)
class InheritedKeys:
    """``encrypt``: key names of new indexes by specification; ``why_not``: why others are not made.

    ``locked``: existing indexes that stay unchanged because their key is missing.
    """

    encrypt: dict[str, str] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()


def shown_by_plain_indexes(
    keys: Mapping[str, str], created: Iterable[SkippingIndex]
) -> Iterator[tuple[str, str, str]]:
    """Yield each created index that has no key although another index encrypts its column.

    Yields the index, the column and the other index. ``keys``: key names by specification, of the table's
    indexes and the created ones.
    """
    encrypted = {column: index for index in keys for column in specification_parts(index)[1]}
    for index in created:
        if index.specification not in keys:
            for column in index.columns:
                if column in encrypted:
                    yield index.specification, column, encrypted[column]


def inherited_keys(metadata: TableMetadata | None, wanted: Sequence[SkippingIndex]) -> InheritedKeys:
    """Return the keys of the wanted indexes that the table does not have yet."""
    if metadata is None or not metadata.state.keys.indexes:
        return InheritedKeys()
    of_columns = {
        column: name
        for index, name in metadata.state.keys.indexes.items()
        for column in specification_parts(index)[1]
    }
    why_locked = {each.name: each.why for each in metadata.unlocked.locked}
    found = InheritedKeys(locked=metadata.unlocked.locked_indexes)
    for index in wanted:
        names = [of_columns[column] for column in index.columns if column in of_columns]
        if not names or index.specification in metadata.state.indexes:
            continue
        if names[0] in why_locked:
            found.why_not[index.specification] = f"it would show encrypted values, and {why_locked[names[0]]}"
        else:
            found.encrypt[index.specification] = names[0]
    return found
