"""Statements to replay: sampled queries of each shape, with the shape's part in the load of the table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from starskip.advisor.families.families import named
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.workload.shape_workload import Instance, Literals, ShapeWorkload
from starskip.errors import UnsupportedQuery
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.target_version import target_version
from starskip.sql.function_names import canonical_name
from starskip.sql.parsed_query import parsed_query
from starskip.sql.predicate import Slot, leaves
from starskip.sql.query_shape import DEFAULT_LIMIT, QueryShape, aggregates, parsed_shape
from starskip.sql.query_text import query_text
from starskip.sql.redacted_text import REDACTED

MAX_SHAPES = 200
"""Shapes of a table that are replayed, those that scan most first."""

_APPROXIMATE = re.compile(r"percentile(raw)?(est|tdigest|kll|smart)|hll|ull|cpc|theta|sketch|approx")


@dataclass(frozen=True, slots=True)
class Statement:
    """One query to replay, and the ``queries`` of the log that it stands for.

    ``text``: its shape without literals, for people. ``served_by``: names of the indexes that answer it or a
    predicate of it. ``keys``: positions of the columns that aggregate nothing. ``approximate``: positions of
    the columns of approximate functions. ``limit``: the most rows of an answer, None where it has one row
    whatever the limit. ``stops_early``: it ends at its limit, and what it scans until then depends on the
    run.
    """

    sql: str
    shape_id: str
    text: str
    queries: float
    served_by: tuple[str, ...]
    keys: tuple[int, ...]
    approximate: tuple[int, ...]
    limit: int | None
    stops_early: bool

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Statement:
        """Return the statement whose fields are in ``document``, with lists for tuples."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in document.items()}
        return cls(**fields)


def replayed_statements(
    shapes: Iterable[ShapeWorkload],
    instances_per_shape: int,
    indexes: Sequence[AdvisedIndex],
    pinot_version: str,
    half: str = "",
) -> list[Statement]:
    """Return the queries to replay; shapes that are not understood, and redacted queries, are left out.

    ``half``: the half of a hybrid table that is asked alone, such as T_OFFLINE. Of both Pinot leaves out the
    rows that the other half has, too, so that they would not show what an index of one half saves.
    """
    found: list[Statement] = []
    ranked = sorted(shapes, key=lambda shape: shape.entries_scanned, reverse=True)
    for shape in [each for each in ranked if each.is_parsed and each.instances][:MAX_SHAPES]:
        try:
            parsed = parsed_shape(shape.skeleton)
            select = parsed_query(shape.skeleton)
        except UnsupportedQuery:
            continue
        if not isinstance(select, exp.Select):
            continue
        serving = tuple(each.name for each in indexes if _serves(each, shape.shape_id, parsed, pinot_version))
        chosen = _largest(shape, instances_per_shape)
        total = sum(instance.estimated_queries for _, instance in chosen)
        for literals, instance in chosen:
            share = instance.estimated_queries / max(total, 1.0)
            queries = shape.weighted_queries * share
            found.append(_statement(shape, parsed, select, literals, queries, serving, half))
    return found


def _serves(index: AdvisedIndex, shape_id: str, parsed: QueryShape, pinot_version: str) -> bool:
    """Return whether an index answers a shape or a predicate of it; one whose shapes are not known may."""
    family = named(index.family)
    if family is None or family.path is None:
        return shape_id in index.shapes if index.shapes else not parsed.stops_early
    target, serves = target_version(pinot_version, index.columns), family.path.serves
    return any(leaf.column in index.columns and serves(leaf, target) for leaf in leaves(parsed.filter))


def _largest(shape: ShapeWorkload, count: int) -> list[tuple[Literals, Instance]]:
    whole = [
        (literals, instance)
        for literals, instance in shape.instances.items()
        if not any(value.startswith(REDACTED) for values in literals for value in values)
    ]
    return sorted(whole, key=lambda each: (-each[1].estimated_entries, each[0]))[:count]


def _statement(
    shape: ShapeWorkload,
    parsed: QueryShape,
    select: exp.Select,
    literals: Literals,
    queries: float,
    serving: tuple[str, ...],
    half: str,
) -> Statement:
    items: Sequence[exp.Expression] = select.expressions
    aggregated = [position for position, item in enumerate(items) if aggregates(item)]
    has_one_row = bool(aggregated) and not select.args.get("group") and len(aggregated) == len(items)
    return Statement(
        query_text(_of_half(shape.skeleton, half), literals),
        shape.shape_id,
        shape.text,
        queries,
        serving,
        tuple(position for position in range(len(items)) if position not in aggregated),
        _approximate(items, aggregated),
        None if has_one_row else _limit(parsed.limit, literals),
        parsed.stops_early,
    )


def _of_half(skeleton: str, half: str) -> str:
    """Return the skeleton, which has no literals, with FROM T as FROM ``half``."""
    table = re.escape(without_type(half)[0])
    return re.sub(rf'(?i)\b(FROM\s+"?){table}(?![\w.])', rf"\g<1>{half}", skeleton) if half else skeleton


def _approximate(items: Sequence[exp.Expression], aggregated: Collection[int]) -> tuple[int, ...]:
    return tuple(
        position
        for position in aggregated
        if any(_APPROXIMATE.search(_name(call)) for call in items[position].find_all(exp.Func))
    )


def _name(call: exp.Func) -> str:
    return canonical_name(call.name if isinstance(call, exp.Anonymous) else type(call).__name__)


def _limit(limit: Slot | int | None, literals: Literals) -> int:
    """Return the most rows of an answer; 0 if it is not known, which no answer stays below."""
    if isinstance(limit, int):
        return limit
    if limit is None:
        return 0
    try:
        return int(literals[limit.position][0])
    except (IndexError, ValueError):
        return DEFAULT_LIMIT
