"""Which of Pinot's indexes answers which predicate, by version.

0.11 was measured (samples README, model_check): an inverted index answers =, <>, IN and NOT IN and
never a range, LIKE or function; a range index answers ranges and never an equality; a sorted
column answers both. The other versions were read in the source of their release tags
(FilterOperatorUtils.getLeafFilterOperator, RangeIndexBasedFilterOperator): range indexes come with
0.4, scan the ends of a range until 0.10 makes them exact, and answer = (not IN) from 1.0 on; from
1.5 on LIKE and REGEXP_LIKE go through the dictionary to an inverted index or a sort order, where
the dictionary has fewer than 10,000 values.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from starskip.pinot.release_number import release_number
from starskip.sql.predicate import EQUALITIES, Leaf, Operator

REGEXP_DICTIONARY_VALUES = 10_000
"""DEFAULT_REGEX_DICT_SIZE_THRESHOLD of Pinot 1.5: larger dictionaries are scanned by row."""

_PATTERNS = frozenset({Operator.LIKE, Operator.REGEXP_LIKE})
_RANGES = frozenset({Operator.RANGE})

# Before 0.10 a range index keeps 20 ranges a column, and scans the first and the last that a query touches.
_LEGACY_RANGE_READS_RATIO = 2 / 20


@dataclass(frozen=True, slots=True)
class IndexRules:
    """What the kinds of index answer in one version of Pinot, for one table.

    ``by_range``: operators that a range index answers; empty where there is none.
    ``range_reads_ratio``: entries that it reads itself, a row. ``pattern_columns``: those whose LIKE and
    REGEXP_LIKE an inverted index or a sort order answers.
    """

    by_range: frozenset[Operator] = _RANGES
    range_reads_ratio: float = 0.0
    pattern_columns: frozenset[str] = frozenset()

    def serves(self, index_kind: str, leaf: Leaf) -> bool:
        """Tell whether an index of a kind (inverted, range, sorted) on the leaf's column answers it."""
        if not leaf.column:
            return False
        if index_kind == "range":
            return leaf.operator in self.by_range
        if leaf.operator in _PATTERNS:
            return leaf.column in self.pattern_columns
        return leaf.operator in EQUALITIES or (index_kind == "sorted" and leaf.operator is Operator.RANGE)

    def reads_ratio(self, index_kind: str) -> float:
        """Return the entries that answering by such an index reads all the same, a row."""
        return self.range_reads_ratio if index_kind == "range" else 0.0


def index_rules(pinot_version: str, short_dictionary_columns: Collection[str] = ()) -> IndexRules:
    """Return the rules of ``pinot_version`` (such as 0.11 or 1.2.0).

    ``short_dictionary_columns``: columns with fewer than REGEXP_DICTIONARY_VALUES distinct values.
    """
    release = release_number(pinot_version)
    if release < (0, 4):
        by_range: frozenset[Operator] = frozenset()
    else:
        by_range = _RANGES | {Operator.EQUAL} if release >= (1, 0) else _RANGES
    return IndexRules(
        by_range=by_range,
        range_reads_ratio=_LEGACY_RANGE_READS_RATIO if release < (0, 10) else 0.0,
        pattern_columns=frozenset(short_dictionary_columns) if release >= (1, 5) else frozenset(),
    )
