"""What an index type is: what it collects of a file's rows, and how it labels predicates (seed 003, II-A).

A type of a user's own is a class like those of ``skipping.index_types``: about 30 lines (docs/skipping.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import pyarrow as pa

from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.expression import Expression


class SkippingIndex:
    """An index of one or more columns of a table; ``columns`` are dotted names (``address.city``)."""

    kind: ClassVar[str]
    """The name of the type in specifications, such as ``minmax``."""

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Keep columns and further arguments; raise ConfigError for those that the type has no use for."""
        self.columns = tuple(columns)
        self.arguments = tuple(arguments)

    @property
    def specification(self) -> str:
        """``KIND:COLUMN[,COLUMN…][:ARGUMENT…]``: the index's name, too."""
        return ":".join([self.kind, ",".join(self.columns), *self.arguments])

    def check(self, data_types: Mapping[str, str]) -> None:
        """Raise ConfigError if the columns' types (Spark's, by dotted name) cannot be indexed."""

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Return what to collect of a file's rows: Spark SQL aggregates by metadata column.

        ``columns``: the index's columns as SQL has them, quoted. All indexes are collected in one pass. Spark
        computes ``collect_set`` again for each expression that names it: name it once.
        """
        raise NotImplementedError

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Return the metadata columns that are stored, from the aggregates' columns: one row a file.

        Runs where the rows are, on some files at a time; stores the aggregates themselves by default.
        """
        return {name: collected[name].combine_chunks() for name in collected.column_names}

    def label(self, node: Expression) -> Clause | None:
        """Return a clause that represents ``node``, a boolean expression, None if this index knows none.

        Asked of each node: of the AND of all predicates of a query, of what it is an AND of, and so on.
        """
        raise NotImplementedError

    @classmethod
    def parsed(cls, columns: Sequence[str], arguments: Sequence[str]) -> Self:
        """Return the index that a specification's parts tell of."""
        return cls(columns, arguments)
