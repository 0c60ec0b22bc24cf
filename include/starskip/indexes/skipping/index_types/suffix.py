"""``suffix:c:n``: the distinct last n characters of a file's texts (seed 003, table I and V-E)."""

from __future__ import annotations

from starskip.indexes.skipping.comparison import Operator
from starskip.indexes.skipping.index_types.affix_index import AffixIndex
from starskip.indexes.skipping.like_pattern import like_suffix


class Suffix(AffixIndex):
    """Suffixes know LIKE '%text'."""

    kind = "suffix"
    sql_function = "right"
    operator = Operator.ENDS_WITH
    of_pattern = staticmethod(like_suffix)
