"""A memory pool of Arrow's that counts, as the default one of a block of a test."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def counted_memory(below: pa.MemoryPool | None = None) -> Iterator[pa.MemoryPool]:
    """Give the pool, which takes its memory from ``below``, by default from the default one."""
    default = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(below or default)
    # What a cache still holds of it is given back to it, at the latest when the process ends: it never goes.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pool))
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(default)
