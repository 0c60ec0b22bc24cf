"""Warn of filters on computed values where the library that computes them is not installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.extras import missing_extra
from starskip.sql.predicate import leaves
from starskip.sql.query_shape import parsed_shape


def computed_filters_warning(
    tables: Iterable[str], shapes_of: Callable[[str], Iterable[ShapeWorkload]]
) -> tuple[str, ...]:
    """Return a warning that names the tables whose filters are estimated instead of computed, if any are."""
    missing = missing_extra("star-trees")
    asked = [table for table in tables if missing and any(map(_is_computed, shapes_of(table)))]
    if not asked:
        return ()
    named = ", ".join(asked[:3]) + (f" and {len(asked) - 3} more" if len(asked) > 3 else "")
    return (f"table {named}: rows that filters on computed values keep are estimated: {missing}",)


def _is_computed(shape: ShapeWorkload) -> bool:
    return shape.is_parsed and any(leaf.expression for leaf in leaves(parsed_shape(shape.skeleton).filter))
