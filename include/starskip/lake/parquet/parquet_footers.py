"""Reads footers of Parquet files: the columns and their types, and the rows of each row group.

The one place that opens files for their footers; ``footer_bounds`` makes bounds of columns from them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from starskip.errors import SourceError, SourceOutage, first_line
from starskip.lake.spark_types import TYPE_TEXT
from starskip.storage.files.bytes_read import add_bytes_read, sharing_count
from starskip.storage.files.local_file import local_failures, open_local
from starskip.storage.files.object_reader import open_at_end
from starskip.storage.files.object_url import local_path, object_url
from starskip.storage.files.open_file import file_size

RunTasks = Callable[[str, Sequence[Any], Callable[[Any], Any]], list[Any]]
"""Runs a function over items, as ``execution.engine_tasks`` does."""

_REQUESTS = 8
_FOOTERS_PER_TASK = 256
_FEW_FOOTERS = 512
"""More footers are read by tasks, where an engine is given."""
_ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
_MAGIC = (b"PAR1", b"PARE")
_END_BYTES = 8
"""The length of the footer, and the magic number."""
_SIGNATURE_BYTES = 28
"""Behind the footer of a file with encrypted columns under a plain footer: a nonce and a tag."""
_LEAST_BYTES = 12
"""The magic number twice, and the length of the footer."""


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """A file's columns and the rows of its row groups; ``schema`` comes from ``file_schema``."""

    schema: pa.Schema
    row_group_rows: tuple[int, ...]


class NoRows:
    """Stands for the footer of an empty file, in which Spark sees no rows."""

    num_rows = 0


class Damaged:
    """Stands for the footer of a file without a footer."""


def open_footer(path: str) -> Any:
    """Return the footer of a file by its path or URL.

    Raises OSError and pa.ArrowException for a file that cannot be read, such as one with encrypted
    columns, and SourceError for a store or a disk.
    """
    url = object_url(path)
    if url is None:
        with local_failures(path):
            found = pq.read_metadata(str(local_path(path)))
        with open_local(local_path(path)) as opened:
            footer_bytes = _footer_bytes(opened)
    else:
        reader = open_at_end(url)
        found = pq.read_metadata(reader)
        footer_bytes = _footer_bytes(reader)
    if footer_bytes == found.serialized_size + _SIGNATURE_BYTES:
        # A plain footer of encrypted columns. Asked for their statistics, Arrow ends the process.
        raise OSError("its columns are encrypted")
    add_bytes_read(found.serialized_size)
    return found


def _footer_bytes(opened: Any) -> int:
    opened.seek(-_END_BYTES, io.SEEK_END)
    return int.from_bytes(opened.read(4), "little")


def parquet_footers(paths: Sequence[str], run_tasks: RunTasks | None = None) -> list[ParquetFooter]:
    """Return the footer of each file, read by tasks where the files are many.

    Raises SourceError naming a file that cannot be read.
    """
    if run_tasks is None or len(paths) <= _FEW_FOOTERS:
        return _together(_footers_of(paths))
    pieces = [paths[start : start + _FOOTERS_PER_TASK] for start in range(0, len(paths), _FOOTERS_PER_TASK)]
    found = run_tasks("reading footers", pieces, _footers_of)
    return _together([footer for of_piece in found for footer in of_piece])


def counted_rows(path: str) -> int | None:
    """Return the rows of a file by its footer; None for a file that is gone or damaged."""
    try:
        return int(open_footer(path).num_rows)
    except SourceOutage:
        raise
    except (OSError, SourceError, pa.ArrowException):
        return None


def each_footer(paths: Sequence[str | None]) -> list[Any]:
    """Return each file's footer, ``NoRows`` or ``Damaged``; None where it is not known.

    Raises SourceOutage and SourceError for a store that cannot be asked.
    """
    return _mapped(_footer, paths)


def _footers_of(paths: Sequence[str]) -> list[ParquetFooter]:
    return _mapped(_parquet_footer, paths)


def _mapped(function: Callable[[Any], Any], paths: Sequence[str | None]) -> list[Any]:
    # Reading footers from a store is waiting, which threads share; from a disk it is work, which they would
    # not.
    if any(path is not None and object_url(path) is not None for path in paths):
        with ThreadPoolExecutor(_REQUESTS, initializer=sharing_count()) as pool:
            return list(pool.map(function, paths))
    return [function(path) for path in paths]


def _parquet_footer(path: str) -> ParquetFooter:
    try:
        footer = open_footer(path)
        rows = tuple(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
        return ParquetFooter(file_schema(footer), rows)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path}: cannot be read ({first_line(error)})", source=path) from error


def file_schema(footer: Any) -> pa.Schema:
    """Return a file's columns, with no metadata but the types by which Spark pads CHAR(n).

    Spark writes a Delta table's whole types into the columns' metadata, and heeds them where it reads such
    files as plain ones.
    """
    schema = footer.schema.to_arrow_schema().remove_metadata()
    told = (footer.metadata or {}).get(_ROW_METADATA, b"")
    if TYPE_TEXT.encode() not in told:
        return schema
    try:
        texts = {each["name"]: each["metadata"].get(TYPE_TEXT) for each in json.loads(told)["fields"]}
    except (ValueError, LookupError, TypeError, AttributeError):
        return schema  # Spark, too, goes on without types that it cannot read.
    return pa.schema(
        [each.with_metadata({TYPE_TEXT: text} if (text := texts.get(each.name)) else None) for each in schema]
    )


def _together(footers: list[ParquetFooter]) -> list[ParquetFooter]:
    # Files of one table mostly have the same schema, which then is kept once.
    kept: dict[bytes, pa.Schema] = {}
    return [
        ParquetFooter(kept.setdefault(each.schema.serialize().to_pybytes(), each.schema), each.row_group_rows)
        for each in footers
    ]


def _footer(path: str | None) -> Any:
    if path is None:
        return None
    try:
        is_empty = object_url(path) is None and not file_size(path)
        return NoRows() if is_empty else open_footer(path)
    except SourceOutage:
        raise
    except (OSError, ValueError, SourceError, pa.ArrowException):
        return Damaged() if _has_no_footer(path) else None


def _has_no_footer(path: str) -> bool:
    """Return whether a file that cannot be read does not end as Parquet files do, encrypted ones too."""
    try:
        url = object_url(path)
        with open_local(local_path(path)) if url is None else open_at_end(url) as opened:
            size = opened.seek(0, io.SEEK_END)
            if size < _LEAST_BYTES:
                return True
            opened.seek(size - _END_BYTES)
            tail = opened.read(_END_BYTES)
    except SourceOutage:
        raise
    except (OSError, SourceError):
        return False
    footer_bytes = int.from_bytes(tail[:4], "little")
    return tail[4:] not in _MAGIC or footer_bytes > size - _LEAST_BYTES
