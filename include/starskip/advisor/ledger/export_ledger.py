"""Write the ledger as one Delta table, which any engine reads."""

from __future__ import annotations

from pathlib import Path

from starskip.advisor.ledger.ledger import ledger_rows
from starskip.errors import StorageError, first_line
from starskip.extras import needing_extra
from starskip.storage.artefact_store import ArtefactStore

with needing_extra("delta"):
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

_NAME = "starskip_ledger"


def export_ledger(store: ArtefactStore, folder: str | Path) -> int:
    """Replace the Delta table at ``folder`` by the entries of all tables, in one commit; return their number.

    Raises StorageError if the table cannot be written.
    """
    rows = ledger_rows(store)
    try:
        write_deltalake(str(folder), rows, mode="overwrite", schema_mode="overwrite", name=_NAME)
    except (DeltaError, OSError) as error:
        raise StorageError(
            f"{folder}: the ledger cannot be written as a Delta table ({first_line(error)})",
            location=str(folder),
        ) from error
    return int(rows.num_rows)
