"""Quantiles of entries scanned and of latency over all queries, from mergeable counts of values.

They are exact up to 16,384 different values. Beyond, each value is rounded to four digits, so it moves by at
most 0.05 %; its rank stays exact. So a billion queries take about a megabyte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.storage.schemas import QUANTILE_SKETCHES, QUANTILES

RANKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""The percentiles of the EntriesScannedQuantileReport of Pinot's tuner (10 to 95), and 99."""

MEASURES = ("latency_ms", "entries_scanned_in_filter", "entries_scanned_post_filter")
_MOST_EXACT = 1 << 14
"""Different values that are kept exactly."""
_DIGITS = 4

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Sketch:
    """Different values in ascending order, and the number of queries of each."""

    values: Numbers
    counts: Numbers
    is_rounded: bool

    @classmethod
    def of(cls, values: Numbers, counts: Numbers, *, is_rounded: bool = False) -> _Sketch:
        """Return the sketch of values that may repeat."""
        distinct, places = np.unique(values, return_inverse=True)
        if not is_rounded and len(distinct) > _MOST_EXACT:
            is_rounded = True
        if is_rounded:
            # Parts may be exact or rounded: once one is rounded all are, whatever their order.
            distinct, again = np.unique(_rounded(distinct), return_inverse=True)
            places = again[places]
        summed = np.zeros(len(distinct), np.int64)
        np.add.at(summed, places, counts)
        return cls(distinct, summed, is_rounded)

    @classmethod
    def stored(cls, batch: pa.RecordBatch, row: int) -> _Sketch:
        """Return the sketch in a row of QUANTILE_SKETCHES."""
        values, counts = (batch.column(name)[row].values.to_numpy() for name in ("values", "counts"))
        return cls(values, counts, batch.column("is_rounded")[row].as_py())

    def plus(self, other: _Sketch) -> _Sketch:
        """Return the sketch of both."""
        return _Sketch.of(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.counts, other.counts]),
            is_rounded=self.is_rounded or other.is_rounded,
        )

    def at(self, ranks: Sequence[float]) -> list[float]:
        """Return for each rank the least value that at least that share of the queries is within."""
        if not len(self.values):
            return []
        passed = np.cumsum(self.counts)
        # A product such as 0.07 * 100 lies a little above the whole number.
        places = np.searchsorted(passed, np.multiply(ranks, passed[-1]) * (1 - 1e-12))
        return [float(each) for each in self.values[places]]


def sketch_queries(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return QUANTILE_SKETCHES of query records: one row for each table and measure."""
    sketches: dict[tuple[str, str], _Sketch] = {}
    for batch in batches:
        for table in pc.unique(batch.column("table")).to_pylist():
            rows = batch.filter(pc.equal(batch.column("table"), table))
            for measure in MEASURES:
                values = rows.column(measure).drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
                _add(sketches, (table, measure), _Sketch.of(values, np.ones(len(values), np.int64)))
    yield _rows(sketches)


def merge_sketches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge QUANTILE_SKETCHES of the same table and measure; associative."""
    sketches: dict[tuple[str, str], _Sketch] = {}
    for batch in batches:
        keys = zip(batch.column("table").to_pylist(), batch.column("measure").to_pylist(), strict=True)
        for row, key in enumerate(keys):
            _add(sketches, key, _Sketch.stored(batch, row))
    yield _rows(sketches)


def read_sketches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return QUANTILES of merged QUANTILE_SKETCHES, on the merging task, since sketches are large."""
    for batch in batches:
        sketches = [_Sketch.stored(batch, row) for row in range(batch.num_rows)]
        found = [each.at(RANKS) for each in sketches]
        numbers = [int(each.counts.sum()) for each in sketches]
        columns = [batch.column("table"), batch.column("measure"), found, numbers]
        yield pa.record_batch(columns, schema=QUANTILES)


def _rounded(values: Numbers) -> Numbers:
    """Return whole numbers with their leading digits, and zeros behind."""
    unit = 10 ** np.clip(np.floor(np.log10(np.maximum(values, 1))) + 1 - _DIGITS, 0, None).astype(np.int64)
    rounded: Numbers = (values + unit // 2) // unit * unit
    return rounded


def _add(sketches: dict[tuple[str, str], _Sketch], key: tuple[str, str], more: _Sketch) -> None:
    known = sketches.get(key)
    sketches[key] = more if known is None else known.plus(more)


def _rows(sketches: dict[tuple[str, str], _Sketch]) -> pa.RecordBatch:
    rows = [
        {
            "table": table,
            "measure": measure,
            "values": sketch.values,
            "counts": sketch.counts,
            "is_rounded": sketch.is_rounded,
        }
        for (table, measure), sketch in sorted(sketches.items(), key=lambda item: item[0])
    ]
    return pa.RecordBatch.from_pylist(rows, schema=QUANTILE_SKETCHES)
