"""The protocol of a metadata store: it keeps the rows of segments, and judges which files may match.

Versions are manifests in the store's Storage: a commit is a put-if-absent there (storage.manifest_log), and a
vacuum deletes there all that no version names, rows of groups included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.file_metadata.segment import Segment
from starskip.skipping.clause import Clause
from starskip.skipping.file_metadata import FileMetadata, Mask
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

Groups = Iterable[tuple[str, pa.Table]]
"""Groups of columns of the same files, one row each, by specification of an index, FILES or REMOVED."""
REMOVED = "removed"
"""The group that lists the dead rows of segments."""
Positions = npt.NDArray[np.int64]
"""Positions of rows in a segment, rising."""


class StoredMetadata(FileMetadata, Protocol):
    """FileMetadata that tells where a store has its rows."""

    @property
    def segments(self) -> Mapping[str, Segment]:
        """The segments, in the order of their rows in the columns."""

    @property
    def live(self) -> Mapping[str, Positions | None]:
        """The positions of the rows that the columns have, by segment; None for all."""


class MetadataStore(Protocol):
    """Rows of metadata in one Storage; each failure is a StorageError that names the place.

    A ``DataFile`` is the handle of consecutive rows of one group; it is immutable, and lies below the folder
    of the StagedWrite by which it was written.
    """

    @property
    def storage(self) -> Storage:
        """The manifests, and the names and sizes of all DataFiles."""
        ...

    def write(self, staged: StagedWrite, groups: Groups) -> Mapping[str, tuple[DataFile, ...]]:
        """Write the rows of groups, taken one by one; a group without rows has no DataFile."""
        ...

    def with_keys(
        self, data_keys: Mapping[str, DataKey], new_keys: Mapping[str, DataKey] = MappingProxyType({})
    ) -> MetadataStore:
        """Return the store with data keys of DataFiles to read, by name, and of groups to write.

        A store that does not encrypt gets no keys, and returns itself.
        """
        ...

    @property
    def encrypts(self) -> bool:
        """True where groups can be encrypted."""
        ...

    def read(self, files: Sequence[DataFile], names: Sequence[str]) -> pa.Table:
        """Read columns of consecutive DataFiles; raise StorageError where one is gone or damaged."""
        ...

    def schema(self, file: DataFile) -> pa.Schema:
        """Read the columns and types of a DataFile; raises as ``read``."""
        ...

    def may_match(self, metadata: StoredMetadata, clause: Clause) -> Mask:
        """Return ``clause.may_match`` for each file of ``metadata``, true where the store is unsure."""
        ...
