"""The families of Pinot's indexes on one column: inverted, range and FST indexes, and the sort order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from starskip.advisor.families.family import Family
from starskip.pinot.column_indexes.bloom import BLOOM_NAME, BLOOM_PATH
from starskip.pinot.column_indexes.fst import FST_NAME, FST_PATH
from starskip.pinot.column_indexes.inverted import INVERTED_NAME, INVERTED_PATH
from starskip.pinot.column_indexes.range import RANGE_NAME, RANGE_PATH
from starskip.pinot.column_indexes.sorted_column import SORTED_NAME, SORTED_PATH
from starskip.pinot.column_key import INVERTED_KEY, ColumnsKey, SortedColumnKey
from starskip.pinot.fst_key import FstKey


def _inverted_document(columns: Sequence[str]) -> Mapping[str, Any]:
    return {"inverted_index_columns": list(columns)}


def _range_document(columns: Sequence[str]) -> Mapping[str, Any]:
    return {"range_index_columns": list(columns)}


def _sorted_document(columns: Sequence[str]) -> Mapping[str, Any]:
    return {"sorted_column": columns[0] if columns else None}


INVERTED = Family(
    name=INVERTED_NAME,
    singular="an inverted index",
    plural="inverted indexes",
    path=INVERTED_PATH,
    config=INVERTED_KEY,
    document=_inverted_document,
)
"""Inverted indexes of Pinot."""

RANGE = Family(
    name=RANGE_NAME,
    singular="a range index",
    plural="range indexes",
    path=RANGE_PATH,
    config=ColumnsKey("rangeIndexColumns", "RANGE", attrgetter("range_index_columns")),
    document=_range_document,
)
"""Range indexes of Pinot."""

SORTED = Family(
    name=SORTED_NAME,
    singular="the sort order",
    plural="the sort orders",
    path=SORTED_PATH,
    config=SortedColumnKey(),
    document=_sorted_document,
)
"""The sorted column of Pinot."""

FST = Family(
    name=FST_NAME,
    singular="an FST index",
    plural="FST indexes",
    path=FST_PATH,
    config=FstKey(),
)
"""FST indexes of Pinot, each with the inverted index that it needs."""


BLOOM = Family(
    name=BLOOM_NAME,
    singular="a bloom filter",
    plural="bloom filters",
    path=BLOOM_PATH,
    config=ColumnsKey(
        "bloomFilterColumns", "BLOOM", attrgetter("bloom_filter_columns"), options_key="bloomFilterConfigs"
    ),
)
"""Bloom filters of Pinot."""
