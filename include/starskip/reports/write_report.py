"""Stage write_report: all artefacts of the night to ``reports``, one for each table and night."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from starskip.advisor.families.family_faults import NOT_USED, fault_warnings, without_faulty
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.gate_verdicts import flagged_tables, usable_tables
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.table_by_table import failed_parts, failure_warnings, table_by_table
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_messages
from starskip.reports.charts import missing_pictures
from starskip.reports.evidence import Evidence
from starskip.reports.report_files import report_with_summary
from starskip.reports.report_summary import SUMMARY
from starskip.reports.table_evidence import table_evidence
from starskip.skipping.registry import load_modules
from starskip.storage.commit_messages import (
    COMMIT_MESSAGES,
    commit_messages,
    note_message,
    parts_of,
)
from starskip.storage.manifest import Part
from starskip.storage.staged_write import StagedWrite


def write_report(engine: Engine, night: Night) -> StageResult:
    """Publish ``reports`` of the night's tables: report.json, report.md and report.html each."""
    tables = usable_tables(night, "recommendations", "write_report")
    staged = night.store.staged_write("reports", night.date_text)
    found = table_by_table(tables, partial(_written, engine, night, staged))
    parts = {table: part for each in found.results for table, part in each.items()}
    # A table that a gate has stopped keeps the report of an earlier run of this night.
    former = night.store.snapshot("reports", night.date_text)
    kept = former.parts(flagged_tables(night, "write_report")) if former else {}
    night.publish("reports", {**kept, **parts, **failed_parts(found.failures)})
    failed = [*_faults(night, parts), *failure_warnings("write_report", found.failures)]
    missing = missing_pictures()
    if missing:
        failed.append(f"the reports have no charts: {missing}")
    return StageResult({"reports": len(parts)}, failed)


def _faults(night: Night, parts: Mapping[str, Part]) -> Iterator[str]:
    """Yield a warning for each family and table where it failed in the report alone."""
    if not night.family_modules or not parts:
        return
    advice, reports = published(night, "recommendations"), published(night, "reports")
    for table, part in sorted(parts.items()):
        known = advice.parts([table])[table].properties.get(NOT_USED, {})
        for file in part.files:
            if file.name.endswith("report.json"):
                told = json.loads(reports.read_file(file)).get(NOT_USED, {})
                new = {family: words for family, words in told.items() if family not in known}
                yield from fault_warnings(new, [table])


def _written(engine: Engine, night: Night, staged: StagedWrite, tables: Sequence[str]) -> dict[str, Part]:
    rows = engine.rows_of_items(tables, partial(_write, night, staged), COMMIT_MESSAGES)
    gathered = gather_messages(engine, rows, [staged], "reports")
    notes = {row["table"]: row["note"] for row in gathered.to_pylist() if row["note"] is not None}
    parts = parts_of(gathered, "reports")
    return {
        table: replace(part, properties={SUMMARY: json.loads(notes[table])}) for table, part in parts.items()
    }


def _write(night: Night, staged: StagedWrite, tables: Iterable[str]) -> Iterator[pa.RecordBatch]:
    # Workers of Spark are processes of their own: reports name the columns of users' index types, too.
    load_modules(night.skipping_modules)
    for table in tables:
        evidence, faults = without_faulty({}, partial(_evidence, night, table))
        evidence = replace(evidence, not_used={**evidence.not_used, **faults})
        files, summary = report_with_summary(evidence)
        written = [staged.write_file(table, name, content) for name, content in files.items()]
        yield commit_messages("reports", table, written)
        yield note_message("reports", table, json.dumps(summary.to_json()))


def _evidence(night: Night, table: str, left_out: frozenset[str]) -> Evidence:
    return table_evidence(night.without_families(left_out), table)
