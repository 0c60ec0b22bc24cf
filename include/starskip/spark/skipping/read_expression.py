"""Convert Catalyst expressions to starskip.predicates.expression."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.predicates.padded_texts import PADDED
from starskip.spark.skipping.leaf_predicates import attribute_identity, is_deterministic
from starskip.spark.skipping.literal_values import (
    array_literal,
    in_set_values,
    literal,
    literal_set,
    simple_string,
)
from starskip.spark.skipping.plan_tree import Node

_CATALYST = "org.apache.spark.sql.catalyst.expressions."
_FUNCTIONS = frozenset({"PythonUDF", "ScalaUDF"})
_UNKNOWN = Call("Unknown")
_COLLATIONS = "__COLLATIONS"
_CASTS = {"ANSI": "Cast", "LEGACY": "LegacyCast", "TRY": "TryCast"}
"""Names of casts by Catalyst's mode, which differ where a value does not fit the type."""
_OWN_FIELDS = {
    "CheckOverflow": ("dataType",),
    "CsvToStructs": ("schema", "options"),
    "Invoke": ("functionName",),
    "JsonToStructs": ("schema", "options"),
    "MakeDecimal": ("precision", "scale"),
    "StaticInvoke": ("staticObject", "functionName"),
    "StructsToCsv": ("options",),
    "StructsToJson": ("options",),
    "XmlToStructs": ("schema", "options"),
}
"""Fields of such an expression that become further arguments, as JSON."""


@dataclass(slots=True)
class ExpressionReader:
    """Reads predicates on one relation; unsupported nodes become calls that no index labels.

    ``attributes``: the relation's columns by expression id, spelled as in its schema; ``plan``: the root of
    the plan in the JVM; ``zones``: the time zones in which the nodes that were read were analysed.
    """

    attributes: Mapping[tuple[int, str], str]
    plan: Any
    zones: frozenset[str] = frozenset()
    _read: dict[int, tuple[Node, Expression]] = field(default_factory=dict)

    def read(self, node: Node) -> Expression:
        """Convert a node, once for each, since aliases may repeat it without bound."""
        found = self._read.get(id(node))
        if found is None:
            # The node is kept alive, so that its id is not reused.
            found = self._read[id(node)] = node, self._made(node)
        return found[1]

    def _made(self, node: Node) -> Expression:
        if isinstance(zone := node.fields.get("timeZoneId"), str):
            self.zones |= {zone}
        if node.name in ("And", "Or"):
            return Call(node.name, tuple(self.read(each) for each in _operands(node)))
        if node.name == "AttributeReference":
            name = self.attributes.get(attribute_identity(node))
            return _UNKNOWN if name is None else Column((name,), simple_string(node.fields["dataType"]))
        if node.name == "GetStructField":
            return self._field(node)
        if node.name == "Literal":
            return literal(node, self.plan) or _UNKNOWN
        if node.name == "In":
            return self._in(node)
        if node.name == "InSet":
            values = in_set_values(node, _data_type(node.children[0]), self.plan)
            return _UNKNOWN if values is None else Call("In", (self.read(node.children[0]), values))
        return self._call(node)

    def _call(self, node: Node) -> Expression:
        name = _function_name(node)
        if name is None or (name.startswith("udf:") and not is_deterministic_function(node)):
            return _UNKNOWN
        if name.startswith("udf:"):
            # Arrays are arguments of functions only: no index compares them.
            return Call(name, tuple(array_literal(each) or self.read(each) for each in node.children))
        arguments = tuple(self.read(each) for each in node.children)
        if node.name == "StaticInvoke" and node.fields.get("functionName") == "readSidePadding":
            return Call(PADDED, arguments)
        if node.name == "Cast":
            mode = str(node.java(self.plan).evalMode().toString())
            return Call(_CASTS.get(mode, _UNKNOWN.name), (*arguments, _text(simple_string(_data_type(node)))))
        if node.name == "Invoke" and (of := _class_of_literal(node.children[0])):
            arguments = (Call(of), *arguments[1:])
        if node.name in _OWN_FIELDS:
            fields = (node.fields.get(each) for each in _OWN_FIELDS[node.name])
            return Call(name, (*arguments, *(_text(json.dumps(each)) for each in fields)))
        if node.name == "Like":
            return Call(name, (*arguments, Literal(pa.scalar(str(node.java(self.plan).escapeChar())))))
        return Call(name, arguments)

    def _field(self, node: Node) -> Expression:
        parent = self.read(node.children[0])
        struct = _data_type(node.children[0])
        if not isinstance(parent, Column) or not isinstance(struct, Mapping):
            return _UNKNOWN
        of = struct["fields"][node.fields["ordinal"]]
        data_type = simple_string(of["type"])
        # A struct's JSON has the collations of its fields beside their types, as "spark.UTF8_LCASE".
        for collation in of.get("metadata", {}).get(_COLLATIONS, {}).values():
            data_type += f" collate {collation.rpartition('.')[2]}"
        return Column((*parent.path, of["name"]), data_type)

    def _in(self, node: Node) -> Expression:
        column, *listed = (self.read(each) for each in node.children)
        literals = [each for each in listed if isinstance(each, Literal)]
        if len(literals) == len(listed):
            values = literal_set(literals)
            return _UNKNOWN if values is None else Call("In", (column, values))
        return Call("Or", tuple(Call("EqualTo", (column, each)) for each in listed))


def _class_of_literal(node: Node) -> str | None:
    """Return the class of an object in a plan, from its text: ``ParseUrlEvaluator``."""
    value = node.fields.get("value") if node.name == "Literal" else None
    return value.partition("(")[0] if isinstance(value, str) and "Evaluator(" in value else None


def _text(value: str) -> Literal:
    return Literal(pa.scalar(value))


def is_deterministic_function(node: Node) -> bool:
    """Return whether a user's or a library's function may be evaluated on metadata."""
    if node.name in _FUNCTIONS:
        return is_deterministic(node)
    return all(map(is_deterministic, node.children))


def _function_name(node: Node) -> str | None:
    if node.name == "PythonUDF":
        return f"udf:{str(node.fields['name']).lower()}"
    if node.name == "ScalaUDF":
        name = node.fields.get("udfName")
        return f"udf:{name.lower()}" if isinstance(name, str) else None
    # Other libraries have expression classes named after the function, such as Sedona's ST_Contains.
    return node.name if node.full_name.startswith(_CATALYST) else f"udf:{node.name.lower()}"


def _operands(node: Node) -> list[Node]:
    """Flatten an AND or OR of any depth, which may be a chain of a thousand."""
    found, waiting = [], [node]
    while waiting:
        each = waiting.pop()
        if each.name == node.name:
            waiting.extend(reversed(each.children))
        else:
            found.append(each)
    return found


def _data_type(node: Node) -> Any:
    """Return the JSON type of a column or field, None if the node has none."""
    if node.name == "GetStructField":
        struct = _data_type(node.children[0])
        return struct["fields"][node.fields["ordinal"]]["type"] if isinstance(struct, Mapping) else None
    return node.fields.get("dataType")
