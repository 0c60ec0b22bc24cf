"""Golden files of shapes: a query, then what is read out of it, one blank line between queries.

Write them anew with ``python tests/sql/write_golden.py`` and read the difference.
"""

from __future__ import annotations

from pathlib import Path

from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import NormalizedSql, masked, normalize_sql
from starskip.sql.predicate import And, Bound, Constant, Filtered, Leaf, Not, Or, Predicate, Slot
from starskip.sql.query_shape import query_shape
from starskip.sql.resolved_skeleton import QueryNames, resolved_skeleton

FOLDER = Path(__file__).parents[1] / "data" / "sql"

Literals = tuple[tuple[str, ...], ...]


def golden_text(sql: str) -> str:
    """The query and what is read out of it, as the golden files hold it."""
    cut = normalize_sql(sql)
    try:
        skeleton, slots = resolved_skeleton(cut.skeleton, QueryNames(""))
        shape = query_shape(skeleton)
    except UnsupportedQuery as error:
        return f"{sql}\n  refused  {error.reason}\n"
    literals = cut.literals if slots is None else tuple(cut.literals[slot] for slot in slots)
    cut = NormalizedSql(skeleton, literals)
    limit = rendered_slot(shape.limit, cut.literals) if isinstance(shape.limit, Slot) else shape.limit
    ends = f"may end after {limit} rows" if shape.stops_early else "reads all"
    return (
        f"{sql}\n  skeleton {masked(cut.skeleton)}\n  shape    {shape.text}\n"
        f"  filter   {rendered(shape.filter, cut.literals)}\n  scan     {ends}\n"
    )


def rendered(tree: Predicate, literals: Literals) -> str:
    """The tree with & | ! and brackets, each slot as the literals that stand in it."""
    match tree:
        case And(children):
            return "(" + " & ".join(rendered(child, literals) for child in children) + ")"
        case Or(children):
            return "(" + " | ".join(rendered(child, literals) for child in children) + ")"
        case Not(child):
            return "!" + rendered(child, literals)
        case Filtered(rows, child):
            return f"{rendered(child, literals)} of the rows with {rendered(rows, literals)}"
        case Constant(value):
            return str(value).upper()
    return rendered_leaf(tree, literals)


def rendered_leaf(leaf: Leaf, literals: Literals) -> str:
    asked = [rendered_slot(slot, literals) for slot in leaf.slots] + list(leaf.constants)
    bounds = [
        f"{sign}{'=' if bound.inclusive else ''} {rendered_bound(bound, literals)}"
        for sign, bound in ((">", leaf.low), ("<", leaf.high))
        if bound
    ]
    subject = leaf.column or f"<{', '.join(leaf.columns)}>"
    return " ".join([subject, leaf.operator.value, *asked, *bounds])


def rendered_bound(bound: Bound, literals: Literals) -> str:
    return rendered_slot(bound.slot, literals) if bound.slot else "?"


def rendered_slot(slot: Slot, literals: Literals) -> str:
    return ("-" if slot.negative else "") + "{" + ", ".join(literals[slot.position]) + "}"


def golden_file(text: str) -> str:
    """A golden file, its queries read out anew."""
    return "\n".join(map(golden_text, queries_of(text)))


def queries_of(text: str) -> list[str]:
    """The queries of a golden file: lines that do not begin with two spaces."""
    return [line for line in text.splitlines() if line and not line.startswith("  ")]


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.txt")):
        path.write_text(golden_file(path.read_text()))
