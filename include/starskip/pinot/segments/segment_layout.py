"""Read the layout of a tarred segment: its metadata, and the byte range of every index of every column.

v1 and v2 keep loose files and no index_map; v3 keeps ``v3/columns.psf`` with an index_map beside it
(text and vector indexes stay loose there too).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.loose_indexes import IndexPlace, loose_indexes
from starskip.pinot.segments.metadata_properties import parse_properties, single_value
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_metadata import SegmentMetadata, read_segment_metadata
from starskip.pinot.segments.tar_stream import tar_members

_ATTRIBUTES = ("startOffset", "size")


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The place of one index of one column; ``size`` counts the 8-byte magic in front."""

    offset: int
    size: int


_METADATA_FILE = "metadata.properties"
_INDEX_MAP_FILE = "index_map"
_COLUMNS_FILE = "columns.psf"
MAGIC_MARKER = bytes.fromhex("deadbeefdeafbead")
"""Stands before every index in columns.psf."""


@dataclass(frozen=True, slots=True)
class SegmentLayout:
    """``places`` maps (column, index id) to bytes; ``index_bytes`` are sizes on disk, magic included."""

    metadata: SegmentMetadata
    index_bytes: Mapping[str, Mapping[str, int]]
    places: Mapping[tuple[str, str], IndexPlace]


def read_segment_layout(file: SegmentFile, limits: TarLimits, *, whole: bool) -> SegmentLayout:
    """Read the layout of the tarred segment ``file``; raises DamagedSegment.

    ``whole`` reads the tar to its end, so that damage anywhere in it is found; without it a v3
    segment is left as soon as its two tables of contents have been seen.
    """
    texts: dict[str, tuple[str, bytes]] = {}
    sizes: dict[str, int] = {}
    metadata: SegmentMetadata | None = None
    with closing(tar_members(file.path, limits)) as members:
        for member in members:
            folder, _, name = member.name.rpartition("/")
            if name not in (_METADATA_FILE, _INDEX_MAP_FILE):
                sizes[member.name] = member.size
                continue
            if name in texts:
                raise DamagedSegment(
                    file.path, "several_segments", f"holds {name} twice: two segments in one tar"
                )
            if member.size > limits.metadata_bytes:
                raise DamagedSegment(
                    file.path,
                    "too_large",
                    f"{name} has {member.size} bytes, over the limit of {limits.metadata_bytes}",
                )
            texts[name] = (folder, member.read(member.size))
            if len(texts) == 2 and not whole:
                metadata = _metadata(file, texts)
                if metadata.version == "v3":
                    break
    return _layout(file, metadata or _metadata(file, texts), texts, sizes, whole=whole)


def _metadata(file: SegmentFile, texts: Mapping[str, tuple[str, bytes]]) -> SegmentMetadata:
    if _METADATA_FILE not in texts:
        raise DamagedSegment(file.path, "no_metadata", f"holds no {_METADATA_FILE}")
    return read_segment_metadata(file.path, parse_properties(texts[_METADATA_FILE][1]))


def _layout(
    file: SegmentFile,
    metadata: SegmentMetadata,
    texts: Mapping[str, tuple[str, bytes]],
    sizes: Mapping[str, int],
    *,
    whole: bool,
) -> SegmentLayout:
    folder = texts[_METADATA_FILE][0]
    names = {column.name for column in metadata.columns}
    index_bytes, places = loose_indexes(names, folder, sizes)
    if metadata.version == "v3":
        if texts.get(_INDEX_MAP_FILE, ("", b""))[0] != folder or _INDEX_MAP_FILE not in texts:
            raise DamagedSegment(
                file.path, "no_index_map", f"is v3 and has no {_INDEX_MAP_FILE} beside {_METADATA_FILE}"
            )
        try:
            ranges = parse_index_map(texts[_INDEX_MAP_FILE][1])
        except ValueError as error:
            raise DamagedSegment(file.path, "bad_index_map", str(error)) from error
        columns_file = f"{folder}/{_COLUMNS_FILE}".lstrip("/")
        if whole and metadata.pulled_rows is None:
            _check_ranges(file, ranges, sizes.get(columns_file))
        for (column, index_id), found in ranges.items():
            if column in names:
                index_bytes.setdefault(column, {})[index_id] = found.size
                places[column, index_id] = IndexPlace(
                    columns_file,
                    found.offset + len(MAGIC_MARKER),
                    found.size - len(MAGIC_MARKER),
                    MAGIC_MARKER,
                )
    return SegmentLayout(metadata, index_bytes, places)


def _check_ranges(
    file: SegmentFile, ranges: Mapping[tuple[str, str], IndexRange], columns_bytes: int | None
) -> None:
    if columns_bytes is None:
        raise DamagedSegment(file.path, "bad_index_map", f"is v3 and has no {_COLUMNS_FILE}")
    for (column, index_id), found in ranges.items():
        if found.offset + found.size > columns_bytes:
            raise DamagedSegment(
                file.path, "bad_index_map", f"{column}.{index_id} lies beyond the end of {_COLUMNS_FILE}"
            )


def parse_index_map(content: bytes) -> Mapping[tuple[str, str], IndexRange]:
    """Return (column, index id) to its range; raises ValueError with a sentence.

    Keys are read from the right, since column names may hold dots.
    """
    properties = parse_properties(content)
    numbers: dict[tuple[str, str], dict[str, int]] = {}
    for key in properties:
        column, index_id, attribute = _split_key(key)
        if attribute not in _ATTRIBUTES:
            continue
        text = single_value(properties, key) or ""
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise ValueError(f"index_map: {key} is no number")
        numbers.setdefault((column, index_id), {})[attribute] = int(text)
    ranges = {}
    for (column, index_id), found in numbers.items():
        if len(found) != len(_ATTRIBUTES):
            raise ValueError(f"index_map: {column}.{index_id} has no startOffset or no size")
        ranges[column, index_id] = IndexRange(found["startOffset"], found["size"])
    return ranges


def _split_key(key: str) -> tuple[str, str, str]:
    parts = key.rsplit(".", 2)
    if len(parts) != 3:
        raise ValueError(f"index_map: key {key} is not column.index.attribute")
    return parts[0], parts[1], parts[2]
