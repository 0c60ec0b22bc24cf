"""Which indexes of a table say what a relation is about to read, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from starskip.indexes.skipping.column_name import column_path
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.registry import OWN_TYPES
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.fingerprint_comparison import difference, same_columns, users_types_differ
from starskip.spark.skipping.read_signature import ZONE_OF_USERS_TYPES


@dataclass(frozen=True, slots=True)
class CompatibleIndexes:
    """``why_not``: of the others, None if there are none; ``zone``: that in which users' types collected."""

    indexes: tuple[SkippingIndex, ...]
    why_not: str | None
    zone: str | None

    def in_zones(self, zones: frozenset[str]) -> CompatibleIndexes:
        """Return those that answer a predicate that was analysed in these time zones."""
        if zones <= {self.zone} or not any(map(is_users_type, self.indexes)):
            return self
        others = ", ".join(sorted(zones - {self.zone}))
        return self._of_starskip(f"of time zone {self.zone}, but the query is of {others}")

    def _of_starskip(self, why: str) -> CompatibleIndexes:
        names = ", ".join(each.specification for each in self.indexes if is_users_type(each))
        kept = tuple(each for each in self.indexes if not is_users_type(each))
        return replace(self, indexes=kept, why_not=f"{names}: {why}")


def compatible_indexes(table: TableMetadata, now: Mapping[str, str]) -> CompatibleIndexes:
    """Compare the fingerprint of what was collected with that of a relation ``now``."""
    then = table.source.fingerprint
    other = difference(then, now)
    found = CompatibleIndexes(table.indexes, None, then.get(ZONE_OF_USERS_TYPES))
    if other is not None:
        alike = same_columns(then, now) if other == "schema" else frozenset()
        kept = tuple(each for each in table.indexes if _columns(each) <= alike)
        why = f"the metadata of {table.source.path} was collected with another {other}"
        found = replace(found, indexes=kept, why_not=why)
    if any(map(is_users_type, found.indexes)) and (differs := users_types_differ(then, now)):
        return found._of_starskip(f"collected with another {differs}: refresh")
    return found


def is_users_type(index: SkippingIndex) -> bool:
    """Tell whether what an index collects is written by a user, who may name anything of a session's."""
    return type(index) not in OWN_TYPES


def has_users_type(indexes: Sequence[SkippingIndex]) -> bool:
    """Tell it of any."""
    return any(map(is_users_type, indexes))


def _columns(index: SkippingIndex) -> frozenset[str]:
    return frozenset(column_path(name)[0] for name in index.columns)
