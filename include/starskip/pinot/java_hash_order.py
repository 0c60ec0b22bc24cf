"""The order in which Pinot goes through a HashSet of column names."""

from __future__ import annotations

from collections.abc import Iterable

_BITS = 0xFFFFFFFF
_LEAST_BUCKETS = 16
_LOAD = 0.75


def java_hash_order(names: Iterable[str]) -> list[str]:
    """Return names as java.util.HashSet iterates them; those of one bucket keep their order."""
    found = list(dict.fromkeys(names))
    buckets = _LEAST_BUCKETS
    while len(found) > _LOAD * buckets:
        buckets *= 2
    return sorted(found, key=lambda name: _spread(name) & (buckets - 1))


def _spread(name: str) -> int:
    units = name.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8) + low) & _BITS
    return value ^ (value >> 16)
