"""Describe the metadata of a table as a plain document."""

from __future__ import annotations

from typing import Any

from starskip.indexes.skipping.metadata.table_metadata import TableMetadata


def describe_metadata(metadata: TableMetadata, location: str) -> dict[str, Any]:
    """Return files, rows, version and bytes of the metadata and of each index.

    ``files_known`` of an index: the number of files that it covers. ``fault``: why its type is unavailable
    here, None if it is available.
    """
    segments = metadata.segments
    understood = {index.specification for index in metadata.indexes}
    indexes = [
        {
            "index": name,
            "state": "active" if is_active else "deleted",
            "understood": name in understood or not is_active,
            "fault": metadata.not_understood.get(name),
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
        "files_bytes": int(metadata.sizes.sum()),
        "files_trusted": int(metadata.trusted.sum()),
        "rows": metadata.total_rows,
        "segments": len(segments),
        "removed_rows": sum(segment.rows for segment in segments.values()) - metadata.files,
        "metadata_bytes": sum(
            file.size_bytes for segment in segments.values() for file in segment.to_part().files
        ),
        "indexes": indexes,
    }
