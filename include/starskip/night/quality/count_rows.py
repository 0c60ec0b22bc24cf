"""Count what a gate asks of a large artefact, where the rows are, for all tables in one pass.

The stage counts right after it has published; the counts are an artefact beside its own. The gate, which
judges them on another machine, reads no row of a query or a segment.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.gate import Counts, Measure
from starskip.advisor.run.gate_verdicts import usable_tables
from starskip.advisor.run.night import Night
from starskip.errors import StorageError, StorageOutage
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_messages
from starskip.skipping.value_hash import spread, value_hashes
from starskip.storage.commit_messages import COMMIT_MESSAGES, parts_of, write_tables
from starskip.storage.manifest import Part
from starskip.storage.schemas import TABLE_FACTS_COUNTS
from starskip.storage.snapshot import Snapshot

_COUNTED = TABLE_FACTS_COUNTS
_KEYS = pa.schema([("table", pa.string()), ("bucket", pa.int32()), ("key", pa.int64())])
_REPEATED = pa.schema([("table", pa.string()), ("repeated", pa.int64())])
ROWS_A_BATCH = 65_536
"""Rows that are read at once of an artefact that grows with the log or with the segments."""
_KEYS_A_BUCKET = 4_000_000
_MOST_BUCKETS = 1_000_000
_DUPLICATES = "duplicates"
_UNREADABLE = "unreadable"

Row = dict[str, Any]


def count(condition: pc.Expression) -> Measure:
    """Return the number of rows for which ``condition`` is true."""
    return Measure(condition.cast(pa.int64()), "sum")


def count_missing(column: str) -> Measure:
    """Return the number of rows without a value in ``column``."""
    return count(pc.field(column).is_null())


def exact_sum(column: str) -> dict[str, Measure]:
    """Return the two measures of a sum of int64 that may itself need more bits; see ``sum_of``."""
    value = pc.field(column)
    return {
        f"{column}_high": Measure(pc.shift_right(value, 32), "sum"),
        f"{column}_low": Measure(pc.bit_wise_and(value, 0xFFFFFFFF), "sum"),
    }


def sum_of(row: Mapping[str, Any], column: str) -> int:
    """Return the sum that ``exact_sum`` measured."""
    return int(row[f"{column}_high"] << 32) + int(row[f"{column}_low"])


def publish_counts(engine: Engine, night: Night, artefact: str, stage: str, counts: Counts) -> None:
    """Publish what ``counts`` asks of ``artefact``, which ``stage`` has just published.

    A table whose files cannot be read has that as its count. "other_tables" is counted for each gate: rows
    that name another table than their part's.
    """
    snapshot = published(night, artefact)
    tables = usable_tables(night, artefact, stage)
    staged = night.store.staged_write(f"{artefact}_counts", night.date_text)
    measured = engine.rows_of_items(snapshot.by_file(tables), partial(_measured, counts), _COUNTED)
    folded = measured.merge(["table"], partial(_folded, counts), _COUNTED)
    messages = gather_messages(
        engine, folded.map(partial(write_tables, staged), COMMIT_MESSAGES), [staged], f"counts of {artefact}"
    )
    files = {**dict.fromkeys(tables, Part(())), **parts_of(messages, staged.artefact)}
    repeated = _duplicates(engine, snapshot, tables, counts)
    night.publish(
        staged.artefact,
        {table: Part(part.files, {_DUPLICATES: repeated.get(table, 0)}) for table, part in files.items()},
    )


def counted(night: Night, artefact: str, table: str) -> tuple[list[Row], int]:
    """Return the counts of the table, a row for each value of ``Counts.by``, and its duplicate rows.

    Raises StorageError for a table whose rows could not be counted.
    """
    snapshot = published(night, f"{artefact}_counts")
    rows = [json.loads(text) for text in snapshot.read_table([table])["counts"].to_pylist()]
    for row in rows:
        if _UNREADABLE in row:
            raise StorageError(row[_UNREADABLE], location=artefact)
    part = snapshot.parts([table]).get(table)
    return rows, part.properties[_DUPLICATES] if part else 0


def counted_row(night: Night, artefact: str, table: str, counts: Counts) -> tuple[Row, int]:
    """Return the one row of counts that are not divided ``by`` anything; of no rows, if there are none."""
    rows, duplicates = counted(night, artefact, table)
    none = {name: 0 if measure.fold == "sum" else None for name, measure in counts.measures.items()}
    return (rows[0] if rows else {**none, "other_tables": 0}), duplicates


def _measured(counts: Counts, files: Iterable[Snapshot]) -> Iterator[pa.RecordBatch]:
    """Yield the counts of each file, as rows of its part's table."""
    for file in files:
        (table,) = file.tables
        is_other = (pc.field("table") != table) | pc.field("table").is_null()
        measures = {**counts.measures, "other_tables": count(is_other)}
        columns = {name: pc.field(name) for name in counts.by} | {
            n: m.expression for n, m in measures.items()
        }
        folds = [(name, measure.fold) for name, measure in measures.items()]
        held: list[Row] = []
        try:
            for batch in file.batches([table], columns, ROWS_A_BATCH):
                grouped = pa.Table.from_batches([batch]).group_by(list(counts.by)).aggregate(folds)
                names = [*counts.by, *(f"{name}_{fold}" for name, fold in folds)]
                rows = grouped.select(names).rename_columns(list(columns)).to_pylist()
                held = _fold_rows(counts.by, measures, [*held, *rows])
        except StorageOutage:
            raise
        except StorageError as error:
            held = [{_UNREADABLE: str(error)}]
        yield _batch(table, held)


def _batch(table: str, rows: Iterable[Row]) -> pa.RecordBatch:
    texts = [json.dumps(row) for row in rows]
    return pa.RecordBatch.from_arrays(
        [pa.array([table] * len(texts)), pa.array(texts, pa.string())], _COUNTED.names
    )


def _folded(counts: Counts, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    of_tables: dict[str, list[Row]] = {}
    for batch in batches:
        for table, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            of_tables.setdefault(table, []).append(json.loads(text))
    measures = {**counts.measures, "other_tables": count(pc.scalar(True))}
    for table, rows in of_tables.items():
        unreadable = [row for row in rows if _UNREADABLE in row]
        yield _batch(table, unreadable[:1] or _fold_rows(counts.by, measures, rows))


def _fold_rows(by: Collection[str], measures: Mapping[str, Measure], rows: Iterable[Row]) -> list[Row]:
    """Return one row for each value of ``by``; whole numbers of Python do not wrap around."""
    folds = {"sum": _sum, "min": _least, "max": _greatest}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        dict(zip(by, key, strict=True))
        | {name: folds[each.fold]([row[name] for row in group]) for name, each in measures.items()}
        for key, group in groups.items()
    ]


def _sum(values: Iterable[int | None]) -> int:
    return sum(value or 0 for value in values)


def _least(values: Iterable[Any]) -> Any:
    return min((value for value in values if value is not None), default=None)


def _greatest(values: Iterable[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)


def _duplicates(
    engine: Engine, snapshot: Snapshot, tables: Collection[str], counts: Counts
) -> dict[str, int]:
    """Return the number of rows, by table, whose key an earlier row has already.

    Keys are compared by 64-bit hashes: two keys of 10 million are taken for one with a probability of 3 in a
    million. The keys of a large table are divided among several tasks.
    """
    parts = snapshot.parts(tables)
    buckets = {table: 1 + part.rows // _KEYS_A_BUCKET for table, part in parts.items()}
    keys = engine.rows_of_items(snapshot.by_file(tables), partial(_hashed_keys, counts, buckets), _KEYS)
    rows = keys.merge(["table", "bucket"], _repeated, _REPEATED).gather("repeated keys", _MOST_BUCKETS)
    found = rows.group_by("table").aggregate([("repeated", "sum")])
    return dict(zip(found["table"].to_pylist(), found["repeated_sum"].to_pylist(), strict=True))


def _hashed_keys(
    counts: Counts, buckets: Mapping[str, int], files: Iterable[Snapshot]
) -> Iterator[pa.RecordBatch]:
    for file in files:
        (table,) = file.tables
        try:
            for batch in file.batches([table], counts.key, ROWS_A_BATCH):
                hashes = np.zeros(batch.num_rows, np.uint64)
                for salt, column in enumerate(batch.columns):
                    hashes = spread(hashes ^ value_hashes(column, salt))
                bucket = (hashes % np.uint64(buckets[table])).astype(np.int32)
                names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(hashes), np.int32)), [table])
                yield pa.RecordBatch.from_arrays(
                    [names.cast(pa.string()), bucket, hashes.view(np.int64)], schema=_KEYS
                )
        except StorageOutage:
            raise
        except StorageError:
            continue  # the counts of the table say so


def _repeated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held: dict[tuple[str, int], list[Any]] = {}
    for batch in batches:
        places = pa.Table.from_batches([batch]).group_by(["table", "bucket"]).aggregate([])
        for table, bucket in zip(*(places[name].to_pylist() for name in _KEYS.names[:2]), strict=True):
            here = pc.and_(pc.equal(batch.column("table"), table), pc.equal(batch.column("bucket"), bucket))
            held.setdefault((table, bucket), []).append(batch.column("key").filter(here).to_numpy())
    for (table, _), arrays in held.items():
        keys = np.sort(np.concatenate(arrays))
        count_of_table = int(np.count_nonzero(keys[1:] == keys[:-1]))
        yield pa.RecordBatch.from_pylist([{"table": table, "repeated": count_of_table}], _REPEATED)
