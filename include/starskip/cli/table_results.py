"""Results of commands on the indexes of a table, printed for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starskip.cli.format_option import echo_result
from starskip.errors import StorageError

if TYPE_CHECKING:
    from starskip.file_metadata.refresh_metadata import Refreshed
    from starskip.storage.manifest import Manifest
    from starskip.storage.vacuum import VacuumReport


def echo_refreshed(done: Refreshed, output: str, end: str) -> None:
    """Print the version that a refresh has published and the files that it read; ``end`` ends the line."""
    document = {
        "version": done.version,
        "location": done.location,
        "indexes": list(done.indexes),
        "failed_indexes": dict(done.failed_indexes),
        "files": done.files,
        "files_read": done.collected_files,
        "files_unchanged": done.unchanged_files,
        "files_gone": done.gone_files,
        "files_changed_meanwhile": done.changed_meanwhile,
        "files_damaged": list(done.damaged_files),
        "full": done.in_full,
    }
    counts = [f"{done.collected_files:,} files read", f"{done.unchanged_files:,} unchanged"]
    if done.gone_files:
        counts.append(f"{done.gone_files:,} gone")
    if done.changed_meanwhile:
        counts.append(f"{done.changed_meanwhile:,} changed meanwhile: refresh again for them")
    if done.damaged_files:
        counts.append(f"{len(done.damaged_files):,} damaged files left out")
    echo_result(output, document, lambda: f"version {done.version}: {', '.join(counts)}; {end}")


def echo_optimized(version: int | None, output: str) -> None:
    """Print the version that an optimize has published, None if there was nothing to do."""
    words = "nothing to optimize: it is one piece already" if version is None else f"version {version}"
    echo_result(output, {"version": version}, lambda: words)


def echo_changed(manifest: Manifest, indexes: Sequence[str], change: str, output: str) -> None:
    """Print that ``indexes``, without any all of them, were "deleted" or "restored"."""
    from starskip.file_metadata.table_state import TableState

    state = TableState.from_parts(manifest.parts)
    named: Any = indexes or (sorted(state.indexes) if state else ())
    document = {"version": manifest.version, "indexes": list(named), "change": change}
    words = f"version {manifest.version}: {', '.join(indexes) or 'all indexes'} {change}"
    echo_result(output, document, lambda: words)


def echo_vacuumed(report: VacuumReport, output: str) -> None:
    """Print the files that a vacuum has removed; raises StorageError for a file that it could not remove."""
    for place, reason in report.left_alone:
        raise StorageError(f"left alone: {reason}", location=place)
    document = {"files_removed": len(report.removed), "bytes_removed": report.removed_bytes}
    echo_result(
        output, document, lambda: f"removed {len(report.removed):,} files, {report.removed_bytes:,} bytes"
    )
