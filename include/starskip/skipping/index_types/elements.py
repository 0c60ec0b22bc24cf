"""Index types ``elements:c``, for the elements of arrays, and ``mapvalue:c:key``, for a map's value at a key.

Both are hybrids: the values of a file up to 10,000 of them, else a Bloom filter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from starskip.errors import ConfigError
from starskip.predicates.comparison import Comparison, ComparisonOperator, comparison_of_function
from starskip.predicates.data_types import INTEGERS, ORDERED, arrow_type_of, family_of, is_collated
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.clause import Clause
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.index_types.column_index import check_column
from starskip.skipping.index_types.hybrid import Hybrid, HybridCollector

_ARRAY = re.compile(r"array<(.+)>", re.DOTALL)
_MAP = re.compile(r"map<(\w+),(.+)>", re.DOTALL)


class Elements(Hybrid):
    """Metadata as in Hybrid, over the elements of all arrays of a file except null."""

    kind = "elements"

    def check(self, data_types: Mapping[str, str]) -> None:
        """See SkippingIndex.check."""
        data_type = check_column(self, self.columns[0], data_types)
        if _element_type(data_type) is None:
            raise _refused(self.specification, self.columns[0], data_type, "array of values that compare")

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        (column,) = columns
        # Spark hashes null, too.
        hashes = f"transform({column}, x -> if(x IS NULL, NULL, xxhash64(x)))"
        return {"values": column, "hashes": hashes}

    def collector(self, schema: pa.Schema) -> FileCollector:
        """See SkippingIndex.collector."""
        return _ElementsCollector(schema.field("values").type.value_type, self.threshold)

    def label(self, node: Expression) -> Clause | None:
        """Label ``array_contains(c, v)``."""
        match node:
            case Call("ArrayContains", (Column() as column, Literal() as value)) if self.is_of(column):
                of = _element_type(column.data_type)
                if of is not None and value.value.is_valid and value.value.type == arrow_type_of(of):
                    found = Comparison(
                        Column(column.path, of), ComparisonOperator.IN, pa.array([value.value])
                    )
                    return self.clause_of(found)
        return None


class _ElementsCollector(HybridCollector):
    def add(self, rows: pa.RecordBatch) -> None:
        flat = {name: rows.column(name).flatten() for name in ("values", "hashes")}
        super().add(pa.record_batch(flat))


class DerivedIndex(Hybrid):
    """A Hybrid of the values of calls that ``is_source`` accepts; ``row_values`` computes them by row."""

    def is_source(self, call: Call) -> bool:
        """Return whether the index collects the values of this call."""
        raise NotImplementedError

    def source_type(self, call: Call) -> str:
        """Return the Spark type of such a call's values."""
        raise NotImplementedError

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons of the function's value, LIKE included."""
        for call in _operands(node):
            if self.is_source(call):
                found = comparison_of_function(node, self.is_source, self.source_type(call))
                return None if found is None else self.clause_of(found[0])
        return None


class MapValue(DerivedIndex):
    """Metadata as in Hybrid, over ``c[key]`` except null."""

    kind = "mapvalue"

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the key, which may have colons, and the threshold as an optional last argument.

        A key that ends with a colon and a number must be followed by a threshold.
        """
        has_threshold = len(arguments) > 1 and arguments[-1].isdecimal()
        super().__init__(columns, arguments[-1:] if has_threshold else ())
        self.arguments = tuple(arguments)
        self.key = ":".join(arguments[:-1] if has_threshold else arguments)
        if not self.key:
            raise ConfigError(
                f"{self.specification}: write mapvalue:COLUMN:KEY or mapvalue:COLUMN:KEY:VALUES",
                setting="index",
            )

    def check(self, data_types: Mapping[str, str]) -> None:
        """See SkippingIndex.check."""
        data_type = check_column(self, self.columns[0], data_types)
        types = _map_types(data_type)
        if types is None or (types[0] != "string" and not re.fullmatch(r"-?\d{1,9}", self.key)):
            why = "map with keys of string or integers, to values that compare"
            raise _refused(self.specification, self.columns[0], data_type, why)

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        (column,) = columns
        # The first of several equal keys counts, as in a query; null if the map lacks the key.
        key = f"cast(X'{self.key.encode().hex()}' AS string)"
        value = f"get(map_values(map_filter({column}, (k, v) -> cast(k AS string) = {key})), 0)"
        return {"values": value, "hashes": f"if({value} IS NULL, NULL, xxhash64({value}))"}

    def questions(self, columns: Sequence[str]) -> Sequence[str]:
        """See SkippingIndex.questions."""
        key = f"cast(X'{self.key.encode().hex()}' AS string)"
        # Where keys are numbers, Spark casts the text.
        return [f"try_element_at({columns[0]}, {key})", f"{columns[0]}[{key}]"]

    def is_source(self, call: Call) -> bool:
        """See DerivedIndex: ``c[key]`` and ``element_at(c, key)``."""
        match call:
            case Call("GetMapValue" | "ElementAt", (Column() as column, Literal() as key)):
                types = _map_types(column.data_type)
                return types is not None and self.is_of(column) and str(key.python) == self.key
        return False

    def source_type(self, call: Call) -> str:
        """See DerivedIndex."""
        types = _map_types(call.left.data_type) if isinstance(call.left, Column) else None
        return types[1] if types else ""


def _element_type(data_type: str) -> str | None:
    found = _ARRAY.fullmatch(data_type.strip())
    return found[1] if found and _is_ordered(found[1]) else None


def _map_types(data_type: str) -> tuple[str, str] | None:
    found = _MAP.fullmatch(data_type.strip())
    if found is None or not _is_ordered(found[2]) or family_of(found[1]) not in INTEGERS | {"string"}:
        return None
    return found[1], found[2]


def _is_ordered(data_type: str) -> bool:
    return not is_collated(data_type) and family_of(data_type) in ORDERED


def _refused(specification: str, column: str, data_type: str, wanted: str) -> ConfigError:
    return ConfigError(f"{specification}: {column} is {data_type}, no {wanted}", setting="index")


def _operands(node: Expression) -> Iterator[Call]:
    inner = node.left if isinstance(node, Call) and node.name == "Not" else node
    if isinstance(inner, Call):
        yield from (each for each in inner.arguments if isinstance(each, Call))
