"""Files kept in the JVM by path: those of metadata, to compare with scans, and listings of a snapshot's."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.lake.table_snapshot import TableSnapshot, numbers_of_log
from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import JvmToolbox, unpacked_bytes

_TABLES_KEPT = 16
_HEAP_SHARE = 0.1
_BYTES_OF_FILE = 200

_Key = tuple[str, int, tuple[str, ...]]
"""The place, version and identity of metadata: the same in each TableMetadata opened from it."""


_SCHEME = re.compile(r"s3[an]?://")


class KnownFiles:
    """The files of the metadata of one SparkContext's tables, sent once for each of the latest versions."""

    def __init__(self, toolbox: JvmToolbox) -> None:
        """Start with none."""
        self._toolbox = toolbox
        self._lock = threading.Lock()
        self._made: OrderedDict[_Key, tuple[int, Any]] = OrderedDict()

    def of(self, metadata: TableMetadata) -> Any:
        """Return the starskip.KnownFiles of the JVM for a version of metadata."""
        key = metadata.storage.place, metadata.version, metadata.identity
        with self._lock:
            found = self._made.get(key)
            if found is not None:
                self._made.move_to_end(key)
                return found[1]
        numbers = np.concatenate([metadata.sizes, metadata.modified_ms]).astype("<i8")
        made = new_java(
            self._toolbox.gateway,
            "KnownFiles",
            packed_texts(metadata.paths),
            bytearray(numbers.tobytes()),
            bytearray(metadata.trusted.astype(np.uint8).tobytes()),
        )
        most = _HEAP_SHARE * self._toolbox.jvm.java.lang.Runtime.getRuntime().maxMemory() / _BYTES_OF_FILE
        with self._lock:
            # A place may have metadata of skipping and of secondary indexes; an older version of either is
            # obsolete.
            for other in [each for each in self._made if each[0] == key[0]][:-1]:
                del self._made[other]
            self._made[key] = metadata.files, made
            files = sum(count for count, _ in self._made.values())
            while len(self._made) > 1 and (len(self._made) > _TABLES_KEPT or files > most):
                files -= self._made.popitem(last=False)[1][0]
        return made


def packed_texts(texts: pa.Array) -> bytearray:
    """Return texts without nulls as ListedFiles.java packs them: lengths in bytes, then UTF-8."""
    array = pa.concat_arrays([texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts])
    array = array.cast(pa.large_binary())
    lengths = np.diff(np.frombuffer(array.buffers()[1], np.int64, len(array) + 1)).astype("<i4")
    data = array.buffers()[2]
    return bytearray(lengths.tobytes() + (data.to_pybytes() if data is not None else b""))


def packed_mask(mask: Mask) -> bytearray:
    """Return a mask in the form of java.util.BitSet."""
    return bytearray(np.packbits(mask, bitorder="little").tobytes())


def unpacked_mask(answer: Any, count: int) -> Mask:
    """Return a BitSet from the JVM as a mask."""
    bits = np.frombuffer(unpacked_bytes(answer), np.uint8)
    # Without any byte NumPy's padding is not zeros.
    found = np.zeros(count, np.bool_)
    known = np.unpackbits(bits, bitorder="little")[:count].astype(np.bool_)
    found[: len(known)] = known
    return found


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
