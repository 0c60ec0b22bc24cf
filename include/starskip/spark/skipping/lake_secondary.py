"""The files of a scan of a Delta or Iceberg table that hold survivors of its secondary indexes.

Both families of indexes know a file by its path, its size, and the time or the commit that the log has of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from starskip.indexes.secondary.column_ids import COLUMN_IDS
from starskip.indexes.secondary.indexed_segments import known_schema
from starskip.indexes.secondary.surviving_files import surviving_files
from starskip.indexes.secondary.whole_files import WholeFiles
from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.match_paths import match_paths, same_files
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Expression
from starskip.spark.skipping.lake_columns import ColumnTranslation, StoredColumn
from starskip.spark.skipping.lake_scan import LakeScan
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.secondary_match import SecondaryMatch
from starskip.spark.skipping.secondary_settings import secondary_settings

_TABLES_KEPT = 16


def lake_survivors(
    scan: LakeScan,
    predicates: Sequence[Expression],
    warnings: RuleWarnings,
    files: Callable[[TableMetadata], WholeFiles],
) -> Iterator[SecondaryMatch]:
    """Yield the survivors of a scan's secondary indexes, which may be of columns that were renamed since.

    ``predicates``: over the columns that the table has now; ``files`` tells how Spark reads the files of a
    table. What cannot be read costs the indexes, not the query; the reason goes into the scan's report.
    """
    reasons = scan.report.not_skipped_because
    table = scan.secondary
    if table is None:
        return
    try:
        columns = ColumnTranslation(scan.present, _indexed_columns(table))
        asked = [columns.of(each) for each in predicates]
        settings = secondary_settings(scan.facts.settings)
        survivors = surviving_files(table, asked, settings, files=partial(files, table))
        mask = survivors.together()
    except Exception as error:
        reasons.append(warnings.read_whole(error, scan.report.path))
        return
    reasons += survivors.why_not
    yield SecondaryMatch(survivors, mask)


def _indexed_columns(table: TableMetadata) -> Mapping[str, StoredColumn]:
    """Return the columns that the indexes can be of, by their names at that time."""
    identities: Mapping[str, str] = json.loads(table.source.options.get(COLUMN_IDS, "{}"))
    found = {}
    for path, kind in known_schema(table).types().items():
        name = column_name(path)
        if name in identities and (type_ := _spark_type(kind)) is not None:
            found[name] = StoredColumn(identities[name].removeprefix("#"), type_)
    return found


def _spark_type(kind: pa.DataType) -> str | None:
    try:
        return str(from_arrow_type(kind, prefer_timestamp_ntz=True).simpleString())
    except Exception:  # PySpark's own errors for types that it lacks, of several classes
        return None


def mask_over(mask: Mask, of: TableMetadata, over: TableMetadata) -> Mask:
    """Return a mask over the files of one table's metadata for those of another one; True for unknown."""
    positions = positions_over(of, over)
    found = np.ones(over.files, np.bool_)
    known = positions >= 0
    found[known] = mask[positions[known]]
    return found


@lru_cache(maxsize=_TABLES_KEPT)
def positions_over(of: TableMetadata, over: TableMetadata) -> npt.NDArray[np.int64]:
    """Return the row that each file of the metadata ``over`` has in ``of``, -1 where it has none."""
    return same_files(match_paths(over.paths, of.paths), over, of)
