"""What ``prefix`` and ``suffix`` have in common: the distinct first or last n characters of a file's texts.

Characters are code points, as in Spark: the part of a text that is shorter than n is the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import ConfigError
from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.comparison import Comparison, Operator
from starskip.indexes.skipping.expression import Expression
from starskip.indexes.skipping.index_types.column_index import ColumnIndex
from starskip.indexes.skipping.value_sets import ValueSetClause, with_valid_texts


class AffixIndex(ColumnIndex):
    """Column ``affixes``: a list of the distinct affixes of a file's texts, null where they are unknown."""

    families = frozenset({"string"})
    sql_function: ClassVar[str]
    operator: ClassVar[Operator]
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

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.aggregates."""
        return {"affixes": f"collect_set({self.sql_function}({columns[0]}, {self.characters}))"}

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """See SkippingIndex.finish."""
        return {"affixes": with_valid_texts(collected["affixes"].combine_chunks())}

    def label(self, node: Expression) -> Clause | None:
        """Know what tells of the affix: equality, LIKE, the affix test and its NOT, IS NOT NULL."""
        found = self.comparison(node)
        weaker = None if found is None else self.of_affixes(found)
        return None if weaker is None else ValueSetClause(self.specification, "affixes", weaker)

    def of_affixes(self, found: Comparison) -> Comparison | None:
        """Return what the affix of a text that satisfies ``found`` satisfies, None if that is unknown."""
        if found.operator is Operator.IS_NOT_NULL:
            return found
        if found.operator is Operator.IN and not found.negated and pa.types.is_string(found.values.type):
            return Comparison(found.column, Operator.IN, self.cut(found.values))
        if found.operator is Operator.LIKE and not found.negated:
            affix = type(self).of_pattern(found.text, found.escape)
            found = Comparison(found.column, self.operator, pa.array([affix]))
        if found.operator is not self.operator or not found.text:
            return None
        if len(found.text) <= self.characters:
            return found
        return None if found.negated else Comparison(found.column, Operator.IN, self.cut(found.values))

    def cut(self, texts: pa.Array) -> pa.Array:
        """Return the affixes of texts."""
        if self.operator is Operator.STARTS_WITH:
            return pc.utf8_slice_codeunits(texts, 0, self.characters)
        return pc.utf8_slice_codeunits(texts, -self.characters)
