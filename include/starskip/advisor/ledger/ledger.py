"""The ledger in the night's store: entries by table, only ever added to.

A table's part keeps, as plain JSON, what lists of tables ask for: the newest entry of each index, and one of
each of its newest applications. So no page reads a file for each table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import uuid4

import pyarrow as pa

from starskip.advisor.ledger.entry import LedgerEntry
from starskip.errors import StorageError
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.manifest_log import ListedManifest, ManifestLog, newest_manifest
from starskip.storage.schemas import LEDGER

ARTEFACT = "ledger"


NEWEST = "newest"
"""Property of a table's part: rows of its newest entries, oldest first."""
_MOST_INDEXES, _MOST_APPLICATIONS = 200, 20
_KEPT = (
    "event",
    "reason",
    "until",
    "source",
    "application",
    "index",
    "family",
    "columns",
    "is_drop",
    "predicted_low",
    "predicted_high",
    "table_predicted_saving_ratio",
    "table_measured_saving_ratio",
    "reloaded_bytes",
    "reload_seconds",
)
_NOTHING = {**dict.fromkeys(LEDGER.names), "who": "", "detail": "", "config": "{}", "shapes": ()}


class _OthersCameFirstError(Exception):
    """Ends a commit whose entries were made from what is no longer all of the ledger."""


def ledger_entries(store: ArtefactStore, table: str | None = None) -> list[LedgerEntry]:
    """Return the entries of a table, or of all tables, in the order in which they were written."""
    return [LedgerEntry.from_row(row) for row in ledger_rows(store, table).to_pylist()]


def ledger_rows(store: ArtefactStore, table: str | None = None) -> pa.Table:
    """Return the entries as rows of the schema LEDGER, oldest first."""
    snapshot = store.snapshot(ARTEFACT, CURRENT)
    if snapshot is None:
        return LEDGER.empty_table()
    # Python's sorting keeps the order of rows of one moment, in which they were written.
    rows = snapshot.read_table(None if table is None else [table])
    order = sorted(range(rows.num_rows), key=rows.column("at").to_pylist().__getitem__)
    return rows.take(pa.array(order, pa.int64()))


def additions(store: ArtefactStore, table: str) -> int:
    """Return how often entries of a table were added."""
    snapshot = store.snapshot(ARTEFACT, CURRENT)
    part = snapshot.manifest.parts.get(table) if snapshot else None
    return len(part.files) if part else 0


def add_entries(
    store: ArtefactStore,
    entries: Sequence[LedgerEntry],
    *,
    created_at: datetime,
    created_by: str,
    after: int | None = None,
) -> bool:
    """Add entries in one commit, and return True; entries that others add meanwhile stay.

    ``after``: the ``additions`` that the entries, of one table, were made from. If there are others by now
    nothing is added. An experiment adds none: what it tried was never advised.
    """
    if not entries or store.experiment is not None:
        return True
    staged = store.staged_write(ARTEFACT, CURRENT)
    by_table: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        by_table.setdefault(entry.table, []).append(entry)
    new = {
        table: staged.write(table, pa.Table.from_pylist([each.to_row() for each in of_table], schema=LEDGER))
        for table, of_table in by_table.items()
    }

    def added(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        changed = dict(parts)
        for table, files in new.items():
            held = parts.get(table)
            if after is not None and after != (len(held.files) if held else 0):
                raise _OthersCameFirstError
            of_table = (*(held.files if held else ()), *files)
            changed[table] = Part(of_table, with_newest(held, by_table[table]))
        return changed

    chain = store.chain(ARTEFACT, CURRENT)
    try:
        chain.commit(added, commit_id=uuid4().hex, created_at=created_at, created_by=created_by)
    except _OthersCameFirstError:
        return False
    return True


def with_newest(held: Part | None, added: Sequence[LedgerEntry]) -> Mapping[str, Any]:
    """Return the properties of a table's part once ``added`` are in it, oldest first."""
    rows = [*(held.properties.get(NEWEST, ()) if held else ()), *map(_plain, added)]
    rows.sort(key=lambda row: str(row["at"]))
    by_index = list({row["index"]: row for row in rows}.values())[-_MOST_INDEXES:]
    applied = {row["application"]: row for row in rows if row["application"]}
    by_application = list(applied.values())[-_MOST_APPLICATIONS:]
    return {NEWEST: [row for row in rows if row in by_index or row in by_application]}


def newest_entries(store: ArtefactStore) -> Mapping[str, Sequence[LedgerEntry]]:
    """Return the newest entries by table, oldest first, without their long texts and savings of one index.

    Raises StorageError if the ledger cannot be read.
    """
    chain = store.chain("ledger", CURRENT)
    newest = newest_manifest(chain)
    return _entries(chain, newest) if newest else {}


@lru_cache(maxsize=4)
def _entries(chain: ManifestLog, newest: ListedManifest) -> Mapping[str, Sequence[LedgerEntry]]:
    parts = chain.read_or_before(newest.version).parts
    try:
        return {table: tuple(_of(table, part.properties.get(NEWEST, ()))) for table, part in parts.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError("the ledger's manifest is of another version", location="ledger") from error


def _plain(entry: LedgerEntry) -> Mapping[str, Any]:
    row = entry.to_row()
    until = entry.until and entry.until.isoformat()
    return {**{name: row[name] for name in _KEPT}, "until": until, "at": entry.at.isoformat()}


def _of(table: str, rows: Iterable[Mapping[str, Any]]) -> Iterable[LedgerEntry]:
    for row in rows:
        until = row["until"] and datetime.fromisoformat(row["until"]).date()
        at = datetime.fromisoformat(row["at"])
        yield LedgerEntry.from_row({**_NOTHING, **row, "table": table, "at": at, "until": until})
