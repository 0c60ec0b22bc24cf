"""Base class of index types of one column; users' types may extend it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from starskip.errors import ConfigError
from starskip.predicates.column_name import column_name
from starskip.predicates.comparison import Comparison, compared, comparison_of
from starskip.predicates.data_types import family_of
from starskip.predicates.expression import Column, Expression
from starskip.skipping.skipping_index import SkippingIndex


class ColumnIndex(SkippingIndex):
    """An index of exactly one column, whose type is one of ``families`` (see data_types)."""

    families: ClassVar[frozenset[str] | None] = None
    """None takes all types but collated strings."""

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take one column and no arguments; subclasses may take arguments."""
        super().__init__(columns, arguments)
        if len(self.columns) != 1:
            raise ConfigError(f"{self.specification}: {self.kind} takes one column", setting="index")
        if self.arguments:
            raise ConfigError(f"{self.specification}: {self.kind} takes no arguments", setting="index")

    def check(self, data_types: Mapping[str, str]) -> None:
        """See SkippingIndex.check."""
        for column in self.columns:
            check_family(self, column, data_types, self.families)

    def is_of(self, column: Expression) -> bool:
        """Return whether an expression is the indexed column."""
        return isinstance(column, Column) and column_name(column.path) == self.columns[0]

    def comparison(self, node: Expression) -> Comparison | None:
        """Return ``node`` as a comparison of the indexed column, None if it is none."""
        # Each index labels each node: nodes without the column are sorted out first.
        if not any(map(self.is_of, compared(node))):
            return None
        found = comparison_of(node)
        return found if found is not None and self.is_of(found.column) else None


def check_family(
    index: SkippingIndex, column: str, data_types: Mapping[str, str], families: frozenset[str] | None
) -> None:
    """Raise ConfigError unless the table has ``column`` with a type of ``families``."""
    data_type = check_column(index, column, data_types)
    family = family_of(data_type)
    if family != "collated" and (families is None or family in families):
        return
    if family == "udt":
        why = f"a type of a user's own, which {index.kind} does not know: write an index type for it"
    elif families is None or family == "collated":
        why = "another order than that of its bytes"
    else:
        why = f"none of the types that {index.kind} takes: {', '.join(sorted(families))}"
    raise ConfigError(f"{index.specification}: {column} is {data_type}, {why}", setting="index")


def check_column(index: SkippingIndex, column: str, data_types: Mapping[str, str]) -> str:
    """Return the type of ``column``; raise ConfigError if the table has no such column."""
    data_type = data_types.get(column)
    if data_type is None:
        raise ConfigError(f"{index.specification}: the table has no column {column}", setting="index")
    return data_type
