"""Parse ``index_map``, the table of contents of ``columns.psf`` in a v3 segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starskip.pinot.segments.metadata_properties import parse_properties, single_value

_ATTRIBUTES = ("startOffset", "size")


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The place of one index of one column; ``size`` counts the 8-byte magic in front."""

    offset: int
    size: int


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
