"""Translate the predicates of a query into one clause over the metadata of files.

Algorithms 1 (Merge-Clause) and 2 (Generate-Clause) of "Extensible Data Skipping", appendix A. Each node of
the predicate is labelled with the clauses that the indexes know for it. Then the clauses are merged along
AND, OR and NOT. A node may also have implications, weaker predicates over ordinary columns (section V-C).
"""

from __future__ import annotations

from collections.abc import Sequence

from starskip.predicates.expression import Call, Expression, Literal
from starskip.skipping.clause import AnyOf, Clause, Label, NoFile, all_of
from starskip.skipping.failing_indexes import Failures, label_unless_failing
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.user_functions import Implication, implications


def build_clause(
    indexes: Sequence[SkippingIndex], predicates: Sequence[Expression], failures: Failures | None = None
) -> Clause | None:
    """Return the clause for the AND of ``predicates``, None if the indexes cannot skip by any of them.

    With ``failures``, an index that raises is left out alone, now or when the clause is evaluated, and the
    reason is recorded there; without it, the exception propagates.
    """
    if not predicates:
        return None
    # One AND node: an index of two columns may label the AND where it labels neither conjunct.
    whole = predicates[0] if len(predicates) == 1 else Call("And", tuple(predicates))
    labels = [index.label if failures is None else label_unless_failing(index, failures) for index in indexes]
    return generate_clause(whole, labels, implications())


def generate_clause(
    expression: Expression, labels: Sequence[Label], implications: Sequence[Implication] = ()
) -> Clause | None:
    """Return a clause that represents ``expression``, None if it lets every file through.

    NOT is pushed to the leaves, where a label may know the negated node itself. Otherwise the negation of the
    inner node's clause is used, if that clause has one.
    """
    own = [clause for label in labels if (clause := label(expression)) is not None]
    implied = [found for each in implications if (found := each(expression)) is not None]
    # Implications are not applied to implied predicates again: that might never end.
    own.extend(_clauses(implied, labels, ()))
    if isinstance(expression, Literal) and expression.python is not True:
        own.append(NoFile())
    if isinstance(expression, Call):
        if expression.name == "And":
            own.extend(_clauses(expression.arguments, labels, implications))
        elif expression.name == "Or":
            disjuncts = _clauses(expression.arguments, labels, implications)
            if len(disjuncts) == len(expression.arguments):
                own.append(AnyOf(tuple(disjuncts)))
        elif expression.name == "Not":
            own.extend(_negated(expression.left, labels, implications))
    return all_of(own)


def _clauses(
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
        return _clauses([moved], labels, implications)
    if isinstance(expression, Call) and expression.name == "Not":
        return _clauses([expression.left], labels, implications)
    clauses = (clause for label in labels if (clause := label(expression)) is not None)
    negations = (clause.negation() for clause in clauses)
    return [clause for clause in negations if clause is not None]
