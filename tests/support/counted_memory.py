"""A memory pool of Arrow's that counts, as the default one of a block of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

_POOLS: list[pa.MemoryPool] = []
"""Pools are kept: what a cache still holds of one is given back to it, long after its test."""


@contextmanager
def counted_memory(below: pa.MemoryPool | None = None) -> Iterator[pa.MemoryPool]:
    """Give the pool, which takes its memory from ``below``, by default from the default one."""
    default = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(below or default)
    _POOLS.append(pool)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(default)
