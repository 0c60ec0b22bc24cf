"""Stage write_report: everything above to ``reports``, one a table and night."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial

import pyarrow as pa

from starskip.artefacts.aside import Aside
from starskip.artefacts.vacuum import vacuum
from starskip.reports.report_files import report_files
from starskip.stages.engine import Engine
from starskip.stages.gate_verdicts import flagged_tables, usable_tables
from starskip.stages.night import Night, StageResult
from starskip.stages.receipts import MAX_RECEIPTS, RECEIPTS, parts_of, receipts
from starskip.stages.table_evidence import table_evidence


def write_report(engine: Engine, night: Night) -> StageResult:
    """Publish ``reports`` of the night's tables: report.json, report.md and report.html each."""
    tables = usable_tables(night, "recommendations", "write_report")
    aside = night.store.write_aside("reports", night.date_text)
    written = engine.rows_of_items(tables, partial(_write, night, aside), RECEIPTS)
    parts = parts_of(written.gather("reports", MAX_RECEIPTS), "reports")
    # A table that a gate has stopped keeps the report of an earlier run of this night.
    former = night.store.snapshot("reports", night.date_text)
    kept = former.parts(flagged_tables(night, "write_report")) if former else {}
    night.publish("reports", {**kept, **parts})
    # The night's last stage also removes what killed or repeated runs of former nights have left behind.
    grace = timedelta(hours=night.settings.vacuum_grace_hours)
    vacuumed = vacuum(night.store, now=night.started_at, grace=grace)
    warnings = tuple(f"not vacuumed: {reason}" for _, reason in vacuumed.left_alone)
    return StageResult({"reports": len(parts), "files_vacuumed": len(vacuumed.removed)}, warnings)


def _write(night: Night, aside: Aside, tables: Iterable[str]) -> Iterator[pa.RecordBatch]:
    for table in tables:
        files = report_files(table_evidence(night, table))
        written = [aside.write_file(table, name, content) for name, content in files.items()]
        yield receipts("reports", table, written)
