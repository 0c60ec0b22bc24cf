"""Convert a WHERE expression of sqlglot to the predicate tree."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from starskip.sql.function_names import canonical_name
from starskip.sql.pinot_dialect import PinotDialect, infix_not, is_infix_not
from starskip.sql.predicate import And, Bound, Constant, Leaf, Not, Operator, Or, Predicate, Slot

_COMPARISONS: dict[type[exp.Expression], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
"""Each comparison and its mirror, for a literal on the left."""

_OWN_INDEX = {"textmatch", "textcontains", "jsonmatch", "vectorsimilarity", "vectorsimilarityradius"}
_PREDICATES: dict[str, type[exp.Expression]] = {
    "equals": exp.EQ,
    "notequals": exp.NEQ,
    "lessthan": exp.LT,
    "lessthanorequal": exp.LTE,
    "greaterthan": exp.GT,
    "greaterthanorequal": exp.GTE,
    "like": exp.Like,
    "regexplike": exp.RegexpLike,
}
"""Functions of two arguments that Pinot takes for predicates (FilterKind), in their canonical names."""

_NEGATED = {
    Operator.IN: Operator.NOT_IN,
    Operator.IS_NULL: Operator.IS_NOT_NULL,
}


def filter_tree(expression: exp.Expression) -> Predicate:
    """Return the tree in text order; a predicate of no other leaf kind becomes an EXPRESSION leaf."""
    match expression:
        case exp.Paren():
            return filter_tree(expression.this)
        case exp.And() | exp.Or():
            kind = And if isinstance(expression, exp.And) else Or
            # Walked without recursion: machine-made filters chain thousands of ORs.
            return kind(tuple(filter_tree(child) for child in _chain(expression, type(expression))))
        case exp.Not():
            return _negated(expression.this, is_infix=is_infix_not(expression))
        case exp.Boolean():
            return Constant(bool(expression.this))
        case exp.Column():
            # A boolean column by itself; Pinot rewrites it to ``column = true``.
            return Leaf(Operator.EQUAL, expression.name, constants=("true",))
        case exp.Anonymous() if called := _called_predicate(expression):
            return filter_tree(called)
        case exp.Escape():
            # Pinot parses ESCAPE, and then takes the pattern without it.
            return filter_tree(expression.this)
    if expression.args.get("negate"):
        positive = expression.copy()
        positive.set("negate", None)
        return _negated(positive, is_infix=True)
    return _leaf(expression)


def _called_predicate(call: exp.Anonymous) -> exp.Expression | None:
    """Return ``equals(c, 1)``, ``regexpLike(c, 'x')`` or ``isNull(c)`` as the predicate that it is."""
    name, arguments = canonical_name(call.name), call.expressions
    if name in ("isnull", "isnotnull") and len(arguments) == 1:
        is_null = exp.Is(this=arguments[0].copy(), expression=exp.Null())
        return is_null if name == "isnull" else infix_not(is_null)
    kind = _PREDICATES.get(name)
    if kind is None or len(arguments) not in (2, 3 if kind is exp.RegexpLike else 2):
        return None
    keys = ("this", "expression", "flag")
    return kind(**{key: each.copy() for key, each in zip(keys, arguments, strict=False)})


def _chain(expression: exp.Expression, kind: type[exp.Expression]) -> list[exp.Expression]:
    parts: list[exp.Expression] = []
    node = expression
    while isinstance(node, kind):
        parts.append(node.args["expression"])
        node = node.this
    parts.append(node)
    return parts[::-1]


def _negated(inner: exp.Expression, *, is_infix: bool) -> Predicate:
    """Return a predicate of its own for ``x NOT IN`` and ``x IS NOT NULL``.

    Any other NOT, also ``NOT x IN``, NOT LIKE and NOT BETWEEN, Pinot runs as an operator around the scan.
    """
    child = filter_tree(inner)
    if is_infix and isinstance(child, Leaf) and child.operator in _NEGATED:
        return replace(child, operator=_NEGATED[child.operator])
    return Not(child)


def _leaf(expression: exp.Expression) -> Predicate:
    if type(expression) in _COMPARISONS:
        return _comparison(expression)
    column = _column(expression.this) if isinstance(expression.this, exp.Expression) else None
    match expression:
        case exp.In() if column and not expression.args.get("query"):
            booleans = [value for value in expression.expressions if isinstance(value, exp.Boolean)]
            slots = [_slot(value) for value in expression.expressions if not isinstance(value, exp.Boolean)]
            if all(slots):
                constants = tuple(str(bool(value.this)).lower() for value in booleans)
                return Leaf(Operator.IN, column, tuple(v for v in slots if v), constants=constants)
        case exp.Between() if column:
            low, high = _slot(expression.args["low"]), _slot(expression.args["high"])
            return Leaf(Operator.RANGE, column, low=Bound(low, True), high=Bound(high, True))
        case exp.Is() if column and isinstance(expression.expression, exp.Null):
            return Leaf(Operator.IS_NULL, column)
        case exp.Like() if column:
            pattern = _slot(expression.expression)
            return Leaf(Operator.LIKE, column, (pattern,) if pattern else ())
        case exp.RegexpLike() if column:
            texts = (_slot(expression.expression), _slot(expression.args.get("flag")))
            return Leaf(Operator.REGEXP_LIKE, column, tuple(filter(None, texts)) if texts[0] else ())
    return _expression_leaf(expression)


def _comparison(expression: exp.Expression) -> Predicate:
    sign, mirrored = _COMPARISONS[type(expression)]
    left, right = expression.this, expression.args["expression"]
    column, slot, constant = _column(left), _slot(right), _is_constant(right)
    if column is None:
        column, slot, constant, sign = _column(right), _slot(left), _is_constant(left), mirrored
    if column is None or not constant:
        if _slot(left) and _slot(right):
            # ``1 = 1``: machine-made filters begin so.
            return Constant(sign in ("=", "<=", ">="))
        return _expression_leaf(expression)
    if sign in ("=", "<>"):
        operator = Operator.EQUAL if sign == "=" else Operator.NOT_EQUAL
        side = right if column == _column(left) else left
        if isinstance(side, exp.Boolean):
            return Leaf(operator, column, constants=(str(bool(side.this)).lower(),))
        leaf = Leaf(operator, column, (slot,) if slot else ())
    else:
        bound = Bound(slot, sign.endswith("="))
        is_upper = sign[0] == "<"
        leaf = Leaf(Operator.RANGE, column, high=bound if is_upper else None, low=None if is_upper else bound)
    # The broker computes ``7 * 24`` before the scan; here it is computed where the column's rows are.
    return leaf if slot else replace(leaf, columns=(column,), expression=_text(expression))


def _expression_leaf(expression: exp.Expression) -> Leaf:
    names = dict.fromkeys(column.name for column in expression.find_all(exp.Column))
    own_index = isinstance(expression, exp.Anonymous) and canonical_name(expression.name) in _OWN_INDEX
    if own_index:
        return Leaf(Operator.OWN_INDEX, columns=tuple(names))
    return Leaf(Operator.EXPRESSION, columns=tuple(names), expression=_text(expression))


def _text(expression: exp.Expression) -> str:
    # Names are quoted throughout, so that a redacted text, whose names are quoted, gives the same tree.
    return expression.sql(dialect=PinotDialect, comments=False, identify=True)


def _column(node: exp.Expression | None) -> str | None:
    while isinstance(node, exp.Paren):
        node = node.this
    return node.name if isinstance(node, exp.Column) else None


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column) is None


def _slot(node: exp.Expression | None) -> Slot | None:
    """Return the slot of a plain literal, also inside brackets, a minus or a typed literal's cast."""
    negative = False
    while isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        negative ^= isinstance(node, exp.Neg)
        node = node.this
    if isinstance(node, exp.Placeholder) and node.name.startswith("p"):
        return Slot(int(node.name[1:]), negative)
    return None
