"""Random tables with secondary indexes, and small blocks and runs to cut them into."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from starskip.file_metadata.refresh_metadata import Clock
from starskip.secondary import IndexedTable, build_run, merge_cuts, merge_segments, run_files, run_reader
from starskip.secondary.lifecycle import create_indexes, refresh_indexes

INDEXES = (
    "btree:n",
    "btree:x",
    "btree:s",
    "btree:d",
    "btree:m",
    "btree:t",
    "btree:flag",
    "btree:p.z",
    "btree:f",
    "btree:u",
    "btree:b",
    "btree:tz",
    "ngram:s",
    "ngram:s:2",
    "rtree:lat,lng",
)
CLOCK = Clock(lambda: datetime.now(UTC), lambda seconds: None)
_EPOCH_S = 1_700_000_000
_LETTERS = "aab bcé𝄞"
_WORDS = ["", "a", "ab", "abc", "abab", "b c", "é", "abcé", "aaaaaaa", "bca bca bca", "a" * 300, "𝄞ab"]
BYTES = [b"", b"\x00", b"a", b"ab", b"\xff", b"\xff\xff"]
_FAR = [float("inf"), float("-inf")]
_START = datetime(2026, 1, 1, tzinfo=UTC)
Random = random.Random


def some_text(draw: Random) -> str:
    """A text of few letters, now and then a long one."""
    if draw.random() < 0.3:
        return draw.choice(_WORDS)
    return "".join(draw.choice(_LETTERS) for _ in range(draw.randrange(12)))


WITHOUT = {"parquet": frozenset[str](), "orc": frozenset({"t"})}
"""Columns that are not asked for by format: it has no such type."""


def indexes_of(file_format: str) -> tuple[str, ...]:
    """The indexes of columns that are asked for."""
    return tuple(each for each in INDEXES if not set(re.split(r"[:,.]", each)[1:]) & WITHOUT[file_format])


def rows_of(draw: Random, count: int, first_id: int, *, is_older: bool = False) -> pa.Table:
    """Rows of all types with nulls, NaN and duplicates; older files lack a column and are narrower."""

    def column(kind: pa.DataType, value: Callable[[], Any], nulls: float = 0.15) -> pa.Array:
        return pa.array([None if draw.random() < nulls else value() for _ in range(count)], kind)

    def number() -> float:
        odd = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0]
        return draw.choice(odd) if draw.random() < 0.2 else draw.randrange(-40, 40) / 4

    def place() -> float:
        return draw.choice(_FAR) if draw.random() < 0.05 else draw.uniform(-5, 5)

    fields = {
        "id": pa.array(range(first_id, first_id + count), pa.int64()),
        "n": column(pa.int16() if is_older else pa.int32(), lambda: draw.randrange(-6, 7)),
        "x": column(pa.float64(), number),
        "s": column(pa.string(), lambda: some_text(draw)),
        "d": column(pa.date32(), lambda: date(2026, 1, 1) + timedelta(days=draw.randrange(30))),
        "t": column(pa.timestamp("us"), lambda: datetime(2026, 1, 1) + timedelta(hours=draw.randrange(50))),
        "flag": column(pa.bool_(), lambda: draw.random() < 0.5),
        "p": column(
            pa.struct([("z", pa.int64()), ("w", pa.string())]),
            lambda: {"z": None if draw.random() < 0.2 else draw.randrange(5), "w": "w"},
        ),
        "lat": column(pa.float64(), lambda: draw.choice([float("nan"), place()]), 0.1),
        "lng": column(pa.float64(), place, 0.1),
        "f": column(pa.float32(), lambda: np.float32(draw.choice([number(), 0.1, 16777216.0]))),
        "u": column(pa.uint64(), lambda: draw.choice([0, 1, 2, 7, 2**63, 2**64 - 1])),
        "b": column(pa.binary(), lambda: draw.choice(BYTES)),
        "tz": column(pa.timestamp("us", "UTC"), lambda: _START + timedelta(hours=draw.randrange(50))),
    }
    if not is_older:
        fields["m"] = column(pa.decimal128(10, 2), lambda: Decimal(draw.randrange(-500, 500)) / 100)
    return pa.table(fields)


@dataclass
class RandomTable:
    """A folder of files that are written, changed and removed; each has a time of its own, long ago."""

    folder: Path
    draw: Random
    next_id: int = 0
    ticks: int = 0
    names: list[str] = field(default_factory=list)
    file_format: str = "parquet"

    def write(self, name: str, *, is_older: bool = False) -> None:
        """Write or overwrite a file, which may be empty."""
        count = self.draw.choice([0, 1, self.draw.randrange(2, 40), self.draw.randrange(40, 120)])
        rows = rows_of(self.draw, count, self.next_id, is_older=is_older)
        self.next_id += count
        path = self.folder / name
        if self.file_format == "parquet":
            pq.write_table(rows, path, row_group_size=self.draw.choice([7, 16, 50, 1000]), **self._pages())
        else:
            write_orc(rows, path, self.draw)
            pq.write_table(rows, self.truth / f"{name}.parquet")
        self.ticks += 1
        os.utime(path, (_EPOCH_S + self.ticks, _EPOCH_S + self.ticks))
        if name not in self.names:
            self.names.append(name)

    @property
    def truth(self) -> Path:
        """The folder of Parquet files with the same rows."""
        if self.file_format == "parquet":
            return self.folder
        found = self.folder.with_name(f"{self.folder.name}-truth")
        found.mkdir(exist_ok=True)
        return found

    def _pages(self) -> dict[str, Any]:
        """Options of a file whose pages hold few rows and are indexed, or of one without a page index."""
        if self.draw.random() < 0.3:
            return {}
        return {
            "write_page_index": True,
            "data_page_size": 1,
            "write_batch_size": self.draw.choice([1, 3, 8]),
            "data_page_version": self.draw.choice(["1.0", "2.0"]),
            "use_dictionary": self.draw.random() < 0.5,
            "compression": self.draw.choice(["snappy", "zstd", "none"]),
        }

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.folder / name).unlink()
        if self.file_format != "parquet":
            (self.truth / f"{name}.parquet").unlink()
        self.names.remove(name)

    def change(self) -> None:
        """Add, overwrite and remove some files."""
        for _ in range(self.draw.randrange(1, 4)):
            action = self.draw.choice(["add", "overwrite", "remove"])
            if action == "add" or len(self.names) < 3:
                self.write(f"f{self.ticks}.{self.file_format}", is_older=self.draw.random() < 0.2)
            elif action == "overwrite":
                self.write(self.draw.choice(self.names[1:]))
            else:
                self.remove(self.draw.choice(self.names[1:]))


def ids_where(table: IndexedTable, where: str, **options: Any) -> list[int]:
    """Return the sorted ids of the rows that satisfy a condition."""
    return sorted(table.query(where, ["id"], **options)["id"].to_pylist())


def random_table(
    folder: Path, seed: int, indexes: tuple[str, ...] | None = None, file_format: str = "parquet"
) -> RandomTable:
    """A table with indexes, of which files may have been added, changed or removed since."""
    table = RandomTable(folder, Random(seed), file_format=file_format)
    table.write(f"first.{file_format}")
    for number in range(table.draw.randrange(1, 4)):
        table.write(f"g{number}.{file_format}", is_older=table.draw.random() < 0.3)
    chosen = indexes_of(file_format) if indexes is None else indexes
    create_indexes(str(folder), chosen, clock=CLOCK, file_format=file_format)
    for _ in range(table.draw.randrange(3)):
        table.change()
        if table.draw.random() < 0.5:
            refresh_indexes(str(folder), clock=CLOCK)
    return table


def write_orc(rows: pa.Table, path: Path, draw: Random) -> None:
    """Write rows as an ORC file, now and then of many stripes."""
    # It has no unsigned numbers, and Spark reads no times with a zone; stripes end with a batch only.
    for name, kind in {"u": pa.decimal128(20, 0), "tz": pa.timestamp("us")}.items():
        rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(kind))
    stripe_size = draw.choice([64, 1 << 20])
    orc.write_table(rows, path, batch_size=draw.choice([1, 8, 32]), stripe_size=stripe_size)


@contextmanager
def small_blocks(draw: Random) -> Iterator[None]:
    """Cut runs in small blocks, and keep few entries as lists, so that small tables have many of both."""
    with pytest.MonkeyPatch.context() as patch:
        rows, together = draw.choice([1, 3, 8, 64]), draw.choice([1, 2, 16])
        patch.setattr(build_run, "BLOCK_ROWS", rows)
        patch.setattr(run_files, "BLOCK_ROWS", rows)
        patch.setattr(run_files, "BITMAPS_TOGETHER", together)
        patch.setattr(run_reader, "BITMAPS_TOGETHER", together)
        patch.setattr(build_run, "LONG_LIST_ENTRIES", draw.choice([1, 2, 24]))
        patch.setattr(build_run, "LONG_GRAM_ENTRIES", draw.choice([1, 2, 24]))
        patch.setattr(build_run, "STOP_LEAST_ROWS", draw.choice([1, 20, 1000]))
        patch.setattr(merge_segments, "RUN_BYTES", draw.choice([1, 500, 20_000]))
        patch.setattr(build_run, "BYTES_AT_ONCE", draw.choice([64, 1 << 20]))
        patch.setattr(merge_cuts, "PART_BYTES", draw.choice([40, 1_000, 1 << 20]))
        yield
