"""Stage build_star_trees: chosen trees of ``recommendations`` to ``star_trees`` (Star-tree index, II).

Built artefacts are current state: ``star_trees/current`` holds the newest night's choice; an older night, or
a backfill, leaves it unchanged. ``star_tree_builds`` of the night holds the outcome of each tree.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from starskip.advisor.families.family import listed
from starskip.advisor.families.star_tree.chosen_trees import ChosenTree, chosen_trees, held_trees
from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME
from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import (
    failed_parts,
    failure_warnings,
    failure_words,
    is_of_one_table,
    is_ours,
)
from starskip.advisor.run.withheld_builds import withheld_builds
from starskip.errors import (
    ConfigError,
    MissingExtra,
    MissingSource,
    NotPlainFiles,
    StarskipError,
    TransientError,
    printable,
)
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.extras import missing_extra
from starskip.lake.lake_table import LakeTable
from starskip.settings.advice_groups import ALL
from starskip.star_tree.build.build_tree import RunTasks
from starskip.star_tree.build.publish_trees import Outcome, PublishedTrees, publish_trees
from starskip.star_tree.build.published_trees import known_of_table, published_order
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import TableTrees
from starskip.star_tree.validate_config import validate_config
from starskip.storage.manifest import Part
from starskip.storage.schemas import STAR_TREE_BUILDS

BUILT = frozenset(outcome.value for outcome in Outcome)
"""Outcomes of existing trees."""
NOT_BUILT, FAILED = "not_built", "failed"
"""The others."""


@dataclass(frozen=True, slots=True)
class TreeBuild:
    """Outcome of building one tree, a row of STAR_TREE_BUILDS; ``lake_bytes``: of the table's files."""

    tree: ChosenTree
    outcome: str
    detail: str
    published: PublishedTrees | None = None
    lake_bytes: int | None = None


def build_star_trees(engine: Engine, night: Night) -> StageResult:
    """Publish ``star_trees`` and ``star_tree_builds`` of the night's tables.

    If a tree cannot be built, the other trees and the previous trees stay; the tree's row says why.
    """
    tables = usable_tables(night, "recommendations", "build_star_trees")
    advised = night.store.snapshot("recommendations", night.date_text)
    assert advised is not None
    withheld = withheld_builds(night, "recommendations")
    staged = night.store.staged_write("star_tree_builds", night.date_text)
    run_tasks = EngineTasks(engine).run_tasks
    parts: dict[str, Part] = {}
    counts = dict.fromkeys((*(outcome.value for outcome in Outcome), FAILED, NOT_BUILT), 0)
    warnings = []
    missing = missing_extra("star-trees")
    if missing and {ALL, STAR_TREE_NAME}.intersection(listed(night.settings.advice.index_kinds)):
        warnings.append(f"no star-tree is advised: {missing}")
    unread: dict[str, str] = {}
    for table, part in advised.parts(tables).items():
        try:
            chosen, held = chosen_trees(table, part), held_trees(table, part)
            builds = _table_builds(run_tasks, night, table, chosen, held, withheld)
        except Exception as error:
            if not is_of_one_table(error):
                raise
            unread[table] = failure_words(error)
            continue
        for build in builds:
            counts[build.outcome] += 1
            if build.outcome == FAILED:
                warnings.append(printable(f"table {table}: star-tree not built: {build.detail}"))
        parts[table] = Part(staged.write(table, _rows(table, builds)), _table_properties(builds))
    night.publish("star_tree_builds", {**parts, **failed_parts(unread)})
    warnings += failure_warnings("build_star_trees", unread)
    return StageResult({"tables": len(tables), **counts}, tuple(dict.fromkeys(warnings)))


def _table_builds(
    run_tasks: RunTasks,
    night: Night,
    table: str,
    chosen: Sequence[ChosenTree],
    held: Sequence[ChosenTree],
    withheld: str,
) -> list[TreeBuild]:
    """Return the outcomes of the chosen trees, and of Pinot's trees that queries ask for."""
    lake = night.lake_tables.get(table)
    if lake is None:
        return [TreeBuild(tree, NOT_BUILT, _by_pinot(tree)) for tree in (*held, *chosen)]
    if withheld:
        return [TreeBuild(tree, NOT_BUILT, withheld) for tree in (*held, *chosen)]
    former = published_order(night.store, table)
    built_before = former.configs if former is not None else ()
    # In the order in which Pinot tries them: new trees stand behind the present trees.
    asked = [tree for tree in held if tree.shapes or tree.config in built_before]
    # A day without advice must not delete trees that answer queries.
    others = chosen or [ChosenTree(config) for config in built_before]
    kept = {tree.config for tree in asked}
    chosen = [*asked, *(tree for tree in others if tree.config not in kept)]
    if not chosen:
        return []
    try:
        return _built(run_tasks, night, table, lake, chosen)
    except (NotPlainFiles, MissingExtra) as error:
        # No failure of the night: such a table has no star-trees, and the report says why.
        return [TreeBuild(tree, NOT_BUILT, str(error)) for tree in chosen]
    except MissingSource as error:
        # Where trees answered before, a table that is gone is a failure.
        outcome = FAILED if built_before else NOT_BUILT
        return [TreeBuild(tree, outcome, failure_words(error)) for tree in chosen]
    except Exception as error:
        if not (is_ours(error) or is_of_one_table(error)):
            raise
        return [TreeBuild(tree, FAILED, failure_words(error)) for tree in chosen]


def _by_pinot(tree: ChosenTree) -> str:
    if tree.is_in_force:
        return "no lake table is configured, and the table config holds it: Pinot builds it itself"
    return "no lake table is configured: Pinot builds it itself once the change is applied"


def _built(
    run_tasks: RunTasks, night: Night, table: str, lake: LakeTable, chosen: Sequence[ChosenTree]
) -> list[TreeBuild]:
    """Return the outcome of each tree."""
    faults: dict[StarTreeConfig, str] = {}
    source = source_table(
        lake.path,
        lake.casts,
        known_of_table(night.store, table),
        file_format=lake.table_format,
        run_tasks=run_tasks,
    )
    types = {field.name: field.type for field in source.schema}
    lake_bytes = sum(file.identity.size_bytes for file in source.files)
    for tree in chosen:
        try:
            validate_config(tree.config, types, table=table)
        except ConfigError as error:
            faults[tree.config] = str(error)
    possible = tuple(tree.config for tree in chosen if tree.config not in faults)
    for configs in _whole_then_without_one(possible):
        order = TreeOrder(table, lake.path, configs, lake.casts, is_named=True, file_format=lake.table_format)
        try:
            published = publish_trees(
                run_tasks,
                night.store,
                order,
                now=night.started_at,
                created_by=night.run_id,
                clock_ns=time.time_ns,
            )
        except TransientError:
            raise
        except StarskipError as error:
            faults = {config: str(error) for config in possible} | faults
            continue
        return [
            TreeBuild(tree, published.outcome.value, published.reason, published, lake_bytes)
            if tree.config in configs
            else TreeBuild(tree, FAILED, faults[tree.config])
            for tree in chosen
        ]
    return [TreeBuild(tree, FAILED, faults[tree.config]) for tree in chosen]


def _whole_then_without_one(
    configs: tuple[StarTreeConfig, ...],
) -> Iterator[tuple[StarTreeConfig, ...]]:
    """Yield the sets of trees to try: all of them, then, if that fails, all but one, each in turn."""
    if configs:
        yield configs
    if len(configs) > 1:
        for left_out in configs:
            yield tuple(config for config in configs if config is not left_out)


def _rows(table: str, builds: Sequence[TreeBuild]) -> pa.Table:
    rows = [
        {
            "table": table,
            "tree": position,
            "config": json.dumps(build.tree.config.to_document()),
            "outcome": build.outcome,
            "detail": build.detail,
            "estimated_documents": build.tree.estimated_documents,
            "estimated_bytes": build.tree.estimated_bytes,
            **_facts(build),
        }
        for position, build in enumerate(builds, start=1)
    ]
    return pa.Table.from_pylist(rows, schema=STAR_TREE_BUILDS)


def _table_properties(builds: Sequence[TreeBuild]) -> dict[str, Any]:
    sizes = [build.lake_bytes for build in builds if build.lake_bytes is not None]
    return {"lake_bytes": sizes[0]} if sizes else {}


def _facts(build: TreeBuild) -> dict[str, Any]:
    """Return the columns of a built tree; a dictionary counts in each tree that has its dimension."""
    if build.published is None:
        return {}
    part = build.published.part
    trees = TableTrees.from_properties(part.properties)
    (record,) = [each for each in trees.trees if each.config == build.tree.config]
    dictionaries = {trees.dictionaries[name] for name in record.config.dimensions_split_order}
    names = {
        name for each in record.layout.parts for name in (each.base_file, each.star_file, each.node_file)
    }
    size_bytes = sum(file.size_bytes for file in part.files if file.name in names | dictionaries)
    return {"rows": record.rows, "documents": record.layout.documents, "size_bytes": size_bytes}
