"""Translate clauses into OpenSearch's queries over the fields of rows.

A translated clause matches exactly the rows that ``may_match`` passes. A clause that cannot be translated
exactly is evaluated on fetched columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any

import pyarrow as pa
from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.predicates.like_pattern import Wildcard, like_parts
from starskip.predicates.ordered_values import is_text, same_order
from starskip.predicates.prefix_bounds import text_after
from starskip.skipping.clause import AllOf, AnyOf, NoFile
from starskip.skipping.failing_indexes import GuardedClause
from starskip.skipping.index_types.min_max import MinMaxClause
from starskip.skipping.index_types.null_count import NullClause
from starskip.skipping.own_types import Clause
from starskip.skipping.value_ranges import bounds_judged, is_possible_known
from starskip.skipping.value_sets import ValueSetClause

from starskip_opensearch.search_fields import (
    HAS_VALUES,
    SIGN,
    literal_keys,
)

MOST_VALUES = 50
"""Literals of an IN that become a query."""
LONGEST_PATTERN = 100
"""Characters of a text that is searched anywhere in values."""
Query = Mapping[str, Any]
_MOST_CLAUSES, _MOST_LEVELS = 300, 16
_PARTS = ("filter", "should", "must_not")
EVERY: Query = {"match_all": {}}
NONE: Query = {"match_none": {}}


@dataclass(frozen=True, slots=True)
class Field:
    """A searchable column: its name in documents, ``long`` or ``keyword``, and the type of its values."""

    name: str
    kind: str
    values: pa.DataType


@dataclass(frozen=True, slots=True)
class SegmentFields:
    """The fields of a segment's groups; a column that a group lacks here is not searchable."""

    groups: Mapping[str, Mapping[str, Field]]

    def has(self, index: str) -> bool:
        """Return whether the segment has the group; without it the index knows none of its files."""
        return index in self.groups

    def field(self, index: str, column: str) -> Field | None:
        """Return the field of a column, None if it is not searchable."""
        return self.groups[index].get(column)


@dataclass(frozen=True, slots=True)
class Translation:
    """``query``, and the groups that it asks for."""

    query: Query
    groups: frozenset[str] = frozenset()


@singledispatch
def translated(clause: Clause, fields: SegmentFields) -> Translation | None:
    """Return the query of a clause, None if it has none."""
    del clause, fields
    return None


@translated.register
def _(clause: GuardedClause, fields: SegmentFields) -> Translation | None:
    return Translation(EVERY) if clause.guard.has_failed else translated(clause.clause, fields)


@translated.register
def _(clause: AllOf, fields: SegmentFields) -> Translation | None:
    return _joined(clause.clauses, fields, all_of)


@translated.register
def _(clause: AnyOf, fields: SegmentFields) -> Translation | None:
    return _joined(clause.clauses, fields, any_of)


@translated.register
def _(clause: NoFile, fields: SegmentFields) -> Translation | None:
    del clause, fields
    return Translation(NONE)


@translated.register
def _(clause: MinMaxClause, fields: SegmentFields) -> Translation | None:
    if not fields.has(clause.index):
        return Translation(EVERY)
    counts = fields.field(clause.index, clause.values)
    if counts is None:
        return None
    has_values = negation(term(counts, 0))
    if clause.comparison.operator is ComparisonOperator.IS_NOT_NULL:
        return Translation(has_values, frozenset([clause.index]))
    names = bounds_judged(clause.comparison, clause.least, clause.greatest)
    least, greatest = (fields.field(clause.index, name) for name in names)
    if least is None or greatest is None:
        return None
    possible = _possible_between(clause.comparison, least, greatest)
    if possible is None:
        return None
    unknown = [is_null(field) for field in {least, greatest}]
    return Translation(all_of([any_of([possible, *unknown]), has_values]), frozenset([clause.index]))


@translated.register
def _(clause: NullClause, fields: SegmentFields) -> Translation | None:
    if not fields.has(clause.index):
        return Translation(EVERY)
    counted = fields.field(clause.index, "nulls" if clause.of_null else HAS_VALUES)
    if counted is None:
        return None
    found = any_of([bounds(counted, gt=0), is_null(counted)])
    return Translation(found, frozenset([clause.index]))


@translated.register
def _(clause: ValueSetClause, fields: SegmentFields) -> Translation | None:
    if not fields.has(clause.index):
        return Translation(EVERY)
    field = fields.field(clause.index, clause.column)
    if field is None:
        return None
    found = _any_value(clause.comparison, field)
    if found is None:
        return None
    return Translation(any_of([found, is_null(field)]), frozenset([clause.index]))


def all_of(queries: Sequence[Query]) -> Query:
    """Return the conjunction of queries."""
    return queries[0] if len(queries) == 1 else {"bool": {"filter": list(queries)}}


def any_of(queries: Sequence[Query]) -> Query:
    """Return the disjunction of queries."""
    if len(queries) == 1:
        return queries[0]
    return {"bool": {"should": list(queries), "minimum_should_match": 1}}


def negation(query: Query) -> Query:
    """Return the query of all other rows."""
    return {"bool": {"must_not": [query]}}


def term(field: Field, key: Any) -> Query:
    """Return the query of rows with a value."""
    return {"term": {field.name: {"value": key}}}


def bounds(field: Field, **limits: Any) -> Query:
    """Return the query of rows with a value within ``limits`` (gt, gte, lt, lte)."""
    return {"range": {field.name: limits}}


def is_null(field: Field) -> Query:
    """Return the query of rows where the column is null."""
    return {"term": {"null": {"value": field.name}}}


def _joined(
    clauses: Sequence[Clause], fields: SegmentFields, join: Callable[[Sequence[Query]], Query]
) -> Translation | None:
    found = [translated(each, fields) for each in clauses]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    groups = frozenset(group for each in known for group in each.groups)
    joined = join([each.query for each in known])
    # The evaluation splits a clause that is too large for one query.
    return Translation(joined, groups) if _is_taken(joined) else None


def _is_taken(query: Query) -> bool:
    """Return whether OpenSearch takes a query: at most 1,024 clauses (a range counts several), 20 levels."""
    level, clauses = [query], 0
    for _ in range(_MOST_LEVELS):
        clauses += len(level)
        below = [each["bool"] for each in level if "bool" in each]
        level = [one for each in below for part in _PARTS for one in each.get(part, ())]
        if not level:
            return clauses <= _MOST_CLAUSES
    return False


def _literals(comparison: Comparison, field: Field) -> list[Any] | None:
    """Return the keys of the literals, None if the field's values do not compare with them."""
    if not same_order(field.values, comparison.values.type) or len(comparison.values) > MOST_VALUES:
        return None
    return literal_keys(comparison.values)


def _possible_between(comparison: Comparison, least: Field, greatest: Field) -> Query | None:
    keys = _literals(comparison, least)
    if keys is None or not is_possible_known(comparison):
        return None
    if comparison.operator is ComparisonOperator.IN:
        if comparison.negated:
            same = [all_of([term(least, key), term(greatest, key)]) for key in keys]
            return negation(any_of(same)) if same else None
        between = [all_of([bounds(least, lte=key), bounds(greatest, gte=key)]) for key in keys]
        return any_of(between) if between else NONE
    (key,) = keys
    if comparison.operator is ComparisonOperator.STARTS_WITH:
        if comparison.negated:
            return negation(all_of([_prefixed(least, key), _prefixed(greatest, key)]))
        return all_of([bounds(greatest, gte=key), bounds(least, lt=text_after(key))])
    judged = {
        ComparisonOperator.BELOW: lambda: bounds(least, lt=key),
        ComparisonOperator.AT_MOST: lambda: bounds(least, lte=key),
        ComparisonOperator.AT_LEAST: lambda: bounds(greatest, gte=key),
        ComparisonOperator.ABOVE: lambda: bounds(greatest, gt=key),
    }
    return judged[comparison.operator]()


def _any_value(comparison: Comparison, field: Field) -> Query | None:
    """Return the query of rows with a value, of several, that satisfies a comparison."""
    operator = comparison.operator
    if operator is ComparisonOperator.IS_NOT_NULL:
        return {"exists": {"field": field.name}}
    keys = _literals(comparison, field)
    if keys is None:
        return None
    if operator is ComparisonOperator.IN:
        if comparison.negated:
            return any_of(list(_between_all(field, keys)))
        return {"terms": {field.name: keys}} if keys else NONE
    if comparison.negated:
        return None
    (key,) = keys
    limits = {
        ComparisonOperator.BELOW: "lt",
        ComparisonOperator.AT_MOST: "lte",
        ComparisonOperator.AT_LEAST: "gte",
        ComparisonOperator.ABOVE: "gt",
    }
    if operator in limits:
        return bounds(field, **{limits[operator]: key})
    if operator is ComparisonOperator.STARTS_WITH:
        return _prefixed(field, key)
    return _any_text(comparison, field) if is_text(field.values) else None


def _between_all(field: Field, keys: Sequence[Any]) -> Sequence[Query]:
    """Return the queries of values below, between and above all keys."""
    ordered = sorted(set(keys), key=lambda key: key.encode() if isinstance(key, str) else key)
    if not ordered:
        return [{"exists": {"field": field.name}}]
    between = [bounds(field, gt=low, lt=high) for low, high in pairwise(ordered)]
    return [bounds(field, lt=ordered[0]), *between, bounds(field, gt=ordered[-1])]


def _any_text(comparison: Comparison, field: Field) -> Query | None:
    text, operator = comparison.text, comparison.operator
    if len(text) > LONGEST_PATTERN:
        return None
    if operator is ComparisonOperator.ENDS_WITH:
        return _wildcard(field, f"*{_escaped(text)}")
    if operator is ComparisonOperator.CONTAINS:
        return _wildcard(field, f"*{_escaped(text)}*")
    parts = like_parts(text, comparison.escape) if operator is ComparisonOperator.LIKE else None
    if parts is None:
        return None
    signs = {Wildcard.ANY: "*", Wildcard.ONE: "?"}
    return _wildcard(
        field, "".join(signs[each] if isinstance(each, Wildcard) else _escaped(each) for each in parts)
    )


def _prefixed(field: Field, text: str) -> Query:
    # A query of prefixes ends at a thousand characters.
    return bounds(field, gte=text, lt=text_after(text))


def _wildcard(field: Field, pattern: str) -> Query:
    return {"wildcard": {field.name: {"value": SIGN + pattern}}}


def _escaped(text: str) -> str:
    return "".join(f"\\{each}" if each in "*?\\" else each for each in text)
