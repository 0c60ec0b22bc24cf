"""Expectations of the built indexes that are kept in metadata of a table's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.families.lake_builds import BY_HAND, DELETED, FAILED, KEPT, NOT_BUILT
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import Expectation, View, distinct, equal, in_set, none, present
from starskip.advisor.run.night import Night
from starskip.errors import SourceError, SourceOutage
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.lake.lake_table import LakeTable
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.parquet.parquet_footers import counted_rows
from starskip.lake.plain_paths import plain_paths

_COUNTED_FILES = 64
"""Files whose footers are read, to compare their rows."""
_COUNTS = ("metadata_rows", "distinct_files", "without_metadata", "gone", "rows_told", "rows_counted")


def build_views(
    night: Night,
    table: str,
    artefact: str,
    open_metadata: Callable[[str], TableMetadata | None],
    facts: Callable[[TableMetadata, str], Mapping[str, int]],
) -> Mapping[str, View]:
    """Return views of builds and of the metadata: ``indexes``, ``kept``, ``deleted`` and ``files``.

    ``facts`` returns counts of a kept index, which are columns of ``kept``; all are 0 for a missing index.
    """
    snapshot = published(night, artefact)
    builds = snapshot.read_table([table]).to_pylist()
    location = snapshot.parts([table])[table].properties.get("location")
    metadata = open_metadata(location) if location else None
    active = {index.specification for index in metadata.indexes} if metadata else set()
    for row in builds:
        row["is_of_table"] = row["table"] == table
    there = [row for row in builds if row["outcome"] in (*KEPT, BY_HAND)]
    known = {
        row["index"]: facts(metadata, row["index"]) for row in there if row["index"] in active and metadata
    }
    columns = {name for counts in known.values() for name in counts}
    for row in there:
        row["is_active"] = row["index"] in active
        row.update(dict.fromkeys(columns, 0) | dict(known.get(row["index"], {})))
    gone = [row for row in builds if row["outcome"] == DELETED]
    for row in gone:
        row["is_active"] = row["index"] in active
    files = _files(night, table, metadata) if metadata and there else dict.fromkeys(_COUNTS, 0)
    return {
        "indexes": View(builds, "index"),
        "kept": View(there, "index"),
        "deleted": View(gone, "index"),
        "files": View([files]),
    }


def build_expectations(indexes: str) -> tuple[Expectation, ...]:
    """Return the expectations of the views; ``indexes``: as sentences name them, with ``{table}``."""
    return (
        in_set("indexes", "is_of_table", f"{indexes}: rows of this table", [True]),
        distinct("indexes", ["index"], f"{indexes}: listed twice"),
        present("indexes", "outcome", f"{indexes}: missing outcome"),
        in_set(
            "indexes",
            "outcome",
            f"{indexes}: outcomes",
            sorted({*KEPT, BY_HAND, DELETED, NOT_BUILT}),
            expected=f"anything but {FAILED}",
        ),
        in_set("kept", "is_active", f"{indexes}: used by queries", [True]),
        in_set("deleted", "is_active", f"{indexes}: deleted ones used by queries", [False]),
        equal("kept", "files_known", "files", f"{indexes}: files known, and live ones", "equal"),
        equal("files", "metadata_rows", "distinct_files", f"{indexes}: rows of metadata, and files", "equal"),
        none("files", "without_metadata", f"{indexes}: live files without metadata"),
        none("files", "gone", f"{indexes}: metadata of files that are gone"),
        equal("files", "rows_told", "rows_counted", f"{indexes}: rows by metadata, and by files", "equal"),
    )


def _files(night: Night, table: str, metadata: TableMetadata) -> Mapping[str, int]:
    """Return the counts of metadata rows, of the table's files, and of rows in some of them."""
    lake = night.lake_tables.get(table)
    try:
        live = _no_paths() if lake is None else _live_paths(lake)
    except SourceOutage:
        raise
    except SourceError:
        live = _no_paths()
    known, live = plain_paths(metadata.paths), plain_paths(live)
    stated, counted = _counted_rows(metadata) if metadata.source.file_format == "parquet" else (0, 0)
    without = int(pc.sum(pc.invert(pc.is_in(live, value_set=known)), min_count=0).as_py())
    gone = int(pc.sum(pc.invert(pc.is_in(known, value_set=live)), min_count=0).as_py())
    counts = (metadata.files, pc.count_distinct(known).as_py(), without, gone, stated, counted)
    return dict(zip(_COUNTS, counts, strict=True))


def _live_paths(lake: LakeTable) -> pa.Array:
    snapshot = open_lake_table(lake.path, lake.listed_format, look_above=False)
    paths: pa.Array = snapshot.files.column("path").combine_chunks()
    if not snapshot.is_versioned:
        return paths
    # Other files of an Iceberg table are read by Spark alone, and no index covers them.
    return paths.filter(pc.equal(snapshot.files.column("file_format").combine_chunks(), "parquet"))


def _no_paths() -> pa.Array:
    return pa.array([], pa.string())


def _counted_rows(metadata: TableMetadata) -> tuple[int, int]:
    """Return the rows of some files, spread over the table, by the metadata and by their footers."""
    spread = np.unique(np.linspace(0, metadata.files - 1, _COUNTED_FILES).astype(np.int64))
    at = pa.array(spread if metadata.files else [], pa.int64())
    paths, stated = plain_paths(metadata.paths.take(at)).to_pylist(), metadata.rows.take(at).to_pylist()
    found = counted = 0
    for path, rows in zip(paths, stated, strict=True):
        in_file = None if rows is None else counted_rows(path)
        # None: the file is gone or changed; the next refresh handles it.
        if in_file is not None:
            counted += in_file
            found += rows
    return found, counted
