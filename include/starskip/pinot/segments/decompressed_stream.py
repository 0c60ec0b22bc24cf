"""Read a file as a forward-only stream, gunzipped where it is gzip, within limits on decompressed bytes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import BinaryIO

from starskip.pinot.segments.damaged_segment import DamagedSegment


@dataclass(frozen=True, slots=True)
class TarLimits:
    """Limits of one tarred segment.

    ``decompression_ratio`` counts once ``ratio_free_bytes`` have come out: real segments stay under
    50, runs of zeros reach gzip's 1,032. ``metadata_bytes`` bounds metadata.properties and
    index_map each.
    """

    decompressed_bytes: int = 16 << 30
    decompression_ratio: int = 250
    ratio_free_bytes: int = 64 << 20
    members: int = 100_000
    metadata_bytes: int = 64 << 20


_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW_BITS = 31
_INPUT_BYTES = 1 << 16
_OUTPUT_BYTES = 1 << 18


class DecompressedStream:
    """Forward-only reader; ``path`` names the file in errors."""

    def __init__(self, file: BinaryIO, path: str, limits: TarLimits) -> None:
        self.path = path
        self._file = file
        self._limits = limits
        self._input = file.read(_INPUT_BYTES)
        self._compressed_bytes = len(self._input)
        self._decompressed_bytes = 0
        self._gzip = self._new_gzip() if self._input.startswith(_GZIP_MAGIC) else None
        self._block = b""
        self._position = 0

    def read(self, length: int) -> bytes:
        """Return the next ``length`` bytes, fewer only at the end; raises DamagedSegment."""
        parts = []
        while length > 0:
            if self._position == len(self._block):
                self._block, self._position = self._next_block(), 0
                if not self._block:
                    break
            part = self._block[self._position : self._position + length]
            self._position += len(part)
            length -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _next_block(self) -> bytes:
        if self._gzip is None:
            block, self._input = self._input or self._file.read(_OUTPUT_BYTES), b""
        else:
            block = self._gunzip()
        self._decompressed_bytes += len(block)
        self._check_limits()
        return block

    def _gunzip(self) -> bytes:
        block = b""
        while not block:
            if self._gzip is None or (self._gzip.eof and not self._start_next_member()):
                return b""
            if not self._input and not self._refill():
                raise DamagedSegment(self.path, "truncated_gzip", "the gzip is cut short")
            try:
                block = self._gzip.decompress(self._input, _OUTPUT_BYTES)
            except zlib.error as error:
                raise DamagedSegment(self.path, "corrupt_gzip", f"the gzip is damaged ({error})") from error
            self._input = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail
        return block

    def _start_next_member(self) -> bool:
        """Gzip files may be several, one after the other; zeros behind them are padding."""
        while not self._input.strip(b"\0"):
            if not self._refill():
                return False
        self._gzip = self._new_gzip()
        return True

    def _refill(self) -> bool:
        self._input = self._file.read(_INPUT_BYTES)
        self._compressed_bytes += len(self._input)
        return bool(self._input)

    def _check_limits(self) -> None:
        limits = self._limits
        if self._decompressed_bytes > limits.decompressed_bytes:
            raise DamagedSegment(
                self.path, "too_large", f"unpacks to more than {limits.decompressed_bytes} bytes"
            )
        if (
            self._gzip is not None
            and self._decompressed_bytes > limits.ratio_free_bytes
            and self._decompressed_bytes > limits.decompression_ratio * self._compressed_bytes
        ):
            raise DamagedSegment(
                self.path,
                "too_large",
                f"unpacks to more than {limits.decompression_ratio} times its size, as no segment does",
            )

    @staticmethod
    def _new_gzip() -> zlib._Decompress:
        return zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
