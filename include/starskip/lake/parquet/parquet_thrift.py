"""Structs of the Parquet format, as its footers and page indexes have them."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np
import numpy.typing as npt
import thriftpy2
from thriftpy2.protocol.compact import TCompactProtocolFactory
from thriftpy2.utils import deserialize, serialize

_LIST_OF_STRUCTS, _STRUCT, _LONG_LIST = 0x19, 0x0C, 0x0F
_PLACE = (0x16, None, 0x15, None, 0x16, None, 0x00)
"""A page's place in the compact protocol: the head of each field before its number, and the end."""


def page_locations(content: bytes) -> npt.NDArray[np.int64] | None:
    """Return the offset, stored size and first row of each page of an OffsetIndex.

    None for bytes that are no OffsetIndex, or an index without pages.
    """
    found = _places_at_once(content)
    if found is not None:
        return found
    index = decoded("OffsetIndex", content)
    if index is None or not index.page_locations:
        return None
    places = [(each.offset, each.compressed_page_size, each.first_row_index) for each in index.page_locations]
    return np.array(places, np.int64)


def _places_at_once(content: bytes) -> npt.NDArray[np.int64] | None:
    """Decode an index whose page locations have their fields in the usual order, None for any other index.

    Its list then is a run of numbers of seven bits a byte; headers of fields count as such numbers, too.
    """
    if len(content) < 3 or content[0] != _LIST_OF_STRUCTS or content[1] & 0x0F != _STRUCT:
        return None
    count, begin = content[1] >> 4, 2
    if count == _LONG_LIST:
        found = _numbers(np.frombuffer(content, np.uint8, offset=begin), 1)
        if found is None:
            return None
        count, begin = int(found[0]), begin + max(1, -(-int(found[0]).bit_length() // 7))
    if not 0 < count <= len(content):
        return None
    numbers = _numbers(np.frombuffer(content, np.uint8, offset=begin), count * len(_PLACE))
    if numbers is None:
        return None
    places = numbers.reshape(count, len(_PLACE))
    if any((places[:, at] != head).any() for at, head in enumerate(_PLACE) if head is not None):
        return None
    values = places[:, [1, 3, 5]]
    return ((values >> np.uint64(1)) ^ (~(values & np.uint64(1)) + np.uint64(1))).view(np.int64)


def _numbers(data: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.uint64] | None:
    """Return the first ``count`` numbers, each with its lowest seven bits first; None if there are fewer."""
    ends = np.flatnonzero(data < 0x80)[:count]
    if len(ends) < count:
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    at = np.arange(ends[-1] + 1) - np.repeat(starts, ends - starts + 1)
    bits = (data[: len(at)] & np.uint8(0x7F)).astype(np.uint64) << (at * 7).astype(np.uint64)
    return np.asarray(np.add.reduceat(bits, starts), np.uint64)


@cache
def format_kinds() -> Any:
    """Return the classes of the format's structs."""
    with as_file(files("starskip.lake.parquet") / "parquet_format.thrift") as path:
        return thriftpy2.load(str(path), module_name="parquet_format_thrift")


_COMPACT: Any = TCompactProtocolFactory


def decoded(kind: str, content: bytes) -> Any:
    """Return a struct, None for bytes that are no struct."""
    try:
        return deserialize(getattr(format_kinds(), kind)(), content, _COMPACT(decode_response=False))
    except Exception:
        # thriftpy2 lets the errors of all parts of a damaged document through: any of them means the same.
        return None


def encoded(document: Any) -> bytes:
    """Return a struct as bytes."""
    return bytes(serialize(document, _COMPACT(decode_response=False)))
