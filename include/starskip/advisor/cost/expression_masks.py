"""Rows of a window that a predicate on an expression keeps, such as ``UPPER(city) = 'OSLO'``.

DuckDB computes the expression: over the distinct values if it uses one column with a dictionary, over the
rows otherwise. An expression that DuckDB cannot compute as Pinot does (unknown functions, multi-value
columns) has no mask, and none has where DuckDB is not installed; its share of rows is estimated elsewhere.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from starskip.advisor.cost.leaf_positions import Literals
from starskip.errors import MissingExtra, UnsupportedQuery
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.predicate import Leaf
from starskip.sql.sandboxed_duckdb import SandboxedDuckDB, locked_database
from starskip.sql.typed_literals import with_typed_literals
from starskip.star_tree.query.scalar_functions import known_functions
from starskip.tables.row_window import RowWindow
from starskip.tables.value_order import distinct_values

Mask = npt.NDArray[np.bool_]


def expression_mask(leaf: Leaf, literals: Literals, window: RowWindow) -> Mask | None:
    """Return the rows that ``leaf``, an EXPRESSION, keeps; None if they cannot be computed."""
    columns = {name: window.columns[name] for name in leaf.columns if name in window.columns}
    if not leaf.expression or not columns or len(columns) < len(leaf.columns):
        return None
    if any(column.offsets is not None for column in columns.values()):
        return None
    single = next(iter(columns.values())) if len(columns) == 1 else None
    is_coded = single is not None and single.dictionary is not None
    values = {name: distinct_values(column) for name, column in columns.items()}
    if not is_coded:
        values = {name: of.take(pa.array(columns[name].codes)) for name, of in values.items()}
    try:
        predicate = _pinots(_with_literals(leaf.expression, literals))
        known_functions(predicate)
        _in_milliseconds(predicate)
        typed = with_typed_literals(predicate, {name: of_column.type for name, of_column in values.items()})
        text = typed.sql(dialect="duckdb", comments=False)
        found = _database().rows(f"SELECT {text} AS kept FROM asked", asked=pa.table(values))  # noqa: S608 - a tree
    except (MissingExtra, UnsupportedQuery, SqlglotError, ValueError):
        return None
    if not pa.types.is_boolean(found.schema.field(0).type):
        return None
    kept: Mask = found.column(0).fill_null(False).to_numpy()
    return kept[single.codes] if single is not None and is_coded else kept


@cache
def _database() -> SandboxedDuckDB:
    return locked_database()


def _with_literals(text: str, literals: Literals) -> exp.Expr:
    """Return the predicate's tree with literals in its slots; a slot of a list becomes all its values."""
    tree = sqlglot.parse_one(text, dialect=PinotDialect)
    for node in list(tree.find_all(exp.Placeholder)):
        values = [_literal(value) for value in literals[int(node.name[1:])]]
        parent = node.parent
        if isinstance(parent, exp.In) and node.arg_key == "expressions":
            at = parent.expressions.index(node)
            parent.set("expressions", [*parent.expressions[:at], *values, *parent.expressions[at + 1 :]])
        elif len(values) == 1:
            node.replace(values[0])
        else:
            raise UnsupportedQuery("a list where one value is asked", reason="not_computed")
    return tree


def _literal(text: str) -> exp.Expr:
    if text.startswith("'"):
        return exp.Literal.string(text[1:])
    return (
        exp.Literal.number(text) if not text.startswith("-") else exp.Neg(this=exp.Literal.number(text[1:]))
    )


def _in_milliseconds(tree: exp.Expr) -> None:
    """Compare points in time with numbers as milliseconds, as Pinot does; in place."""
    for node in list(tree.find_all(exp.DateTrunc, exp.TimestampTrunc)):
        parent = node.parent
        others = [] if parent is None else [child for child in parent.iter_expressions() if child is not node]
        if any(isinstance(other, exp.Literal) and not other.is_string for other in others):
            node.replace(exp.func("EPOCH_MS", node.copy()))


def _pinots(tree: exp.Expr) -> exp.Expr:
    """Return the tree with Pinot's functions rewritten where DuckDB counts positions differently."""
    for node in list(tree.find_all(exp.Substring)):
        # Pinot's SUBSTR takes first and last position, from 0, as Java's substring does.
        start, end = node.args.get("start"), node.args.get("length")
        if not isinstance(start, exp.Literal) or not isinstance(end, exp.Literal | None):
            raise UnsupportedQuery("SUBSTR of computed positions", reason="function")
        node.set("start", exp.Literal.number(int(start.this) + 1))
        if end is not None:
            node.set("length", exp.Literal.number(max(int(end.this) - int(start.this), 0)))
    return tree
