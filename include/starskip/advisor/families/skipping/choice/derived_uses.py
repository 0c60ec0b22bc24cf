"""Find the indexes on function values of a column: elements, a map's value, hosts, networks, shapes.

The index type itself decides: only an index that has a clause for the predicate is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator

from starskip.errors import ConfigError
from starskip.predicates.column_name import column_name
from starskip.predicates.data_types import family_of
from starskip.predicates.expression import Call, Column, Expression, Literal, nodes
from starskip.skipping.registry import index_from_specification

_MOST_NODES = 1_000
_MOST_OF_HYBRID = 10_000
_SHAPES = frozenset({"string", "binary"})


def derived_uses(predicate: Expression) -> Iterator[tuple[str, str]]:
    """Yield specifications that serve a predicate without AND and OR, each with its reason."""
    proposed = dict.fromkeys(
        found
        for _, node in zip(range(_MOST_NODES), nodes(predicate), strict=False)
        if isinstance(node, Call)
        for found in _of_call(node)
    )
    for specification, reason in proposed:
        try:
            is_served = index_from_specification(specification).label(predicate) is not None
        except ConfigError:
            continue
        if is_served:
            yield specification, reason


def _of_call(call: Call) -> Iterator[tuple[str, str]]:
    if call.name.startswith("udf:st_"):
        for each in nodes(call):
            if isinstance(each, Column) and family_of(each.data_type) in _SHAPES:
                yield f"geometrybox:{column_name(each.path)}", "asked for shapes in a place"
    match call:
        case Call("ArrayContains", (Column() as column, Literal())):
            yield f"elements:{column_name(column.path)}", "asked for arrays with an element"
        case Call("GetMapValue" | "ElementAt", (Column() as column, Literal() as key)):
            yield _of_map(column, str(key.python)), "compared by a map's value at a key"
        case Call("GetJsonObject", (Column() as column, Literal() as path)):
            yield (
                f"formatted:{column_name(column.path)}:json_path:{path.python}",
                "compared by a path in JSON",
            )
        case Call("SubstringIndex", (Column() as column, *_)):
            yield f"formatted:{column_name(column.path)}:email_domain", "compared by the part after the @"
        case Call("Invoke", (Call("ParseUrlEvaluator"), Column() as column, *_)):
            yield f"formatted:{column_name(column.path)}:url_host", "compared by the host of a URL"
        case Call("udf:ip_in_network", (Column() as column, Literal())):
            yield f"ipnetworks:{column_name(column.path)}", "asked for addresses in a network"
        case Call("Contains" | "Like", (Column() as column, *_)):
            yield f"ngrams:{column_name(column.path)}", "asked for texts with a part"


def _of_map(column: Column, key: str) -> str:
    found = f"mapvalue:{column_name(column.path)}:{key}"
    # A number behind a colon would be taken for the threshold.
    is_ambiguous = ":" in key and key.rpartition(":")[2].isdecimal()
    return f"{found}:{_MOST_OF_HYBRID}" if is_ambiguous else found
