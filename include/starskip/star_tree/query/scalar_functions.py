"""Scalar functions that a query may use, because Pinot, Spark and DuckDB compute them alike.

An allow list, since expressions run in a database that has functions for files and settings too. Left out
because the engines differ: days of the week (three ways of counting), logarithms (two orders of arguments).
"""

from __future__ import annotations

from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.star_tree.query.aggregate_call import is_aggregate

_TYPED = (
    *(exp.And, exp.Or, exp.Xor, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast, exp.TryCast),
    *(exp.Abs, exp.Ceil, exp.Floor, exp.Round, exp.Sign, exp.Sqrt, exp.Exp, exp.Ln, exp.Pow),
    *(exp.Greatest, exp.Least, exp.IsNan),
    *(exp.Lower, exp.Upper, exp.Length, exp.Substring, exp.Trim, exp.Concat, exp.Left, exp.Right),
    *(exp.StartsWith, exp.EndsWith, exp.StrPosition, exp.RegexpLike),
    *(exp.DateTrunc, exp.TimestampTrunc, exp.Extract, exp.Date, exp.TsOrDsToDate, exp.TsOrDsAdd),
    *(exp.DateAdd, exp.DateSub, exp.DateDiff),
    *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth, exp.DayOfYear),
    *(exp.Hour, exp.Minute, exp.Second),
    *(exp.RowNumber, exp.Rank, exp.DenseRank),
)
_EXTRACTED = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "HOUR", "MINUTE"}
_TRUNCATED = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"}


def known_functions(select: exp.Expr) -> None:
    """Replace Pinot's own spellings (``DATETRUNC``) and say how LIKE escapes; in place.

    Aggregations are left as they are. A backslash escapes in a LIKE of Pinot and of Spark.

    Raises UnsupportedQuery with a reason "function" that names the first function that is not known.
    """
    for node in list(select.walk()):
        if isinstance(node, exp.Anonymous) and not is_aggregate(node):
            node.replace(_spelled(node))
        elif isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)):
            _require_unit(node.text("unit"), _TRUNCATED)
        elif isinstance(node, exp.Extract):
            _require_unit(node.name, _EXTRACTED)
        elif isinstance(node, (exp.Like, exp.ILike)):
            _say_escape(node)
        elif isinstance(node, exp.Func) and not isinstance(node, (*_TYPED, exp.AggFunc, exp.Anonymous)):
            raise _unknown(node.sql_name())


def _spelled(node: exp.Anonymous) -> exp.Expr:
    name, arguments = node.name.upper().replace("_", ""), node.expressions
    if name == "DATETRUNC" and len(arguments) == 2 and arguments[0].is_string:
        unit = arguments[0].name.upper()
        _require_unit(unit, _TRUNCATED)
        return exp.TimestampTrunc(this=arguments[1], unit=exp.var(unit))
    raise _unknown(node.name)


def _say_escape(like: exp.Expr) -> None:
    pattern = like.expression
    if isinstance(pattern, exp.Literal) and "\\" in pattern.this and not isinstance(like.parent, exp.Escape):
        like.replace(exp.Escape(this=like.copy(), expression=exp.Literal.string("\\")))


def _require_unit(unit: str, known: set[str]) -> None:
    if unit.upper() not in known:
        raise UnsupportedQuery(
            f"{printable(unit, 40)} is no unit of time that is known here; there are "
            + ", ".join(sorted(known)),
            reason="function",
        )


def _unknown(name: str) -> UnsupportedQuery:
    return UnsupportedQuery(
        f"the function {printable(name.upper(), 60)} is not known here", reason="function"
    )
