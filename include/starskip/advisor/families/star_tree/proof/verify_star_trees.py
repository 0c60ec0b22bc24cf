"""Answer queries of the night's ``workload`` both ways, to ``verdicts``: a part of stage verify_indexes.

The shapes that the night's star-trees claim to answer are asked of the trees and of the rows of the lake
table, with literals of the log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from starskip.advisor.families.proof_bytes import proof_bytes
from starskip.advisor.families.star_tree.build_star_trees import BUILT
from starskip.advisor.families.star_tree.chosen_trees import chosen_trees, held_trees
from starskip.advisor.families.star_tree.proof.prove_query import Proof, prove_query, scans_of_proof
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
from starskip.advisor.verification.proofs_within import NotAsked, WantedProof, proofs_within
from starskip.advisor.verification.unproved_words import unproved_warning
from starskip.advisor.workload.shape_workload import Instance, Literals, ShapeWorkload, workload_shapes
from starskip.errors import StorageError, UnsupportedQuery, printable
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.lake.parquet.parquet_footers import each_footer
from starskip.sql.normalize_sql import masked
from starskip.sql.query_text import query_text
from starskip.star_tree.aggregation_query import aggregation_query
from starskip.star_tree.build.build_tree import RunTasks
from starskip.star_tree.build.file_digests import damaged_files
from starskip.star_tree.build.published_trees import data_folder, published_part
from starskip.star_tree.build.source_files import RecordedFile
from starskip.star_tree.serving.answer_from_files import answer_from_files, columns_read
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.fitting_tree import FittingTree, fitting_tree
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.schemas import VERDICTS
from starskip.storage.snapshot import Snapshot

MAX_SHAPES = 100
"""Shapes of a table that are answered both ways, the shapes that save most: each costs table scans."""
_UNTOLD = frozenset(each.value for each in (Agreement.EQUAL, Agreement.WITHIN_BOUND, Agreement.NOT_PROVED))
"""Verdicts without a warning of their own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Queries of one shape of one table."""

    table: str
    shape_id: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """The queries of one table that are wanted, each with NotAsked or None, by shape.

    ``built``: the numbers of the table's published trees, in their order.
    """

    table: str
    built: tuple[int, ...]
    queries: tuple[tuple[WantedProof[str], NotAsked | None], ...] = ()

    def asked(self) -> Iterator[Asked]:
        """Yield the queries of each shape that are asked."""
        asked: dict[str, list[str]] = {}
        for wanted, unasked in self.queries:
            if unasked is None:
                asked.setdefault(wanted.shape_id, []).append(wanted.query)
        for shape_id, queries in asked.items():
            yield Asked(self.table, shape_id, tuple(queries))


def publish_star_tree_verdicts(engine: Engine, night: Night) -> StageResult:
    """Publish ``verdicts`` of the night's tables; tables without a star-tree of this night have none.

    Raises StorageError, after all is published, if queries failed because files of a star-tree are gone or
    damaged.
    """
    tables = usable_tables(night, "star_tree_builds", "verify_indexes")
    planned: list[Planned] = []
    failures: dict[str, str] = {}
    for table in tables:
        try:
            planned.append(_planned(night, table))
        except Exception as error:
            if not is_of_one_table(error):
                raise
            failures[table] = failure_words(error)
    asked = [shape for of_table in planned for shape in of_table.asked()]
    prove = partial(_proofs, night.store)
    proved = EngineTasks(engine).run_tasks("queries answered both ways", asked, prove)
    staged = night.store.staged_write("verdicts", night.date_text)
    counts = dict.fromkeys((verdict.value for verdict in Agreement), 0)
    warnings = failure_warnings("verify_indexes", failures)
    # The order of what was planned, without the queries that are not asked.
    proofs = chain.from_iterable(proved)
    parts: dict[str, Part] = {}
    for of_table in planned:
        rows = [_row(of_table, wanted, unasked, proofs) for wanted, unasked in of_table.queries]
        for row in rows:
            counts[row["verdict"]] += 1
            if row["verdict"] not in _UNTOLD:
                what = f"table {of_table.table}: shape {row['shape_id']}: {row['verdict']}: {row['detail']}"
                warnings.append(printable(what))
        if unproved := unproved_warning(rows):
            warnings.append(printable(f"table {of_table.table}: star-trees: {unproved}"))
        parts[of_table.table] = Part(
            staged.write(of_table.table, pa.Table.from_pylist(rows, schema=VERDICTS))
        )
    night.publish("verdicts", {**parts, **failed_parts(failures)})
    failed = {shape.table for shape, found in zip(asked, proved, strict=True) if _has_failed(found)}
    _require_whole(EngineTasks(engine).run_tasks, night.store, sorted(failed))
    return StageResult({"tables": len(tables), "shapes": len(asked), **counts}, tuple(warnings))


def _planned(night: Night, table: str) -> Planned:
    """Return the queries to ask within the table's budget, and those that are not asked."""
    builds = night.store.snapshot("star_tree_builds", night.date_text)
    assert builds is not None
    rows = builds.read_table([table], ["tree", "outcome"]).to_pylist()
    built = tuple(sorted(row["tree"] for row in rows if row["outcome"] in BUILT))
    if not built:
        return Planned(table, built)
    trees = open_trees(night.store, table, by_any_name=True)
    wanted = wanted_queries(night, table, trees)
    budget_bytes = proof_bytes(night, table)
    # Tasks ask them all at once: each is charged what it is expected to read.
    found = proofs_within(wanted, budget_bytes, MAX_SHAPES, ScanBytes(trees).of, lambda _: (None, None))
    return Planned(table, built, tuple(found))


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


def _row(
    planned: Planned, wanted: WantedProof[str], unasked: NotAsked | None, proofs: Iterator[Proof]
) -> dict[str, Any]:
    """Return the row of a query; ``proofs`` has its outcome next, if it was asked."""
    proof = next(proofs) if unasked is None else Proof(Agreement.NOT_PROVED, unasked.reason)
    # Trees that could not be built have a number too, but are not published.
    numbers = dict(enumerate(planned.built))
    return {
        "table": planned.table,
        "shape_id": wanted.shape_id,
        "instance": wanted.instance,
        "tree": None if proof.tree is None else numbers.get(proof.tree),
        "verdict": proof.verdict.value,
        "detail": proof.detail or None,
        "answer_rows": proof.answer_rows,
        "tree_rows_read": proof.tree_rows_read,
        "scan_rows_read": proof.scan_rows_read,
        "tree_ms": proof.tree_ms,
        "scan_ms": proof.scan_ms,
    }


_MOST_FOOTERS = 4


class ScanBytes:
    """Costs of queries of one table; a few footers tell what share of its files each column is."""

    def __init__(self, trees: TreeSet) -> None:
        """Read the footers."""
        self._types = {field.name: field.type for field in trees.published.schema}
        self._all_bytes = sum(file.identity.size_bytes for file in trees.recorded)
        self._shares = _column_shares(trees.recorded)

    def of(self, sql: str) -> int:
        """Return what the proof of ``sql`` reads of the files, without the documents of trees."""
        try:
            columns = columns_read(sql, "pinot", self._types)
            scans = scans_of_proof(sql)
        except UnsupportedQuery:
            # The proof reads nothing either, and says why.
            return 0
        # Files of a table format may know a column by another name: then all of them count.
        ratio = min(sum(self._shares.get(name, 1.0) for name in columns), 1.0)
        return round(scans * self._all_bytes * ratio)


def _column_shares(files: Sequence[RecordedFile]) -> dict[str, float]:
    """Return each column's share of the bytes of a few evenly spread Parquet files."""
    few = files[:: -(-len(files) // _MOST_FOOTERS)] if files else ()
    sizes: dict[str, int] = {}
    for footer in each_footer([file.identity.path for file in few]):
        if not isinstance(footer, pq.FileMetaData):
            return {}
        for group in map(footer.row_group, range(footer.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                name = column.path_in_schema.partition(".")[0]
                sizes[name] = sizes.get(name, 0) + column.total_compressed_size
    all_bytes = sum(file.identity.size_bytes for file in few)
    shares = {name: size_bytes / all_bytes for name, size_bytes in sizes.items()} if all_bytes else {}
    # Columns of partitions lie in no file.
    return {**{name: 0.0 for file in few for name in file.partition}, **shares}


def wanted_queries(night: Night, table: str, trees: TreeSet) -> Iterator[WantedProof[str]]:
    """Yield queries of the shapes that a tree claims, or was chosen, to answer, the largest scans first."""
    workload = night.store.snapshot("workload", night.date_text)
    assert workload is not None
    advised = _advised(table, night.store.snapshot("recommendations", night.date_text))
    for shape in sorted(workload_shapes(workload.read_table([table])), key=_most_first):
        if not (shape.instances and _is_asked(trees, shape, shape.shape_id in advised)):
            continue
        saving = shape.entries_scanned - shape.queries * advised.get(shape.shape_id, 0.0)
        literals = sorted(shape.instances, key=partial(_most_scanned, shape))
        asked = literals[: night.settings.building.verified_instances]
        for instance, each in enumerate(asked, start=1):
            yield WantedProof(shape.shape_id, instance, saving, query_text(shape.skeleton, each))


def _advised(table: str, advice: Snapshot | None) -> Mapping[str, float]:
    """Return the documents that a query of each shape reads of the tree chosen for it, 0 if not estimated."""
    part = advice.parts([table]).get(table) if advice else None
    trees = (*chosen_trees(table, part), *held_trees(table, part)) if part else ()
    return {shape: documents or 0.0 for tree in trees for shape, documents in tree.shapes.items()}


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
