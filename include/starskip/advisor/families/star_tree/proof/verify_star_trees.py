"""Answer queries of the night's ``workload`` both ways, to ``verdicts``: a part of stage verify_indexes.

The shapes that the night's star-trees claim to answer are asked of the trees and of the rows of the lake
table, with literals of the log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import Any

import pyarrow as pa

from starskip.advisor.families.proof_bytes import proof_bytes
from starskip.advisor.families.star_tree.build_star_trees import BUILT
from starskip.advisor.families.star_tree.proof.prove_query import Proof, prove_query
from starskip.advisor.families.star_tree.proof.scan_bytes import ScanBytes
from starskip.advisor.families.star_tree.proof.wanted_queries import wanted_queries
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
from starskip.errors import StorageError, printable
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.star_tree.build.build_tree import RunTasks
from starskip.star_tree.build.file_digests import damaged_files
from starskip.star_tree.build.published_trees import data_folder, published_part
from starskip.star_tree.serving.answer_from_files import answer_from_files
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.schemas import VERDICTS
from starskip.storage.snapshot import SnapshotSource

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
    snapshot_of = cache(night.store.snapshot)
    planned: list[Planned] = []
    failures: dict[str, str] = {}
    for table in tables:
        try:
            planned.append(_planned(night, table, snapshot_of))
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


def _planned(night: Night, table: str, snapshot_of: SnapshotSource) -> Planned:
    """Return the queries to ask within the table's budget, and those that are not asked."""
    builds = snapshot_of("star_tree_builds", night.date_text)
    assert builds is not None
    rows = builds.read_table([table], ["tree", "outcome"]).to_pylist()
    built = tuple(sorted(row["tree"] for row in rows if row["outcome"] in BUILT))
    if not built:
        return Planned(table, built)
    trees = open_trees(night.store, table, by_any_name=True)
    wanted = wanted_queries(night, table, trees, snapshot_of)
    budget_bytes = proof_bytes(night, table, snapshot_of)
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
