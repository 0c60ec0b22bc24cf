"""The bounds of a table's own format, where the format itself cannot skip files by them.

The format cannot skip for an OR whose other part only an index of ours can decide, nor for functions that
only a module of ours maps to ranges. For other predicates the format has skipped files already, and a second
look would only cost time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from starskip.file_metadata.format_bounds import indexes_of
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.user_functions import implications
from starskip.spark.skipping.lake_columns import ColumnTranslation


def with_bounds(
    predicates: Sequence[Expression],
    columns: ColumnTranslation,
    indexes: Sequence[SkippingIndex],
    table_format: str,
) -> tuple[list[Expression], tuple[SkippingIndex, ...]]:
    """Return predicates over the metadata's columns, and indexes over the format's bounds of these columns.

    ``predicates``: over the table's present columns; ``indexes``: the metadata's.
    """
    indexed = {name for index in indexes for name in index.columns}
    bounded = replace(columns, bounded=True, met={}, _done={})
    found: list[Expression] = []
    wanted: dict[str, None] = {}
    for each in predicates:
        expression = columns.of(each)
        among = bounded.of(each)
        implied = list(_implied(among))
        if implied or (_has_or(each) and indexed & set(_names(expression))):
            expression = among
            wanted |= dict.fromkeys(name for part in (among, *implied) for name in _names(part))
        found.append(expression)
    of_format = (
        made
        for name in wanted
        if (column := bounded.met.get(name)) is not None
        for made in indexes_of(table_format, name, column.name, column.identity, column.data_type)
    )
    return found, tuple(of_format)


def _has_or(expression: Expression, *, negated: bool = False) -> bool:
    """Return whether an expression is an OR, or an AND or NOT that contains one."""
    if not isinstance(expression, Call) or expression.name not in ("And", "Or", "Not"):
        return False
    if expression.name == ("And" if negated else "Or"):
        return True
    negated ^= expression.name == "Not"
    return any(_has_or(each, negated=negated) for each in expression.arguments)


def _implied(expression: Expression) -> Iterator[Expression]:
    """Yield the implications of function calls in an expression for ordinary columns."""
    for each in implications():
        found = each(expression)
        if found is not None:
            yield found
    if isinstance(expression, Call) and expression.name in ("And", "Or", "Not"):
        for inner in expression.arguments:
            yield from _implied(inner)


def _names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Column):
        yield column_name(expression.path)
    elif isinstance(expression, Call):
        for each in expression.arguments:
            yield from _names(each)
