"""Test whether this Spark's internals are supported, on a table of two files of one row each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.unlock import NOTHING_ENCRYPTED, Unlocked
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import Mask
from starskip.skipping.index_types.min_max import MinMax
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.read_signature import read_signature
from starskip.spark.skipping.table_finder import TableFinder

_LOCATION = "DataSkippingFileIndex"


@dataclass(frozen=True)
class KnownFiles:
    """Metadata in memory: like TableMetadata, with columns by index and name."""

    source: TableSource
    indexes: tuple[SkippingIndex, ...]
    paths: pa.Array
    sizes: npt.NDArray[np.int64]
    modified_ms: npt.NDArray[np.int64]
    trusted: Mask
    rows: pa.Array
    columns: dict[tuple[str, str], pa.Array] = field(default_factory=dict)
    not_understood: Mapping[str, str] = field(default_factory=dict)
    unlocked: Unlocked = NOTHING_ENCRYPTED
    why_outdated: str | None = None

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self.paths)

    def column(self, index: str, name: str) -> pa.Array:
        """See FileMetadata.column."""
        return self.columns[index, name]

    def may_match(self, clause: Clause) -> Mask:
        """See TableMetadata.may_match."""
        return clause.may_match(self)


def check_rule(spark: SparkSession, tables: TableFinder) -> None:
    """Raise RuntimeError unless a query on the test's table reads only the one matching file."""
    check_skip(spark, tables, lambda dataframe: dataframe)


def check_skip(spark: SparkSession, tables: TableFinder, skip: Callable[[DataFrame], DataFrame]) -> None:
    """Raise RuntimeError unless ``skip`` has the same effect."""
    with tempfile.TemporaryDirectory(prefix="starskip-self-test-") as folder:
        for value in (1, 2):
            Path(folder, f"{value}.json").write_text(f'{{"a": {value}}}\n')
        whole = spark.read.schema("a bigint").json(Path(folder).as_uri())
        # Not optimized: before its metadata is given, the rule would look for it in the store.
        relation = whole._jdf.queryExecution().analyzed().collectLeaves().apply(0).relation()
        path = str(relation.location().rootPaths().apply(0).toString())
        asking = spark._jsparkSession.sessionState().conf()
        tables.given[path] = _metadata(path, read_signature(relation, asking))
        try:
            chosen = skip(whole.where("a = 2 and a in (2, 7)"))
            files = list(chosen.inputFiles())
            plan = str(chosen._jdf.queryExecution().executedPlan().toString())
        finally:
            del tables.given[path]
    if len(files) != 1 or not files[0].endswith("/2.json") or _LOCATION not in plan:
        raise RuntimeError(f"Spark {spark.version} plans {len(files)} of the 2 files of the self-test, not 1")


def _metadata(path: str, of_relation: Mapping[str, str]) -> TableMetadata:
    index = MinMax(["a"])
    files = sorted(Path(path.removeprefix("file:")).glob("*.json"))
    values = pa.array([1, 2], pa.int64())
    columns = {"min": values, "max": values, "values": pa.array([1, 1], pa.int64())}
    known = KnownFiles(
        source=TableSource(path, "json", of_relation),
        indexes=(index,),
        paths=pa.array([f"{path}/{file.name}" for file in files]),
        sizes=np.array([file.stat().st_size for file in files], np.int64),
        modified_ms=np.array([file.stat().st_mtime_ns // 1_000_000 for file in files], np.int64),
        trusted=np.ones(len(files), np.bool_),
        rows=pa.array([1] * len(files), pa.int64()),
        columns={(index.specification, name): column for name, column in columns.items()},
    )
    # It has every attribute of TableMetadata that planning uses.
    return cast(TableMetadata, known)
