"""Collect the bounds of the distances between a file's values and one of them, the origin.

The first values are held, and the origin is one of them. For further values, and for values that other tasks
have read, only the bounds are kept. Where two tasks have chosen different origins, the triangle inequality
gives bounds of the distances to one origin from the bounds for the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from starskip.predicates.edit_distance import edit_distances
from starskip.skipping.own_types import FileCollector

from starskip_contrib.metric_distances import TEXT_METRIC, Distances, distances_to_point

LONGEST_TEXT = 256
"""Characters of an origin; longer texts are not compared, their lengths bound the distance."""
_HELD_VALUES, _HELD_BYTES = 50_000, 1 << 22
_HELD, _BOUNDS, _UNKNOWN = range(3)
_WIDER_RATIO = 1e-9


class DistancesCollector(FileCollector):
    """Collects ``origin``, ``least`` and ``greatest`` (double), and ``values``, a count of them."""

    def __init__(self, metric: str, kind: pa.DataType) -> None:
        """Start empty; ``kind``: the type of the values, texts or lists of numbers."""
        self._metric = metric
        self._kind = pa.string() if metric == TEXT_METRIC else pa.list_(pa.float64())
        self._held = pa.array([], kind).cast(self._kind)
        self._origin: Any = None
        self._least, self._greatest = np.inf, -np.inf
        self._values = 0
        self._is_unknown = False

    @property
    def size_bytes(self) -> int:
        """See FileCollector."""
        return int(self._held.nbytes)

    def add(self, rows: pa.RecordBatch) -> None:
        """See FileCollector."""
        values = rows.column("values").drop_null()
        self._values += len(values)
        if self._is_unknown or not len(values):
            return
        if self._metric == TEXT_METRIC:
            try:
                values.validate(full=True)
            except pa.ArrowInvalid:
                # Spark compares such texts in its own way.
                self._give_up()
                return
        self._take(values.cast(self._kind))

    def parts(self) -> Iterator[pa.RecordBatch]:
        """See FileCollector."""
        state = _UNKNOWN if self._is_unknown else _BOUNDS if self._origin is not None else _HELD
        texts = self._held if state == _HELD else pa.array([self._origin], self._kind)
        numbers = pa.array([self._least, self._greatest, float(self._values), float(state)])
        listed = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
        bounds = pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), numbers)
        yield pa.record_batch({"texts": listed, "numbers": bounds})

    def merge(self, part: pa.RecordBatch) -> None:
        """See FileCollector."""
        values = part.column("texts").flatten()
        least, greatest, count, state = part.column("numbers")[0].as_py()
        self._values += int(count)
        if state == _UNKNOWN:
            self._give_up()
        elif self._is_unknown:
            return
        elif state == _HELD:
            self._take(values)
        elif self._origin is None:
            held, self._held = self._held, self._held.slice(0, 0)
            self._origin, self._least, self._greatest = values[0].as_py(), least, greatest
            self._take(held)
        else:
            between, _ = self._bounds_of(values)
            slack = (between + greatest) * _WIDER_RATIO
            self._widen(max(between - greatest, least - between) - slack, between + greatest + slack)

    def result(self) -> Mapping[str, pa.Array]:
        """See FileCollector."""
        self._settle()
        is_known = self._origin is not None and not self._is_unknown
        bounds = (self._least, self._greatest) if is_known else (None, None)
        least, greatest = (pa.array([each], pa.float64()) for each in bounds)
        origin = pa.array([self._origin if is_known else None], self._kind)
        values = pa.array([max(1, self._values) if self._is_unknown else self._values], pa.int64())
        return {"origin": origin, "least": least, "greatest": greatest, "values": values}

    def _take(self, values: pa.Array) -> None:
        if self._origin is None:
            self._held = pa.concat_arrays([self._held, values])
            if self._metric == TEXT_METRIC:
                self._held = self._held.unique()
            if len(self._held) > _HELD_VALUES or self._held.nbytes > _HELD_BYTES:
                self._settle()
        elif len(values):
            self._widen(*self._bounds_of(values))

    def _settle(self) -> None:
        """Choose the origin among the held values."""
        if self._origin is None and not self._is_unknown and len(self._held):
            held, self._held = self._held, self._held.slice(0, 0)
            if self._metric == TEXT_METRIC:
                short = held.filter(pc.less_equal(pc.utf8_length(held), LONGEST_TEXT))
                chosen = pc.min(short).as_py()
            else:
                chosen = held[0].as_py()
            if chosen is None or (not isinstance(chosen, str) and None in chosen):
                self._give_up()
            else:
                self._origin = chosen
                self._widen(*self._bounds_of(held))

    def _bounds_of(self, values: pa.Array) -> tuple[float, float]:
        """Return the least and the greatest distance of values to the origin, NaN if one is not known."""
        if self._metric != TEXT_METRIC:
            found = distances_to_point(values, self._origin, self._metric)
            return float(found.min()), float(found.max())
        lengths = np.asarray(pc.utf8_length(values).to_numpy(zero_copy_only=False), np.float64)
        is_long = lengths > LONGEST_TEXT
        compared = values.filter(pa.array(~is_long))
        exact: Distances = np.asarray(edit_distances(compared, self._origin).to_numpy(zero_copy_only=False))
        least = np.concatenate([exact, lengths[is_long] - len(self._origin)])
        return float(least.min()), float(np.concatenate([exact, lengths[is_long]]).max())

    def _widen(self, least: float, greatest: float) -> None:
        if np.isfinite(least) and np.isfinite(greatest):
            self._least, self._greatest = min(self._least, least), max(self._greatest, greatest)
        else:
            self._give_up()

    def _give_up(self) -> None:
        self._is_unknown, self._origin, self._held = True, None, self._held.slice(0, 0)
