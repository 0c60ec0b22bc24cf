"""A skeleton parsed: table, filter, and the traits that decide how far Pinot scans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from starskip.errors import UnsupportedQuery
from starskip.sql.filter_tree import filter_tree
from starskip.sql.fingerprint import SLOT, masked
from starskip.sql.nesting import MAX_NESTING, nesting
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.predicate import Constant, Or, Predicate, Slot, columns_of, leaves
from starskip.sql.rewrite_filter import rewrite_filter

MAX_SKELETON_CHARACTERS = 20_000
MAX_PREDICATES = 200
"""What an AND costs grows with the square of its scans; equalities of one column count once."""

_QUERY = re.compile(r"[( ]*(?:select|with)\b", re.IGNORECASE)
_QUOTED_NAME = re.compile(r'"[^"]*+"|`[^`]*+`')
_TYPED_LITERAL = re.compile(rf"\b(?:DATE|TIMESTAMP|TIME)\s+(?={SLOT})", re.IGNORECASE)
_PINOT_DEFAULT_LIMIT = 10


@dataclass(frozen=True, slots=True)
class QueryShape:
    """What all queries of one skeleton share.

    ``shape_id``: hash of the normal form, equal for texts that differ in case, spaces or list lengths.
    ``text``: the normal form with ``?`` for literals. ``filter``: the WHERE tree after Pinot's rewrites.
    ``stops_early``: a selection without ORDER BY ends as soon as LIMIT rows are found.
    ``limit``: the slot of the LIMIT, or Pinot's default number where the text has none.
    """

    shape_id: str
    text: str
    filter: Predicate
    stops_early: bool
    limit: Slot | int | None

    @property
    def filter_columns(self) -> tuple[str, ...]:
        """The columns of the filter in text order."""
        return columns_of(self.filter)


def query_shape(skeleton: str) -> QueryShape:
    """Parse ``skeleton`` (see fingerprint); raise UnsupportedQuery with a reason code.

    Reasons: "too_long", "too_deep", "syntax", "not_a_select", "several_tables",
    "too_many_predicates".
    """
    if len(skeleton) > MAX_SKELETON_CHARACTERS:
        raise UnsupportedQuery("the query text is too long to be parsed", reason="too_long")
    if nesting(skeleton) > MAX_NESTING:
        raise UnsupportedQuery("the query is nested too deeply to be parsed", reason="too_deep")
    if not _QUERY.match(skeleton):
        # sqlglot would take it for a command of its own and write a warning to the log.
        raise UnsupportedQuery("not a SELECT", reason="not_a_select")
    if ":" in _QUOTED_NAME.sub("", skeleton):
        # Pinot has no use for it, and ``:p7`` would pass for a slot (see _parsed).
        raise UnsupportedQuery("a colon outside of quotes", reason="syntax")
    try:
        return _shape(_parsed(_TYPED_LITERAL.sub("", skeleton)))
    except RecursionError as error:
        # Not all nesting shows in brackets: ``a IN a IN a …``, casts of casts.
        raise UnsupportedQuery("the query is nested too deeply to be parsed", reason="too_deep") from error


def _shape(select: exp.Select) -> QueryShape:
    if len(list(select.find_all(exp.Table))) != 1 or select.find(exp.Subquery, exp.Join):
        raise UnsupportedQuery("the query reads several tables or a subquery", reason="several_tables")
    text = _normal_text(select)
    limit = _limit(select)
    _resolve_aliases(select)
    where = select.args.get("where")
    tree = rewrite_filter(filter_tree(where.this)) if where else _aggregation_filters(select)
    if sum(1 for _ in leaves(tree)) > MAX_PREDICATES:
        raise UnsupportedQuery("the filter has too many predicates", reason="too_many_predicates")
    return QueryShape(
        shape_id=blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        text=text,
        filter=tree,
        stops_early=_stops_early(select),
        limit=limit,
    )


def _resolve_aliases(select: exp.Select) -> None:
    """Put columns for their select-list aliases in the WHERE, as Pinot's broker does."""
    aliases = {
        item.alias: item.this
        for item in select.expressions
        if isinstance(item, exp.Alias) and isinstance(item.this, exp.Column)
    }
    where = select.args.get("where")
    if aliases and where:
        for column in list(where.find_all(exp.Column)):
            if not column.table and column.name in aliases:
                column.replace(aliases[column.name].copy())


def _aggregation_filters(select: exp.Select) -> Predicate:
    """``SUM(x) FILTER (WHERE p)`` without a WHERE scans once for each p, like the legs of an OR."""
    filters = [item.expression.this for item in select.find_all(exp.Filter) if item.expression]
    trees = tuple(rewrite_filter(filter_tree(predicate)) for predicate in filters)
    return Or(trees) if len(trees) > 1 else trees[0] if trees else Constant(True)


def _parsed(skeleton: str) -> exp.Select:
    pieces = skeleton.split(SLOT)
    text = pieces[0] + "".join(f":p{number} {piece}" for number, piece in enumerate(pieces[1:]))
    try:
        statements = sqlglot.parse(text, dialect=PinotDialect)
    except (SqlglotError, ValueError, TypeError, AttributeError) as error:
        # sqlglot leaks the last three on text that no SQL parser was made for; the query is set aside.
        raise UnsupportedQuery(f"not parsed: {_first_line(error)}", reason="syntax") from error
    # "SET timeoutMs = 1; SELECT …": options come first, the query last.
    last = next((s for s in reversed(statements) if s is not None), None)
    if not isinstance(last, exp.Select):
        raise UnsupportedQuery("not a SELECT", reason="not_a_select")
    return last


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return masked(lines[0][:200]) if lines else type(error).__name__


def _normal_text(select: exp.Select) -> str:
    def anonymous(node: exp.Expression) -> exp.Expression:
        return exp.Placeholder() if isinstance(node, exp.Placeholder) else node

    return select.copy().transform(anonymous).sql(dialect=PinotDialect, comments=False)


def _limit(select: exp.Select) -> Slot | int | None:
    limit = select.args.get("limit")
    if limit is None:
        return _PINOT_DEFAULT_LIMIT
    value = limit.expression if isinstance(limit, exp.Limit) else None
    if isinstance(value, exp.Placeholder) and value.name.startswith("p"):
        return Slot(int(value.name[1:]))
    return None


def _stops_early(select: exp.Select) -> bool:
    if select.args.get("order") or select.args.get("group"):
        return False
    if select.args.get("distinct"):
        return False
    return not any(_aggregates(item) for item in select.expressions)


# Pinot has some eighty aggregation functions and sqlglot types only the standard ones.
AGGREGATE_NAME = re.compile(
    r"(?:count|sum|min|max|avg|mode|percentile|distinct|minmaxrange|lastwithtime|firstwithtime|skewness|kurtosis"
    r"|var|stddev|stunion|segmentpartitioneddistinctcount|histogram|covar|corr|bool_|boolor|booland|idset|array_?agg"
    r"|list_?agg|funnel|fasthll|exprmin|exprmax|anyvalue|any_value)\w*",
    re.IGNORECASE,
)


def _aggregates(item: exp.Expression) -> bool:
    if item.find(exp.AggFunc):
        return True
    return any(AGGREGATE_NAME.fullmatch(call.name) for call in item.find_all(exp.Anonymous))
