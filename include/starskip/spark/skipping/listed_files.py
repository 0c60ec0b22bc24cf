"""Files of one snapshot of Spark's listing, which stay in the JVM: read columns of them, choose some.

ListedFiles.java holds them, so that no call through py4j is needed for each file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import JvmToolbox, answered_bytes
from starskip.spark.skipping.known_files import packed_mask, unpacked_mask

_FILES_AT_ONCE = 200_000
"""Files whose paths come in one answer; the JVM holds several copies of it while it is sent."""


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """``java``: a starskip.ListedFiles of the JVM; ``files``: their number."""

    java: Any
    files: int

    def numbers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the files' sizes in bytes and their times of modification in ms."""
        numbers = np.frombuffer(answered_bytes(self.java.numbers()), "<i8").astype(np.int64, copy=False)
        return numbers[: self.files], numbers[self.files :]

    def paths(self, *, as_uri: bool = False) -> pa.Array:
        """Return the paths as Hadoop writes them, or as URIs, which ``_metadata.file_path`` is, too."""
        pieces = []
        for start in range(0, self.files, _FILES_AT_ONCE):
            end = min(start + _FILES_AT_ONCE, self.files)
            pieces.append(_texts(answered_bytes(self.java.paths(start, end, as_uri)), end - start))
        return pa.concat_arrays(pieces) if pieces else pa.array([], pa.string())

    def chosen(self, mask: Mask) -> ListedFiles:
        """Return the files that a mask chooses."""
        return ListedFiles(self.java.chosen(packed_mask(mask)), int(np.count_nonzero(mask)))

    def in_partitions(self, filters: Any) -> Mask:
        """Return which of the files lie in partitions that pass a Scala sequence of filters."""
        return unpacked_mask(self.java.inPartitions(filters), self.files)

    def index(self, session: Any) -> Any:
        """Return their listing restricted to these files, without asking the file system."""
        return self.java.index(session)

    def relation(self, logical: Any, option: tuple[str, str]) -> Any:
        """Return the LogicalRelation ``logical`` restricted to these files, with a further option."""
        return self.java.relation(logical, *option)


def listed_files(toolbox: JvmToolbox, index: Any) -> ListedFiles:
    """Return the files of an InMemoryFileIndex."""
    made = new_java(toolbox.gateway, "ListedFiles", index)
    return ListedFiles(made, made.count())


def _texts(content: bytes, count: int) -> pa.Array:
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.frombuffer(content, "<i4", count), out=offsets[1:])
    data = pa.py_buffer(content)[4 * count :]
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), data])
