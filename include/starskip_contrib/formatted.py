"""Index type ``formatted:c:FORMAT``: the values that a function extracts from a file's texts.

The functions are ``getAgentName`` (user_agent), and Spark's own ``parse_url(c, 'HOST')`` (url_host),
``substring_index(c, '@', -1)`` (email_domain) and ``get_json_object(c, path)`` (json_path).

See "Extensible Data Skipping", V-F.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from starskip.errors import ConfigError
from starskip.predicates.comparison import comparison_of_function
from starskip.predicates.data_types import is_collated
from starskip.skipping.collectors.distinct_values import DistinctValues, ValuesCollector
from starskip.skipping.own_types import (
    Call,
    Clause,
    Column,
    ColumnIndex,
    Expression,
    FileCollector,
    FileMetadata,
    Literal,
    Mask,
    mask_of,
)
from starskip.skipping.value_sets import ValueSetClause, value_set_clause, with_valid_texts

from starskip_contrib import user_agents
from starskip_contrib.user_agents import (
    AGENT_NAME_FUNCTION,
    agent_names_version,
    get_agent_name,
)


@dataclass(frozen=True, slots=True)
class Format:
    """A function of one text: its name in predicates, the function, and its version."""

    function_name: str
    function: Callable[[str | None], str | None]
    version: Callable[[], str]


@dataclass(frozen=True, slots=True)
class SqlFormat:
    """A function of Spark's own: ``name`` of its call, and the arguments beside the column.

    ``sql`` computes its values from a column's SQL, without an error in any row; ``unsure`` is true in rows
    where the function may raise an error.
    """

    name: str
    before: tuple[Expression, ...]
    after: tuple[Expression, ...]
    sql: str
    unsure: str = "false"


FORMATS = {"user_agent": Format(AGENT_NAME_FUNCTION, get_agent_name, agent_names_version)}
SQL_FORMATS = {
    # The path is null for a protocol alone, and for a text that is no URL.
    "url_host": SqlFormat(
        "Invoke",
        (Call("ParseUrlEvaluator"),),
        (Literal(pa.scalar("HOST")), Literal(pa.scalar('"evaluate"'))),
        "try_parse_url({0}, 'HOST')",
        "{0} IS NOT NULL AND coalesce(try_parse_url({0}, 'PATH'), try_parse_url({0}, 'PROTOCOL')) IS NULL",
    ),
    "email_domain": SqlFormat(
        "SubstringIndex",
        (),
        (Literal(pa.scalar("@")), Literal(pa.scalar(-1, pa.int32()))),
        "substring_index({0}, '@', -1)",
    ),
}
JSON_PATH = "json_path"
_VERSION_OF_SPARK = "1"
"""Version of Spark's own functions, which have none."""


def _json_format(path: str) -> SqlFormat:
    quoted = f"cast(X'{path.encode().hex()}' AS string)"
    return SqlFormat("GetJsonObject", (), (Literal(pa.scalar(path)),), f"get_json_object({{0}}, {quoted})")


class Formatted(ColumnIndex):
    """Metadata columns ``values``, the function's values without null, and ``version`` of the function."""

    kind = "formatted"
    families = frozenset({"string"})

    def __init__(self, columns: Sequence[str], arguments: Sequence[str] = ()) -> None:
        """Take the format's name, and for ``json_path`` the path."""
        super().__init__(columns)
        self.arguments = tuple(arguments)
        name = arguments[0] if arguments else ""
        path = ":".join(arguments[1:])
        known = (name in FORMATS or name in SQL_FORMATS) and len(arguments) == 1
        if not known and not (name == JSON_PATH and path.startswith("$")):
            raise ConfigError(
                f"{self.specification}: write formatted:COLUMN:FORMAT, one of "
                f"{', '.join([*FORMATS, *SQL_FORMATS])}, or formatted:COLUMN:{JSON_PATH}:$.PATH",
                setting="index",
            )
        self.python_format = FORMATS.get(name)
        self.sql_format = SQL_FORMATS.get(name) if name != JSON_PATH else _json_format(path)
        # Raises ConfigError where its library is not installed.
        self.version()

    def version(self) -> str:
        """Return the version of the function."""
        return self.python_format.version() if self.python_format else _VERSION_OF_SPARK

    @property
    def module_of_functions(self) -> str | None:
        """See SkippingIndex.module_of_functions."""
        return user_agents.__name__ if self.python_format else None

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        if self.sql_format is None:
            return {"values": columns[0]}
        of = self.sql_format
        return {"values": of.sql.format(columns[0]), "unsure": of.unsure.format(columns[0])}

    def questions(self, columns: Sequence[str]) -> Sequence[str]:
        """See SkippingIndex.questions."""
        of_python = f"{AGENT_NAME_FUNCTION.removeprefix('udf:')}({columns[0]})"
        return [of_python if self.sql_format is None else self.sql_format.sql.format(columns[0])]

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - texts are of one type
        """See SkippingIndex.collector."""
        return _CalledCollector(self.python_format) if self.python_format else _SureCollector()

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        """Add the version of the function."""
        values = with_valid_texts(collected["values"].combine_chunks())
        return {"values": values, "version": pa.repeat(self.version(), len(values))}

    def label(self, node: Expression) -> Clause | None:
        """Label comparisons of the function's value, LIKE included."""
        found = comparison_of_function(node, self._is_function, "string")
        listed = value_set_clause(self.specification, "values", found[0]) if found else None
        return FormattedClause(listed, self.version()) if listed else None

    def _is_function(self, call: Call) -> bool:
        before: tuple[Expression, ...] = ()
        after: tuple[Expression, ...] = ()
        if self.python_format is not None:
            name = self.python_format.function_name
        elif self.sql_format is not None:
            name, before, after = self.sql_format.name, self.sql_format.before, self.sql_format.after
        at = len(before)
        if call.name != name or len(call.arguments) != at + 1 + len(after):
            return False
        column = call.arguments[at]
        return (
            call.arguments[:at] == before
            and call.arguments[at + 1 :] == after
            and isinstance(column, Column)
            and self.is_of(column)
            and not is_collated(column.data_type)
        )


class _CalledCollector(ValuesCollector):
    """Calls the function for each distinct text of some rows, and keeps its results."""

    def __init__(self, of: Format) -> None:
        super().__init__("values", DistinctValues(pa.string()), pa.string())
        self._function = of.function

    def add(self, rows: pa.RecordBatch) -> None:
        # Invalid UTF-8 is replaced before the function sees it, as Spark does.
        texts = rows.column("values").cast(pa.binary()).unique().drop_null().to_pylist()
        found = {self._function(each.decode(errors="replace")) for each in texts}
        self._values.add(pa.array([each for each in found if each is not None], pa.string()))


class _SureCollector(ValuesCollector):
    """Keeps no list for a file with a row in which the function may raise an error, so that it is raised."""

    def __init__(self) -> None:
        super().__init__("values", DistinctValues(pa.string()), pa.string())

    def add(self, rows: pa.RecordBatch) -> None:
        super().add(rows)
        if rows.column("unsure").true_count:
            self._values.add_all(None)


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
