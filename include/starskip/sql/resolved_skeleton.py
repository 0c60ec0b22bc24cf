"""Write a query's skeleton with the names of its table: columns as the table spells them, aliases applied.

Restates BaseSingleStageBrokerRequestHandler.fixColumnName and AliasApplier. Since 1.0 Pinot finds tables and
columns whatever their case. A dotted name is the column of that name (``attributes.name``), or a column
behind the name of its table. An alias of the SELECT stands for its expression in GROUP BY, HAVING and ORDER
BY, and until 1.0 in the WHERE too, where since 1.1 the column of that name is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.sql.function_names import canonical_name
from starskip.sql.parsed_query import MAX_SKELETON_CHARACTERS, parsed_query, parsed_text, skeleton_of
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.query_options import split_options
from starskip.sql.query_shape import aggregates
from starskip.sql.spelled_names import Spelling, meant_table

_PLAIN = re.compile(r"[A-Za-z_$][\w$]*")
_SLOT_WORD = re.compile(r"(:p\d+)")


@dataclass(frozen=True, slots=True, eq=False)
class QueryNames:
    """The names that queries of a table are resolved with.

    ``columns``: None where they are not known. ``aliases_in_where``: whether an alias that is also the name
    of a column stands for its expression in the WHERE, as until 1.0.
    """

    table: str
    columns: Spelling | None = None
    aliases_in_where: bool = True


def resolved_skeleton(skeleton: str, names: QueryNames) -> tuple[str, tuple[int, ...] | None]:
    """Return the skeleton with the table's names, and for each of its slots the slot of ``skeleton``.

    The slots are None where they are the same. A query of several tables stays as it is. Raises
    UnsupportedQuery as parsed_query does.
    """
    options, bare = split_options(skeleton)
    select = parsed_query(skeleton)
    if not isinstance(select, exp.Select) or sum(1 for _ in select.find_all(exp.Table)) != 1:
        return skeleton, None
    try:
        edits = sorted(_edits(select, names))
    except RecursionError as error:
        raise UnsupportedQuery("the query is nested too deeply to be read", reason="too_deep") from error
    if not edits:
        return skeleton, None
    if sum(len(written) for _, _, written in edits) > MAX_SKELETON_CHARACTERS:
        raise UnsupportedQuery("the query is too long with its aliases applied", reason="too_long")
    text = parsed_text(bare)
    pieces, end = [], 0
    for start, stop, written in edits:
        pieces += [text[end:start], written]
        end = stop
    resolved, slots = skeleton_of("".join([*pieces, text[end:]]), is_parsed_text=True)
    return options.words + resolved, None if slots == tuple(range(skeleton.count("\x00"))) else slots


def _edits(select: exp.Select, names: QueryNames) -> Iterator[tuple[int, int, str]]:
    """Yield the places of the parsed text that are to be written otherwise, with the new text."""
    table = select.find(exp.Table)
    assert table is not None
    full = ".".join(part.name for part in table.parts)
    if full != names.table and meant_table(full, [names.table]):
        yield from _edit(table.parts, _written(names.table, is_quoted="." in names.table))
    resolver = _Resolver(names, _qualifiers(table, names.table))
    aliases = {item.alias: item.this for item in select.expressions if isinstance(item, exp.Alias)}
    for column in select.find_all(exp.Column):
        if isinstance(column.this, exp.Star) or _is_looked_up(column):
            continue
        meant = aliases.get(column.name) if len(column.parts) == 1 else None
        if meant is not None and _is_alias(column, meant, _clause(column, select), names):
            yield from _edit(column.parts, resolver.text_of(meant))
        elif len(column.parts) > 1 or resolver.column(column) != column.name:
            yield from _edit(column.parts, resolver.written(column))


def _edit(parts: list[exp.Expr], written: str) -> Iterator[tuple[int, int, str]]:
    places = [part.meta for part in parts if "start" in part.meta]
    if len(places) == len(parts):
        yield min(place["start"] for place in places), max(place["end"] for place in places) + 1, written


@dataclass(frozen=True, slots=True)
class _Resolver:
    names: QueryNames
    qualifiers: frozenset[str]

    def column(self, column: exp.Column) -> str:
        """Return the column that a name means, or the name without its table's if no column is known."""
        parts = [part.name for part in column.parts]
        spelling = self.names.columns
        shorter = [
            ".".join(parts[at:])
            for at in range(len(parts) - 1, 0, -1)
            if ".".join(parts[:at]).lower() in self.qualifiers
        ]
        candidates = [*shorter, ".".join(parts)]
        found = (spelling.find(name) for name in candidates) if spelling else ()
        return next(filter(None, found), candidates[0])

    def written(self, column: exp.Column) -> str:
        """Return a column's name as it is written into the skeleton."""
        return _written(self.column(column), is_quoted=bool(column.this.args.get("quoted")))

    def text_of(self, meant: exp.Expr) -> str:
        """Return the text of an alias' expression, with the table's names."""
        if isinstance(meant, exp.Column):
            return self.written(meant)
        copied = meant.copy()
        for column in list(copied.find_all(exp.Column)):
            if not isinstance(column.this, exp.Star):
                name = exp.to_identifier(self.column(column), quoted=True)
                for part in ("table", "db", "catalog"):
                    column.set(part, None)
                column.set("this", name)
        text = _SLOT_WORD.sub(r"\1 ", copied.sql(PinotDialect, comments=False))
        return f"({text})"


def _qualifiers(table: exp.Table, known: str) -> frozenset[str]:
    """Return what may stand before a column's name, in lower case: an alias, or names of the table."""
    full = ".".join(part.name for part in table.parts)
    written = {table.alias_or_name, table.name, full, known, known.rpartition(".")[2]}
    return frozenset(name.lower() for name in written if name)


def _is_alias(column: exp.Column, meant: exp.Expr, clause: str, names: QueryNames) -> bool:
    """Return whether a name in a clause of the query stands for the expression of an alias."""
    is_column = names.columns is not None and names.columns.find(column.name) is not None
    assert isinstance(meant, exp.Expression)
    if aggregates(meant) or clause not in ("where", "group", "having"):
        return False
    if clause == "where":
        # Since 1.1 Pinot refuses an alias that is no column; a query that was answered was asked before.
        return names.aliases_in_where or (names.columns is not None and not is_column)
    return is_column


def _clause(node: exp.Expr, select: exp.Select) -> str:
    """Return the clause of ``select`` that holds ``node``."""
    while node.parent is not None and node.parent is not select:
        node = node.parent
    return node.arg_key or ""


def _is_looked_up(column: exp.Column) -> bool:
    """Return whether a column stands in LOOKUP, whose names are those of another table."""
    call = column.parent
    return isinstance(call, exp.Anonymous) and canonical_name(call.name) == "lookup"


def _written(name: str, *, is_quoted: bool) -> str:
    return '"' + name.replace('"', '""') + '"' if is_quoted or not _PLAIN.fullmatch(name) else name
