"""Optimize and vacuum the skipping metadata that nights refresh."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from starskip.advisor.families.metadata_build import MOST_SEGMENTS
from starskip.advisor.run.night import Night
from starskip.file_metadata.commit_refresh import Commit
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.storage.store_clock import store_clock


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
