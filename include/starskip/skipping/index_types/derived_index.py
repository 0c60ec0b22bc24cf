"""Base class of indexes of a function's values on a column: a list of the values, or a Bloom filter."""

from __future__ import annotations

from collections.abc import Iterator

from starskip.predicates.comparison import comparison_of_function
from starskip.predicates.expression import Call, Expression
from starskip.skipping.clause import Clause
from starskip.skipping.index_types.hybrid import Hybrid


class DerivedIndex(Hybrid):
    """A Hybrid of the values of calls that ``is_source`` accepts; ``row_values`` computes them by row."""

    def is_source(self, call: Call) -> bool:
        """Return whether the index collects the values of this call."""
        raise NotImplementedError

    def source_type(self, call: Call) -> str:
        """Return the Spark type of such a call's values."""
        raise NotImplementedError

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons of the function's value, LIKE included."""
        for call in _operands(node):
            if self.is_source(call):
                found = comparison_of_function(node, self.is_source, self.source_type(call))
                return None if found is None else self.clause_of(found[0])
        return None


def _operands(node: Expression) -> Iterator[Call]:
    inner = node.left if isinstance(node, Call) and node.name == "Not" else node
    if isinstance(inner, Call):
        yield from (each for each in inner.arguments if isinstance(each, Call))
