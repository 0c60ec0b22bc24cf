"""Stage select_indexes, for lake tables: measure candidates for the one choice, and publish its advice.

See "Extensible Data Skipping", IV-B. Candidates follow from the predicates of Spark's queries. Their metadata
is collected beside the artefacts, of new and changed files only, so benefit and size are measured and not
estimated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from starskip.advisor.families.file_indexes.file_advice import (
    last_choice,
    measured_or_note,
    publish_rows,
)
from starskip.advisor.families.index import Index
from starskip.advisor.families.lake_workload import lake_workload
from starskip.advisor.families.measured import Measured, MeasuredAdvice, SkippedFiles
from starskip.advisor.families.skipping.advice.advice_rows import SkippingAdvice
from starskip.advisor.families.skipping.advice.measured_benefit import read_files
from starskip.advisor.families.skipping.advice.measured_table import measured_table
from starskip.advisor.families.skipping.artefacts import ADVICE, SHAPES
from starskip.advisor.families.skipping.settings import SKIPPING_NAME
from starskip.advisor.run.night import Night
from starskip.advisor.run.user_code import plugin_errors
from starskip.execution.engine import Engine
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.skipping_engine import skipping_engine
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import Mask
from starskip.storage.lake_schemas import SKIPPING_ADVICE, SKIPPING_SHAPES


def publish_skipping_advice(night: Night, advice: Mapping[str, SkippingAdvice]) -> int:
    """Publish ``skipping_advice`` and ``skipping_shapes`` by table; return how many indexes are chosen."""
    publish_rows(night, SHAPES, SKIPPING_SHAPES, {table: (each.shapes, {}) for table, each in advice.items()})
    rows = {table: (each.advice, each.properties) for table, each in advice.items()}
    publish_rows(night, ADVICE, SKIPPING_ADVICE, rows)
    return sum(row["verdict"] == "chosen" for each in advice.values() for row in each.advice)


def measured_skipping(engine: Engine, night: Night, table: str, _skipped: SkippedFiles) -> Measured:
    """Measure the candidates of a table of the lake; a failure becomes the note of its advice.

    The indexes of a table without advice stay as they are.
    """
    warnings: list[str] = []

    def measure(lake: LakeTable) -> Measured | str:
        of_lake = skipping_engine(engine)
        if of_lake is None:
            return "skipping indexes are measured on Spark alone"
        workload = lake_workload(night, table)
        warnings.extend(workload.warnings)
        with plugin_errors(night):
            kept = last_choice(night, table, ADVICE)
            measured = measured_table(of_lake, night, table, lake, workload, kept)
        if isinstance(measured, str):
            return measured

        def advise(chosen: Collection[Index], gap_ratio: float) -> tuple[SkippingAdvice, Sequence[str]]:
            with plugin_errors(night):
                return measured.advice(chosen, gap_ratio), ()

        def skipped(predicate: Expression, paths: pa.Array) -> Mask:
            metadata = measured.metadata
            at = match_paths(paths, metadata.paths)
            read = read_files(predicate, metadata, metadata.indexes, measured.own)
            return (at >= 0) & ~read[at] if metadata.files else at >= 0

        return Measured(measured.task.offer(), advise, skipped)

    def advice_of(note: str) -> SkippingAdvice:
        return SkippingAdvice(properties={"note": note})

    return measured_or_note(night, table, SKIPPING_NAME, measure, advice_of, warnings)


MEASURED_SKIPPING = MeasuredAdvice(measured_skipping, publish_skipping_advice)
