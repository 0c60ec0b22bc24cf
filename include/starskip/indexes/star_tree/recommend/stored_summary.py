"""A summary of rows as a file of the store, and back."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from starskip.errors import StorageError
from starskip.indexes.star_tree.recommend.rows_summary import (
    RowsSummary,
    SummaryPlan,
    summary_of_table,
    summary_table,
)
from starskip.storage.checked_parquet import checked_parquet
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

_DAMAGE = (OSError, ValueError, LookupError, TypeError, pa.ArrowException)


def write_summary(aside: StagedWrite, table: str, summary: RowsSummary) -> DataFile:
    """Write a summary as one file and return it."""
    content = checked_parquet(summary_table(summary)).to_pybytes()
    return aside.write_file(table, "summary.parquet", content)


def read_summary(storage: Storage, file: DataFile, plan: SummaryPlan) -> RowsSummary:
    """Return a stored summary that was made by ``plan``; StorageError if it is gone or not as written."""
    try:
        with storage.arrow_filesystem().open_input_file(file.name) as opened:
            return summary_of_table(pq.read_table(opened, page_checksum_verification=True), plan)
    except _DAMAGE as error:
        raise StorageError(
            f"{file.name}: is gone or damaged; let all executors write to the same store and run this step "
            "again",
            location=file.name,
        ) from error
