"""Run the queries that Spark ran on lake tables again, with indexes of files and without them.

A part of stage verify_indexes, for each family whose indexes let Spark's rule skip files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from starskip.advisor.families.lake_builds import BY_HAND, KEPT
from starskip.advisor.families.lake_workload import LakeWorkload, lake_workload
from starskip.advisor.families.proof_bytes import proof_bytes
from starskip.advisor.run.expectations import Expectation, View, at_most, distinct, in_set, present
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import (
    failed_parts,
    failure_warnings,
    failure_words,
    is_of_one_table,
)
from starskip.advisor.verification.agreement import ACCEPTED, Agreement
from starskip.advisor.verification.proofs_within import NotAsked, WantedProof, proofs_within
from starskip.advisor.verification.unproved_words import unproved_warning
from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.errors import SourceError, StarskipError, TransientError, UnsupportedQuery, printable
from starskip.execution.engine import Engine
from starskip.file_metadata.skipping_engine import Replay, Replaying, skipping_engine
from starskip.predicates.expression import Expression
from starskip.settings import Settings
from starskip.sql.masking import mask_failure, mask_literals
from starskip.storage.manifest import Part

MAX_SHAPES = 25
"""Shapes of a table that run again, the shapes that save most."""
Serves = Callable[[Expression], bool]
"""Returns whether the built indexes may serve a predicate."""


_WAYS = 2
"""Readings of a query that is expected to have one answer, the second of which may read less."""
_RAN_BOTH_WAYS = (Agreement.EQUAL.value, Agreement.DIFFERENT.value)


@dataclass(frozen=True, slots=True)
class Replays:
    """The artefacts of a family's proof: its builds, ``built``, and its ``verdicts``.

    ``word`` names the family in counts and warnings. ``serves`` returns, for the properties of a table's
    build, which queries are worth running. ``savings``: the artefact with the predicted saving of each shape;
    where there is none, shapes that read most count as saving most.
    """

    built: str
    verdicts: str
    word: str
    serves: Callable[[Mapping[str, Any]], Serves]
    savings: str | None = None


def publish_replays(engine: Engine, night: Night, replays: Replays) -> StageResult:
    """Publish the verdicts of a family on the night's tables; tables without a built index have none."""
    tables = usable_tables(night, replays.built, "verify_indexes")
    staged = night.store.staged_write(replays.verdicts, night.date_text)
    parts: dict[str, Part] = {}
    counts: dict[str, int] = {}
    warnings: list[str] = []
    unread: dict[str, str] = {}
    for table in tables:
        try:
            rows = list(_rows(engine, night, table, replays))
        except Exception as error:
            if not is_of_one_table(error):
                raise
            unread[table] = failure_words(error)
            continue
        for row in rows:
            name = f"{replays.word}_{row['verdict']}"
            counts[name] = counts.get(name, 0) + 1
            if row["verdict"] in (Agreement.DIFFERENT.value, Agreement.FAILED.value):
                problem = f"table {table}: shape {row['shape_id']}: {row['verdict']} with {replays.word}"
                warnings.append(printable(f"{problem}: {row['detail']}"))
        if unproved := unproved_warning(rows):
            warnings.append(printable(f"table {table}: {replays.word}: {unproved}"))
        schema = night.store.schemas[replays.verdicts]
        parts[table] = Part(staged.write(table, pa.Table.from_pylist(rows, schema=schema)))
    night.publish(replays.verdicts, {**parts, **failed_parts(unread)})
    return StageResult(counts, (*warnings, *failure_warnings("verify_indexes", unread)))


def _rows(engine: Engine, night: Night, table: str, replays: Replays) -> Iterator[dict[str, Any]]:
    lake, of_lake = night.lake_tables.get(table), skipping_engine(engine)
    builds = night.store.snapshot(replays.built, night.date_text)
    assert builds is not None
    outcomes = set(builds.read_table([table], ["outcome"])["outcome"].to_pylist())
    if lake is None or of_lake is None or not outcomes & {*KEPT, BY_HAND}:
        return
    serves = replays.serves(builds.parts([table])[table].properties)
    workload = lake_workload(night, table)
    workload = replace(workload, queries=tuple(each for each in workload.queries if serves(each.predicate)))
    savings = _savings(night, table, replays)
    wanted = _wanted(workload, savings, night.settings.building.verified_instances)
    budget_bytes = proof_bytes(night, table)
    with of_lake.replaying(lake, night.skipping_root, night.settings) as ask:
        cost, prove = partial(_cost_bytes, ask), partial(_verdict, ask)
        for each, verdict in proofs_within(wanted, budget_bytes, MAX_SHAPES, cost, prove):
            if isinstance(verdict, NotAsked):
                verdict = {"verdict": Agreement.NOT_PROVED.value, "detail": verdict.reason}
            yield {"table": table, "shape_id": each.shape_id, "instance": each.instance, **verdict}


def _wanted(
    workload: LakeWorkload, savings: Mapping[str, float], instances: int
) -> Iterator[WantedProof[LakeQuery]]:
    """Yield the heaviest predicates of each shape, shapes in descending order of bytes read."""
    by_shape: dict[str, list[LakeQuery]] = {}
    for query in workload.queries:
        by_shape.setdefault(query.shape_id, []).append(query)
    for shape in sorted(workload.shapes.values(), key=lambda shape: (-shape.bytes_read, shape.shape_id)):
        saving = savings.get(shape.shape_id, 0.0) if savings else float(shape.bytes_read)
        of_shape = by_shape.get(shape.shape_id, [])[:instances]
        for instance, query in enumerate(of_shape, start=1):
            yield WantedProof(shape.shape_id, instance, saving, query)


def _savings(night: Night, table: str, replays: Replays) -> dict[str, float]:
    """Return the bytes that all queries of each shape are predicted to save; none where nothing predicts."""
    found = night.store.snapshot(replays.savings, night.date_text) if replays.savings else None
    if found is None or table not in found.tables:
        return {}
    rows = found.read_table([table], ["shape_id", "saving_ratio", "bytes_read"]).to_pylist()
    return {row["shape_id"]: (row["saving_ratio"] or 0.0) * row["bytes_read"] for row in rows}


def _cost_bytes(ask: Replaying, query: LakeQuery) -> int:
    try:
        return _WAYS * ask.plain_bytes(query.predicate)
    except Exception as error:
        if not (isinstance(error, StarskipError) or is_of_one_table(error)):
            raise
        # A query that cannot be planned reads nothing, and its verdict says why.
        return 0


def _verdict(ask: Replaying, query: LakeQuery) -> tuple[dict[str, Any], int | None]:
    """Return the verdict on a query, and the bytes that it has read, None if it failed."""
    try:
        replay = ask(query.predicate)
    except TransientError:
        raise
    except UnsupportedQuery as error:
        return {"verdict": Agreement.NOT_COMPARABLE.value, "detail": mask_failure(str(error))}, None
    except SourceError as error:
        return {"verdict": Agreement.FAILED.value, "detail": str(error)}, None
    except StarskipError as error:
        # Spark's error message repeats the failed expression, with its literals.
        return {"verdict": Agreement.FAILED.value, "detail": mask_failure(str(error))}, None
    except Exception as error:
        if not is_of_one_table(error):
            raise
        return {"verdict": Agreement.FAILED.value, "detail": failure_words(error)}, None
    difference = _difference(replay)
    # The reason why nothing was skipped may be an error of a user's index type, in its own words.
    unskipped = mask_literals("; ".join(replay.not_skipped_because))
    found = {
        "verdict": Agreement.DIFFERENT.value if difference else Agreement.EQUAL.value,
        "detail": difference or unskipped or None,
        "answer_rows": replay.plain.rows,
        "files_total": replay.files_total,
        "plain_files_read": replay.plain.files,
        "skipping_files_read": replay.skipping.files,
        "plain_bytes_read": replay.plain.size_bytes,
        "skipping_bytes_read": replay.skipping.size_bytes,
        "plain_ms": replay.plain.duration_ms,
        "skipping_ms": replay.skipping.duration_ms,
    }
    return found, replay.read_bytes


def _difference(replay: Replay) -> str:
    plain, skipping = replay.plain, replay.skipping
    if plain.rows != skipping.rows:
        return f"{plain.rows} rows without skipping, {skipping.rows} with it"
    return "" if plain.digest == skipping.digest else f"{plain.rows} rows both ways, but not the same ones"


def replays_gate(verdicts: str, words: str) -> Gate:
    """Return the gate of an artefact of verdicts; ``words``: as checks name the queries, with ``{table}``."""

    def views(night: Night, table: str) -> Mapping[str, View]:
        snapshot = night.store.snapshot(verdicts, night.date_text)
        rows = snapshot.read_table([table]).to_pylist() if snapshot and table in snapshot.tables else []
        for row in rows:
            row["is_of_table"] = row["table"] == table
            row["name"] = f"{row['shape_id']} query {row['instance']}"
        asked = [row for row in rows if row["verdict"] in _RAN_BOTH_WAYS]
        return {"skipped": View(rows, "name"), "asked": View(asked, "name")}

    def expectations(_: Settings) -> Sequence[Expectation]:
        return (
            in_set("skipped", "is_of_table", f"{words}: rows of this table", [True]),
            distinct("skipped", ["shape_id", "instance"], f"{words}: listed twice"),
            present("skipped", "verdict", f"{words}: missing verdict"),
            in_set("skipped", "verdict", f"{words}: answers", ACCEPTED),
            at_most(
                "asked",
                "skipping_bytes_read",
                "plain_bytes_read",
                f"{words}: bytes read",
                "no more than without",
            ),
        )

    return Gate(views, expectations)
