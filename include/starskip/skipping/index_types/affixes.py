"""Index types ``prefix:c:n`` and ``suffix:c:n``: the distinct first, or last, n characters of a file's texts.

See "Extensible Data Skipping", table I and section V-E. Characters are code points, as in Spark; the affix of
a text shorter than n is the whole text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import ConfigError
from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.expression import Expression
from starskip.predicates.like_pattern import like_prefix, like_suffix
from starskip.skipping.clause import Clause
from starskip.skipping.collectors.distinct_values import DistinctValues, ValuesCollector
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.value_sets import ValueSetClause, with_valid_texts


class _AffixIndex(ColumnIndex):
    """Metadata column ``affixes``: the list of a file's distinct affixes, null if unknown."""

    families = frozenset({"string"})
    sql_function: ClassVar[str]
    operator: ClassVar[ComparisonOperator]
    of_pattern: ClassVar[Callable[[str, str], str]]

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the number of characters as the one argument."""
        super().__init__(columns)
        self.arguments = tuple(arguments)
        if len(arguments) != 1 or not arguments[0].isdecimal() or not 1 <= int(arguments[0]) <= 1000:
            raise ConfigError(
                f"{self.specification}: write {self.kind}:COLUMN:CHARACTERS, 1 to 1000 of them",
                setting="index",
            )
        self.characters = int(arguments[0])

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"affixes": f"{self.sql_function}({columns[0]}, {self.characters})"}

    def collector(self, schema: pa.Schema) -> FileCollector:
        """See SkippingIndex.collector."""
        kind = schema.field("affixes").type
        return ValuesCollector("affixes", DistinctValues(kind), kind)

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """See SkippingIndex.finish."""
        return {"affixes": with_valid_texts(collected["affixes"].combine_chunks())}

    def label(self, node: Expression) -> Clause | None:
        """Label equality, IN, LIKE, the affix test and its NOT, and IS NOT NULL."""
        found = self.comparison(node)
        weaker = None if found is None else self.affix_comparison(found)
        return None if weaker is None else ValueSetClause(self.specification, "affixes", weaker)

    def affix_comparison(self, found: Comparison) -> Comparison | None:
        """Return a comparison that the affix of each text satisfying ``found`` satisfies, None if unknown."""
        if found.operator is ComparisonOperator.IS_NOT_NULL:
            return found
        if (
            found.operator is ComparisonOperator.IN
            and not found.negated
            and pa.types.is_string(found.values.type)
        ):
            return Comparison(found.column, ComparisonOperator.IN, self.cut(found.values))
        if found.operator is ComparisonOperator.LIKE and not found.negated:
            affix = type(self).of_pattern(found.text, found.escape)
            found = Comparison(found.column, self.operator, pa.array([affix]))
        if found.operator is not self.operator or not found.text:
            return None
        if len(found.text) <= self.characters:
            return found
        return (
            None if found.negated else Comparison(found.column, ComparisonOperator.IN, self.cut(found.values))
        )

    def cut(self, texts: pa.Array) -> pa.Array:
        """Return the affixes of texts."""
        if self.operator is ComparisonOperator.STARTS_WITH:
            return pc.utf8_slice_codeunits(texts, 0, self.characters)
        return pc.utf8_slice_codeunits(texts, -self.characters)


class Prefix(_AffixIndex):
    """Index type ``prefix``; it also labels order comparisons."""

    kind = "prefix"
    sql_function = "left"
    operator = ComparisonOperator.STARTS_WITH
    of_pattern = staticmethod(like_prefix)

    def affix_comparison(self, found: Comparison) -> Comparison | None:
        """See above; the prefixes of two texts compare as the texts do, or are equal."""
        if found.operator in _NON_STRICT:
            return Comparison(found.column, _NON_STRICT[found.operator], self.cut(found.values))
        return super().affix_comparison(found)


class Suffix(_AffixIndex):
    """Index type ``suffix``."""

    kind = "suffix"
    sql_function = "right"
    operator = ComparisonOperator.ENDS_WITH
    of_pattern = staticmethod(like_suffix)


_NON_STRICT = {
    ComparisonOperator.BELOW: ComparisonOperator.AT_MOST,
    ComparisonOperator.AT_MOST: ComparisonOperator.AT_MOST,
    ComparisonOperator.AT_LEAST: ComparisonOperator.AT_LEAST,
    ComparisonOperator.ABOVE: ComparisonOperator.AT_LEAST,
}
