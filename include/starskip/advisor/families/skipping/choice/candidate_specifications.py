"""Generate the index specifications that are worth measuring for a workload.

See "Extensible Data Skipping", table I. There are more candidates than chosen indexes: their benefit is
measured, and the one choice selects among them.

Lengths of prefixes and suffixes follow figure 12: with the length the metadata factor rises until the
patterns are distinguished, while the metadata grows on. A length beyond the longest pattern adds nothing. So
the quartiles of the patterns' lengths are tried, the longest among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from starskip.advisor.families.skipping.choice.column_uses import ColumnUse, column_uses
from starskip.file_metadata.skipping_engine import ColumnMeans
from starskip.predicates.data_types import NUMBERS, ORDERED, TEXTS, TIMES, family_of
from starskip.predicates.expression import Expression
from starskip.skipping.index_types.hybrid import hybrid_threshold
from starskip.skipping.user_functions import Implication

GAPS = (4, 16)
"""Numbers of gaps in a file that are tried."""
LONGEST_AFFIX = 100
SHORT_LIST = 100
"""Distinct values of a file up to which no filter is tried."""
LONGEST_LIST = 100_000
"""Distinct values of a file above which executors should not gather a list."""
_VALUE_BYTES = 8.0
_VALUES_OF_BOOLEAN = 3


@dataclass(frozen=True, slots=True)
class CandidateIndex:
    """A specification, and the sum of weights of the queries that it may help."""

    specification: str
    weight: float


def candidate_specifications(
    predicates: Sequence[Expression],
    weights: Sequence[float],
    facts: Mapping[str, ColumnMeans],
    *,
    file_bytes: float,
    implications: Sequence[Implication] = (),
) -> tuple[CandidateIndex, ...]:
    """Return candidates in descending order of weight.

    ``facts``: by column name; for a column without facts, equality gets the hybrid type. ``file_bytes``: the
    mean size of a file. ``implications``: as for generate_clause.
    """
    uses = column_uses(predicates, weights, implications)
    found = [
        candidate
        for column, use in uses.columns.items()
        for candidate in _of_column(column, use, facts.get(column, ColumnMeans()), file_bytes)
    ]
    found += [CandidateIndex(f"geobox:{','.join(pair)}", weight) for pair, weight in uses.pairs.items()]
    found += [CandidateIndex(specification, weight) for specification, weight in uses.derived.items()]
    return tuple(sorted(found, key=lambda item: (-item.weight, item.specification)))


def _of_column(
    column: str, use: ColumnUse, facts: ColumnMeans, file_bytes: float
) -> Iterator[CandidateIndex]:
    family = family_of(use.data_type)
    if use.null and facts.has_nulls is not False:
        yield CandidateIndex(f"nulls:{column}", use.null)
    if use.agent_name and family == "string":
        yield CandidateIndex(f"formatted:{column}:user_agent", use.agent_name)
    for metric, weight in use.metrics.items():
        yield CandidateIndex(f"metricdist:{column}:{metric}", weight)
    if family not in ORDERED:
        return
    prefixed = float(sum(use.prefixes.values()))
    ordered = use.equality + use.inequality + use.range + prefixed
    if ordered:
        yield CandidateIndex(f"minmax:{column}", ordered)
    # For equality of texts a value list, or a filter, is better; ranges and prefixes have no filter.
    spans = use.bounded_range + prefixed
    points = use.equality + spans
    if points if family in NUMBERS | TIMES else spans and family in TEXTS:
        for gaps in GAPS:
            yield CandidateIndex(f"gaplist:{column}:{gaps}", points)
    yield from _of_equality(column, use, facts, family, file_bytes)
    if family == "string":
        yield from _of_affixes("prefix", column, use.prefixes)
        yield from _of_affixes("suffix", column, use.suffixes)


def _of_equality(
    column: str, use: ColumnUse, facts: ColumnMeans, family: str, file_bytes: float
) -> Iterator[CandidateIndex]:
    texts = float(sum(use.prefixes.values()) + sum(use.suffixes.values())) + use.infix
    exact = use.equality + use.inequality + texts
    distinct = _VALUES_OF_BOOLEAN if family == "boolean" else facts.distinct_values
    if distinct is None:
        if use.equality:
            yield CandidateIndex(f"hybrid:{column}", use.equality)
        elif exact:
            yield CandidateIndex(f"valuelist:{column}", exact)
        return
    value_bytes = facts.value_bytes if facts.value_bytes is not None else _VALUE_BYTES
    limit = min(hybrid_threshold(file_bytes, 8 * value_bytes), LONGEST_LIST)
    if exact and distinct <= limit:
        yield CandidateIndex(f"valuelist:{column}", exact)
    if use.equality and distinct > min(limit / 2, SHORT_LIST):
        # A list may save more, and exceed a budget that a filter fits.
        yield CandidateIndex(f"bloom:{column}", use.equality)
        if distinct > limit / 2 and limit >= 1:
            # Files differ: some may have few enough.
            yield CandidateIndex(f"hybrid:{column}:{int(limit)}", use.equality)


def _of_affixes(kind: str, column: str, lengths: Mapping[int, float]) -> Iterator[CandidateIndex]:
    total = float(sum(lengths.values()))
    for length in sorted({min(each, LONGEST_AFFIX) for each in _quarters(lengths)}):
        yield CandidateIndex(f"{kind}:{column}:{length}", total)


def _quarters(lengths: Mapping[int, float]) -> Iterator[int]:
    """Yield the lengths at the quartiles of the weight."""
    total, sum_before, wanted = float(sum(lengths.values())), 0.0, [0.25, 0.5, 0.75, 1.0]
    for length in sorted(lengths):
        sum_before += lengths[length]
        while wanted and sum_before >= wanted[0] * total * (1 - 1e-9):
            wanted.pop(0)
            yield length
