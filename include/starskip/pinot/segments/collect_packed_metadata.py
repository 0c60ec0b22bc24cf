"""Collect the facts of all segments of tables into one JSON file, as Pinot's own tuner does.

Reads segments with the function that stage collect_segment_metadata maps; nothing is published.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from starskip.errors import SourceError, StorageError
from starskip.execution.progress import Progress
from starskip.pinot.segments.facts_table import collect_facts
from starskip.pinot.segments.packed_metadata import PACKED_COLUMNS, packed_metadata
from starskip.pinot.segments.segment_files import segment_listing
from starskip.storage.files.full_disk import full_disk, is_full_disk
from starskip.storage.schemas import DAMAGED_SEGMENTS, TABLE_FACTS

_MOST_NAME_CHARACTERS = 40

FILE_NAME = "metadata.json"
"""The name that the original gives the file in the given folder."""


@dataclass(frozen=True, slots=True)
class PackedTable:
    """Counts of the packed metadata of one table."""

    segments: int
    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class CollectedMetadata:
    """The file, its counts by table, DAMAGED_SEGMENTS rows, and tables that have no segments."""

    path: Path
    tables: dict[str, PackedTable]
    damaged: list[dict[str, Any]]
    warnings: tuple[str, ...]


def collect_packed_metadata(
    segments_root: str, tables: Sequence[str], out: Path, progress: Progress
) -> CollectedMetadata:
    """Read the segments of ``tables`` (of all, if none is named) and write the file whole or not at all.

    ``out``: a file, or a folder that gets a ``metadata.json``. A damaged segment is set aside; raises
    SourceError for a named table without a readable segment, or if no table has one.
    """
    path = out / FILE_NAME if out.is_dir() else out
    if not path.parent.is_dir():
        raise StorageError(f"{path}: its folder does not exist", location=str(path))
    if path.exists() and not path.is_file():
        # Renaming the new file onto a device, such as /dev/null, would remove the device for the whole
        # machine.
        raise StorageError(f"{path}: is no file that could be replaced: give another one", location=str(path))
    files, warnings = segment_listing(segments_root, tables or None)
    facts, damaged = [TABLE_FACTS.empty_table().select(PACKED_COLUMNS)], [DAMAGED_SEGMENTS.empty_table()]
    for of_file, damaged_file in collect_facts(progress("reading segments", files)):
        facts.append(of_file.select(PACKED_COLUMNS))
        damaged.append(damaged_file)
    collected = pa.concat_tables(facts)
    set_aside = pa.concat_tables(damaged).to_pylist()
    found = _counted(collected)
    for table in dict.fromkeys(file.table for file in files):
        if table not in found:
            problem = f"table {table}: none of its segments can be read"
            if table in tables or not found:
                reasons = "; ".join(f"{row['source_file']}: {row['reason']}" for row in set_aside[:1])
                raise SourceError(f"{problem}: {reasons}", source=table)
            warnings.append(problem)
    _write(path, packed_metadata(collected))
    return CollectedMetadata(path, found, set_aside, tuple(warnings))


def _counted(facts: pa.Table) -> dict[str, PackedTable]:
    segments = facts.group_by(["table", "source_file"]).aggregate([("rows", "max"), ("column", "count")])
    by_table = segments.group_by("table").aggregate([("rows_max", "sum"), ("source_file", "count")])
    columns = facts.group_by("table").aggregate([("column", "count_distinct")])
    distinct = dict(
        zip(columns["table"].to_pylist(), columns["column_count_distinct"].to_pylist(), strict=True)
    )
    return {
        row["table"]: PackedTable(row["source_file_count"], distinct[row["table"]], row["rows_max_sum"])
        for row in sorted(by_table.to_pylist(), key=lambda row: row["table"])
    }


def _write(path: Path, pieces: Iterable[str]) -> None:
    """Write beside the file and put it in place, so that a reader never sees half of it.

    The target of a symbolic link is replaced, not the link.
    """
    place = Path(os.path.realpath(path))
    temporary = place.with_name(f".{place.name[:_MOST_NAME_CHARACTERS]}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        temporary.replace(place)
    except OSError as error:
        if is_full_disk(error):
            raise full_disk(error, path) from error
        raise StorageError(f"{path}: cannot be written: {error.strerror}", location=str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
