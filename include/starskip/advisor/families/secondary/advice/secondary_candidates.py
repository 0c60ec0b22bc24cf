"""Find the secondary indexes that could answer logged predicates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import pyarrow as pa

from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.errors import ConfigError
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression, nodes
from starskip.secondary.access_paths import path_indexes
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.secondary.spatial_functions import CONTAINS, DISTANCE
from starskip.secondary.sure_predicates import sure_predicates
from starskip.secondary.surviving_files import served_paths

MAX_CANDIDATES = 16
"""Candidates of a table; each is built over the sample."""
MAX_RTREES = 4
"""Most r-trees of a table that are judged: any two columns that queries bound together may have one."""
_MODULE = "starskip_contrib.geospatial_functions"
_UNKNOWN_FUNCTION = (
    "it is not known whether ST_Contains and ST_Distance in Spark are Starskip's: if so, name "
    f"{_MODULE} in skipping.modules"
)


@dataclass(frozen=True, slots=True)
class CandidateIndexes:
    """Indexes that are worth measuring, best first; ``faults``: why others cannot be, by specification."""

    indexes: Sequence[SecondaryIndex]
    faults: Mapping[str, str]


def secondary_candidates(
    queries: Iterable[LakeQuery], types: Mapping[tuple[str, ...], pa.DataType]
) -> CandidateIndexes:
    """Return the indexes that serve most queries.

    ``types``: of columns and fields, by path. An OR needs an index for each of its parts. An r-tree is a
    candidate where an AND bounds two columns on both sides; so does a mapped function with a shape.
    """
    found: defaultdict[str, float] = defaultdict(float)
    by_name: dict[str, SecondaryIndex] = {}
    unknown: set[str] = set()
    for query in queries:
        condition = sure_predicates(query.predicate, types)
        possible = _possible(condition, types)
        by_name |= {each.specification: each for each in possible}
        served = {name for path in served_paths(condition, possible) for name in path_indexes(path)}
        for name in served:
            found[name] += query.weight
        unknown |= {each.specification for each in _of_shapes(query.predicate, types)} - served
    ranked = sorted(found, key=lambda name: (-found[name], name))
    rtrees = [name for name in ranked if by_name[name].kind_of_index is Kind.RTREE]
    kept = [name for name in ranked if name not in rtrees[MAX_RTREES:]][:MAX_CANDIDATES]
    faults = dict.fromkeys(sorted(unknown - found.keys())[:MAX_RTREES], _UNKNOWN_FUNCTION)
    return CandidateIndexes([by_name[name] for name in kept], faults)


def _possible(condition: Expression, types: Mapping[tuple[str, ...], pa.DataType]) -> list[SecondaryIndex]:
    """Return the indexes that columns of a condition can have."""
    columns = sorted({column_name(each.path) for each in nodes(condition) if isinstance(each, Column)})
    wanted = [(kind, (name,)) for name in columns for kind in (Kind.BTREE, Kind.NGRAM)]
    return _indexes([*wanted, *((Kind.RTREE, pair) for pair in combinations(columns, 2))], types)


def _of_shapes(predicate: Expression, types: Mapping[tuple[str, ...], pa.DataType]) -> list[SecondaryIndex]:
    """Return the r-trees on the coordinates that functions with a shape take."""
    calls = [
        each for each in nodes(predicate) if isinstance(each, Call) and each.name in (CONTAINS, DISTANCE)
    ]
    places = (
        sorted({column_name(each.path) for each in nodes(call) if isinstance(each, Column)}) for call in calls
    )
    return _indexes([(Kind.RTREE, tuple(of)) for of in places if len(of) == len(("lat", "lng"))], types)


def _indexes(
    wanted: Iterable[tuple[Kind, tuple[str, ...]]], types: Mapping[tuple[str, ...], pa.DataType]
) -> list[SecondaryIndex]:
    """Return the wanted indexes that columns of these types can have."""
    names = {column_name(path): kind for path, kind in types.items()}
    found = []
    for kind, columns in wanted:
        index = SecondaryIndex(kind, columns)
        try:
            index.check(names)
        except ConfigError:
            continue
        found.append(index)
    return found
