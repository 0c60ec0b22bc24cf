"""Spares Python looking for garbage among what stays: eight thousand tests, and modules."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    gc.freeze()
    try:
        return (yield)
    finally:
        # At its end a library in C++ would tell of objects that nobody has freed.
        gc.unfreeze()
