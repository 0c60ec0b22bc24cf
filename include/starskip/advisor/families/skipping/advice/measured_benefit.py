"""Measure the benefit and size of skipping indexes on their collected metadata.

See "Extensible Data Skipping", IV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from starskip.advisor.families.file_indexes.alternatives import Alternative, QuerySkips, alternatives
from starskip.advisor.families.file_indexes.own_statistics import OwnStatistics
from starskip.advisor.families.lake_workload import LakeWorkload
from starskip.advisor.families.skipping.indicators import WorkloadIndicators, indicators
from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.skipping_engine import MatchingRows
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Expression
from starskip.skipping.build_clause import build_clause
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex


def query_skips(
    workload: LakeWorkload,
    metadata: TableMetadata,
    relevant: Mapping[int, Mask],
    own: OwnStatistics | None = None,
) -> Iterator[QuerySkips]:
    """Yield the alternatives of each predicate, and last the weight of all other queries.

    ``relevant``: by position of a predicate, the files that hold a matching row. ``own``: the statistics by
    which the table's format itself skips files, which need no index.
    """
    for position, query in enumerate(workload.queries):
        clause = build_clause(metadata.indexes, [query.predicate])
        found = alternatives(clause, metadata) if clause is not None else ()
        if own is not None:
            found = (Alternative(frozenset(), own.read(query.predicate)), *found)
        yield QuerySkips(query.shape_id, query.weight, found, relevant.get(position))
    if workload.unweighed > 0:
        yield QuerySkips("others", workload.unweighed, ())


def index_sizes(metadata: TableMetadata) -> dict[str, int]:
    """Return the bytes of each active index."""
    return {index.specification: metadata.size_bytes(index.specification) for index in metadata.indexes}


def read_files(
    predicate: Expression,
    metadata: TableMetadata,
    indexes: Sequence[SkippingIndex],
    own: OwnStatistics | None = None,
) -> Mask:
    """Return the files that these indexes and the table's ``own`` statistics leave to read."""
    clause = build_clause(indexes, [predicate])
    read = np.ones(metadata.files, np.bool_) if clause is None else metadata.may_match(clause)
    return read if own is None else read & own.read(predicate)


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Matching rows of the queries at ``positions`` of a workload, in the metadata's files at ``files``."""

    positions: tuple[int, ...]
    files: np.ndarray
    matching: MatchingRows
    faults: Mapping[int, str] = field(default_factory=dict)
    """The reason why the rows of a query cannot be counted, by the query's position."""

    def relevant(self, files: int) -> dict[int, Mask]:
        """Return the files with a matching row by the query's position, if all ``files`` were counted."""
        if len(self.files) < files:
            return {}
        found = {}
        for row, position in enumerate(self.positions):
            mask = np.zeros(files, np.bool_)
            mask[self.files] = self.matching.matching[row] > 0
            found[position] = mask
        return found

    def indicators(
        self,
        queries: Sequence[LakeQuery],
        metadata: TableMetadata,
        indexes: Sequence[SkippingIndex],
        own: OwnStatistics | None = None,
    ) -> WorkloadIndicators:
        """Return the indicators of the counted queries, in the order of ``positions``."""
        asked = [queries[each].predicate for each in self.positions]
        read = [read_files(each, metadata, indexes, own)[self.files] for each in asked]
        mask = np.array(read, np.bool_).reshape(len(self.positions), len(self.files))
        return indicators(self.matching.rows, self.matching.matching, mask)


def counted_rows(asked: Sequence[int], matching: MatchingRows, metadata: TableMetadata) -> CountedRows:
    """Restrict an engine's counts for the queries at ``asked`` to files of the metadata."""
    at = match_paths(matching.paths, metadata.paths)
    known = at >= 0
    counted = [row for row in range(len(asked)) if row not in matching.faults]
    kept = MatchingRows(
        matching.paths.filter(known), matching.rows[known], matching.matching[counted][:, known], {}
    )
    faults = {asked[row]: reason for row, reason in matching.faults.items()}
    return CountedRows(tuple(asked[row] for row in counted), at[known], kept, faults)
