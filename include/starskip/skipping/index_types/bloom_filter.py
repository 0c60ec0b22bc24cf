"""Index type ``bloom:c[:fpp]``: a Bloom filter of a file's values, with 1 % false positives by default.

See "Extensible Data Skipping", table I.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from starskip.errors import ConfigError
from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.data_types import ORDERED, arrow_type_of
from starskip.predicates.expression import Expression
from starskip.skipping.bloom_filters import may_hold
from starskip.skipping.clause import Clause
from starskip.skipping.collectors.filter_collector import FilterCollector, hash_of
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.spark_xxhash64 import spark_xxhash64

FALSE_POSITIVE_RATIO = 0.01
LEAST_RATIO, GREATEST_RATIO = 1e-6, 0.5


class BloomFilter(ColumnIndex):
    """Metadata column ``filter``: bytes, empty for a file without values, null if unknown."""

    kind = "bloom"
    families = ORDERED

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the false positive ratio as an optional argument."""
        super().__init__(columns)
        self.arguments = tuple(arguments)
        self.false_positive_ratio = _ratio(self.specification, self.arguments)

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"hashes": hash_of(columns[0])}

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - hashes are of one type
        """See SkippingIndex.collector."""
        return FilterCollector(self.false_positive_ratio)

    def label(self, node: Expression) -> Clause | None:
        """Label equality and IN."""
        found = self.comparison(node)
        return None if found is None else bloom_clause(self.specification, found, self.false_positive_ratio)


def bloom_clause(index: str, found: Comparison, false_positive_ratio: float) -> BloomClause | None:
    """Return the clause of an equality or IN, None for other comparisons and for literals of another type.

    A literal of another type may equal a value but have another hash.
    """
    if found.operator is not ComparisonOperator.IN or found.negated:
        return None
    if found.values.type != arrow_type_of(found.column.data_type):
        return None
    return BloomClause(index, found.values, false_positive_ratio)


@dataclass(frozen=True, slots=True)
class BloomClause(Clause):
    """Passes files whose filter may contain one of ``values``."""

    index: str
    values: pa.Array
    false_positive_ratio: float

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        filters = metadata.column(self.index, "filter")
        hashes = spark_xxhash64(self.values)
        if hashes is None:
            return np.ones(len(filters), np.bool_)
        return may_hold(filters, hashes, self.false_positive_ratio)


def _ratio(specification: str, arguments: tuple[str, ...]) -> float:
    try:
        (text,) = arguments or (str(FALSE_POSITIVE_RATIO),)
        ratio = float(text)
    except ValueError:
        ratio = 0
    if not LEAST_RATIO <= ratio <= GREATEST_RATIO:
        raise ConfigError(
            f"{specification}: write bloom:COLUMN or bloom:COLUMN:RATIO with a ratio of false positives "
            f"from {LEAST_RATIO} to {GREATEST_RATIO}",
            setting="index",
        )
    return ratio
