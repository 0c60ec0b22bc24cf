"""Find the secondary indexes that logged predicates could be answered by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import pyarrow as pa

from starskip.errors import ConfigError
from starskip.indexes.secondary.access_paths import path_indexes
from starskip.indexes.secondary.secondary_index import Kind, SecondaryIndex
from starskip.indexes.secondary.sure_predicates import sure_predicates
from starskip.indexes.secondary.surviving_files import served_paths
from starskip.indexes.skipping.workload.lake_queries import LakeQuery
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Column, Expression, nodes

MAX_CANDIDATES = 16
"""Of a table; each is built over the sample."""


def candidate_indexes(
    queries: Iterable[LakeQuery], types: Mapping[tuple[str, ...], pa.DataType]
) -> list[SecondaryIndex]:
    """Return the b-trees and n-gram indexes that serve most queries, best first.

    ``types``: of columns and fields, by path. An OR asks for an index of each of its parts. R-trees are left
    to people: ranges of two columns may as well be of two b-trees.
    """
    found: defaultdict[str, float] = defaultdict(float)
    by_name: dict[str, SecondaryIndex] = {}
    for query in queries:
        possible = _possible(query.predicate, types)
        by_name |= {each.specification: each for each in possible}
        condition = sure_predicates(query.predicate, types)
        served = {name for path in served_paths(condition, possible) for name in path_indexes(path)}
        for name in served:
            found[name] += query.weight
    ranked = sorted(found, key=lambda name: (-found[name], name))
    return [by_name[name] for name in ranked[:MAX_CANDIDATES]]


def _possible(predicate: Expression, types: Mapping[tuple[str, ...], pa.DataType]) -> list[SecondaryIndex]:
    """Return the indexes that columns of a predicate can have."""
    names = {column_name(path): kind for path, kind in types.items()}
    found = []
    for path in sorted({each.path for each in nodes(predicate) if isinstance(each, Column)}):
        for kind in (Kind.BTREE, Kind.NGRAM):
            index = SecondaryIndex(kind, (column_name(path),))
            try:
                index.check(names)
            except ConfigError:
                continue
            found.append(index)
    return found
