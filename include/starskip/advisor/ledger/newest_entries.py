"""The newest entries of all tables, from the ledger's manifest alone: no page reads a file for each table.

A table's part keeps, as plain JSON, what lists of tables ask for: the newest entry of each index, and one of
each of its newest applications.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from starskip.advisor.ledger.entry import LedgerEntry
from starskip.errors import StorageError
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.manifest_log import ManifestLog
from starskip.storage.newest_manifest import ListedManifest, newest_manifest
from starskip.storage.schemas import LEDGER

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
