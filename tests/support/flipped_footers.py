"""Parquet files with one byte of their footers changed."""

from __future__ import annotations

from collections.abc import Iterator

_FLIPS = (0x01, 0x20, 0x80)


def footer_start(content: bytes) -> int:
    """Return where the footer of a file begins; its length and the magic bytes follow it."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def flipped_footers(content: bytes) -> Iterator[bytes]:
    """Yield the file with one bit flipped: some of each byte of the footer and of what follows it."""
    for position in range(footer_start(content), len(content)):
        for flip in _FLIPS:
            yield content[:position] + bytes([content[position] ^ flip]) + content[position + 1 :]
