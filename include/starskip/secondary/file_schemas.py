"""Read the columns of a table's files, by tasks where the files are many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from starskip.errors import SourceError, SourceOutage
from starskip.lake.parquet.parquet_footers import (
    Damaged,
    NoRows,
    RunTasks,
    each_footer,
    file_schema,
    parquet_footers,
)
from starskip.secondary.data_file import DataFileOfTable, reading

_FILES_PER_TASK = 256
_FEW_TASKS = 2
"""Fewer tasks are run in this process."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The first file of a task that has a schema."""

    path: str
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class _Unread:
    """A file that cannot be read: a value, since engines keep little of an error's class."""

    path: str
    reason: str


def file_schemas(
    files: Sequence[DataFileOfTable], run_tasks: RunTasks | None = None
) -> Mapping[pa.Schema, str]:
    """Return the distinct schemas of files, each with the path of the first file that has it.

    Damaged files are left out, unless all are damaged. ``run_tasks`` runs a function over many files. Raises
    SourceError naming a file if none is sound.
    """
    parquet = [file.path for file in files if not file.is_orc and file.size_bytes]
    found: dict[pa.Schema, str] = {}
    for schema, path in _of_parquet(parquet, run_tasks) if parquet else ():
        found.setdefault(schema, path)
    orc = [file for file in files if file.is_orc and file.size_bytes]
    tasks = [orc[at : at + _FILES_PER_TASK] for at in range(0, len(orc), _FILES_PER_TASK)]
    if run_tasks is None or len(tasks) < _FEW_TASKS:
        told = [each for task in tasks for each in _of_task(task)]
    else:
        told = [each for of_task in run_tasks("reading columns", tasks, _of_task) for each in of_task]
    for each in told:
        if isinstance(each, _Read):
            found.setdefault(each.schema, each.path)
    failed = next((each for each in told if isinstance(each, _Unread)), None)
    if failed is not None and not found:
        raise SourceError(failed.reason, source=failed.path)
    return found


def _of_parquet(paths: Sequence[str], run_tasks: RunTasks | None) -> Iterator[tuple[pa.Schema, str]]:
    try:
        footers = parquet_footers(paths, run_tasks)
        yield from [(footer.schema, path) for footer, path in zip(footers, paths, strict=True)]
    except SourceOutage:
        raise
    except SourceError:
        without = (NoRows, Damaged, type(None))
        told = zip(each_footer(paths), paths, strict=True)
        sound = [(footer, path) for footer, path in told if not isinstance(footer, without)]
        if not sound:
            raise
        yield from [(file_schema(footer), path) for footer, path in sound]


def _of_task(files: Sequence[DataFileOfTable]) -> list[_Read | _Unread]:
    found: dict[pa.Schema, str] = {}
    unread = []
    for file in files:
        try:
            with reading(file.path):
                found.setdefault(file.orc().schema, file.path)
        except SourceOutage:
            raise
        except SourceError as error:
            unread.append(_Unread(file.path, str(error)))
    return [*(_Read(path, schema) for schema, path in found.items()), *unread[:1]]
