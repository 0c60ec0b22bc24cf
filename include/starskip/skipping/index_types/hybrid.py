"""Index type ``hybrid:c[:threshold]``: a value list for files with few values, else a Bloom filter.

See "Extensible Data Skipping", IV-E.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from starskip.errors import ConfigError
from starskip.predicates.comparison import Comparison
from starskip.predicates.data_types import ORDERED
from starskip.predicates.expression import Expression
from starskip.skipping.clause import Clause
from starskip.skipping.collectors.distinct_values import DistinctValues, ValuesCollector
from starskip.skipping.collectors.filter_collector import FilterCollector, hash_of
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.bloom_filter import FALSE_POSITIVE_RATIO, BloomClause, bloom_clause
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.value_sets import ValueSetClause, value_set_clause, with_valid_texts

THRESHOLD = 10_000
"""Distinct values of a file up to which a list is kept; the example of section IV-E gives 10,088."""

_SCANNING_FACTOR = 0.01
"""The expected share of the files that an equality query reads."""


def hybrid_threshold(object_bytes: float, value_bits: float) -> float:
    """Return the number of distinct values up to which a list costs less than a filter, in bytes read.

    v (b + ln f / ln² 2) < f |o| (1 - E), section IV-E, for equality queries and an expected scanning
    factor E of 0.01. Infinite if a value is no larger than its share of a filter.
    """
    dearer_bits = value_bits + math.log(FALSE_POSITIVE_RATIO) / math.log(2) ** 2
    saved_bits = FALSE_POSITIVE_RATIO * object_bytes * 8 * (1 - _SCANNING_FACTOR)
    return saved_bits / dearer_bits if dearer_bits > 0 else math.inf


class Hybrid(ColumnIndex):
    """Metadata columns ``values`` (a list) and ``filter``: one of them is null, both if nothing is known."""

    kind = "hybrid"
    families = ORDERED

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the threshold as an optional argument."""
        super().__init__(columns)
        self.arguments = tuple(arguments)
        if len(arguments) > 1 or not all(each.isdecimal() and int(each) for each in arguments):
            raise ConfigError(
                f"{self.specification}: write hybrid:COLUMN or hybrid:COLUMN:VALUES", setting="index"
            )
        self.threshold = int(arguments[0]) if arguments else THRESHOLD

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"values": columns[0], "hashes": hash_of(columns[0])}

    def collector(self, schema: pa.Schema) -> FileCollector:
        """See SkippingIndex.collector."""
        return HybridCollector(schema.field("values").type, self.threshold)

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """See SkippingIndex.finish."""
        found = dict(super().finish(collected))
        return found | {"values": with_valid_texts(found["values"])}

    def label(self, node: Expression) -> Clause | None:
        """Label as ValueList does; files with a filter are judged for equality and IN only."""
        found = self.comparison(node)
        return None if found is None else self.clause_of(found)

    def clause_of(self, found: Comparison) -> Clause | None:
        """Return the clause of a comparison with the collected values, None if it is not supported."""
        listed = value_set_clause(self.specification, "values", found)
        if listed is None:
            return None
        filtered = bloom_clause(self.specification, found, FALSE_POSITIVE_RATIO)
        return listed if filtered is None else HybridClause(listed, filtered)


@dataclass(frozen=True, slots=True)
class HybridClause(Clause):
    """Applies one clause to files with a list, the other to files with a filter; each passes null."""

    listed: ValueSetClause
    filtered: BloomClause

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        return self.listed.may_match(metadata) & self.filtered.may_match(metadata)


class HybridCollector(FileCollector):
    """Collects both a list and a filter, since only the end shows which one is kept."""

    def __init__(self, kind: pa.DataType, threshold: int) -> None:
        """Take the type of the values."""
        self._values = ValuesCollector("values", DistinctValues(kind, threshold), kind)
        self._filter = FilterCollector(FALSE_POSITIVE_RATIO)

    @property
    def size_bytes(self) -> int:
        """See FileCollector."""
        return self._values.size_bytes + self._filter.size_bytes

    def add(self, rows: pa.RecordBatch) -> None:
        """See FileCollector."""
        self._values.add(rows)
        self._filter.add(rows)

    def parts(self) -> Iterator[pa.RecordBatch]:
        """See FileCollector."""
        yield from self._values.parts()
        yield from self._filter.parts()

    def merge(self, part: pa.RecordBatch) -> None:
        """See FileCollector."""
        of = self._values if part.schema.names == ["values"] else self._filter
        of.merge(part)

    def result(self) -> Mapping[str, pa.Array]:
        """See FileCollector."""
        values = self._values.result()["values"]
        is_listed = values[0].is_valid
        filters = pa.nulls(1, pa.large_binary()) if is_listed else self._filter.result()["filter"]
        return {"values": values, "filter": filters}
