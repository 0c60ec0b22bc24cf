"""Describe the metadata of a table as a plain document."""

from __future__ import annotations

from typing import Any

from starskip.file_metadata.table_metadata import TableMetadata


def describe_metadata(metadata: TableMetadata, location: str) -> dict[str, Any]:
    """Return files, rows, version and bytes of the metadata and of each index.

    ``files_known`` of an index: the number of files that it covers. ``fault``: why its type is unavailable
    here, None if it is available. ``key``: the name of the key of its metadata. ``files_bytes`` and
    ``files_trusted`` are None where the names of files are encrypted by a key that is missing. ``outdated``:
    why the metadata is not used until it is refreshed, None if it is used.
    """
    segments = metadata.segments
    understood = {index.specification for index in (*metadata.indexes, *metadata.locked_indexes)}
    is_locked = metadata.unlocked.locked_listing is not None
    indexes = [
        {
            "index": name,
            "state": "active" if is_active else "deleted",
            "understood": name in understood or not is_active,
            "fault": metadata.not_understood.get(name),
            "key": metadata.state.keys.indexes.get(name),
            "files_known": metadata.files_known(name),
            "size_bytes": metadata.size_bytes(name),
        }
        for name, is_active in sorted(metadata.state.indexes.items())
    ]
    return {
        "path": metadata.source.path,
        "format": metadata.source.file_format,
        "location": location,
        "version": metadata.version,
        "files": metadata.files,
        "files_bytes": None if is_locked else int(metadata.sizes.sum()),
        "files_trusted": None if is_locked else int(metadata.trusted.sum()),
        "rows": None if is_locked else metadata.total_rows,
        "segments": len(segments),
        "removed_rows": sum(segment.rows for segment in segments.values()) - metadata.files,
        "metadata_bytes": sum(
            file.size_bytes for segment in segments.values() for file in segment.to_part().files
        ),
        "listing_key": metadata.state.keys.listing,
        "outdated": metadata.why_outdated,
        "missing_keys": [each.name for each in metadata.unlocked.locked],
        "indexes": indexes,
    }
