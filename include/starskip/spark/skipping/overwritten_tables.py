"""Keep the lists of indexes of tables that a query overwrites, whose metadata goes with their files."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from starskip.errors import StarskipError, printable
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.relation_facts import emptied_folder, metadata_root
from starskip.spark.skipping.table_finder import TableFinder, metadata_changed

log = logging.getLogger("starskip.skipping")

_CREATED_BY = "starskip skipping, of a table that was overwritten"


class OverwrittenTables:
    """The overwritten tables of one SparkContext; called by planning threads and by Spark's listeners.

    INSERT OVERWRITE, ``df.write.mode("overwrite")`` and TRUNCATE TABLE remove the whole folder. The metadata
    of the removed files is obsolete, but the list of indexes is not. It is written again when the query has
    ended, so that a refresh creates the indexes for the new files.
    """

    def __init__(self, toolbox: JvmToolbox, tables: TableFinder) -> None:
        """Start with no table."""
        self._toolbox = toolbox
        self._tables = tables
        self._pending: dict[str, list[TableMetadata]] = {}
        self._lock = threading.Lock()

    def planned(self, folder: str, root: str | None) -> None:
        """Record the indexes of a folder that a query is about to remove; raises as ``find`` does.

        ``root``: the metadata root, None for that of the session's settings.
        """
        session = self._toolbox.jvm.org.apache.spark.sql.classic.SparkSession.active()
        found = self._tables.find([folder], root or metadata_root(session.conf()))
        indexed = [table for table in found if table.state.indexes]
        if indexed:
            with self._lock:
                self._pending[folder] = indexed

    def ended(self, plan: Any) -> None:
        """Write the list of indexes of the folder that a query has removed again, if its metadata is gone."""
        if not self._pending or (folder := emptied_folder(plan)) is None:
            return
        with self._lock:
            for table in self._pending.pop(folder, []):
                _keep(table)

    def keep_all(self) -> None:
        """Do what ``ended`` does for all folders, whose queries may not have been reported."""
        with self._lock:
            for table in (each for tables in self._pending.values() for each in tables):
                _keep(table)


def _keep(table: TableMetadata) -> None:
    path, names = printable(table.source.path), ", ".join(table.state.indexes)
    try:
        chain = metadata_chain(table.storage)
        if chain.listed():
            return
        parts = replace(table.state, segments={}).to_parts()
        chain.commit(
            lambda found: found or parts,
            commit_id=uuid4().hex,
            created_at=datetime.now(UTC),
            created_by=_CREATED_BY,
        )
    except StarskipError as error:
        log.warning(
            "%s was overwritten, and its indexes %s with it: create them anew (%s)", path, names, error
        )
        return
    metadata_changed()
    log.warning(
        "%s was overwritten, and the metadata of its indexes %s with it: files are left out again after "
        "skipping.refresh, or starskip skipping refresh",
        path,
        names,
    )
