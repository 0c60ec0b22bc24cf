"""Parts of ``reports`` as the stage publishes them, of made-up nights."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.reports.report_summary import SUMMARY, ReportSummary
from starskip.storage.manifest import Part
from starskip.storage.staged_write import StagedWrite


def report_part(
    staged: StagedWrite, table: str, files: Mapping[str, bytes], summary: ReportSummary | None
) -> Part:
    """A table's report in a store; without a ``summary`` one of an older Starskip."""
    written = tuple(staged.write_file(table, name, content) for name, content in files.items())
    return Part(written, {SUMMARY: summary.to_json()} if summary else {})
