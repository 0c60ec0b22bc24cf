"""Index type ``gaplist:c:k``: the ranges of a file's values between their k widest gaps.

See "Extensible Data Skipping", IV-C. WorkloadGapList stores the gaps that skip most of a workload instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import ConfigError
from starskip.predicates.data_types import NUMBERS, TEXTS, TIMES
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import is_text, mask_of
from starskip.predicates.prefix_bounds import long_bounds_cut
from starskip.skipping.clause import Clause
from starskip.skipping.collectors.ranges_collector import RangesCollector, gap_widths
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.value_ranges import Condition, RangesClause, anded_comparisons, is_possible_known

GAPS = 10
MOST_GAPS = 10_000


class GapList(ColumnIndex):
    """Metadata column ``ranges``: a list of least and greatest values, empty for a file without values."""

    kind = "gaplist"
    families = NUMBERS | TIMES | TEXTS

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the number of gaps as an optional argument."""
        super().__init__(columns)
        self.arguments = tuple(arguments)
        if len(arguments) > 1 or not all(
            each.isdecimal() and 1 <= int(each) <= MOST_GAPS for each in arguments
        ):
            raise ConfigError(
                f"{self.specification}: write gaplist:COLUMN or gaplist:COLUMN:GAPS, 1 to {MOST_GAPS}",
                setting="index",
            )
        self.gaps = int(arguments[0]) if arguments else GAPS

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"values": columns[0]}

    def collector(self, schema: pa.Schema) -> FileCollector:
        """See SkippingIndex.collector."""
        return RangesCollector(schema.field("values").type)

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Cut each file's sorted values at the gaps of greatest worth.

        ``joined`` is true for a value without a known gap before it (RangesCollector).
        """
        sets, joined = (collected[name].combine_chunks() for name in ("values", "joined"))
        offsets = sets.offsets.to_numpy()
        distances = np.where(mask_of(joined.values), -np.inf, self.gap_worths(sets))
        starts = np.zeros(len(sets.values), np.bool_)
        for start, end in pairwise(offsets.tolist()):
            starts[start : start + 1] = end > start
            largest = start + 1 + np.argsort(distances[start + 1 : end], kind="stable")[-self.gaps :]
            starts[largest] = distances[largest] > -np.inf
        return {"ranges": _ranges(sets, starts)}

    def gap_worths(self, sets: pa.ListArray) -> npt.NDArray[np.float64]:
        """Return for each of the flat values the worth of the gap before it: here, its width.

        The width of a gap between texts is measured after the prefix that all texts of the file share.
        """
        if not _is_of_bytes(sets.type.value_type):
            return gap_widths(sets.values)
        worths = np.zeros(len(sets.values))
        for start, end in pairwise(sets.offsets.to_numpy().tolist()):
            worths[start:end] = gap_widths(sets.values[start:end])
        return worths

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons and IN; the comparisons of one AND are judged together, since BETWEEN is two."""
        conditions = tuple(
            Condition(each, "least", "greatest")
            for each in anded_comparisons(node)
            if self.is_of(each.column) and is_possible_known(each)
        )
        return RangesClause(self.specification, "ranges", conditions) if conditions else None


def _ranges(sets: pa.ListArray, starts: npt.NDArray[np.bool_]) -> pa.ListArray:
    first = np.flatnonzero(starts)
    ends = np.append(first, len(starts))[1:] - 1
    count = np.concatenate([np.zeros(1, np.int64), np.cumsum(starts)])[sets.offsets.to_numpy()]
    least, greatest = (sets.values.take(pa.array(at)) for at in (first, ends))
    if _is_of_bytes(least.type):
        least, greatest = long_bounds_cut(least, greatest)
    ranges = pa.StructArray.from_arrays([least, greatest], ["least", "greatest"])
    lists = pa.ListArray.from_arrays(pa.array(count, pa.int32()), ranges)
    return pc.if_else(sets.is_valid(), lists, pa.scalar(None, lists.type))


def _is_of_bytes(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_binary(kind)
