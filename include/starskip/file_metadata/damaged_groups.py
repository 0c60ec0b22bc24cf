"""Find the files of metadata that are gone, damaged or replaced, by their footers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from starskip.errors import DamagedFile
from starskip.file_metadata.collect_order import FILES
from starskip.file_metadata.metadata_store import REMOVED
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.storage.manifest import DataFile

_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class DamagedGroups:
    """Groups with a file that cannot be used, by segment; ``reasons``: a sentence for each such file."""

    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    @property
    def is_listing(self) -> bool:
        """True where the list of files is damaged, so that all must be collected anew."""
        return any(not {FILES, REMOVED}.isdisjoint(of) for of in self.groups.values())

    def left_out_of(self, metadata: TableMetadata) -> TableMetadata:
        """Return the metadata without the damaged groups, so that a refresh collects them anew."""
        sound = metadata.of_segments(metadata.segments)
        for name, damaged in self.groups.items():
            segment = metadata.segments[name]
            groups = {of: files for of, files in segment.groups.items() if of not in damaged}
            sound.segments = {**sound.segments, name: replace(segment, groups=groups)}
        return sound


def damaged_groups(metadata: TableMetadata, indexes: Collection[str] = ()) -> DamagedGroups:
    """Open the files of the listing and of ``indexes``, by specification, and return the damaged groups.

    The footer of each file is read, some files at a time; ``optimize`` keeps these files few. Locked files
    are skipped. Raises StorageError and SourceError for a store that cannot be asked.
    """
    files = [
        (name, group, file)
        for name, segment in metadata.segments.items()
        for group, of in {FILES: segment.files, REMOVED: segment.removed, **segment.groups}.items()
        for file in of
        if group in (FILES, REMOVED, *indexes)
        and (group not in segment.keys or file.name in metadata.unlocked.data_keys)
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda each: _why_damaged(metadata, each[2]), files))
    bad = [(name, group, why) for (name, group, _), why in zip(files, found, strict=True) if why is not None]
    groups: dict[str, frozenset[str]] = {}
    for name, group, _ in bad:
        groups[name] = groups.get(name, frozenset()) | {group}
    return DamagedGroups(groups, tuple(why for _, _, why in bad))


def _why_damaged(metadata: TableMetadata, file: DataFile) -> str | None:
    try:
        metadata.store.schema(file)
    except DamagedFile:
        return f"{file.name}: is gone or damaged"
    return None
