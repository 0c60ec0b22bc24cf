"""The indexes of a table that were collected under the same read signature as a scan's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.column_name import column_path
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.read_signature import ZONE_OF_USERS_TYPES
from starskip.spark.skipping.signature_comparison import difference, same_columns, users_types_differ
from starskip.spark.skipping.user_index_types import is_user_type


@dataclass(frozen=True, slots=True)
class CompatibleIndexes:
    """The compatible ``indexes``; ``why_not``: the reason for the others, None if there are none.

    ``zone``: the session time zone in which indexes of users' types were collected.
    """

    indexes: tuple[SkippingIndex, ...]
    why_not: str | None
    zone: str | None

    def in_zones(self, zones: frozenset[str]) -> CompatibleIndexes:
        """Return the indexes that can judge a predicate analysed in these time zones."""
        if zones <= {self.zone} or not any(map(is_user_type, self.indexes)):
            return self
        others = ", ".join(sorted(zones - {self.zone}))
        return self._without_user_types(f"of time zone {self.zone}, but the query is of {others}")

    def _without_user_types(self, why: str) -> CompatibleIndexes:
        names = ", ".join(each.specification for each in self.indexes if is_user_type(each))
        kept = tuple(each for each in self.indexes if not is_user_type(each))
        return replace(self, indexes=kept, why_not=f"{names}: {why}")


def compatible_indexes(table: TableMetadata, now: Mapping[str, str], reasons: list[str]) -> CompatibleIndexes:
    """Compare the read signature of the metadata with ``now``, a scan's; ``reasons`` gets a why_not."""
    then = table.source.read_signature
    other = difference(then, now)
    found = CompatibleIndexes(table.indexes, None, then.get(ZONE_OF_USERS_TYPES))
    if other is not None:
        alike = same_columns(then, now) if other == "schema" else frozenset()
        kept = tuple(each for each in table.indexes if _columns(each) <= alike)
        why = f"the metadata of {table.source.path} was collected with another {other}"
        found = replace(found, indexes=kept, why_not=why)
    if any(map(is_user_type, found.indexes)) and (differs := users_types_differ(then, now)):
        found = found._without_user_types(f"collected with another {differs}: refresh")
    if found.why_not is not None:
        reasons.append(found.why_not)
    return found


def _columns(index: SkippingIndex) -> frozenset[str]:
    return frozenset(column_path(name)[0] for name in index.columns)
