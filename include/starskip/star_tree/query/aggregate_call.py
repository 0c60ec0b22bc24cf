"""Parse one aggregation of a query: a function of one column whose intermediate results are bounded.

Names follow Pinot 1.5's AggregationFunctionType (case and underscores do not matter, a percentile may be part
of the name) and Spark 4's ``approx_count_distinct``, ``percentile_approx`` and ``approx_percentile``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sqlglot import exp

from starskip.errors import UnsupportedQuery, printable
from starskip.star_tree.function_column_pair import (
    BOUNDED_INSTEAD,
    AggregationFunction,
    FunctionColumnPair,
)
from starskip.star_tree.measure import Measure
from starskip.star_tree.measures.sketches import HLL_LG_K

_TYPED: dict[type[exp.Expr], AggregationFunction] = {
    exp.Count: AggregationFunction.COUNT,
    exp.Min: AggregationFunction.MIN,
    exp.Max: AggregationFunction.MAX,
    exp.Sum: AggregationFunction.SUM,
    exp.Avg: AggregationFunction.AVG,
    exp.ApproxDistinct: AggregationFunction.DISTINCTCOUNTHLL,
    exp.ApproxQuantile: AggregationFunction.PERCENTILEEST,
}
_PERCENTILES = (AggregationFunction.PERCENTILEEST, AggregationFunction.PERCENTILETDIGEST)
_NAMED = re.compile(r"(MINMAXRANGE|DISTINCTCOUNTHLL|PERCENTILEEST|PERCENTILETDIGEST)(\d{1,2}|100)?")
_UNBOUNDED = re.compile(r"(DISTINCTCOUNT|COUNTDISTINCT|PERCENTILE|MEDIAN|MODE)(\d*)")
_EXACT = ("DISTINCTCOUNT", "COUNTDISTINCT", "PERCENTILE")
_HLL_ERROR_RATIO = round(1.04 / math.sqrt(2**HLL_LG_K), 4)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """``function`` of ``column``, which is ``*`` where rows are counted.

    ``percentile``, from 0 to 100, is None for other functions, and for the ``?`` of a log.
    """

    function: AggregationFunction
    column: str
    percentile: float | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the measures that a tree must keep for it."""
        return FunctionColumnPair(self.function, self.column).measures


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether ``node`` itself calls an aggregation function, be it one for star-trees or not."""
    if isinstance(node, exp.Anonymous):
        name = _plain_name(node.name)
        return bool(_NAMED.fullmatch(name) or _UNBOUNDED.fullmatch(name))
    return isinstance(node, exp.AggFunc)


def aggregate_call(node: exp.Expr) -> AggregateCall:
    """Return the call of the aggregate ``node``, with the column's name as in the node.

    Raises UnsupportedQuery with a reason "function", "distinct", "expression", "argument" or "precision".
    """
    call = _call(node)
    if call.function is AggregationFunction.DISTINCTCOUNTHLL:
        _require_kept_precision(node)
    return call


def exact_call(node: exp.Expr) -> AggregateCall:
    """Return the call of ``node``, also for functions whose intermediate results are not bounded.

    DISTINCTCOUNT is taken for DISTINCTCOUNTHLL and PERCENTILE for PERCENTILEEST. Raises UnsupportedQuery as
    in aggregate_call, except for the precision.
    """
    match = _UNBOUNDED.fullmatch(_plain_name(node.name)) if isinstance(node, exp.Anonymous) else None
    if match is None:
        return _call(node)
    bounded = "PERCENTILEEST" + match[2] if match[1] == "PERCENTILE" else "DISTINCTCOUNTHLL"
    if match[1] not in _EXACT:
        raise UnsupportedQuery(
            f"the function {printable(node.name, 60)} is not known here", reason="argument"
        )
    return _call(exp.Anonymous(this=bounded, expressions=node.expressions))


def _call(node: exp.Expr) -> AggregateCall:
    if isinstance(node, exp.Anonymous):
        return _anonymous(node)
    function = _TYPED.get(type(node))
    if function is None:
        raise _no_function(node.sql_name() if isinstance(node, exp.Func) else node.key)
    if isinstance(node.this, exp.Distinct):
        raise UnsupportedQuery(
            "an aggregation of DISTINCT values has no intermediate result of bounded size, so that no "
            "star-tree keeps it; DISTINCTCOUNTHLL approximates COUNT(DISTINCT)",
            reason="distinct",
        )
    if node.expressions:
        raise UnsupportedQuery(
            f"{function.value} of several arguments is not pre-aggregated", reason="expression"
        )
    if function is AggregationFunction.COUNT and _counts_rows(node.this):
        return AggregateCall(function, "*")
    column = _column(function, node.this)
    if isinstance(node, exp.ApproxQuantile):
        return AggregateCall(function, column, _percentile(node.args.get("quantile"), 1.0))
    return AggregateCall(function, column)


def _anonymous(node: exp.Anonymous) -> AggregateCall:
    match = _NAMED.fullmatch(_plain_name(node.name))
    if match is None or not node.expressions:
        raise _no_function(node.name)
    function, (first, *rest) = AggregationFunction(match[1]), node.expressions
    column = _column(function, first)
    if function in _PERCENTILES:
        if match[2] is not None:
            return AggregateCall(function, column, float(match[2]))
        if not rest:
            raise UnsupportedQuery(
                f"{match[1]} needs a percentile, as in {match[1]}({column}, 95)", reason="argument"
            )
        return AggregateCall(function, column, _percentile(rest[0], 100.0))
    if match[2] is not None:
        raise _no_function(node.name)
    return AggregateCall(function, column)


def _plain_name(name: str) -> str:
    return name.upper().replace("_", "")


def _counts_rows(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.Star) or (isinstance(argument, exp.Literal) and not argument.is_string)


def _column(function: AggregationFunction, argument: object) -> str:
    while isinstance(argument, exp.Paren):
        argument = argument.this
    if not isinstance(argument, exp.Column) or isinstance(argument.this, exp.Star):
        raise UnsupportedQuery(
            f"{function.value} of an expression: star-trees pre-aggregate columns only", reason="expression"
        )
    return argument.name


def _percentile(argument: object, whole: float) -> float | None:
    """Return a percentile given as a number up to ``whole``; None for the ``?`` of a log."""
    if isinstance(argument, exp.Placeholder):
        return None
    number = _number(argument)
    if number is None or not 0 <= number <= whole:
        raise UnsupportedQuery(f"a percentile must be a number from 0 to {whole:g}", reason="argument")
    return number if whole == 100 else number * 100


def _number(argument: object) -> float | None:
    if isinstance(argument, exp.Literal):
        try:
            return float(argument.this)
        except ValueError:
            return None
    return None


def _require_kept_precision(node: exp.Expr) -> None:
    """Refuse a finer sketch than trees keep: HLL of 2^12 registers, whose error is 1.04 / sqrt(2^12)."""
    error_ratio = _number(node.args.get("accuracy"))
    log2_m = _number(next(iter(node.expressions[1:]), None))
    if error_ratio is not None and error_ratio < _HLL_ERROR_RATIO:
        asked = f"an error of {error_ratio:g}; star-trees keep {_HLL_ERROR_RATIO}"
    elif log2_m is not None and log2_m > HLL_LG_K:
        asked = f"log2m {log2_m:g}; star-trees keep {HLL_LG_K}"
    else:
        return
    raise UnsupportedQuery(f"distinct values are counted with {asked}", reason="precision")


def _no_function(name: str) -> UnsupportedQuery:
    shown = printable(name.upper(), 60)
    match = _UNBOUNDED.fullmatch(_plain_name(name))
    if match is None:
        return UnsupportedQuery(f"no star-tree keeps {shown}", reason="function")
    instead = BOUNDED_INSTEAD.get(match[1])
    more = f"; {instead} approximates it" if instead else ""
    return UnsupportedQuery(
        f"{shown} has no intermediate result of bounded size, so that no star-tree keeps it{more}",
        reason="function",
    )
