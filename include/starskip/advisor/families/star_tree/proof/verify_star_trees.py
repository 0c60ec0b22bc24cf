"""Answer queries of the night's ``workload`` both ways, to ``verdicts``: a part of stage verify_indexes.

The shapes that the night's star-trees claim to answer are asked of the trees and of the rows of the lake
table, with literals of the log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import pyarrow as pa

from starskip.advisor.families.star_tree.build_star_trees import BUILT
from starskip.advisor.families.star_tree.chosen_trees import chosen_trees, held_trees
from starskip.advisor.families.star_tree.proof.prove_query import Proof, prove_query
from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import (
    failed_parts,
    failure_warnings,
    failure_words,
    is_of_one_table,
    is_ours,
)
from starskip.advisor.verification.agreement import Agreement
from starskip.advisor.workload.shape_workload import Instance, Literals, ShapeWorkload, workload_shapes
from starskip.errors import StorageError, UnsupportedQuery, printable
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.sql.normalize_sql import masked
from starskip.sql.query_text import query_text
from starskip.star_tree.aggregation_query import aggregation_query
from starskip.star_tree.build.build_tree import RunTasks
from starskip.star_tree.build.file_digests import damaged_files
from starskip.star_tree.build.published_trees import data_folder, published_part
from starskip.star_tree.serving.answer_from_files import answer_from_files
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.fitting_tree import FittingTree, fitting_tree
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.schemas import VERDICTS
from starskip.storage.snapshot import Snapshot, SnapshotSource

MAX_SHAPES = 100
"""Shapes of a table that are answered both ways, the shapes that scanned most: each costs table scans."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Queries of one shape of one table; ``built``: the numbers of its published trees, in their order."""

    table: str
    shape_id: str
    queries: tuple[str, ...]
    built: tuple[int, ...]


def publish_star_tree_verdicts(engine: Engine, night: Night) -> StageResult:
    """Publish ``verdicts`` of the night's tables; tables without a star-tree of this night have none.

    Raises StorageError, after all is published, if queries failed because files of a star-tree are gone or
    damaged.
    """
    tables = usable_tables(night, "star_tree_builds", "verify_indexes")
    snapshot_of = cache(night.store.snapshot)
    asked: list[Asked] = []
    failures: dict[str, str] = {}
    for table in tables:
        try:
            asked += _asked(night, table, snapshot_of)
        except Exception as error:
            if not is_of_one_table(error):
                raise
            failures[table] = failure_words(error)
    prove = partial(_proofs, night.store)
    proved = EngineTasks(engine).run_tasks("queries answered both ways", asked, prove)
    staged = night.store.staged_write("verdicts", night.date_text)
    rows: dict[str, list[dict[str, object]]] = {table: [] for table in tables}
    counts = dict.fromkeys((verdict.value for verdict in Agreement), 0)
    warnings = failure_warnings("verify_indexes", failures)
    for shape, proofs in zip(asked, proved, strict=True):
        for number, proof in enumerate(proofs, start=1):
            rows[shape.table].append(_row(shape, number, proof))
            counts[proof.verdict.value] += 1
            if proof.verdict not in (Agreement.EQUAL, Agreement.WITHIN_BOUND):
                what = f"table {shape.table}: shape {shape.shape_id}: {proof.verdict.value}: {proof.detail}"
                warnings.append(printable(what))
    written = {
        table: staged.write(table, pa.Table.from_pylist(of_table, schema=VERDICTS))
        for table, of_table in rows.items()
    }
    parts = {table: Part(files) for table, files in written.items()}
    night.publish("verdicts", {**parts, **failed_parts(failures)})
    failed = {shape.table for shape, proofs in zip(asked, proved, strict=True) if _has_failed(proofs)}
    _require_whole(EngineTasks(engine).run_tasks, night.store, sorted(failed))
    return StageResult({"tables": len(tables), "shapes": len(asked), **counts}, tuple(warnings))


def _asked(night: Night, table: str, snapshot_of: SnapshotSource) -> Iterator[Asked]:
    """Yield the shapes that a tree claims, or was chosen, to answer, in descending order of entries."""
    builds = snapshot_of("star_tree_builds", night.date_text)
    assert builds is not None
    rows = builds.read_table([table], ["tree", "outcome"]).to_pylist()
    built = tuple(sorted(row["tree"] for row in rows if row["outcome"] in BUILT))
    if not built:
        return
    workload = snapshot_of("workload", night.date_text)
    assert workload is not None
    trees = open_trees(night.store, table, by_any_name=True)
    advised = _advised(table, snapshot_of("recommendations", night.date_text))
    shapes = sorted(workload_shapes(workload.read_table([table])), key=_most_first)
    claimed = [
        shape for shape in shapes if shape.instances and _is_asked(trees, shape, shape.shape_id in advised)
    ]
    for shape in claimed[:MAX_SHAPES]:
        literals = sorted(shape.instances, key=partial(_most_scanned, shape))
        asked = literals[: night.settings.building.verified_instances]
        queries = tuple(query_text(shape.skeleton, each) for each in asked)
        yield Asked(table, shape.shape_id, queries, built)


def _advised(table: str, advice: Snapshot | None) -> frozenset[str]:
    """Return the shapes that trees were chosen for."""
    part = advice.parts([table]).get(table) if advice else None
    trees = (*chosen_trees(table, part), *held_trees(table, part)) if part else ()
    return frozenset(shape for tree in trees for shape in tree.shapes)


def _most_first(shape: ShapeWorkload) -> tuple[int, str]:
    return -shape.entries_scanned, shape.shape_id


def _most_scanned(shape: ShapeWorkload, literals: Literals) -> tuple[int, Literals]:
    instance: Instance = shape.instances[literals]
    return (-instance.entries_scanned_in_filter, literals)


def _is_asked(trees: TreeSet, shape: ShapeWorkload, is_advised: bool) -> bool:
    """Return whether a tree has to answer the shape, or says that it can.

    Pinot's trees answer some shapes that Starskip's never do, such as groups by an expression of two columns.
    """
    if not shape.is_parsed:
        return False
    try:
        query = aggregation_query(masked(shape.skeleton), "pinot", trees.published.schema.names)
    except UnsupportedQuery:
        return False
    return is_advised or isinstance(fitting_tree(query, trees.trees), FittingTree)


def _proofs(store: ArtefactStore, asked: Asked) -> list[Proof]:
    try:
        # The log says which table a query reads, whatever the text calls it (sales_OFFLINE, "db.sales").
        trees = open_trees(store, asked.table, by_any_name=True)
        source = trees.sources()
    except Exception as error:
        return _failed_proofs(error, asked)

    def scan(sql: str) -> tuple[pa.Table, int]:
        table, rows_read, _ = answer_from_files(source, sql, "pinot")
        return table, rows_read

    try:
        return [
            prove_query(sql, partial(answer_sql, trees), scan, time.perf_counter) for sql in asked.queries
        ]
    except Exception as error:
        return _failed_proofs(error, asked)


def _failed_proofs(error: Exception, asked: Asked) -> list[Proof]:
    if not (is_ours(error) or is_of_one_table(error)):
        raise error
    return [Proof(Agreement.FAILED, failure_words(error))] * len(asked.queries)


def _has_failed(proofs: Sequence[Proof]) -> bool:
    return any(proof.verdict is Agreement.FAILED for proof in proofs)


def _require_whole(run_tasks: RunTasks, store: ArtefactStore, tables: Sequence[str]) -> None:
    """Raise StorageError naming the tables whose star-trees have files that are gone or damaged."""
    damages = []
    for table in tables:
        published = published_part(store, table)
        if published is not None and published.trees is not None:
            bad = damaged_files(run_tasks, store.storage, data_folder(store), published.part)
            damages += [f"table {table}: {bad[0].name} of its star-trees is gone or damaged"] if bad else []
    if damages:
        raise StorageError(
            f"{'; '.join(damages)}: run build_star_trees of this night again, which builds them anew",
            location=damages[0],
        )


def _row(shape: Asked, instance: int, proof: Proof) -> dict[str, object]:
    # Trees that could not be built have a number too, but are not published.
    numbers = dict(enumerate(shape.built))
    return {
        "table": shape.table,
        "shape_id": shape.shape_id,
        "instance": instance,
        "tree": None if proof.tree is None else numbers.get(proof.tree),
        "verdict": proof.verdict.value,
        "detail": proof.detail or None,
        "answer_rows": proof.answer_rows,
        "tree_rows_read": proof.tree_rows_read,
        "scan_rows_read": proof.scan_rows_read,
        "tree_ms": proof.tree_ms,
        "scan_ms": proof.scan_ms,
    }
