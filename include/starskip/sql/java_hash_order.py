"""Compute the iteration order of Java's HashMap, which decides the order of some of Pinot's scans."""

from __future__ import annotations

from collections.abc import Iterable

_LEAST_BUCKETS = 16
_LOAD_RATIO = 0.75


def java_hash_order(texts: Iterable[str], *, newest_first: bool = False) -> list[str]:
    """Return distinct ``texts`` in the order of a java.util.HashMap into which they were put in turn.

    ``newest_first``: computeIfAbsent put them there, which inserts at the front of a bucket.
    """
    distinct = list(dict.fromkeys(texts))
    buckets = _LEAST_BUCKETS
    while len(distinct) > buckets * _LOAD_RATIO:
        buckets *= 2
    if newest_first:
        distinct.reverse()
    return sorted(distinct, key=lambda text: _spread(text) & (buckets - 1))


def _spread(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8) + low) & 0xFFFFFFFF
    return code ^ (code >> 16)
