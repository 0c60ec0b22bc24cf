"""Write a predicate as Spark SQL, to run it against the table.

Predicates come from logs that anyone can write into. Every literal is written with its type, and characters
other than plain ones are escaped, since Spark substitutes ``${env:NAME}`` even within string literals.
Functions that reach beyond the row are refused.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from starskip.errors import UnsupportedQuery, printable
from starskip.predicates.data_types import type_name
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.expression_json import MAX_DEPTH
from starskip.predicates.predicate_shape import SIGNS

MOST_CHARACTERS = 1 << 20
REASON = "predicate_not_askable"
_MOST_WILDCARDS = 10
"""Wildcards of a LIKE: Spark backtracks, and each may multiply the steps by the text's length."""
_FUNCTION = re.compile(r"(?:udf:)?([A-Za-z_][A-Za-z0-9_]{0,199})")
_ODD = re.compile(r"[^A-Za-z0-9 _.,:;/+*%()&@!?#<>=|~^\[\]-]")
_BEYOND_THE_ROW = frozenset(
    {
        # They call Java methods by name.
        "callmethodviareflection",
        "java_method",
        "reflect",
        "try_reflect",
        # They depend on a row's position, or on chance.
        "input_file_block_length",
        "input_file_block_start",
        "input_file_name",
        "inputfilename",
        "monotonically_increasing_id",
        "monotonicallyincreasingid",
        "rand",
        "randn",
        "random",
        "randstr",
        "shuffle",
        "spark_partition_id",
        "sparkpartitionid",
        "uniform",
        "uuid",
        # They produce output of any size.
        "array_repeat",
        "arrayrepeat",
        "lpad",
        "repeat",
        "rpad",
        "sequence",
        "space",
        "stringrepeat",
        "stringspace",
    }
)
_NAMES = {
    "ArrayContains": "array_contains",
    "ElementAt": "try_element_at",
    "GetJsonObject": "get_json_object",
    "GetMapValue": "try_element_at",
    "SubstringIndex": "substring_index",
}
"""SQL names of functions that Catalyst names otherwise; no such function fails on a row."""
_PATTERNS = ("regexp", "rlike", "xpath")
"""Functions whose names begin or end like this take a pattern that may run for ever."""
_UNKNOWN_PARTS = frozenset({"Unknown", "Cast"})
_EPOCH_NTZ = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def expression_sql(expression: Expression) -> str:
    """Return the SQL of a predicate; raise UnsupportedQuery for unknown or refused parts."""
    writer = _Writer()
    writer.write(expression, MAX_DEPTH)
    return "".join(writer.pieces)


def column_sql(path: tuple[str, ...]) -> str:
    """Return the SQL of a column path; raise UnsupportedQuery for a name that may not be in a query."""
    for part in path:
        if not part or not part.isprintable() or "${" in part:
            raise _unsupported(f"the column {printable('.'.join(path), 100)!r} has no name that can be asked")
    if not path:
        raise _unsupported("a column has no name")
    return ".".join(f"`{part.replace('`', '``')}`" for part in path)


class _Writer:
    """Writes an expression as pieces of SQL, of bounded length in all."""

    __slots__ = ("_left", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._left = MOST_CHARACTERS

    def write(self, expression: Expression, depth: int) -> None:
        if depth == 0:
            raise _unsupported(f"the predicate is nested over {MAX_DEPTH} deep")
        if isinstance(expression, Column):
            self._add(column_sql(expression.path))
        elif isinstance(expression, Literal):
            self._add(_literal(expression.value))
        elif isinstance(expression, Call):
            self._call(expression, depth - 1)
        else:
            raise _unsupported("a set of values stands where none can")

    def _call(self, call: Call, depth: int) -> None:
        name, arguments = call.name, call.arguments
        if name in ("And", "Or") and arguments:
            self._infix(_operands(call), f" {name.upper()} ", depth)
        elif name == "In" and len(arguments) == 2:
            self._in(call, depth)
        elif name in SIGNS and len(arguments) == 2:
            self._infix(arguments, f" {SIGNS[name]} ", depth)
        elif name in ("Not", "UnaryMinus") and len(arguments) == 1:
            self._add("(NOT " if name == "Not" else "(- ")
            self.write(call.left, depth)
            self._add(")")
        elif name in ("IsNull", "IsNotNull") and len(arguments) == 1:
            self._add("(")
            self.write(call.left, depth)
            self._add(" IS NULL)" if name == "IsNull" else " IS NOT NULL)")
        elif name == "Like" and len(arguments) in (2, 3):
            self._like(call, depth)
        elif name == "Invoke" and len(arguments) == 4 and arguments[0] == Call("ParseUrlEvaluator"):
            self._add("`try_parse_url`")
            self._infix(arguments[1:3], ", ", depth)
        else:
            self._add(f"`{_function(name)}`")
            self._infix(arguments, ", ", depth)

    def _infix(self, operands: tuple[Expression, ...], between: str, depth: int) -> None:
        self._add("(")
        for number, operand in enumerate(operands):
            if number:
                self._add(between)
            self.write(operand, depth)
        self._add(")")

    def _in(self, call: Call, depth: int) -> None:
        values = call.right
        if not isinstance(values, LiteralSet):
            raise _unsupported("an IN has no set of values")
        if not len(values.values) and not values.has_null:
            # SQL has no empty list; IN of none is false.
            self._add("FALSE")
            return
        self._add("(")
        self.write(call.left, depth)
        between = " IN ("
        for value in values.values:
            self._add(between)
            self._add(_literal(value))
            between = ", "
        if values.has_null:
            self._add(between)
            self._add(_literal(pa.scalar(None, values.values.type)))
        self._add("))")

    def _like(self, call: Call, depth: int) -> None:
        text, pattern, *escapes = call.arguments
        if isinstance(pattern, Literal) and str(pattern.python).count("%") > _MOST_WILDCARDS:
            raise _unsupported(f"a LIKE has more than {_MOST_WILDCARDS} wildcards, which may take for ever")
        self._add("(")
        self.write(text, depth)
        self._add(" LIKE ")
        self.write(pattern, depth)
        for escape in escapes:
            sign = escape.python if isinstance(escape, Literal) else None
            if not isinstance(sign, str) or len(sign) != 1 or ord(sign) > 0xFFFF:
                raise _unsupported("a LIKE has an escape that is no single character")
            if sign != "\\":
                self._add(f" ESCAPE '\\u{ord(sign):04X}'")
        self._add(")")

    def _add(self, piece: str) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise _unsupported(f"the predicate is longer than {MOST_CHARACTERS} characters")
        self.pieces.append(piece)


def _operands(chain: Call) -> tuple[Expression, ...]:
    """Flatten a chain of AND or OR, so that a long chain is not deep."""
    found: list[Expression] = []
    waiting: list[Expression] = [chain]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Call) and each.name == chain.name and each.arguments:
            waiting.extend(reversed(each.arguments))
        else:
            found.append(each)
        if len(found) + len(waiting) > MOST_CHARACTERS:
            raise _unsupported(f"the predicate is longer than {MOST_CHARACTERS} characters")
    return tuple(found)


def _function(name: str) -> str:
    if name in _UNKNOWN_PARTS:
        raise _unsupported(
            "a part of the predicate is not known: a cast, a subquery or a value of its own kind"
        )
    found = _FUNCTION.fullmatch(name)
    if found is None:
        raise _unsupported(f"{printable(name, 100)!r} is no function that can be asked for")
    small = found[1].lower()
    if small in _BEYOND_THE_ROW:
        raise _unsupported(f"the function {small} of a log is not run: it reaches beyond the row")
    if small.startswith(_PATTERNS) or small.endswith(_PATTERNS):
        raise _unsupported(f"the function {small} of a log is not run: its pattern may take for ever")
    return _NAMES.get(name, found[1])


def _literal(value: pa.Scalar) -> str:
    """Return a literal with its type, independent of the session's settings."""
    kind = value.type
    name = type_name(kind)
    if name is None:
        if pa.types.is_null(kind):
            return "NULL"
        raise _unsupported(f"a value is of the type {printable(str(kind), 100)}, which has no literal")
    if not value.is_valid:
        return f"CAST(NULL AS {name.upper()})"
    if pa.types.is_boolean(kind):
        return "TRUE" if value.as_py() else "FALSE"
    if pa.types.is_integer(kind):
        return f"({value.as_py()}{_SUFFIXES[name]})"
    if pa.types.is_floating(kind):
        return f"CAST('{_float_text(value)}' AS {name.upper()})"
    if pa.types.is_decimal(kind):
        return f"CAST('{value.as_py():f}' AS {name.upper()})"
    if pa.types.is_date(kind):
        return f"date_from_unix_date({value.cast(pa.int32()).as_py()})"
    if pa.types.is_timestamp(kind):
        microseconds = f"{value.cast(pa.int64()).as_py()}L"
        if kind.tz is not None:
            return f"timestamp_micros({microseconds})"
        return f"timestampadd(MICROSECOND, {microseconds}, {_EPOCH_NTZ})"
    content = value.as_buffer().to_pybytes()
    if len(content) > MOST_CHARACTERS:
        raise _unsupported(f"a value is longer than {MOST_CHARACTERS} bytes")
    if pa.types.is_binary(kind):
        return f"X'{content.hex()}'"
    try:
        return f"'{_ODD.sub(_escaped, content.decode())}'"
    except UnicodeDecodeError:
        return f"CAST(X'{content.hex()}' AS STRING)"


_SUFFIXES = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}


def _float_text(value: pa.Scalar) -> str:
    number = value.as_py()
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return str(np.float32(number)) if value.type == pa.float32() else repr(number)


def _escaped(odd: re.Match[str]) -> str:
    code = ord(odd[0])
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _unsupported(message: str) -> UnsupportedQuery:
    return UnsupportedQuery(message, reason=REASON)
