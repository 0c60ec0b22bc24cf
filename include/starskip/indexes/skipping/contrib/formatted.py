"""Index type ``formatted:c:user_agent``: the values that a function extracts from a file's texts.

See "Extensible Data Skipping", V-F.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import ConfigError
from starskip.indexes.skipping.clause import Clause
from starskip.indexes.skipping.collectors.distinct_values import DistinctValues, ValuesCollector
from starskip.indexes.skipping.contrib.user_agents import (
    AGENT_NAME_FUNCTION,
    agent_names_version,
    get_agent_name,
)
from starskip.indexes.skipping.file_collector import FileCollector
from starskip.indexes.skipping.file_metadata import FileMetadata, Mask
from starskip.indexes.skipping.index_types.column_index import ColumnIndex
from starskip.indexes.skipping.value_sets import ValueSetClause, value_set_clause
from starskip.predicates.comparison import comparison_of_function
from starskip.predicates.data_types import is_collated
from starskip.predicates.expression import Call, Column, Expression
from starskip.predicates.ordered_values import mask_of


@dataclass(frozen=True, slots=True)
class Format:
    """A function of one text: its name in predicates, the function, and its version."""

    function_name: str
    function: Callable[[str | None], str | None]
    version: Callable[[], str]


FORMATS = {"user_agent": Format(AGENT_NAME_FUNCTION, get_agent_name, agent_names_version)}


class Formatted(ColumnIndex):
    """Metadata columns ``values``, the function's values without null, and ``version`` of the function."""

    kind = "formatted"
    families = frozenset({"string"})

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the format's name as the one argument."""
        super().__init__(columns)
        self.arguments = tuple(arguments)
        if len(arguments) != 1 or arguments[0] not in FORMATS:
            raise ConfigError(
                f"{self.specification}: write formatted:COLUMN:FORMAT, one of {', '.join(FORMATS)}",
                setting="index",
            )
        self.format = FORMATS[arguments[0]]
        # Raises ConfigError where its library is not installed.
        self.format.version()

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"values": columns[0]}

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - texts are of one type
        """See SkippingIndex.collector."""
        return _FormattedCollector(self.format)

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Add the version of the function."""
        values = collected["values"].combine_chunks()
        return {"values": values, "version": pa.repeat(self.format.version(), len(values))}

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons of the function's value, LIKE included."""
        found = comparison_of_function(node, self._is_function, "string")
        listed = value_set_clause(self.specification, "values", found[0]) if found else None
        return FormattedClause(listed, self.format.version()) if listed else None

    def _is_function(self, call: Call) -> bool:
        if call.name != self.format.function_name or len(call.arguments) != 1:
            return False
        (column,) = call.arguments
        return isinstance(column, Column) and self.is_of(column) and not is_collated(column.data_type)


class _FormattedCollector(ValuesCollector):
    """Calls the function for each distinct text of some rows, and keeps what it returns."""

    def __init__(self, of: Format) -> None:
        super().__init__("values", DistinctValues(pa.string()), pa.string())
        self._function = of.function

    def add(self, rows: pa.RecordBatch) -> None:
        # Invalid UTF-8 is replaced before the function sees it, as Spark does.
        texts = rows.column("values").cast(pa.binary()).unique().drop_null().to_pylist()
        found = {self._function(each.decode(errors="replace")) for each in texts}
        self._values.add(pa.array([each for each in found if each is not None], pa.string()))


@dataclass(frozen=True, slots=True)
class FormattedClause(Clause):
    """Pass files with a value that satisfies a comparison, and files of another version."""

    listed: ValueSetClause
    version: str

    def may_match(self, metadata: FileMetadata) -> Mask:
        """See Clause.may_match."""
        version = metadata.column(self.listed.index, "version")
        same = mask_of(pc.equal(version, self.version))
        return self.listed.may_match(metadata) | ~same
