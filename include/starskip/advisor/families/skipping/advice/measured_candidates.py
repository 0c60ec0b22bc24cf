"""Select the candidate skipping indexes that are measured for a workload."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from starskip.advisor.families.skipping.choice.candidate_specifications import candidate_specifications
from starskip.advisor.families.skipping.choice.column_uses import column_uses
from starskip.advisor.families.skipping.choice.workload_gap_list import WorkloadGapList
from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.errors import ConfigError
from starskip.file_metadata.skipping_engine import SkippingEngine
from starskip.lake.lake_table import LakeTable
from starskip.skipping.index_types.gap_list import GapList
from starskip.skipping.registry import index_from_specification
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.user_functions import implications

MAX_CANDIDATES = 64
"""The candidates of greatest weight are measured; each adds to the cost of the collecting pass."""
_PROFILED_FILES = 8


@dataclass(frozen=True, slots=True)
class Candidates:
    """Indexes to measure; ``faults``: by specification, why others cannot be made."""

    indexes: tuple[SkippingIndex, ...]
    faults: dict[str, str]


def skipping_candidates(
    engine: SkippingEngine,
    table: LakeTable,
    queries: Sequence[LakeQuery],
    fitted: Sequence[LakeQuery],
    kept: Sequence[str],
    file_bytes: float,
    modules: Collection[str] = (),
) -> Candidates:
    """Return the candidates for ``queries``, and the indexes of the last choice, ``kept``.

    ``file_bytes``: the mean size of a file. ``fitted``: the queries that gap lists are fitted to.
    ``modules``: the modules that the night's config names. The log has only a function's name, which may be
    another function's: indexes on functions of Starskip are tried only if the config names their module.
    """
    predicates = [query.predicate for query in queries]
    weights = [query.weight for query in queries]
    columns = sorted(column_uses(predicates, weights, implications()).columns)
    facts = engine.column_facts(table, columns, _PROFILED_FILES)
    found = candidate_specifications(
        predicates, weights, facts, file_bytes=file_bytes, implications=implications()
    )
    names = [*kept, *(each.specification for each in found[:MAX_CANDIDATES])]
    indexes: dict[str, SkippingIndex] = {}
    faults: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            index = serving_index(name, fitted)
        except ConfigError as error:
            faults[name] = str(error)
            continue
        unnamed = _unnamed(index, modules)
        if unnamed is None:
            indexes[name] = index
        else:
            faults[name] = unnamed
    of_table = engine.faults(table, list(indexes.values()))
    faults |= {
        name: of_table[index.specification]
        for name, index in indexes.items()
        if index.specification in of_table
    }
    return Candidates(tuple(index for name, index in indexes.items() if name not in faults), faults)


def _unnamed(index: SkippingIndex, modules: Collection[str]) -> str | None:
    module = index.module_of_functions
    if module is None or module in modules:
        return None
    return f"it is unknown whether the function is Starskip's: if it is, name {module} in skipping.modules"


def serving_index(specification: str, queries: Sequence[LakeQuery]) -> SkippingIndex:
    """Parse a specification; a gap list is returned as a WorkloadGapList for ``queries``."""
    index = index_from_specification(specification)
    if type(index) is not GapList:
        return index
    return WorkloadGapList(
        index.columns,
        index.arguments,
        predicates=[query.predicate for query in queries],
        weights=[query.weight for query in queries],
    )
