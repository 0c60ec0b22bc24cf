"""Writes the sample's lake table: the rows of ``lineitem`` in many files, as a daily ingest leaves them.

``python lake_table.py FILE.parquet FOLDER [delta]``: with ``delta`` the files are a Delta table, whose log
has the statistics of each file. A row arrives some days after it was shipped, few rows late, and each file
holds the rows that arrived next. So the dates of a file are close together, and its keys are from everywhere.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import convert_to_deltalake

FILES = 96
SEED = 20261120
_USUAL_DELAY_DAYS = 4.0
_LATE_RATIO = 0.02
_MOST_LATE_DAYS = 90


def write_lake_table(source: Path, folder: Path, *, as_delta: bool = False) -> None:
    """Write the rows of ``source`` as FILES Parquet files into ``folder``, the same each time.

    ``as_delta``: with Delta's log beside them.
    """
    rows = pq.read_table(source)
    # TPC-H's generator returns views of text, for which Arrow has few functions.
    rows = rows.cast(pa.schema([(field.name, _plain(field.type)) for field in rows.schema]))
    rows = _arrived(rows)
    folder.mkdir(parents=True, exist_ok=True)
    bounds = np.linspace(0, rows.num_rows, FILES + 1).astype(int)
    for number, (start, end) in enumerate(pairwise(bounds.tolist())):
        part = rows.slice(start, end - start)
        pq.write_table(part, folder / f"part-{number:05d}.parquet", compression="zstd")
    if as_delta:
        convert_to_deltalake(str(folder.absolute()))


def _arrived(rows: pa.Table) -> pa.Table:
    """Return the rows in the order in which they came."""
    random = np.random.default_rng(SEED)
    shipped = rows["l_shipdate"].cast(pa.int32()).to_numpy()
    delay = random.exponential(_USUAL_DELAY_DAYS, len(shipped))
    is_late = random.random(len(shipped)) < _LATE_RATIO
    delay[is_late] = random.uniform(0, _MOST_LATE_DAYS, int(is_late.sum()))
    return rows.take(np.argsort(shipped + delay, kind="stable"))


def _plain(of: pa.DataType) -> pa.DataType:
    return pa.string() if of == pa.string_view() else of


if __name__ == "__main__":
    write_lake_table(Path(sys.argv[1]), Path(sys.argv[2]), as_delta=sys.argv[3:] == ["delta"])
