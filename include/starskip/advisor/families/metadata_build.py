"""Outcomes of building indexes that are kept in metadata of a lake table's files; its tidying."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from starskip.advisor.families.lake_builds import ChosenIndexes, TableBuild
from starskip.advisor.run.night import Night
from starskip.file_metadata.commit_refresh import Commit
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.refresh_metadata import Refreshed
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.storage.store_clock import store_clock

MOST_SEGMENTS = 16
"""Each refresh adds segments, and a query opens every one of them."""


def metadata_build(
    of: ChosenIndexes,
    location: str,
    active: Sequence[str],
    metadata: TableMetadata,
    made: Refreshed | None,
) -> TableBuild:
    """Return the rows and properties of a table's build; ``active``: the indexes before it.

    ``made``: the outcome of the refresh, None if no index was left to refresh.
    """

    def facts(index: str) -> dict[str, Any]:
        return {
            "files": metadata.files,
            "files_known": metadata.files_known(index),
            "size_bytes": metadata.size_bytes(index),
        }

    is_changed = made is not None and bool(made.collected_files or made.gone_files)
    files = [file for segment in metadata.segments.values() for file in segment.to_part().files]
    properties = {
        "note": of.note,
        "location": location,
        "version": metadata.version,
        "files": metadata.files,
        "rows": metadata.total_rows,
        "metadata_bytes": sum(file.size_bytes for file in files),
        "files_read": made.collected_files if made else 0,
        "files_gone": made.gone_files if made else 0,
    }
    return TableBuild(of.rows(active, is_changed=is_changed, facts=facts), properties)


def tidy_metadata(location: str, night: Night) -> None:
    """Optimize and vacuum the metadata at ``location``; deleted indexes are removed for good.

    Raises StorageError if it cannot be read or written.
    """
    storage = metadata_storage(location)
    if len(existing_metadata(storage).segments) > MOST_SEGMENTS:
        optimize_metadata(storage, _commit(night))
    grace = timedelta(hours=night.settings.retention.vacuum_grace_hours)
    vacuum_metadata(storage, _commit(night), now=min(night.started_at, store_clock(storage)), grace=grace)


def _commit(night: Night) -> Commit:
    return Commit(uuid4().hex, night.started_at, night.run_id)
