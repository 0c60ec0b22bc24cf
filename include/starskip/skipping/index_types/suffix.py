"""``suffix:c:n``: the distinct last n characters of a file's texts (seed 003, table I and V-E)."""

from __future__ import annotations

from starskip.skipping.comparison import Operator
from starskip.skipping.index_types.affix_index import AffixIndex
from starskip.skipping.like_pattern import like_suffix


class Suffix(AffixIndex):
    """Suffixes know LIKE '%text'."""

    kind = "suffix"
    sql_function = "right"
    operator = Operator.ENDS_WITH
    of_pattern = staticmethod(like_suffix)
