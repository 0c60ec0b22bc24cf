"""One version of a table's metadata, in columns that are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import StorageError
from starskip.file_metadata.collect_order import BOUNDS, FILES
from starskip.file_metadata.column_cache import ColumnCache
from starskip.file_metadata.metadata_files import FILES_SCHEMA, ROW_GROUPS, joined
from starskip.file_metadata.metadata_store import MetadataStore, Positions
from starskip.file_metadata.removed_rows import live_rows
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.table_state import TableState
from starskip.file_metadata.unlock import NOTHING_ENCRYPTED, Unlocked
from starskip.file_metadata.wide_columns import concatenated
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex
from starskip.storage.storage import Storage

COLUMNS = ColumnCache(1 << 30)
"""The cache of this process; with a million files it holds some twenty columns of bounds."""

_ROWS_EACH = 64


class TableMetadata:
    """Implements FileMetadata; segments follow one another without their dead rows.

    After a newer version is published, columns can be read for the grace time of the vacuum.
    """

    def __init__(
        self,
        store: MetadataStore,
        version: int,
        state: TableState,
        indexes: tuple[SkippingIndex, ...] = (),
        cache: ColumnCache = COLUMNS,
        *,
        not_understood: Mapping[str, str] = MappingProxyType({}),
        unlocked: Unlocked = NOTHING_ENCRYPTED,
        locked_indexes: tuple[SkippingIndex, ...] = (),
    ) -> None:
        """Take the state of a manifest; ``indexes`` are the active ones of available types.

        ``store``: the store of the rows, with the data keys of ``unlocked``, which lacks the keys of
        ``locked_indexes``; these indexes are active, too. ``not_understood``: by specification, why the other
        active indexes are unavailable.
        """
        self.version = version
        self.state = state
        self.indexes = indexes
        self.not_understood = not_understood
        self.unlocked = unlocked
        self.locked_indexes = locked_indexes
        self.store = store
        self._cache = cache

    @property
    def source(self) -> TableSource:
        """The table and the way it was read when the metadata was collected."""
        return self.state.source

    @property
    def storage(self) -> Storage:
        """The Storage of the manifests."""
        return self.store.storage

    def may_match(self, clause: Clause) -> Mask:
        """Return for each file whether it may hold a row that satisfies the expression of ``clause``."""
        return self.store.may_match(self, clause)

    @cached_property
    def segments(self) -> Mapping[str, Segment]:
        """The current segments, in the order of their rows."""
        return self.state.current

    @property
    def why_outdated(self) -> str | None:
        """The reason why no file's metadata is used; None if it is used."""
        if self.segments or not self.state.segments:
            return None
        return (
            f"the indexes of {self.source.path} were collected by an earlier version of Starskip, and may be "
            "wrong: refresh them"
        )

    @cached_property
    def live(self) -> Mapping[str, Positions | None]:
        """The live positions by segment, None if all are live."""
        return live_rows(self.store, self.segments)

    @cached_property
    def row_counts(self) -> Mapping[str, int]:
        """The number of live rows by segment."""
        return {
            name: self.segments[name].rows if positions is None else len(positions)
            for name, positions in self.live.items()
        }

    @cached_property
    def row_slices(self) -> Mapping[str, slice]:
        """The slice of each segment's live rows in the columns."""
        ends = accumulate(self.row_counts.values())
        return {
            name: slice(end - rows, end)
            for (name, rows), end in zip(self.row_counts.items(), ends, strict=True)
        }

    def of_segments(self, names: Collection[str]) -> TableMetadata:
        """Return the metadata of some segments only."""
        chosen = TableMetadata(
            self.store,
            self.version,
            self.state,
            self.indexes,
            self._cache,
            not_understood=self.not_understood,
            unlocked=self.unlocked,
            locked_indexes=self.locked_indexes,
        )
        chosen.segments = {name: of for name, of in self.segments.items() if name in names}
        chosen.live = {name: rows for name, rows in self.live.items() if name in names}
        return chosen

    @property
    def files(self) -> int:
        """See FileMetadata."""
        return sum(self.row_counts.values())

    @property
    def paths(self) -> pa.Array:
        """The files' paths, as Hadoop's Path writes them."""
        return self._of_files["path"]

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The files' sizes in bytes."""
        return _numbers(self._of_files["size_bytes"])

    @cached_property
    def modified_ms(self) -> npt.NDArray[np.int64]:
        """The files' modification times in milliseconds since the epoch."""
        return _numbers(self._of_files["modified_ms"])

    @cached_property
    def rows(self) -> pa.Array:
        """The files' numbers of rows, null if unknown."""
        return self._of_files["rows"]

    @cached_property
    def row_groups(self) -> pa.Array:
        """The files' numbers of row groups, null where not written."""

        def read(name: str) -> pa.Array | None:
            files = self.segments[name].files
            if not files or ROW_GROUPS not in self.store.schema(files[0]).names:
                return None
            return joined(self.store.read(files, [ROW_GROUPS]), ROW_GROUPS)

        return self._kept(FILES, ROW_GROUPS, lambda: self._joined(read, pa.int64()).cast(pa.int64()))

    @property
    def total_rows(self) -> int | None:
        """The number of rows of all files, None if any is unknown."""
        return None if self.rows.null_count else pc.sum(self.rows, min_count=0).as_py()

    @cached_property
    def trusted(self) -> Mask:
        """The files whose later changes will show in size or time."""
        trusted: Mask = self._of_files["trusted"].to_numpy(zero_copy_only=False).astype(np.bool_)
        return trusted

    def files_known(self, index: str) -> int:
        """Return the number of files that an index covers."""
        return sum(self.row_counts[of] for of, segment in self.segments.items() if index in segment.groups)

    def size_bytes(self, index: str) -> int:
        """Return the size of an index's metadata, dead rows included."""
        groups = (segment.groups.get(index, ()) for segment in self.segments.values())
        return sum(file.size_bytes for files in groups for file in files)

    def column(self, index: str, name: str) -> pa.Array:
        """See FileMetadata.column; raises StorageError naming a file that is gone or damaged."""

        def read() -> pa.Array:
            return self._joined(lambda of: self._group(self.segments[of], index, name))

        return self._kept(index, name, read)

    def _group(self, segment: Segment, index: str, name: str) -> pa.Array | None:
        files = segment.groups.get(index)
        if files and index == BOUNDS and name not in self.store.schema(files[0]).names:
            return None
        return joined(self.store.read(files, [name]), name) if files else None

    def _joined(self, read: Callable[[str], pa.Array | None], kind: pa.DataType | None = None) -> pa.Array:
        """Return the live rows of all segments; a segment without the column gives nulls."""
        read_of = {name: read(name) for name in self.live}
        kind = next((column.type for column in read_of.values() if column is not None), kind or pa.null())
        found = []
        for name, positions in self.live.items():
            column = read_of[name]
            if column is None:
                column, positions = pa.nulls(self.row_counts[name], kind), None
            found.extend([column] if positions is None else _taken(column, positions))
        if not found:
            return pa.nulls(0, kind)
        return concatenated(found)

    def _kept(self, index: str, name: str, read: Callable[[], pa.Array]) -> pa.Array:
        return self._cache.get((self.storage.place, self.version, self.identity, index, name), read)

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """Distinguishes metadata of the same version after the store was removed and made again."""
        return tuple(self.segments)

    @property
    def _of_files(self) -> pa.RecordBatch:
        # Cached with the columns, not here: plans reference old versions, and paths are long.
        return self._kept(FILES, "", self._read_files)

    def _read_files(self) -> pa.RecordBatch:
        locked = self.unlocked.locked_listing
        if locked is not None:
            raise StorageError(locked.means("locked"), location=self.storage.place)
        read = {
            name: self.store.read(segment.files, FILES_SCHEMA.names)
            for name, segment in self.segments.items()
            if segment.files
        }

        def column(name: str) -> Callable[[str], pa.Array | None]:
            return lambda of: joined(read[of], name) if of in read else None

        columns = [self._joined(column(field.name), field.type) for field in FILES_SCHEMA]
        return pa.RecordBatch.from_arrays(columns, schema=FILES_SCHEMA)


def _taken(column: pa.Array, positions: Positions) -> list[pa.Array]:
    """Take rows at rising positions, as slices where most rows are live."""
    ends = np.flatnonzero(np.diff(positions) != 1)
    if len(ends) * _ROWS_EACH > len(positions):
        return [column.take(pa.array(positions))]
    starts = positions[np.concatenate([[0], ends + 1])] if len(positions) else positions
    lengths = np.diff(np.concatenate([[-1], ends, [len(positions) - 1]]))
    return [column.slice(start, length) for start, length in zip(starts, lengths, strict=False)]


def _numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    numbers: Any = column.to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64, copy=False)  # type: ignore[no-any-return]
