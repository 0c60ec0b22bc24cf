"""Read single documents of a tree by number: only the row groups and columns that hold them.

Decoded row groups are kept up to a number of bytes, so that a warm answer reads no file.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.star_tree.build.document_files import DocumentSchema, code_column
from starskip.star_tree.build.tree_files import damaged, naming_damage
from starskip.star_tree.measure import Measure
from starskip.star_tree.measures.arrow_buffers import one_array
from starskip.star_tree.measures.initial_measure import stored_measure
from starskip.star_tree.measures.measure_array import MeasureArray
from starskip.star_tree.newest_values import NewestValues
from starskip.storage.checked_parquet import opened_parquet
from starskip.storage.manifest import DataFile
from starskip.storage.storage import Storage

CACHE_BYTES = 512 << 20

Numbers = npt.NDArray[np.int64]


class DocumentReader:
    """Reads the documents of a tree, numbered across its files; several threads may use it at once."""

    def __init__(
        self,
        storage: Storage,
        schema: DocumentSchema,
        files: Sequence[tuple[DataFile, int]],
    ) -> None:
        """Take ``files`` with the number of documents of each; nothing is read yet."""
        self._storage = storage
        self._schema = schema
        self._files = tuple(file for file, _ in files)
        self._ends = np.cumsum([documents for _, documents in files], dtype=np.int64)
        self._groups: dict[int, tuple[Any, Numbers]] = {}
        self._newest: NewestValues[tuple[int, int, str], Any] = NewestValues(CACHE_BYTES)
        self._lock = threading.RLock()

    def forget(self) -> None:
        """Close the files and drop the decoded row groups."""
        with self._lock:
            self._groups.clear()
            self._newest = NewestValues(CACHE_BYTES)

    def codes(self, documents: Numbers, dimension: str) -> npt.NDArray[np.int32]:
        """Return the codes of one dimension of documents, whose numbers ascend."""
        column = code_column(dimension)
        pieces = [found[where] for found, where in self._pieces(documents, column, None)]
        return np.concatenate(pieces) if pieces else np.zeros(0, np.int32)

    def measure(self, documents: Numbers, measure: Measure) -> MeasureArray | None:
        """Return one measure of documents, whose numbers ascend; None for no documents."""
        pieces = [found.take(where) for found, where in self._pieces(documents, measure.name, measure)]
        if not pieces:
            return None
        first: MeasureArray = pieces[0]
        return first.appended(pieces[1:]) if len(pieces) > 1 else first

    def _pieces(self, documents: Numbers, column: str, measure: Measure | None) -> Any:
        """Yield each decoded row group that is needed, with the positions in it."""
        of_file = np.searchsorted(self._ends, documents, side="right")
        for file in _distinct(of_file):
            low, high = np.searchsorted(of_file, [file, file + 1])
            inside = documents[low:high] - (self._ends[file - 1] if file else 0)
            _, group_ends = self._opened(file)
            of_group = np.searchsorted(group_ends, inside, side="right")
            for group in _distinct(of_group):
                first, end = np.searchsorted(of_group, [group, group + 1])
                start = group_ends[group - 1] if group else 0
                yield self._decoded(file, group, column, measure), inside[first:end] - start

    def _opened(self, file: int) -> tuple[Any, Numbers]:
        with self._lock:
            if file not in self._groups:
                with naming_damage(self._files[file].name):
                    opened = self._storage.arrow_filesystem().open_input_file(self._files[file].name)
                    parquet = opened_parquet(opened, self._files[file])
                metadata = parquet.metadata
                rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
                if sum(rows) != int(self._ends[file] - (self._ends[file - 1] if file else 0)):
                    raise damaged(self._files[file].name)
                self._groups[file] = parquet, np.cumsum(rows, dtype=np.int64)
            return self._groups[file]

    def _decoded(self, file: int, group: int, column: str, measure: Measure | None) -> Any:
        key = (file, group, column)
        with self._lock:
            found = self._newest.get(key)
            if found is not None:
                return found
            parquet, ends = self._opened(file)
            with naming_damage(self._files[file].name):
                read = parquet.read_row_group(group, columns=[column], use_threads=False).column(0)
            if len(read) != ends[group] - (ends[group - 1] if group else 0):
                raise damaged(self._files[file].name)
            array = one_array(read)
            if measure is None:
                decoded: Any = array.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
            else:
                decoded = stored_measure(measure, array, self._schema.column_types.get(measure.column))
            self._newest.keep(key, decoded, array.nbytes)
            return decoded


def _distinct(ascending: Numbers) -> list[int]:
    if not len(ascending):
        return []
    if ascending[0] == ascending[-1]:
        return [int(ascending[0])]
    found: list[int] = np.unique(ascending).tolist()
    return found
