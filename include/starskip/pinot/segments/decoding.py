"""The protocol of column decoders: generators that request bytes, so that one pass serves all columns."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

_Result = TypeVar("_Result")

Decoder = Generator[tuple[int, int], bytes, _Result]
"""Yields (offset, length) within its index, ascending and not overlapping; is sent the bytes."""


class UnreadableColumn(Exception):
    """A column that this reader leaves out, with the reason as message."""


def require(condition: bool, reason: str) -> None:
    """Raise UnreadableColumn unless ``condition`` holds."""
    if not condition:
        raise UnreadableColumn(reason)
