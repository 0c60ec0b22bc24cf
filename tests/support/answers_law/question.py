"""A question kept as structure, and written down twice: as it is asked, and as DuckDB is asked.

Nothing of ours translates the second: each part has a renderer of its own for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sql_literals import quoted


@dataclass(frozen=True)
class Value:
    """A literal: as Pinot is asked, as Spark is, and as DuckDB is."""

    value: Any

    def spark(self) -> str:
        # Two quotes in a row end one text and begin another, as in C.
        return self.pinot().replace("''", "\\'") if self.value else self.pinot()

    def pinot(self) -> str:
        value = self.value
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (str, date)):
            return quoted(str(value))
        if isinstance(value, float):
            return f"CAST('{value}' AS DOUBLE)" if not math.isfinite(value) else repr(value)
        return str(value)

    def reference(self) -> str:
        value = self.value
        if isinstance(value, datetime):
            return f"TIMESTAMP{'TZ' if value.tzinfo else ''} '{value}'"
        if isinstance(value, date):
            return f"DATE '{value}'"
        return f"'{value}'::DOUBLE" if isinstance(value, float) else self.pinot()


@dataclass(frozen=True)
class Predicate:
    """A template over one column ``{c}`` and values ``{0}``, ``{1}``, …; both SQLs write it alike."""

    column: str
    template: str
    values: tuple[Value, ...] = ()

    def text(self, name: Callable[[str], str], literal: Callable[[Value], str]) -> str:
        return self.template.format(*(literal(value) for value in self.values), c=name(self.column))


@dataclass(frozen=True)
class Junction:
    """AND, OR or NOT of predicates."""

    word: str
    parts: tuple[Predicate | Junction, ...]

    def text(self, name: Callable[[str], str], literal: Callable[[Value], str]) -> str:
        parts = [f"({part.text(name, literal)})" for part in self.parts]
        return f"NOT {parts[0]}" if self.word == "NOT" else f" {self.word} ".join(parts)


@dataclass(frozen=True)
class Group:
    column: str
    template: str = "{c}"


@dataclass(frozen=True)
class Aggregate:
    function: str
    column: str
    percentile: float = 0.0

    def pinot(self) -> str:
        if self.function.startswith("PERCENTILE"):
            return f'{self.function}("{self.column}", {self.percentile:g})'
        return f"{self.function}({self._name(_double)})"

    def spark(self) -> str:
        names = {"DISTINCTCOUNTHLL": "approx_count_distinct", "PERCENTILEEST": "percentile_approx"}
        if self.function == "PERCENTILEEST":
            return f"{names[self.function]}(`{self.column}`, {self.percentile / 100})"
        if self.function == "PERCENTILETDIGEST":
            return f"PERCENTILETDIGEST(`{self.column}`, {self.percentile:g})"
        return f"{names.get(self.function, self.function)}({self._name(_backticks)})"

    def reference(self) -> str:
        name = self._name(_double)
        match self.function:
            case "MINMAXRANGE":
                wide = (
                    "DOUBLE"
                    if self.column in ("m_float", "m_wild")
                    else "DECIMAL(38,2)"
                    if "dec" in self.column
                    else "HUGEINT"
                )
                return f"MAX({name})::{wide} - MIN({name})::{wide}"
            case "DISTINCTCOUNTHLL":
                return f"COUNT(DISTINCT {name})"
            case "PERCENTILEEST" | "PERCENTILETDIGEST":
                return f"list_sort(list({name}) FILTER (WHERE {name} IS NOT NULL))"
        return f"{self.function}({name})"

    def _name(self, quoted: Callable[[str], str]) -> str:
        return "*" if self.column == "*" else quoted(self.column)


@dataclass(frozen=True)
class Question:
    """``order``: positions in the SELECT, with descending; all groups are among them, if any.

    ``is_shared_count``: a COUNT is asked that the tree has only if a column has no nulls.
    """

    where: Predicate | Junction | None
    groups: tuple[Group, ...]
    aggregates: tuple[Aggregate, ...]
    having: tuple[Aggregate, str, int] | None
    order: tuple[tuple[int, bool], ...]
    limit: tuple[int, int] | None
    dialect: str
    by_position: bool
    is_shared_count: bool

    def asked(self) -> str:
        name = _double if self.dialect == "pinot" else _backticks
        write = Aggregate.pinot if self.dialect == "pinot" else Aggregate.spark
        groups = [group.template.format(c=name(group.column)) for group in self.groups]
        text = self._select([*groups, *map(write, self.aggregates)])
        if self.where is not None:
            literal = Value.pinot if self.dialect == "pinot" else Value.spark
            text += f" WHERE {self.where.text(name, literal)}"
        if groups and self.aggregates:
            text += " GROUP BY " + ", ".join(
                str(i + 1) if self.by_position else group for i, group in enumerate(groups)
            )
        if self.having is not None:
            text += f" HAVING {write(self.having[0])} {self.having[1]} {self.having[2]}"
        if self.order:
            terms = [f"{i + 1}{' DESC' if down else ''}" for i, down in self.order]
            text += " ORDER BY " + ", ".join(terms)
        if self.limit is not None:
            text += f" LIMIT {self.limit[0]}" + (f" OFFSET {self.limit[1]}" if self.limit[1] else "")
        return text

    def reference(self) -> str:
        groups = [group.template.format(c=_double(group.column)) for group in self.groups]
        text = self._select([*groups, *map(Aggregate.reference, self.aggregates)])
        if self.where is not None:
            text += f" WHERE {self.where.text(_double, Value.reference)}"
        if groups and self.aggregates:
            text += " GROUP BY " + ", ".join(f"({group})" for group in groups)
        if self.having is not None:
            text += f" HAVING {self.having[0].reference()} {self.having[1]} {self.having[2]}"
        if self.order:
            # Pinot takes null for the greatest, Spark for the least.
            first = {True: "FIRST", False: "LAST"}
            nulls = [first[down == (self.dialect == "pinot")] for _, down in self.order]
            terms = [
                f"{i + 1} {'DESC' if down else 'ASC'} NULLS {n}"
                for (i, down), n in zip(self.order, nulls, strict=True)
            ]
            text += " ORDER BY " + ", ".join(terms)
        if self.limit is not None and self.order:
            text += f" LIMIT {self.limit[0]} OFFSET {self.limit[1]}"
        return text

    def _select(self, items: list[str]) -> str:
        return f"SELECT {'' if self.aggregates else 'DISTINCT '}{', '.join(items)} FROM rows_of_table"


def _double(name: str) -> str:
    return f'"{name}"'


def _backticks(name: str) -> str:
    return f"`{name}`"
