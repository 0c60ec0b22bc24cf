"""A Delta or Iceberg table that is a log alone, with real metadata of ours: Spark plans over it, never reads.

Of file n column ``cI`` holds 20 n + I, with bounds in the log, and ``u`` the text "u" and n, without.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lake_listing import COLUMNS, write_delta, write_iceberg
from starskip.file_metadata.collect_order import FILES, Collection, CollectOrder, collection_of
from starskip.file_metadata.describe_metadata import describe_metadata
from starskip.file_metadata.metadata_files import FILES_SCHEMA
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.write_collected import write_collected
from starskip.skipping.registry import index_from_specification
from starskip.spark.skipping import refresh_relation as refreshing
from starskip.spark.skipping.lake_reader import LakeReader
from starskip.spark.skipping.opened_table import opened_table
from starskip.storage.staged_write import StagedWrite

TEXTS = ("u",)
INDEX = "valuelist:u"
_DIGITS = 8
_ROWS = 100
_AT_ONCE = 50_000


@dataclass
class MadeUpLake:
    """``table_format``: delta or iceberg; ``folder``: where it is written."""

    table_format: str
    folder: Path
    files: int

    @property
    def path(self) -> str:
        """The table's folder."""
        return str(self.folder if self.table_format == "delta" else self.folder / "n" / "t")

    def write(self) -> None:
        """Write the log."""
        if self.table_format == "delta":
            write_delta(self.folder, self.files, TEXTS)
            return
        # As the table of a folder, which Spark finds without a catalog.
        written = Path(write_iceberg(self.folder, self.files, TEXTS).removeprefix("file://"))
        shutil.copy(written, written.with_name("v1.metadata.json"))
        written.with_name("version-hint.text").write_text("1")
        for other in written.parent.glob("0*.metadata.json"):
            other.unlink()

    def index(self, spark: Any) -> int:
        """Create our index by Starskip's own refresh, from values that are made up; return its bytes."""
        relation = opened_table(spark, self.path, self.table_format, None, None)
        before = refreshing.LakeReader
        refreshing.LakeReader = _MadeUpReader  # type: ignore[misc]
        try:
            done = refreshing.refresh_relation(spark, relation, [index_from_specification(INDEX)], None)
        finally:
            refreshing.LakeReader = before  # type: ignore[misc]
        found = describe_metadata(existing_metadata(metadata_storage(done.location)), done.location)
        assert found["files"] == self.files, found
        return int(found["metadata_bytes"])

    def questions(self) -> Iterator[tuple[str, str, int]]:
        """Yield names, conditions, and how many files may match by the format and by ours together."""
        middle, half = self.files // 2, self.files // 2 * COLUMNS
        yield "no index serves it", f"c1 + 1 > {half}", self.files
        yield "1 left by the format", f"c1 = {middle * COLUMNS + 1}", 1
        yield "1 left by ours", f"u = 'u{middle}'", 1
        yield "1 left by both", f"c1 < {half + 2} AND u = 'u{middle}'", 1
        first = sum(f"u{number}" < "u5" for number in range(self.files))
        yield "half left by ours", "u < 'u5'", first
        yield "all left", "u >= 'u'", self.files
        yield "bounds OR ours", f"c1 = 1 OR u = 'u{middle}'", 2


class _MadeUpReader(LakeReader):
    """Reads no file."""

    def _collect_files(self, order: CollectOrder, aside: StagedWrite) -> Collection:
        found = (
            (start, _groups(order, order.files.slice(start, _AT_ONCE)))
            for start in range(0, len(order.files), _AT_ONCE)
        )
        return collection_of(order, list(write_collected(aside, order.row_counts, found)))


def _groups(order: CollectOrder, files: pa.Table) -> dict[str, pa.Table]:
    paths = files["path"].combine_chunks()
    ends = -len(".parquet")
    numbers = pc.utf8_slice_codeunits(paths, ends - _DIGITS, ends).cast(pa.int64()).cast(pa.string())
    texts = pc.binary_join_element_wise("u", numbers, "")
    values = pa.ListArray.from_arrays(pa.array(np.arange(len(texts) + 1, dtype=np.int32)), texts)
    rows = pa.array(np.full(len(files), _ROWS, np.int64))
    own = {name: files[name] for name in FILES_SCHEMA.names if name != "rows"}
    listed = pa.table({**own, "rows": rows}).select(FILES_SCHEMA.names).cast(FILES_SCHEMA)
    return ({FILES: listed} if order.with_files else {}) | {INDEX: pa.table({"values": values})}
