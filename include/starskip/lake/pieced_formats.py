"""The formats of files that are read in pieces, and the options of ``spark.read`` that each understands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from starskip.lake.avro_file import AvroFile
from starskip.lake.csv_file import CsvFile, csv_options
from starskip.lake.data_pieces import PiecedFile, UnlikeSpark
from starskip.lake.json_lines_file import JsonLinesFile
from starskip.lake.orc_file import OrcFile

TEXT_FORMATS = ("json", "csv")
"""Formats whose files tell their columns by all of their lines."""
OPTIONS: Mapping[str, frozenset[str]] = {
    "csv": frozenset({"header", "sep", "delimiter", "nullvalue", "inferschema"})
}
"""Options of ``spark.read`` that are understood, in small letters, by format; others are refused."""
_FILES = 1_024

Options = tuple[tuple[str, str], ...]


@lru_cache(maxsize=_FILES)
def pieced_file(
    file_format: str, path: str, size_bytes: int, modified_ms: int, options: Options
) -> PiecedFile:
    """Return a file by its path and identity; what its end tells is kept with it.

    Raises ValueError for a format that is not read in pieces.
    """
    if file_format == "orc":
        return OrcFile(path, size_bytes, modified_ms)
    if file_format == "avro":
        return AvroFile(path, size_bytes, modified_ms)
    if file_format == "json":
        return JsonLinesFile(path, size_bytes, modified_ms)
    if file_format == "csv":
        return CsvFile(path, size_bytes, modified_ms, csv_options(dict(options)))
    raise ValueError(f"{file_format} files are not read in pieces")


def why_not_understood(file_format: str, options: Mapping[str, str]) -> str | None:
    """Return why files of a format are not read with some options of ``spark.read``, None if they are."""
    known = OPTIONS.get(file_format, frozenset())
    for name in options:
        if name.lower() not in known:
            others = f"but {', '.join(sorted(known))}" if known else "and no other"
            return f"option {name} is not understood of {file_format} files, {others}"
    try:
        if file_format == "csv":
            csv_options(options)
    except UnlikeSpark as error:
        return str(error)
    return None
