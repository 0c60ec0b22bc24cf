"""Make a Spark listing of a snapshot's data files without asking a file system."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from starskip.lake.table_snapshot import TableSnapshot, numbers_of_log
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.known_files import packed_texts

_SCHEME = re.compile(r"s3[an]?://")


def given_index(toolbox: JvmToolbox, session: SparkSession, path: str, snapshot: TableSnapshot) -> Any:
    """Return an InMemoryFileIndex of a snapshot's Parquet files; ``path``: its folder as Hadoop writes it.

    Their times come from Delta's log; for Iceberg they are the numbers of the commits that added them.
    """
    files = snapshot.files.filter(pc.equal(snapshot.files["file_format"], "parquet"))
    sizes = files["size_bytes"].to_numpy(zero_copy_only=False)
    times = numbers_of_log(files["etag"]).to_numpy(zero_copy_only=False)
    numbers = np.concatenate([sizes, times]).astype("<i8")
    made = new_java(
        toolbox.gateway,
        "GivenFiles",
        session._jsparkSession,
        path,
        packed_texts(hadoop_paths(files, path)),
        bytearray(numbers.tobytes()),
    )
    return made.index()


def hadoop_paths(files: pa.Table, table: str) -> pa.Array:
    """Return paths of a snapshot's files as Hadoop writes them; on S3 with the table folder's scheme."""
    paths = files["path"].combine_chunks()
    found = pc.if_else(pc.starts_with(paths, "/"), pc.binary_join_element_wise("file:", paths, ""), paths)
    scheme = _SCHEME.match(table)
    return found if scheme is None else pc.replace_substring_regex(found, "^s3://", scheme[0])
