"""Parse the text of a Spark SQL WHERE into an expression of columns and of literals of their types.

Comparisons have Spark's meaning. A comparison for which Spark would cast every row is refused, and so is a
literal of another type than the column's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp, parse_one, tokenize
from sqlglot.errors import SqlglotError

from starskip.errors import ConfigError, first_line, printable
from starskip.lake.spark_types import spark_type
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.predicates.like_pattern import like_parts
from starskip.predicates.ordered_values import is_text
from starskip.secondary.literal_values import (
    Value,
    literal_value,
    refused,
    typed_literal,
    typed_literals,
)
from starskip.secondary.spatial_functions import spatial_call
from starskip.secondary.table_schema import TableSchema

TRUE = Literal(pa.scalar(True))
_WHERE = re.compile(r"\s*where\b", re.IGNORECASE)
_COMPARISONS: Mapping[type[exp.Expression], tuple[str, str]] = {
    exp.EQ: ("EqualTo", "EqualTo"),
    exp.NullSafeEQ: ("EqualNullSafe", "EqualNullSafe"),
    exp.LT: ("LessThan", "GreaterThan"),
    exp.LTE: ("LessThanOrEqual", "GreaterThanOrEqual"),
    exp.GT: ("GreaterThan", "LessThan"),
    exp.GTE: ("GreaterThanOrEqual", "LessThanOrEqual"),
}
_OPPOSITES: Mapping[type[exp.Expression], type[exp.Expression]] = {
    exp.NEQ: exp.EQ,
    exp.NullSafeNEQ: exp.NullSafeEQ,
}
_TEXT_FUNCTIONS = {"CONTAINS": "Contains", "STARTSWITH": "StartsWith", "ENDSWITH": "EndsWith"}
_NULL_TESTS = {"ISNULL": "IsNull", "ISNOTNULL": "IsNotNull"}


def where_expression(text: str, schema: TableSchema) -> Expression:
    """Return the expression of a condition; the word WHERE may stand before it.

    Raises UnsupportedQuery for a text that cannot be parsed or evaluated as in Spark, and ConfigError for a
    column that the table lacks.
    """
    condition = _WHERE.sub("", text, count=1).strip().removesuffix(";")
    if not condition:
        return TRUE
    try:
        _require_no_prefixed_number(condition)
        parsed = parse_one(f"SELECT 1 FROM t WHERE {condition}", dialect="spark")  # noqa: S608 - is only parsed
    except (SqlglotError, RecursionError) as error:
        raise refused(f"the condition cannot be parsed: {first_line(error, 300)}") from None
    where = parsed.args.get("where") if isinstance(parsed, exp.Select) else None
    others = {key for key, value in parsed.args.items() if value} - {"expressions", "from", "from_", "where"}
    if where is None or others - {"kind"}:
        raise refused("write one condition, as it stands behind WHERE, and nothing else")
    try:
        return _Binder(schema).expression(where.this)
    except RecursionError:
        raise refused("the condition is nested too deep") from None


def _require_no_prefixed_number(condition: str) -> None:
    """Raise UnsupportedQuery for 0x1, which is a name in Spark; sqlglot takes it for bytes."""
    if "0x" not in condition.lower():
        return
    for token in tokenize(condition, dialect="spark"):
        if token.token_type.name == "HEX_STRING" and condition[token.start].lower() == "0":
            raise refused(f"{printable(condition[token.start : token.end + 1], 100)}: write bytes as X'1F'")


class _Binder:
    """Turns sqlglot's nodes into expressions over the columns of one table."""

    def __init__(self, schema: TableSchema) -> None:
        self._types = schema.types()
        self._chars = schema.chars
        self._small: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for path in self._types:
            self._small.setdefault(tuple(part.lower() for part in path), []).append(path)

    def expression(self, node: exp.Expression) -> Expression:
        """Return the expression of a boolean node."""
        for kinds, read in _READERS:
            if isinstance(node, kinds):
                return read(self, node)
        if isinstance(node, (exp.Column, exp.Dot)):
            column = self.column(node)
            if column.data_type == "boolean":
                return column
        raise refused(f"{_sql(node)}: is no condition that is evaluated here")

    def column(self, node: exp.Expression) -> Column:
        """Return the column that a node names; case does not matter."""
        path = _path(node)
        if path is None:
            raise refused(
                f"{_sql(node)}: compare a column with literals; expressions of columns are not evaluated here"
            )
        # A name may begin with the table's name.
        found = self._small.get(tuple(part.lower() for part in path), [])
        if not found:
            raise ConfigError(f"the table has no column {printable(column_name(path), 200)}", setting="where")
        if len(found) > 1 and path not in found:
            raise ConfigError(
                f"several columns are called {printable(column_name(path), 200)}", setting="where"
            )
        exact = path if path in found else found[0]
        return Column(exact, spark_type(self._types[exact]))

    def type_of(self, column: Column) -> pa.DataType:
        """Return the Arrow type of a column."""
        return self._types[column.path]

    def both(self, node: exp.Expression) -> Expression:
        name = "And" if isinstance(node, exp.And) else "Or"
        return Call(name, (self.expression(node.this), self.expression(node.expression)))

    def negation(self, node: exp.Expression) -> Expression:
        return Call("Not", (self.expression(node.this),))

    def inner(self, node: exp.Expression) -> Expression:
        return self.expression(node.this)

    def constant(self, node: exp.Expression) -> Expression:
        if isinstance(node, exp.Null):
            return Literal(pa.scalar(None, pa.bool_()))
        return Literal(pa.scalar(bool(node.this)))

    def comparison(self, node: exp.Expression, *, pads: bool = True) -> Expression:
        """Return a comparison; ``pads``: whether Spark pads both sides to the length of a CHAR(n) column."""
        opposite = _OPPOSITES.get(type(node))
        negated = opposite is not None
        name, mirrored = _COMPARISONS[opposite or type(node)]
        left, right = _bare(node.this), _bare(node.expression)
        for function in (self._distance, self._spatial):
            found = function(name, mirrored, left, right)
            if found is not None:
                return Call("Not", (found,)) if negated else found
        if _path(left) is None and _path(right) is not None:
            left, right, name = right, left, mirrored
        column = self.column(left)
        value = literal_value(right)
        left_side, (value,) = self._padded(column, [value]) if pads else (column, [value])
        found = Call(name, (left_side, typed_literal(column, self.type_of(column), value)))
        return Call("Not", (found,)) if negated else found

    def _padded(self, column: Column, values: list[Value]) -> tuple[Column | Call, list[Value]]:
        """Return a CHAR(n) column and the literals that it is compared with, as Spark pads them.

        Spark pads literals to n. It also pads the column, and cuts it, to the length of a longer literal.
        Fields of structs, an IN with null and BETWEEN are not padded.
        """
        length = self._chars.get(column.path) if len(column.path) == 1 else None
        texts = [each for each in values if isinstance(each, str)]
        if length is None or len(texts) < len(values):
            return column, values
        longest = max(length, *map(len, texts), 0)
        padded: list[Value] = [each.ljust(longest) for each in texts]
        if longest == length:
            return column, padded
        arguments = (column, Literal(pa.scalar(longest, pa.int32())), Literal(pa.scalar(" ")))
        return Call("StringRPad", arguments), padded

    def _distance(
        self, name: str, mirrored: str, left: exp.Expression, right: exp.Expression
    ) -> Expression | None:
        if isinstance(right, exp.Levenshtein):
            left, right, name = right, left, mirrored
        if not isinstance(left, exp.Levenshtein):
            return None
        texts = [_bare(left.this), _bare(left.expression)]
        if any(left.args.get(each) for each in ("ins_cost", "del_cost", "sub_cost", "max_dist")):
            raise refused("levenshtein takes two texts and no threshold: write levenshtein(c, 'x') <= k")
        if _path(texts[0]) is None:
            texts.reverse()
        column = self.column(texts[0])
        self._require_text(column, left)
        other = literal_value(texts[1])
        if other is not None and not isinstance(other, str):
            raise refused(f"{_sql(left)}: compares with no text")
        distance = Call("Levenshtein", (column, Literal(pa.scalar(other, pa.string()))))
        return _compared("levenshtein", name, distance, right, pa.int32())

    def _spatial(
        self, name: str, mirrored: str, left: exp.Expression, right: exp.Expression
    ) -> Expression | None:
        for call, other, of in ((left, right, name), (right, left, mirrored)):
            found = spatial_call(call, self.column)
            if found is not None and found.name == "udf:st_distance":
                return _compared("ST_Distance", of, found, other, pa.float64())
        return None

    def between(self, node: exp.Expression) -> Expression:
        if node.args.get("symmetric"):
            raise refused("BETWEEN SYMMETRIC is not evaluated here")
        low = exp.GTE(this=node.this, expression=node.args["low"])
        high = exp.LTE(this=node.this, expression=node.args["high"])
        return Call("And", (self.comparison(low, pads=False), self.comparison(high, pads=False)))

    def membership(self, node: exp.Expression) -> Expression:
        if node.args.get("query") or node.args.get("unnest"):
            raise refused("IN of a query is not evaluated here")
        column = self.column(_bare(node.this))
        values = [literal_value(_bare(each)) for each in node.expressions]
        left_side, values = self._padded(column, values)
        return Call("In", (left_side, typed_literals(column, self.type_of(column), values)))

    def null_test(self, node: exp.Expression) -> Expression:
        if isinstance(node.expression, exp.Null):
            return Call("IsNull", (self.column(_bare(node.this)),))
        if isinstance(node.expression, exp.Boolean):
            value = self.expression(node.this)
            return Call("EqualNullSafe", (value, Literal(pa.scalar(bool(node.expression.this)))))
        raise refused(f"{_sql(node)}: is no condition that is evaluated here")

    def like(self, node: exp.Expression) -> Expression:
        escape = "\\"
        if isinstance(node, exp.Escape):
            given, node = literal_value(node.expression), node.this
            if not isinstance(given, str) or len(given) != 1:
                raise refused(f"{_sql(node)} ESCAPE {printable(repr(given), 100)}: takes one character")
            escape = given
        if not isinstance(node, exp.Like) or isinstance(node.expression, (exp.Any, exp.All)):
            raise refused(f"{_sql(node)}: only LIKE is evaluated here")
        column = self.column(_bare(node.this))
        self._require_text(column, node)
        pattern = literal_value(_bare(node.expression))
        if pattern is not None and (not isinstance(pattern, str) or like_parts(pattern, escape) is None):
            raise refused(f"{_sql(node)}: is no pattern of LIKE that Spark takes")
        arguments = (column, Literal(pa.scalar(pattern, pa.string())), Literal(pa.scalar(escape)))
        found: Expression = Call("Like", arguments)
        return Call("Not", (found,)) if node.args.get("negate") else found

    def function(self, node: exp.Expression) -> Expression:
        spatial = spatial_call(node, self.column)
        if spatial is not None and spatial.name == "udf:st_contains":
            return spatial
        is_known = isinstance(node, (exp.Contains, exp.StartsWith, exp.EndsWith))
        called = (type(node).__name__ if is_known else node.name).upper()
        if called in _NULL_TESTS and len(node.expressions) == 1:
            return Call(_NULL_TESTS[called], (self.column(_bare(node.expressions[0])),))
        name = _TEXT_FUNCTIONS.get(called, "")
        arguments = [node.this, node.expression] if is_known else node.expressions
        if not name or len(arguments) != 2:
            raise refused(
                f"{_sql(node)}: this function is not evaluated here; contains, startswith, endswith, "
                "levenshtein, ST_Contains and ST_Distance are"
            )
        column = self.column(_bare(arguments[0]))
        self._require_text(column, node)
        text = literal_value(_bare(arguments[1]))
        if text is not None and not isinstance(text, str):
            raise refused(f"{_sql(node)}: compares with no text")
        return Call(name, (column, Literal(pa.scalar(text, pa.string()))))

    def _require_text(self, column: Column, node: exp.Expression) -> None:
        if not is_text(self.type_of(column)):
            raise refused(f"{_sql(node)}: {column_name(column.path)} is {column.data_type}, no string")


_Reader = Callable[[_Binder, Any], Expression]
_READERS: tuple[tuple[tuple[type[Any], ...], _Reader], ...] = (
    ((exp.Paren,), _Binder.inner),
    ((exp.And, exp.Or), _Binder.both),
    ((exp.Not,), _Binder.negation),
    ((exp.Boolean, exp.Null), _Binder.constant),
    ((*_OPPOSITES, *_COMPARISONS), _Binder.comparison),
    ((exp.Between,), _Binder.between),
    ((exp.In,), _Binder.membership),
    ((exp.Is,), _Binder.null_test),
    ((exp.Like, exp.Escape), _Binder.like),
    ((exp.Func,), _Binder.function),
)


def _compared(function: str, name: str, value: Call, other: exp.Expression, kind: pa.DataType) -> Expression:
    """Compare a function's value with a literal, as a column of its type would be."""
    literal = typed_literal(Column((function,), spark_type(kind)), kind, literal_value(_bare(other)))
    return Call(name, (value, literal))


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _path(node: exp.Expression) -> tuple[str, ...] | None:
    node = _bare(node)
    if isinstance(node, exp.Column):
        return tuple(part.name for part in node.parts)
    if isinstance(node, exp.Dot):
        above = _path(node.this)
        return None if above is None else (*above, node.expression.name)
    return None


def _sql(node: exp.Expression) -> str:
    return printable(node.sql(dialect="spark"), 200)
