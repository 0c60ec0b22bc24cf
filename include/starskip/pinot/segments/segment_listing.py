"""The segment files that a command or a night works on."""

from __future__ import annotations

from collections.abc import Collection

from starskip.errors import SourceError, SourceOutage
from starskip.pinot.segments.segment_files import SegmentFile, list_segments, segment_tables


def segment_listing(
    segments_root: str, tables: Collection[str] | None
) -> tuple[list[SegmentFile], list[str]]:
    """Return the files of ``tables``, of all for None, and what a person should know of what is missing.

    Of all tables, one without segments is only warned of. Raises SourceError for a table that was asked for
    and has none, and if no table has any.
    """
    if tables is not None:
        return list(list_segments(segments_root, tables)), []
    files: list[SegmentFile] = []
    warnings: list[str] = []
    for table in segment_tables(segments_root):
        try:
            files.extend(list_segments(segments_root, [table]))
        except SourceOutage:
            raise
        except SourceError as error:
            warnings.append(str(error))
    if not files:
        raise SourceError(f"no table below {segments_root} has segments", source=segments_root)
    return files, warnings
