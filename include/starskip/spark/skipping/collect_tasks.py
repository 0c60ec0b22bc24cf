"""Run tasks that collect metadata, assign files to them, and translate their failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from starskip.errors import SourceError, StarskipError, printable
from starskip.file_metadata.collect_order import (
    FILES,
    Collection,
    CollectOrder,
    CommitMessage,
    collection_of,
)
from starskip.file_metadata.commit_refresh import PlanOvertaken
from starskip.file_metadata.metadata_files import FILES_SCHEMA
from starskip.file_metadata.table_files import DamagedFiles
from starskip.file_metadata.write_collected import Groups, write_collected
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.map_in_arrow import map_in_arrow
from starskip.spark.skipping.table_relation import one_slash
from starskip.spark.understood_failure import understood_failure
from starskip.storage.checked_parquet import checked_parquet, opened_parquet
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

_MESSAGES = pa.schema(
    [
        ("segment", pa.int64()),
        ("group", pa.string()),
        ("position", pa.int64()),
        ("name", pa.string()),
        ("size_bytes", pa.int64()),
        ("rows", pa.int64()),
        ("footer", pa.string()),
    ]
)
_FILES_PER_TASK = 50_000
"""The bounds of this many files take some megabytes; with fewer files there is one task for each core."""
_LEAST_FILES_PER_TASK = 64
_GONE = ("FILE_NOT_EXIST", "FileNotFoundException", "READ_FILE_ERROR.FILE_NOT_EXIST")
_DENIED = "(Permission denied)"
"""The message for an unreadable local file, which Spark reports as not found."""
_CAUSE = re.compile(r"^Caused by: (?:([\w.$]+): )?(.+)$", re.MULTILINE)
_OF_A_FILE = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (.+)")
_OF_CONTENT = ("NO_HINT", "CANNOT_READ_FILE_FOOTER")
_NOT_OF_CONTENT = re.compile(
    # Spark's own errors: types that differ from the table's, dates of old calendars.
    r"org\.apache\.spark\."
    # Stores and networks.
    r"|javax?\.(?:net|security|nio\.file)\.|(?:com|software)\.amazon|com\.(?:google|microsoft|azure)\."
    r"|org\.apache\.(?:http|hadoop\.(?:fs\.(?!ChecksumException)|ipc|hdfs|security|net))"
    # Machines and programs: OutOfMemoryError, a missing codec.
    r"|java\.lang\.\w+Error$|\w*ClassNotFoundException$|.*BadConfigurationException$"
    r"|.*(?:Interrupted|Timeout|AccessDenied|AccessControl|Crypto|Unsupported|ClassCast|AvroType"
    r"|ConvertNotSupported|IllegalEvolution|IncompatibleSchema)\w*$"
)


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """The files of an order, stored as one Parquet file with a row group for each task."""

    staged: StagedWrite
    file: DataFile
    rows_per_task: int
    tasks: int
    key: DataKey | None

    def of_task(self, task: int) -> pa.Table:
        """Return path, encoded path, size_bytes, modified_ms and trusted of a task's files."""
        decryption = None if self.key is None else self.key.decryption(self.file.name)
        with self.staged.storage.arrow_filesystem().open_input_file(self.file.name) as opened:
            return opened_parquet(opened, self.file, decryption=decryption).read_row_group(task)

    def start(self, task: int) -> int:
        """Return the position in the order of a task's first file."""
        return task * self.rows_per_task


def run_tasks(
    session: SparkSession,
    order: CollectOrder,
    encoded_paths: pa.Array,
    staged: StagedWrite,
    frame_of: Callable[[TaskFiles], DataFrame],
) -> Collection:
    """Run the DataFrame of messages that ``frame_of`` returns, and merge the messages.

    Raises the errors of ``reading_failures``.
    """
    count = len(order.files)
    if not count or not (order.indexes or order.with_files):
        return collection_of(order, [])
    cores = session.sparkContext.defaultParallelism
    tasks = min(-(-count // _LEAST_FILES_PER_TASK), max(cores, -(-count // _FILES_PER_TASK)))
    rows_per_task = -(-count // tasks)
    # The shuffle has one row for each file: 200 tasks would take longer than reading a small table.
    session.conf.set("spark.sql.shuffle.partitions", max(cores, min(200, count // _LEAST_FILES_PER_TASK)))
    table = order.files.append_column("encoded", encoded_paths)
    name, key = staged.new_name("listing", "listing.parquet"), order.listing_key
    encryption = None if key is None else key.encryption(name)
    content = checked_parquet(table, name, row_group_size=rows_per_task, encryption=encryption)
    listing = staged.write_named(name, content.to_pybytes())
    try:
        with reading_failures(order, encoded_paths):
            files = TaskFiles(staged, listing, rows_per_task, -(-count // rows_per_task), key)
            messages = frame_of(files).toArrow()
    finally:
        staged.storage.delete(name)
    return collection_of(order, [_message_of(row) for row in messages.to_pylist()])


@contextmanager
def reading_failures(order: CollectOrder, encoded_paths: pa.Array) -> Iterator[None]:
    """Raise PlanOvertaken if files were removed while they were read, DamagedFiles if one cannot be read.

    Other failures of a task are raised as StarskipError.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if any(sign in str(error) for sign in _GONE) and _DENIED not in str(error):
            raise PlanOvertaken("files were removed while they were read; run this again") from error
        raise _understood(error, order, encoded_paths) from error


def _understood(error: Exception, order: CollectOrder, encoded_paths: pa.Array) -> Exception:
    """Translate a failure of a task into an error of one line."""
    found = understood_failure(error)
    if isinstance(found, StarskipError):
        return found
    text = str(error)
    causes = [message for _, message in _CAUSE.findall(text)]
    cause = printable(
        (causes or re.findall(r"^\w*(?:Error|Exception): .+$", text, re.MULTILINE) or [text])[-1]
    )
    every = list(_OF_A_FILE.finditer(text))
    if not every:
        return StarskipError(f"collecting has failed: {cause}")
    last = every[-1]
    path = _listed_path(last[2], order, encoded_paths)
    classes = [name or message for name, message in _CAUSE.findall(text, last.end())]
    is_content = last[1] in _OF_CONTENT and classes and not any(map(_NOT_OF_CONTENT.match, classes))
    if path is not None and (is_content or _DENIED in cause):
        return DamagedFiles({path: cause})
    name = path or unquote(re.split(r"\.(?:\s|$)", last[2])[0])
    return SourceError(f"{printable(name)}: cannot be read: {cause}", source=name)


def _listed_path(sentences: str, order: CollectOrder, encoded_paths: pa.Array) -> str | None:
    """Return the listed path, encoded or not, at the beginning of ``sentences``, None if there is none."""
    paths = order.files["path"]
    for end in reversed([found.start() for found in re.finditer(r"\.(?=\s|$)", sentences)]):
        named = one_slash(pa.array([sentences[:end]]))[0]
        for names in (encoded_paths, paths):
            at = pc.index(names, named).as_py()
            if at >= 0:
                path: str = paths[at].as_py()
                return path
    return None


def written(
    files: TaskFiles, order: CollectOrder, found: Iterator[tuple[int, Groups]]
) -> Iterator[pa.RecordBatch]:
    """Write a task's metadata and yield the messages as rows."""
    for message in write_collected(files.staged, order.row_counts, found, keys=order.keys):
        row = {
            "segment": message.segment,
            "group": message.group,
            "position": message.position,
            "name": message.file.name,
            "size_bytes": message.file.size_bytes,
            "rows": message.file.rows,
            "footer": message.file.footer,
        }
        yield pa.RecordBatch.from_pylist([row], schema=_MESSAGES)


def with_messages(
    frame: DataFrame, function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> DataFrame:
    """Return the messages that ``function`` yields for each partition."""
    return map_in_arrow(frame, function, _MESSAGES)


def groups_of(order: CollectOrder, files: pa.Table, rows: pa.Array, aggregates: Aggregates) -> Groups:
    """Return the groups of columns of some files: the files themselves, and each index's metadata."""
    found: dict[str, pa.Table] = {}
    if order.with_files:
        own = {name: files[name] for name in FILES_SCHEMA.names if name != "rows"}
        found[FILES] = pa.table({**own, "rows": rows}).select(FILES_SCHEMA.names).cast(FILES_SCHEMA)
    for number, index in enumerate(order.indexes):
        found[index.specification] = _finished(index, aggregates(number), files)
    return found


Aggregates = Callable[[int], pa.Table]
"""Returns the aggregates of an index by its number in the order."""


def _finished(index: SkippingIndex, aggregates: pa.Table, files: pa.Table) -> pa.Table:
    """Return an index's metadata columns; null for a file without a path."""
    kept = pa.table(dict(index.finish(aggregates)))
    if kept.num_rows != aggregates.num_rows:
        raise StarskipError(
            f"{index.specification}: finish() gave {kept.num_rows} rows for {aggregates.num_rows} files"
        )
    if files["path"].null_count:
        kept = kept.take(pa.array(np.arange(len(files)), mask=np.asarray(files["path"].is_null())))
    return kept


def _message_of(row: Mapping[str, Any]) -> CommitMessage:
    file = DataFile(row["name"], row["size_bytes"], row["rows"], row["footer"])
    return CommitMessage(row["segment"], row["group"], row["position"], file)
