"""Base class of index types: the metadata collected for each file, and labels of predicates.

See "Extensible Data Skipping", II-A. A user's type is a class like those of ``index_types``, of about 30
lines (docs/skipping.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import pyarrow as pa

from starskip.predicates.expression import Expression
from starskip.skipping.clause import Clause
from starskip.skipping.file_collector import FileCollector


class SkippingIndex:
    """An index of one or more columns of a table; ``columns`` are dotted names (``address.city``)."""

    kind: ClassVar[str]
    """The name of the type in specifications, such as ``minmax``."""

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take columns and further arguments; raise ConfigError for invalid ones."""
        self.columns = tuple(columns)
        self.arguments = tuple(arguments)

    @property
    def specification(self) -> str:
        """``KIND:COLUMN[,COLUMN…][:ARGUMENT…]``, which is also the index's name."""
        return ":".join([self.kind, ",".join(self.columns), *self.arguments])

    @property
    def module_of_functions(self) -> str | None:
        """The module that defines the functions that the index serves, None for Spark's own ones.

        A log tells the name of a function alone: the night proposes the index only if its configuration
        names the module.
        """
        return None

    def check(self, data_types: Mapping[str, str]) -> None:
        """Raise ConfigError if columns of these types (Spark's, by dotted name) cannot be indexed."""

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002 - for subclasses
        """Return Spark SQL aggregates over the rows of a file, by metadata column; none by default.

        ``columns``: the index's columns as quoted SQL. One pass computes the aggregates of all indexes. Spark
        holds what ``collect_set`` gathers in memory: for values that may be many see ``collector``.
        """
        return {}

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002 - for subclasses
        """Return Spark SQL expressions over one row, by name, for the ``collector``; none by default.

        ``columns`` as in ``aggregates``. An index has aggregates, or row values and a collector, or all
        three. Another pass collects the row values of all indexes.
        """
        return {}

    def collector(self, schema: pa.Schema) -> FileCollector:
        """Return an empty collector of one file.

        ``schema``: the names of ``row_values``, with the Arrow types that Spark gives them.
        """
        raise NotImplementedError

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Compute the stored columns from the columns of aggregates and collectors, one row for each file.

        Runs on the executors, on some files at a time. By default the columns are stored unchanged.
        """
        return {name: collected[name].combine_chunks() for name in collected.column_names}

    def label(self, node: Expression) -> Clause | None:
        """Return a clause that represents ``node``, a boolean expression, None if this type knows none.

        Called for each node: first the AND of all predicates of a query, then its children, and so on.
        """
        raise NotImplementedError

    def questions(self, columns: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - for subclasses
        """Return Spark SQL expressions that the type serves, for ``starskip skipping check`` to ask for.

        None by default: comparisons, LIKE and common functions of the columns are asked for anyway.
        ``columns`` as in ``aggregates``; ``?`` stands for a value of the first column, or of its arrays.
        """
        return ()

    @classmethod
    def parsed(cls, columns: Sequence[str], arguments: Sequence[str]) -> Self:
        """Return the index of the parts of a specification."""
        return cls(columns, arguments)
