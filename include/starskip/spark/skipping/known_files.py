"""Files of metadata kept in the JVM by path, where scans of table formats are compared with them."""

from __future__ import annotations

import threading
from base64 import b64decode
from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.indexes.skipping.file_metadata import Mask
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import JvmToolbox

_TABLES_KEPT = 16
_FILES_KEPT = 2_000_000


class KnownFiles:
    """The files of the metadata of one SparkContext's tables, by its version; sent once for each."""

    def __init__(self, toolbox: JvmToolbox) -> None:
        """Start with none."""
        self._toolbox = toolbox
        self._lock = threading.Lock()
        self._made: OrderedDict[int, tuple[TableMetadata, Any]] = OrderedDict()

    def of(self, metadata: TableMetadata, *, has_times: bool = True) -> Any:
        """Return the starskip.KnownFiles of the JVM for a version of metadata.

        ``has_times``: whether the table's log has the times of its files, which Iceberg's has not.
        """
        with self._lock:
            found = self._made.get(id(metadata))
            if found is not None:
                self._made.move_to_end(id(metadata))
                return found[1]
        times = metadata.modified_ms if has_times else np.zeros(metadata.files, np.int64)
        numbers = np.concatenate([metadata.sizes, times]).astype("<i8")
        made = new_java(
            self._toolbox.gateway,
            "KnownFiles",
            packed_texts(metadata.paths),
            bytearray(numbers.tobytes()),
            bytearray(metadata.trusted.astype(np.uint8).tobytes()),
        )
        with self._lock:
            # The metadata is kept alive, so that its id is not reused.
            self._made[id(metadata)] = metadata, made
            files = sum(of.files for of, _ in self._made.values())
            while len(self._made) > 1 and (len(self._made) > _TABLES_KEPT or files > _FILES_KEPT):
                files -= self._made.popitem(last=False)[1][0].files
        return made


def packed_texts(texts: pa.Array) -> bytearray:
    """Return texts without nulls as ListedFiles.java packs them: lengths in bytes, then UTF-8."""
    array = pa.concat_arrays([texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts])
    array = array.cast(pa.large_binary())
    lengths = np.diff(np.frombuffer(array.buffers()[1], np.int64, len(array) + 1)).astype("<i4")
    data = array.buffers()[2]
    return bytearray(lengths.tobytes() + (data.to_pybytes() if data is not None else b""))


def packed_mask(mask: Mask) -> bytearray:
    """Return a mask as java.util.BitSet takes it."""
    return bytearray(np.packbits(mask, bitorder="little").tobytes())


def unpacked_mask(text: str, count: int) -> Mask:
    """Return the mask of a BitSet that the JVM has written in base64."""
    bits = np.frombuffer(b64decode(text), np.uint8)
    found = np.zeros(count, np.bool_)
    known = np.unpackbits(bits, bitorder="little")[:count].astype(np.bool_)
    found[: len(known)] = known
    return found
