"""The order in which Pinot goes through a filter's columns, which are keys of a HashMap."""

from __future__ import annotations

from collections.abc import Iterable

_BITS = 0xFFFFFFFF
_LEAST_BUCKETS = 16
_LOAD = 0.75


def java_hash_order(names: Iterable[str]) -> list[str]:
    """Return names as a java.util.HashMap iterates keys that computeIfAbsent put there in this order.

    It puts the newest in front of the others of its bucket.
    """
    found = list(dict.fromkeys(names))
    buckets = _LEAST_BUCKETS
    while len(found) > _LOAD * buckets:
        buckets *= 2
    found.reverse()
    return sorted(found, key=lambda name: _spread(name) & (buckets - 1))


def _spread(name: str) -> int:
    units = name.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8) + low) & _BITS
    return value ^ (value >> 16)
