"""The ledger in the night's store: entries by table, only ever added to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import uuid4

import pyarrow as pa

from starskip.advisor.ledger.entry import LedgerEntry
from starskip.advisor.ledger.newest_entries import with_newest
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.schemas import LEDGER

ARTEFACT = "ledger"


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
