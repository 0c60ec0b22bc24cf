"""Stage select_indexes: ``votes`` and ``workload`` to ``recommendations`` (seed 000, II.3 C).

And ``lake_queries`` to ``skipping_advice`` (skipping_advice; seed 003, IV-B).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import pyarrow as pa

from starskip.cost.index_sizes import sizes_of
from starskip.errors import StarskipError, TransientError
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.indexes.index import Structure
from starskip.indexes.skipping.advice.publish_advice import publish_skipping_advice
from starskip.indexes.star_tree.build.build_tree import RunTasks
from starskip.indexes.star_tree.build.published_trees import known_of_table
from starskip.indexes.star_tree.build.source_table import SourceFile
from starskip.indexes.star_tree.recommend.star_tree_candidates import (
    StarTreeCandidates,
    TableRows,
    star_tree_candidates,
)
from starskip.indexes.star_tree.recommend.trees_in_force import TreesInForce, star_trees_in_force
from starskip.indexes.star_tree.star_tree_config import StarTreeConfig
from starskip.night.score_votes import read_overviews
from starskip.pinot.table_config import TableConfig
from starskip.run.gate_verdicts import usable_tables
from starskip.run.night import Night, StageResult
from starskip.run.table_by_table import failed_parts, failure_warnings, table_by_table
from starskip.selection.advise_table import TableAdvice, TreeSource, advise_table
from starskip.selection.past_nights import past_nights
from starskip.selection.tree_properties import star_tree_properties
from starskip.settings import Settings
from starskip.storage.manifest import Part
from starskip.storage.schemas import RECOMMENDATIONS
from starskip.storage.snapshot import SnapshotSource
from starskip.storage.staged_write import StagedWrite
from starskip.tables.table_overview import TableOverview
from starskip.workload.shape_entries import ShapeEntries
from starskip.workload.shape_workload import ShapeWorkload, workload_shapes


def select_indexes(engine: Engine, night: Night) -> StageResult:
    """Publish ``recommendations``, ``skipping_advice`` and ``skipping_shapes`` of the night's tables.

    A table whose programme fails costs the others nothing; its part says why.
    """
    tables = usable_tables(night, "votes", "select_indexes")
    snapshot_of = cache(night.store.snapshot)
    found = table_by_table(tables, partial(_advised_tables, engine, night, snapshot_of))
    advised = {table: each for result in found.results for table, each in result.items()}
    parts = {table: each.part for table, each in advised.items()}
    night.publish("recommendations", {**parts, **failed_parts(found.failures)})
    skipping = publish_skipping_advice(engine, night, found.left_of(tables))
    counts = {
        "tables": len(tables),
        "chosen_indexes": sum(len(each.advice.recommendation.chosen) for each in advised.values()),
        "chosen_star_trees": sum(len(each.advice.star_trees.trees) for each in advised.values()),
        "chosen_skipping_indexes": skipping.chosen,
    }
    warnings = [warning for each in advised.values() for warning in each.warnings]
    failed = failure_warnings("select_indexes", found.failures)
    return StageResult(counts, (*warnings, *failed, *skipping.warnings))


@dataclass(frozen=True, slots=True)
class _AdvisedTable:
    """The advice on one table, written aside."""

    advice: TableAdvice
    part: Part
    warnings: Sequence[str]


def _advised_tables(
    engine: Engine, night: Night, snapshot_of: SnapshotSource, tables: Sequence[str]
) -> dict[str, _AdvisedTable]:
    overviews = read_overviews(engine, night, tables)
    aside = night.store.staged_write("recommendations", night.date_text)
    configs = night.table_configs()
    advised = partial(_advised, engine, night, snapshot_of, aside)
    return {table: advised(table, overviews.get(table), configs.get(table, ())) for table in tables}


def _advised(
    engine: Engine,
    night: Night,
    snapshot_of: SnapshotSource,
    aside: StagedWrite,
    table: str,
    overview: TableOverview | None,
    configs: Sequence[TableConfig],
) -> _AdvisedTable:
    past = past_nights(night, table, snapshot_of)
    sizes = sizes_of(_rows(night, "index_sizes", table))
    shapes = list(workload_shapes(_rows(night, "workload", table)))
    advice = advise_table(
        table,
        shapes,
        _rows(night, "votes", table),
        overview,
        night.settings,
        "all",
        past=past,
        size_bytes=sizes,
        tree_source=_tree_source(engine, night, table, shapes, overview),
        configured_trees=star_trees_in_force(configs),
        leaves=_leaves(night, table),
    )
    properties = {**_properties(advice), "table_bytes": overview.stored_bytes if overview else None}
    part = Part(aside.write(table, _recommendation_rows(advice, sizes)), properties)
    return _AdvisedTable(advice, part, past.warnings)


def _tree_source(
    engine: Engine,
    night: Night,
    table: str,
    shapes: Sequence[ShapeWorkload],
    overview: TableOverview | None,
) -> TreeSource | None:
    if "star_tree" not in night.settings.index_kinds.split(","):
        return None
    rows = TableRows(night.lake_tables.get(table), night.segments_root, _known_files(night, table))
    run_tasks = EngineTasks(engine).run_tasks
    # Not the folder of what is published: this one is emptied.
    aside = night.store.staged_write("recommendations", night.date_text)
    return partial(_star_tree_candidates, run_tasks, aside, table, shapes, overview, rows, night.settings)


def _known_files(night: Night, table: str) -> Mapping[str, SourceFile]:
    """Return what the table's published star-trees know of its files; nothing where that cannot be read."""
    if table not in night.lake_tables:
        return {}
    try:
        return known_of_table(night.store, table)
    except TransientError:
        raise
    except StarskipError:
        return {}


def _star_tree_candidates(
    run_tasks: RunTasks,
    aside: StagedWrite,
    table: str,
    shapes: Sequence[ShapeWorkload],
    overview: TableOverview | None,
    rows: TableRows,
    settings: Settings,
    window: Mapping[str, ShapeEntries],
    known: Sequence[StarTreeConfig],
    held: TreesInForce,
) -> StarTreeCandidates:
    return star_tree_candidates(
        run_tasks, aside, table, shapes, overview, rows, settings, window=window, known=known, held=held
    )


def _rows(night: Night, artefact: str, table: str) -> pa.Table:
    snapshot = night.store.snapshot(artefact, night.date_text)
    assert snapshot is not None
    return snapshot.read_table([table])


def _recommendation_rows(advice: TableAdvice, sizes: Mapping[Structure, int]) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for rank, item in enumerate(advice.recommendation.chosen, start=1):
        rows.append(
            {
                "verdict": "chosen",
                "kind": item.structure.kind,
                "column": item.structure.column,
                "rank": rank,
                "individual_saving_ratio": item.individual_saving_ratio,
                "progressive_saving_ratio": item.progressive_saving_ratio,
                "shapes_helped": item.shapes_helped,
                "size_bytes": sizes.get(item.structure),
            }
        )
    rows.extend(
        {
            "verdict": "refused",
            "kind": refusal.structure.kind,
            "column": refusal.structure.column,
            "individual_saving_ratio": refusal.individual_saving_ratio,
            "reason": refusal.reason.value,
            "detail": refusal.detail,
            "size_bytes": sizes.get(refusal.structure),
        }
        for refusal in advice.refused
    )
    rows.extend(
        {
            "verdict": "drop",
            "kind": drop.structure.kind,
            "column": drop.structure.column,
            "reason": "unused",
            "detail": drop.detail,
            "size_bytes": sizes.get(drop.structure),
        }
        for drop in advice.drops
    )
    return pa.Table.from_pylist([{"table": advice.table, **row} for row in rows], schema=RECOMMENDATIONS)


def _leaves(night: Night, table: str) -> int:
    """Return how many of the table's queries were leaves of multi-stage queries."""
    snapshot = night.store.snapshot("queries", night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    return part.properties.get("log", {}).get("leaves", 0) if part else 0


def _properties(advice: TableAdvice) -> Mapping[str, Any]:
    recommendation = advice.recommendation
    return {
        "saving": asdict(recommendation.saving),
        "stop": recommendation.stop.value,
        "curve": [
            {"k": p.k, "structures": [str(s) for s in p.structures], "saving": asdict(p.saving)}
            for p in recommendation.curve
        ],
        "typical_entries": asdict(advice.typical) if advice.typical else None,
        "sort_order": _order_properties(advice),
        "in_force": sorted(map(str, advice.in_force)),
        "sorted_columns": sorted(advice.sorted_columns),
        "asked": sorted(map(str, advice.asked)),
        "drops_withheld": advice.drops_withheld,
        **{
            name: getattr(advice, name)
            for name in ("queries", "failed", "unparsed", "shapes", "entries", "nights")
        },
        **{name: getattr(advice, name) for name in ("unlogged_queries", "unlogged_entries", "leaves")},
        "unlogged_texts": advice.unlogged_texts.to_json(),
        **star_tree_properties(advice.star_trees, advice.star_tree_candidates, advice.trees_in_force),
    }


def _order_properties(advice: TableAdvice) -> Mapping[str, Any] | None:
    order = advice.sort_order
    if order is None:
        return None
    chosen = order.chosen[0].structure.column if order.chosen else None
    return {"column": chosen, "saving": asdict(order.saving)}


def chosen_columns(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the chosen columns of RECOMMENDATIONS rows, best first."""
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    return tuple(row["column"] for row in chosen)
