"""Stage select_indexes, for lake tables: measure candidates for the one choice, and publish its advice.

See "Extensible Data Skipping", IV-B. Candidates follow from the predicates of Spark's queries. Their metadata
is collected beside the artefacts, of new and changed files only, so benefit and size are measured and not
estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pyarrow as pa

from starskip.errors import StarskipError, StorageOutage, printable
from starskip.execution.engine import Engine
from starskip.indexes.families import families_of_night
from starskip.indexes.file_skips import FileSkips
from starskip.indexes.index import Index
from starskip.indexes.measured import SparedFiles
from starskip.indexes.skipping.advice.advice_rows import SkippingAdvice
from starskip.indexes.skipping.advice.lake_workload import lake_workload
from starskip.indexes.skipping.advice.measured_benefit import read_files
from starskip.indexes.skipping.advice.measured_table import measured_table
from starskip.indexes.skipping.artefacts import ADVICE, SHAPES
from starskip.indexes.skipping.family import SKIPPING
from starskip.indexes.skipping.metadata.match_paths import match_paths
from starskip.indexes.skipping.skipping_engine import skipping_engine
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import Mask
from starskip.run.night import ADVICE_NIGHTS, Night
from starskip.run.plugin_errors import plugin_errors
from starskip.run.table_by_table import failure_words, is_of_one_table, is_ours
from starskip.storage.lake_schemas import SKIPPING_ADVICE, SKIPPING_SHAPES
from starskip.storage.manifest import Part
from starskip.storage.snapshot import SnapshotSource


@dataclass(frozen=True, slots=True)
class MeasuredSkipping:
    """Savings that the skipping indexes of a table could have, before the choice.

    ``skips``: what the one choice takes, None where there is nothing to choose from. ``advise``: returns the
    advice and warnings; takes what was chosen and by how much another choice could be better. ``spared``:
    which files all candidates together skip.
    """

    skips: FileSkips | None
    advise: Callable[[Collection[Index], float], tuple[SkippingAdvice, Sequence[str]]]
    spared: SparedFiles


def publish_skipping_advice(night: Night, advice: Mapping[str, SkippingAdvice]) -> int:
    """Publish ``skipping_advice`` and ``skipping_shapes`` by table; return how many indexes are chosen."""
    advised = night.store.staged_write(ADVICE, night.date_text)
    shapes = night.store.staged_write(SHAPES, night.date_text)
    parts: dict[str, Part] = {}
    of_shapes: dict[str, Part] = {}
    for table, each in advice.items():
        rows = pa.Table.from_pylist(list(each.advice), schema=SKIPPING_ADVICE)
        parts[table] = Part(advised.write(table, rows), dict(each.properties or {}))
        rows = pa.Table.from_pylist(list(each.shapes), schema=SKIPPING_SHAPES)
        of_shapes[table] = Part(shapes.write(table, rows))
    night.publish(SHAPES, of_shapes)
    night.publish(ADVICE, parts)
    return sum(row["verdict"] == "chosen" for each in advice.values() for row in each.advice)


def measured_skipping(
    engine: Engine, night: Night, table: str, snapshot_of: SnapshotSource
) -> MeasuredSkipping:
    """Measure the candidates of a table of the lake; what fails is the note of its advice.

    The indexes of a table without advice stay as they are.
    """
    lake = night.lake_tables.get(table)
    if lake is None:
        return _nothing("no lake table is configured")
    if not families_of_night(night).has(SKIPPING):
        return _nothing("skipping indexes are not among index_kinds")
    if not night.event_log_paths:
        return _nothing("no Spark event logs are configured (sources.spark_event_logs)")
    of_lake = skipping_engine(engine)
    if of_lake is None:
        return _nothing("skipping indexes are measured on Spark alone")
    workload = lake_workload(night, table, snapshot_of)

    warnings = workload.warnings
    try:
        with plugin_errors(night):
            kept = last_choice(night, table, snapshot_of)
            measured = measured_table(of_lake, night, table, lake, workload, kept)
    except Exception as error:
        reason, problem = _failure(table, error)
        return _nothing(reason, (*warnings, problem))
    if isinstance(measured, str):
        return _nothing(measured, warnings)

    def advise(chosen: Collection[Index], gap_ratio: float) -> tuple[SkippingAdvice, Sequence[str]]:
        try:
            with plugin_errors(night):
                return measured.advice(chosen, gap_ratio), warnings
        except Exception as error:
            reason, problem = _failure(table, error)
            return _none(reason), (*warnings, problem)

    def spared(predicate: Expression, paths: pa.Array) -> Mask:
        metadata = measured.metadata
        at = match_paths(paths, metadata.paths)
        read = read_files(predicate, metadata, metadata.indexes, measured.own)
        return (at >= 0) & ~read[at] if metadata.files else at >= 0

    return MeasuredSkipping(measured.task.offer(), advise, spared)


def _failure(table: str, error: Exception) -> tuple[str, str]:
    """Return the reason and the warning of an error that one table's data may have caused; raise others."""
    if not (is_ours(error) or is_of_one_table(error)):
        raise error
    reason = failure_words(error)
    return reason, printable(f"table {table}: no skipping indexes are advised: {reason}")


def _nothing(note: str, warnings: Sequence[str] = ()) -> MeasuredSkipping:
    return MeasuredSkipping(None, lambda *_: (_none(note), warnings), _none_spared)


def _none_spared(predicate: Expression, paths: pa.Array) -> Mask:
    del predicate
    return np.zeros(len(paths), np.bool_)


def _none(note: str) -> SkippingAdvice:
    return SkippingAdvice(properties={"note": note})


def last_choice(night: Night, table: str, snapshot_of: SnapshotSource, artefact: str = ADVICE) -> list[str]:
    """Return the indexes that the newest advice before ``night`` chose, best first.

    ``artefact``: that of the advice, which may be of another family of indexes of files.
    """
    for age in range(1, ADVICE_NIGHTS):
        day = (night.run_date - timedelta(days=age)).isoformat()
        try:
            snapshot = snapshot_of(artefact, day)
            part = snapshot.parts([table]).get(table) if snapshot else None
            if snapshot is None or part is None or part.properties.get("note") is not None:
                continue
            rows = snapshot.read_table([table], ["verdict", "rank", "index"]).to_pylist()
        except StorageOutage:
            raise
        except StarskipError:
            continue  # damaged since: an older one, or none, does as well
        chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
        return [row["index"] for row in chosen]
    return []
