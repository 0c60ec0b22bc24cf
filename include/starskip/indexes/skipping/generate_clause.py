"""One clause for a whole predicate: label each node, then merge (seed 003, appendix A).

Algorithm 2 (Generate-Clause) and 1 (Merge-Clause). Beside clauses a node may have implications: weaker
predicates over ordinary columns, by which functions of users are understood (section V-C).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starskip.indexes.skipping.clause import AnyOf, Clause, NoFile, all_of
from starskip.indexes.skipping.expression import Call, Expression, Literal

Label = Callable[[Expression], Clause | None]
"""A filter of definition 3, for one node."""
Implication = Callable[[Expression], Expression | None]
"""Maps a boolean node to a predicate that holds wherever the node does, if it knows one."""


def generate_clause(
    expression: Expression, labels: Sequence[Label], implications: Sequence[Implication] = ()
) -> Clause | None:
    """Return a clause that represents ``expression``, None if nothing can be skipped.

    NOT is moved to the leaves, where a label may know the negated node itself; a clause of the node below
    that can be negated serves, too.
    """
    own = [clause for label in labels if (clause := label(expression)) is not None]
    implied = [found for each in implications if (found := each(expression)) is not None]
    # What an implication tells is not asked for implications again: it might go round in circles.
    own.extend(_known(implied, labels, ()))
    if isinstance(expression, Literal) and expression.python is not True:
        own.append(NoFile())
    if isinstance(expression, Call):
        if expression.name == "And":
            own.extend(_known(expression.arguments, labels, implications))
        elif expression.name == "Or":
            legs = _known(expression.arguments, labels, implications)
            if len(legs) == len(expression.arguments):
                own.append(AnyOf(tuple(legs)))
        elif expression.name == "Not":
            own.extend(_negated(expression.left, labels, implications))
    return all_of(own)


def _known(
    expressions: Sequence[Expression], labels: Sequence[Label], implications: Sequence[Implication]
) -> list[Clause]:
    found = (generate_clause(each, labels, implications) for each in expressions)
    return [clause for clause in found if clause is not None]


def _negated(
    expression: Expression, labels: Sequence[Label], implications: Sequence[Implication]
) -> list[Clause]:
    if isinstance(expression, Call) and expression.name in ("And", "Or"):
        other = "Or" if expression.name == "And" else "And"
        moved = Call(other, tuple(Call("Not", (each,)) for each in expression.arguments))
        return _known([moved], labels, implications)
    if isinstance(expression, Call) and expression.name == "Not":
        return _known([expression.left], labels, implications)
    clauses = (clause for label in labels if (clause := label(expression)) is not None)
    negations = (clause.negation() for clause in clauses)
    return [clause for clause in negations if clause is not None]
