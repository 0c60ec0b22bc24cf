"""A function of one's own, understood: same_day(ts, text) says that ts lies on the day that text names.

Indexes of ts, such as minmax:ts, serve its calls.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
from starskip.skipping.own_types import Call, Expression, Literal, map_function


def same_day(at: dt.datetime | None, day: str) -> bool | None:
    """The function itself, for columns of type TIMESTAMP_NTZ."""
    return None if at is None else at.date() == dt.date.fromisoformat(day)


def register_functions(spark: Any) -> None:
    """Make it known to a session of Spark; ``starskip skipping explain`` calls this."""
    spark.udf.register("same_day", same_day, "boolean")


def implication(node: Expression) -> Expression | None:
    """Return a predicate that ts satisfies wherever same_day(ts, text) holds: a range that indexes know."""
    match node:
        case Call("udf:same_day", (column, Literal() as day)) if day.python is not None:
            start = dt.datetime.fromisoformat(day.python)
            bounds = [pa.scalar(each, pa.timestamp("us")) for each in (start, start + dt.timedelta(days=1))]
            from_start = Call("GreaterThanOrEqual", (column, Literal(bounds[0])))
            return Call("And", (from_start, Call("LessThan", (column, Literal(bounds[1])))))
    return None


map_function("same_day", implication)
