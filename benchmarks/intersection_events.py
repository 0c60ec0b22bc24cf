"""Writes the events of parts 3 and 4, and generates the questions that are asked of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_FILE = 250_000
MOST_HITS = 1_000
PAGE_BYTES = 8_192
"""Of a data page: whoever looks up single rows writes small ones."""
_BATCH_ROWS = 128
"""Rows after which Arrow looks whether a page is full."""
_WORDS = 4_000
_DAYS = 30
_START = np.datetime64("2026-10-24", "us")
_OLD = 1_700_000_000
"""A time of change long ago: what changed within two seconds is not indexed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A WHERE of a time range, a box and a text, and the ids of its rows in order.

    ``word`` and ``rest``: the text, and the WHERE without it.
    """

    rest: str
    word: str
    ids: tuple[int, ...]

    @property
    def where(self) -> str:
        """The whole condition."""
        return f"{self.rest} AND message LIKE '%{self.word}%'"


def write_events(
    folder: Path, rows: int, row_group_rows: int, rows_a_file: int = ROWS_A_FILE, page_bytes: int = PAGE_BYTES
) -> None:
    """Write events of 30 days in the order of their time, at random places, with six random words each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, rows, rows_a_file)):
        count = min(rows_a_file, rows - first)
        write_file(folder / f"{number:05}.parquet", first, count, rows, row_group_rows, page_bytes=page_bytes)


def write_file(
    path: Path,
    first: int,
    count: int,
    rows: int,
    row_group_rows: int,
    *,
    version: int = 0,
    page_bytes: int = PAGE_BYTES,
) -> None:
    """Write a file of events; another ``version`` has the same times and other places and words.

    No column has a dictionary: hardly a value comes twice, and Spark's writer gives up a dictionary then.
    """
    letters = np.random.default_rng(20261123)
    words = np.array(
        ["".join(map(chr, letters.integers(97, 123, letters.integers(4, 9)))) for _ in range(_WORDS)]
    )
    random = np.random.default_rng([20261123, first, version])
    seconds = np.arange(first, first + count) * (_DAYS * 86_400 / rows)
    picked = words[random.integers(0, _WORDS, (count, 6))]
    table = pa.table(
        {
            "id": np.arange(first, first + count),
            "ts": _START + (seconds * 1e6).astype("timedelta64[us]"),
            "lat": random.uniform(-60, 60, count),
            "lng": random.uniform(-180, 180, count),
            "message": [" ".join(row) for row in picked.tolist()],
        }
    )
    pq.write_table(
        table,
        path,
        row_group_size=row_group_rows,
        write_page_index=True,
        use_dictionary=False,
        data_page_size=page_bytes,
        write_batch_size=_BATCH_ROWS,
    )
    os.utime(path, (_OLD + version, _OLD + version))


def questions(folder: Path, count: int, seed: int = 1) -> list[Question]:
    """Return questions with 1 to 1,000 hits, whose rows are DuckDB's."""
    random = Random(seed)
    database = duckdb.connect()
    files = f"read_parquet('{folder}/*.parquet')"
    sample = pq.ParquetFile(folder / "00000.parquet").read_row_group(0, columns=["message"])["message"]
    found: list[Question] = []
    while len(found) < count:
        days = 10 ** random.uniform(-0.3, 1.3)
        start = _START + np.timedelta64(int(random.uniform(0, _DAYS - days) * 86_400), "s")
        end = start + np.timedelta64(int(days * 86_400), "s")
        width = random.uniform(40, 180)
        lng, lat = random.uniform(-180, 180 - width), random.uniform(-60, 60 - width / 3)
        rest = (
            f"ts >= TIMESTAMP '{_text(start)}' AND ts < TIMESTAMP '{_text(end)}'"
            f" AND lat >= {lat:.3f} AND lat <= {lat + width / 3:.3f}"
            f" AND lng >= {lng:.3f} AND lng <= {lng + width:.3f}"
        )
        word = random.choice(sample[random.randrange(len(sample))].as_py().split())
        asked = Question(rest, word, ())
        ids = database.sql(f"SELECT id FROM {files} WHERE {asked.where} ORDER BY id").fetchall()
        if 1 <= len(ids) <= MOST_HITS:
            found.append(Question(rest, word, tuple(row[0] for row in ids)))
    return found


def _text(moment: np.datetime64) -> str:
    return str(moment.astype("datetime64[s]")).replace("T", " ")
