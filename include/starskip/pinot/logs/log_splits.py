"""Cut the files of a broker log into splits: plain files by byte range, compressed ones are read whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from starskip.pinot.logs.record_start import SNIFFED_BYTES, is_binary
from starskip.storage.files.file_blocks import Compression, compression_of
from starskip.storage.files.open_file import file_head


@dataclass(frozen=True, slots=True)
class LogSplit:
    """A piece of a log file: the records that start at a byte in [start, end); ``end`` None = to the end."""

    path: str
    start: int
    end: int | None
    compression: Compression


def log_splits(files: Iterable[str], split_bytes: int) -> tuple[LogSplit, ...]:
    """Cut files into splits of at most ``split_bytes``; a file that cannot be read as text is one split.

    The sizes are the current ones: lines that are appended later are not read.
    """
    if split_bytes < 1:
        raise ValueError(f"split_bytes must be at least 1, not {split_bytes}")
    return tuple(split for file in files for split in _file_splits(file, split_bytes))


def _file_splits(file: str, split_bytes: int) -> list[LogSplit]:
    try:
        head, size = file_head(file, SNIFFED_BYTES)
    except OSError:
        return [LogSplit(file, 0, None, "none")]  # reading it will say why, beside the other files' records
    compression = compression_of(head)
    if compression != "none" or is_binary(head):
        return [LogSplit(file, 0, None, compression)]
    return [
        LogSplit(file, start, min(start + split_bytes, size), "none")
        for start in range(0, max(size, 1), split_bytes)
    ]
