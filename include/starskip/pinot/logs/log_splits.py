"""Cut the files of a broker log into splits: plain files by byte range; others are read whole."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain

from starskip.pinot.logs.joined_lines import HEAD_BYTES, is_wrapped
from starskip.pinot.logs.log_formats import log_formats
from starskip.pinot.logs.record_start import is_binary
from starskip.storage.files.file_blocks import Compression, compression_of
from starskip.storage.files.open_file import file_head

_OPENED_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class LogSplit:
    """A piece of a log file: the records that start at a byte in [start, end); ``end`` None = to the end.

    ``message_field``: the field of JSON objects that holds the broker's line; "" = it is found. ``formats``:
    modules of log formats.
    """

    path: str
    start: int
    end: int | None
    compression: Compression
    message_field: str = ""
    formats: tuple[str, ...] = ()


def log_splits(
    files: Iterable[str], split_bytes: int, message_field: str = "", formats: tuple[str, ...] = ()
) -> tuple[LogSplit, ...]:
    """Cut files into splits of at most ``split_bytes``.

    A file that cannot be read as text is one split, and so is one with something around its records.

    The sizes are the current ones: lines that are appended later are not read.
    """
    if split_bytes < 1:
        raise ValueError(f"split_bytes must be at least 1, not {split_bytes}")
    cut = partial(_file_splits, split_bytes=split_bytes, field=message_field, formats=formats)
    # Each file is opened, which waits for an object store and not for this processor.
    with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
        return tuple(chain.from_iterable(pool.map(cut, files)))


def _file_splits(file: str, split_bytes: int, field: str, formats: tuple[str, ...]) -> list[LogSplit]:
    try:
        head, size = file_head(file, HEAD_BYTES)
    except OSError:  # reading it will say why, beside the other files' records
        return [LogSplit(file, 0, None, "none", field, formats)]
    compression = compression_of(head)
    if compression != "none" or is_binary(head) or is_wrapped(head, field, log_formats(formats)):
        return [LogSplit(file, 0, None, compression, field, formats)]
    return [
        LogSplit(file, start, min(start + split_bytes, size), "none", field, formats)
        for start in range(0, max(size, 1), split_bytes)
    ]
