"""Split a WHERE into conjuncts of one column each."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.star_tree.query.aggregate_call import is_aggregate

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Conjunct:
    """``expression`` over ``column``; a column of None is a constant such as ``1 = 0``."""

    column: str | None
    expression: exp.Expr


def conjuncts(where: exp.Expr) -> tuple[Conjunct, ...]:
    """Return the predicates that must all be TRUE, in text order; NOT (a OR b) is NOT a AND NOT b.

    Raises UnsupportedQuery with a reason "several_columns" or "aggregate_in_filter".
    """
    if any(is_aggregate(node) for node in where.walk()):
        raise UnsupportedQuery("an aggregation in WHERE: put it into HAVING", reason="aggregate_in_filter")
    found: list[Conjunct] = []
    # Walked without recursion: machine-made filters chain thousands of predicates.
    waiting = [(where, False)]
    while waiting:
        node, negated = waiting.pop()
        match node:
            case exp.Paren():
                waiting.append((node.this, negated))
            case exp.Not():
                waiting.append((node.this, not negated))
            case exp.And() if not negated:
                waiting += [(node.expression, negated), (node.this, negated)]
            case exp.Or() if negated:
                waiting += [(node.expression, negated), (node.this, negated)]
            case _:
                found.append(_conjunct(exp.Not(this=exp.paren(node)) if negated else node))
    return tuple(found)


def _conjunct(expression: exp.Expr) -> Conjunct:
    names = list(dict.fromkeys(column.name for column in expression.find_all(exp.Column)))
    if len(names) > 1:
        shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        raise UnsupportedQuery(
            f"one predicate of WHERE is over several columns ({shown}); a star-tree takes predicates of one "
            "dimension each, joined by AND",
            reason="several_columns",
        )
    return Conjunct(names[0] if names else None, expression)
