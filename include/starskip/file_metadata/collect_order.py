"""Orders to collect metadata of files, and the messages of the files that tasks have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from starskip.errors import StarskipError
from starskip.skipping.skipping_index import SkippingIndex
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.manifest import DataFile

FILES = ""
"""The group of the files themselves; other groups are named by the specifications of indexes."""
BOUNDS = "bounds"
"""The group of bounds from a table format's log or manifests; its columns differ between segments."""


@dataclass(frozen=True, slots=True)
class CollectOrder:
    """Collect ``indexes`` of ``files``, one row for each, in their order.

    ``files`` has path (null: write nulls), size_bytes, modified_ms and trusted. ``row_counts``: the number of
    files in each segment, one after the other. ``with_files``: write the group ``FILES``, too. ``keys``: data
    keys of the encrypted groups; ``listing_key``: data key of the files' names, where tasks read them.
    """

    indexes: tuple[SkippingIndex, ...]
    files: pa.Table
    row_counts: tuple[int, ...]
    with_files: bool
    keys: Mapping[str, DataKey] = field(default_factory=dict)
    listing_key: DataKey | None = None

    def without_files(self) -> CollectOrder:
        """Return the order as it is sent to tasks, which read the files from the store."""
        return replace(self, files=self.files.slice(0, 0))


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """The message of a written file: rows from ``position`` of the order, for one group of one segment."""

    segment: int
    group: str
    position: int
    file: DataFile


Collection = Sequence[Mapping[str, tuple[DataFile, ...]]]
"""For each segment of an order, the files of each group."""


def collection_of(order: CollectOrder, messages: Sequence[CommitMessage]) -> Collection:
    """Merge the messages; raise StarskipError if a row was written twice or not at all."""
    groups = [FILES] * order.with_files + [index.specification for index in order.indexes]
    collected = []
    start = 0
    for segment, rows in enumerate(order.row_counts):
        of_groups = {}
        for group in groups:
            mine = sorted(
                (message for message in messages if (message.segment, message.group) == (segment, group)),
                key=lambda message: message.position,
            )
            at = start
            for message in mine:
                if message.position != at:
                    break
                at += message.file.rows or 0
            if at != start + rows:
                raise StarskipError(
                    f"collecting {group or 'files'} gave other rows than were asked for; run it again"
                )
            of_groups[group] = tuple(message.file for message in mine)
        collected.append(of_groups)
        start += rows
    return collected
