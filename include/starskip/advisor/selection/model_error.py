"""Error of the cost model itself, as a part of a table's saved entries.

The walk of a filter is exact for the rows that it sees. Everything that it does not see widens the interval:
rows and literals that were left out of the sample, literals that the log does not hold, LIMITs that end a
query in unknown segments, and functions that are not computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.advisor.workload.unlogged_texts import REDACTED_ERROR_RATIO, UnloggedTexts
from starskip.sql.predicate import Operator, leaves
from starskip.sql.query_shape import QueryShape, parsed_shape

ROUGH_ERROR_RATIO = 0.05
"""Error where every query ends early or asks an index of its own, as a standard deviation."""


def model_error_ratio(shapes: Sequence[ShapeWorkload], texts: UnloggedTexts, least: float) -> float:
    """Return the standard deviation of a saving's error: ``least``, and more for roughly known entries."""
    return hypot(
        least,
        REDACTED_ERROR_RATIO * texts.voting_entries_ratio,
        ROUGH_ERROR_RATIO * rough_entries_ratio(shapes),
    )


def rough_entries_ratio(shapes: Sequence[ShapeWorkload]) -> float:
    """Return the share of the entries of understood queries that the model knows roughly."""
    parsed = [shape for shape in shapes if shape.is_parsed]
    entries = sum(shape.estimated_entries for shape in parsed)
    rough = sum(shape.estimated_entries for shape in parsed if _is_rough(parsed_shape(shape.skeleton)))
    return rough / entries if entries else 0.0


def _is_rough(shape: QueryShape) -> bool:
    return shape.stops_early or any(leaf.operator is Operator.OWN_INDEX for leaf in leaves(shape.filter))
