"""Read a log file in bounded, decompressed blocks, up to its end or its first damage.

The compression of a file is read from its first bytes, not from its name.
Neither a block nor the state behind it grows with the file: a few kilobytes of gzip or zstd can stand for
gigabytes, so both are fed in small portions and asked for bounded answers.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Literal

import zstandard

from starskip.storage.files.open_file import open_file

Compression = Literal["none", "gzip", "zstd"]
_MAGIC: tuple[tuple[bytes, Compression], ...] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_GZIP_PORTION_BYTES = 64 << 10
_ZSTD_PORTION_BYTES = 256
"""A zstd block of 4 bytes can hold 128 KiB of text, and its decompressor takes no bound: 8 MiB a portion."""
_ZSTD_WINDOW_BYTES = 128 << 20
"""The window that ``zstd --long`` may need; frames that want more are refused."""
_MOST_DENSE_RATIO = {"gzip": 200, "zstd": 500}
"""Unpacked bytes for each packed byte, beyond which a file is a bomb.

Logs pack to a hundredth at best, a storm of equal stack traces with zstd to a four hundredth. The ratio is
judged once _JUDGED_FROM_BYTES are unpacked.
"""
_JUDGED_FROM_BYTES = 16 << 20


class DamagedFileError(Exception):
    """The file ends or breaks here; everything before has been handed out. ``reason`` is a short code."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep the reason code beside the detail."""
        super().__init__(detail)
        self.reason = reason


def compression_of(head: bytes) -> Compression:
    """Return how a file that begins with ``head`` is compressed."""
    return next((compression for magic, compression in _MAGIC if head.startswith(magic)), "none")


def has_control_characters(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` has what stands in no text as a rule."""
    return bool(_CONTROL.search(head))


def file_blocks(path: str, compression: Compression, first_byte: int, block_bytes: int) -> Iterator[bytes]:
    """Yield the bytes of a file from ``first_byte`` (of a plain file) to the file's end.

    Raises DamagedFileError after the last good byte: "truncated_file", "damaged_file", "unreadable_file" or
    "compression_bomb".
    """
    try:
        with open_file(path) as file:
            if compression == "gzip":
                yield from _gzip_blocks(file, block_bytes)
            elif compression == "zstd":
                yield from _zstd_blocks(file)
            else:
                file.seek(first_byte)
                while block := file.read(block_bytes):
                    yield block
    except OSError as error:
        raise DamagedFileError("unreadable_file", str(error.strerror or error)) from error


def _gzip_blocks(file: BinaryIO, block_bytes: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wbits=31)
    packed_bytes = made_bytes = 0
    while pending := file.read(_GZIP_PORTION_BYTES):
        packed_bytes += len(pending)
        while pending:
            if inflater.eof:
                pending = pending.lstrip(b"\0")  # gzip pads members with zeros on tapes
                if pending:
                    inflater = zlib.decompressobj(wbits=31)
                continue
            before = inflater.copy()
            try:
                block = inflater.decompress(pending, block_bytes)
            except zlib.error as error:
                yield from _up_to_damage(before, pending, block_bytes)
                raise DamagedFileError("damaged_file", f"gzip: {error}") from error
            pending = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            if block:
                yield block
            made_bytes += len(block)
            _check_density("gzip", packed_bytes - len(pending), made_bytes)
    if not inflater.eof:
        yield inflater.flush()
        raise DamagedFileError("truncated_file", "gzip: the stream ends early")


def _up_to_damage(inflater: zlib._Decompress, portion: bytes, block_bytes: int) -> Iterator[bytes]:
    """Yield the content before the damage: zlib drops all output of a failing call."""
    for byte in portion:
        pending = bytes([byte])
        while pending:
            try:
                block = inflater.decompress(pending, block_bytes)
            except zlib.error:
                return
            pending = inflater.unconsumed_tail
            yield block


def _zstd_blocks(file: BinaryIO) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    frame = decompressor.decompressobj()
    packed_bytes = made_bytes = 0
    while pending := file.read(_ZSTD_PORTION_BYTES):
        packed_bytes += len(pending)
        while pending:
            if frame.eof:
                frame = decompressor.decompressobj()
            try:
                block = frame.decompress(pending)
            except zstandard.ZstdError as error:
                raise DamagedFileError("damaged_file", str(error)) from error
            pending = frame.unused_data if frame.eof else b""
            if block:
                yield block
            made_bytes += len(block)
            _check_density("zstd", packed_bytes - len(pending), made_bytes)
    if not frame.eof:
        raise DamagedFileError("truncated_file", "zstd: the stream ends early")


def _check_density(compression: str, packed_bytes: int, made_bytes: int) -> None:
    if made_bytes > _JUDGED_FROM_BYTES and made_bytes > _MOST_DENSE_RATIO[compression] * packed_bytes:
        raise DamagedFileError("compression_bomb", f"{packed_bytes} bytes hold more than {made_bytes}")
