"""The law of star-trees: an answer is what DuckDB gives for the same question on the raw table.

Tables, configurations and questions are random. A question is kept as structure and written down twice, once
as the SQL of Pinot or Spark that is asked and once, by another renderer, as DuckDB's; nothing of ours
translates the second. STARSKIP_LAW_CASES sets the number of questions.
"""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.storage_for import storage_for
from starskip.star_tree.build.publish_trees import TreeOrder, publish_trees
from starskip.star_tree.serving import star_tree as star_tree_module
from starskip.star_tree.serving import traverse as traverse_module
from starskip.star_tree.serving.answer_sql import Answer, answer_sql
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig

QUESTIONS_A_TABLE = 6
DUCKDB = duckdb.connect(config={"threads": 1})
DUCKDB.execute("SET TimeZone = 'UTC'")
CASES = int(os.environ.get("STARSKIP_LAW_CASES", "300"))

_START = date(2024, 1, 30)
POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "d_int": (pa.int32(), [-7, -1, 0, 1, 2, 3, 40, 500]),
    "d_text": (
        pa.string(),
        ["", "a", "A", "ab", "abc", "a_c", "a%c", "*", "it's", "ß", "日本", "z\u0301", "😀"],
    ),
    "d_date": (pa.date32(), [_START + timedelta(days=17 * n) for n in range(9)]),
    "d_time": (
        pa.timestamp("us"),
        [datetime(2024, 1, 31, 22, 30) + timedelta(minutes=47 * n) for n in range(8)],
    ),
    "d_zone": (
        pa.timestamp("us", "UTC"),
        [datetime(2024, 2, 28, 9, tzinfo=UTC) + timedelta(hours=7 * n) for n in range(6)],
    ),
    "d_bool": (pa.bool_(), [True, False]),
    "d_dec": (pa.decimal128(9, 2), [Decimal(n) / 4 for n in range(-4, 6)]),
    "d_float": (pa.float64(), [-1.5, -0.0, 0.0, 0.25, 3.0, math.inf, math.nan]),
    "order by": (pa.int16(), [1, 2, 3]),
    "m_int": (pa.int64(), [-(2**62), -3, 0, 1, 7, 1000, 2**62, 2**63 - 1]),
    "m_small": (pa.int32(), list(range(-20, 21))),
    "m_dec": (pa.decimal128(15, 2), [Decimal(n) / 100 for n in range(-500, 2000, 37)]),
    "m_float": (pa.float64(), [n / 7 for n in range(-30, 31)]),
    "m_wild": (pa.float64(), [1.5, -2.5, math.inf, -math.inf, math.nan, 0.0]),
    "m_text": (pa.string(), ["", "b", "B", "bb", "é", "日", "~"]),
    "m_date": (pa.date32(), [_START + timedelta(days=n) for n in range(0, 99, 7)]),
}
DIMENSIONS = [name for name in POOLS if not name.startswith("m_")]
NUMBERS = ["m_int", "m_small", "m_dec", "m_float", "d_dec", "d_int"]
PAIRS = [
    "COUNT__*",
    *(f"COUNT__{name}" for name in ("m_small", "m_text", "m_wild")),
    *(f"{function}__{name}" for function in ("SUM", "AVG", "MINMAXRANGE") for name in NUMBERS),
    *(f"{function}__{name}" for function in ("MIN", "MAX") for name in POOLS),
    *("SUM__m_wild", "AVG__m_wild"),
    *(f"DISTINCTCOUNTHLL__{name}" for name in ("m_small", "m_text", "m_date", "d_text", "m_dec")),
    *(
        f"{function}__{name}"
        for function in ("PERCENTILEEST", "PERCENTILETDIGEST")
        for name in ("m_small", "m_float")
    ),
]


# ------------------------------------------------------------------------------------------------ questions


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
            return _quoted(str(value))
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
                    if self.column == "m_float"
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


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _double(name: str) -> str:
    return f'"{name}"'


def _backticks(name: str) -> str:
    return f"`{name}`"


# ------------------------------------------------------------------------------------------------ strategies


def values_of(column: str) -> st.SearchStrategy[Value]:
    """Values of the column's pool, and now and then one that no row has."""
    pool = [Value(value) for value in POOLS[column][1]]
    absent = {
        "d_int": Value(9),
        "d_text": Value("nowhere"),
        "d_date": Value(date(2030, 1, 1)),
        "d_dec": Value(Decimal("0.1")),
    }
    return st.sampled_from([*pool, absent[column]] if column in absent else pool)


@st.composite
def predicates(draw: st.DrawFn, column: str, depth: int = 0) -> Predicate | Junction:
    if depth < 2 and draw(st.integers(0, 3)) == 0:
        word = draw(st.sampled_from(["AND", "OR", "NOT"]))
        parts = 1 if word == "NOT" else draw(st.integers(2, 3))
        return Junction(word, tuple(draw(predicates(column, depth + 1)) for _ in range(parts)))
    one, several = values_of(column), st.lists(values_of(column), min_size=1, max_size=4)
    forms = ["= {0}", "<> {0}", "IN", "NOT IN", "< {0}", "<= {0}", "> {0}", ">= {0}", "BETWEEN {0} AND {1}"]
    forms += ["NOT BETWEEN {0} AND {1}", "IS NULL", "IS NOT NULL", "IN NULL", "FUNCTION", "LIKE"]
    form = draw(st.sampled_from(forms))
    if form in ("IN", "NOT IN", "IN NULL"):
        found = tuple(draw(several)) + ((Value(None),) if form == "IN NULL" else ())
        listed = ", ".join(f"{{{i}}}" for i in range(len(found)))
        return Predicate(column, f"{{c}} {form.removesuffix(' NULL')} ({listed})", found)
    if form == "LIKE":
        pattern = draw(st.sampled_from(["a%", "%c", "%b%", "a_c", "_", "%", "", "日%", "it's"]))
        word = draw(st.sampled_from(["LIKE", "NOT LIKE"]))
        if column == "d_text":
            return Predicate(column, f"{{c}} {word} {{0}}", (Value(pattern),))
        form = "= {0}"
    if form == "FUNCTION":
        return Predicate(column, draw(st.sampled_from(FUNCTION_PREDICATES.get(column, ["{c} IS NOT NULL"]))))
    return Predicate(column, "{c} " + form, tuple(draw(one) for _ in range(form.count("{"))))


FUNCTION_PREDICATES = {
    "d_int": ["abs({c}) > 1", "{c} + 1 < 3", "{c} * {c} = 1", "-{c} >= 1", "coalesce({c}, 7) = 7"],
    "d_text": ["upper({c}) = 'A'", "length({c}) > 1", "lower({c}) IN ('a', 'ab')", "substr({c}, 1, 1) = 'a'"],
    "d_date": ["year({c}) = 2024", "month({c}) IN (2, 3)", "date_trunc('month', {c}) >= '2024-03-01'"],
    "d_time": ["hour({c}) < 1", "date_trunc('day', {c}) = '2024-02-01'"],
    "d_bool": ["{c}", "NOT {c}", "{c} = false"],
    "d_dec": ["{c} * 2 > 1", "abs({c}) < 0.6"],
}
GROUP_TEMPLATES = {
    "d_int": ["abs({c})", "CASE WHEN {c} > 1 THEN 'many' ELSE 'few' END", "{c} + 1"],
    "d_text": ["upper({c})", "length({c})", "substr({c}, 1, 1)"],
    "d_date": ["date_trunc('month', {c})", "year({c})", "date_trunc('week', {c})", "quarter({c})"],
    "d_time": ["date_trunc('hour', {c})", "date_trunc('day', {c})", "hour({c})"],
    "d_zone": ["date_trunc('day', {c})"],
    "d_bool": ["coalesce({c}, false)"],
    "d_dec": ["floor({c})"],
}


@st.composite
def configs(draw: st.DrawFn) -> StarTreeConfig:
    dimensions = draw(st.permutations(DIMENSIONS))[: draw(st.sampled_from([2, 1, 3, 4, 5]))]
    skipped = draw(st.lists(st.sampled_from(dimensions), max_size=2, unique=True))
    counted = draw(st.sampled_from([[], ["COUNT__*"], ["COUNT__m_small"]]))
    pairs = draw(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=6, unique=True))
    return StarTreeConfig.from_document(
        {
            "dimensionsSplitOrder": dimensions,
            "skipStarNodeCreationForDimensions": skipped,
            "functionColumnPairs": list(dict.fromkeys([*counted, *pairs])),
            "maxLeafRecords": draw(st.sampled_from([1, 1, 2, 3, 5, 10, 100])),
        }
    )


@st.composite
def questions(draw: st.DrawFn, config: StarTreeConfig) -> Question:
    dimensions = config.dimensions_split_order
    # Lists of Hypothesis are mostly short; their lengths are drawn apart.
    wanted = draw(st.sampled_from([1, 1, 0, 1, 1, 2, 3]))
    filtered = [draw(st.sampled_from(dimensions)) for _ in range(wanted)]
    where = tuple(draw(predicates(column)) for column in filtered)
    grouped = draw(st.permutations(dimensions))[: draw(st.sampled_from([1, 1, 0, 2, 3]))]
    groups = tuple(
        Group(c, draw(st.sampled_from(["{c}", "{c}", *GROUP_TEMPLATES.get(c, [])]))) for c in grouped
    )
    pairs = draw(
        st.lists(st.sampled_from(config.function_column_pairs), min_size=0 if groups else 1, max_size=3)
    )
    ranks = st.sampled_from([0, 25, 50, 95, 100])
    own = tuple(Aggregate(p.function.value, p.column, draw(ranks)) for p in pairs)
    aggregates = tuple(draw(st.sampled_from([each, each, *shared(each, dimensions)])) for each in own)
    exact = [i for i, each in enumerate(aggregates) if _orders(each)]
    order: list[tuple[int, bool]] = []
    if draw(st.booleans()):
        order = [(len(groups) + i, draw(st.booleans())) for i in exact if draw(st.booleans())]
        order += [(i, draw(st.booleans())) for i in range(len(groups))]
    counted = [a for a in aggregates if a.function == "COUNT"]
    having = (
        (counted[0], draw(st.sampled_from([">", "<=", "="])), draw(st.integers(0, 4)))
        if counted and draw(st.booleans())
        else None
    )
    limit = (draw(st.integers(0, 5)), draw(st.integers(0, 2)))
    is_nor = len(where) > 1 and draw(st.integers(0, 4)) == 0
    return Question(
        where=_anded(where, is_nor=is_nor),
        groups=groups,
        aggregates=aggregates,
        having=having,
        order=tuple(order),
        limit=limit if groups and draw(st.booleans()) else None,
        dialect=draw(st.sampled_from(["pinot", "spark"])),
        by_position=draw(st.booleans()),
        is_shared_count=any(each.function == "COUNT" and each not in own for each in aggregates),
    )


def shared(each: Aggregate, dimensions: tuple[str, ...]) -> list[Aggregate]:
    """Functions that are made of the same measures; counts are, where a column has no nulls."""
    match each.function:
        case "AVG":
            return [Aggregate("SUM", each.column), Aggregate("COUNT", each.column)]
        case "MINMAXRANGE":
            return [Aggregate("MIN", each.column), Aggregate("MAX", each.column)]
        case "COUNT":
            return [Aggregate("COUNT", dimensions[-1] if each.column == "*" else "*")]
    return []


def _orders(each: Aggregate) -> bool:
    if each.function in ("SUM", "MIN", "MAX", "COUNT"):
        return each.column not in ("m_float", "m_wild", "d_float")
    return False


def _anded(parts: tuple[Predicate | Junction, ...], *, is_nor: bool) -> Predicate | Junction | None:
    if is_nor:
        return Junction("NOT", (Junction("OR", parts),))
    return Junction("AND", parts) if len(parts) > 1 else parts[0] if parts else None


Case = tuple[pa.Table, int, tuple[StarTreeConfig, ...], tuple[int, int], list[Question]]
"""Rows, how many of them come first, trees, rows and documents a task of the build, questions."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, seed = draw(st.sampled_from([0, 1, 3, 10, 30, 60, 60, 120, 120])), draw(st.integers(0, 2**32))
    trees = tuple(draw(st.lists(configs(), min_size=1, max_size=3)))
    asked = [draw(questions(draw(st.sampled_from(trees)))) for _ in range(QUESTIONS_A_TABLE)]
    table = _table(rows, seed)
    tasks = draw(st.sampled_from([(4_000_000, 1_000_000), (7, 1_000_000), (7, 5)]))
    return table, draw(st.integers(0, rows)), trees, tasks, asked


def _table(rows: int, seed: int) -> pa.Table:
    """Rows of few values each, so that groups meet; columns with and without nulls."""
    chosen = random.Random(seed)
    columns = {}
    for name, (arrow_type, pool) in POOLS.items():
        few = chosen.sample(pool, chosen.randint(min(len(pool), chosen.choice([1, 4, 6])), min(len(pool), 8)))
        nulls = chosen.choice([0.0, 0.0, 0.1, 0.5])
        values = [None if chosen.random() < nulls else chosen.choice(few) for _ in range(rows)]
        columns[name] = pa.array(values, arrow_type)
    return pa.table(columns)


# ------------------------------------------------------------------------------------------------ the law


@contextmanager
def built(
    table: pa.Table, later: int, configs: tuple[StarTreeConfig, ...], tasks: tuple[int, int]
) -> Iterator[TreeSet]:
    """The trees of a table in two files, of which the second came after the first build."""
    with tempfile.TemporaryDirectory() as folder:
        source, store = Path(folder, "rows"), ArtefactStore(storage_for(f"{folder}/trees"))
        source.mkdir()
        order = TreeOrder("rows", str(source), configs, {})
        pieces = [table.slice(0, later), table.slice(later)] if 0 < later < len(table) else [table]
        for number, piece in enumerate(pieces):
            pq.write_table(piece, source / f"{number}.parquet", row_group_size=7)
            publish_trees(
                lambda _, items, function: [function(item) for item in items],
                store,
                order,
                now=datetime.now(UTC) + timedelta(hours=1),
                created_by="law",
                rows_per_task=tasks[0],
                documents_per_task=tasks[1],
            )
        yield open_trees(store)


def check(table: pa.Table, trees: TreeSet, question: Question) -> Answer:
    answer = answer_sql(trees, question.asked(), question.dialect)
    DUCKDB.register("rows_of_table", table)
    expected = DUCKDB.execute(question.reference()).fetchall()
    found = [tuple(row) for row in zip(*(column.to_pylist() for column in answer.table.columns), strict=True)]
    told = f"\nasked:     {question.asked()}\nreference: {question.reference()}"
    told += f"\nfound:    {found}\nexpected: {expected}\nrows:     {table.to_pylist()}"
    if question.limit is not None and not question.order:
        wanted = max(min(question.limit[0], len(expected) - question.limit[1]), 0)
        assert len(found) == wanted, told
    else:
        assert len(found) == len(expected), told
    groups = len(question.groups)
    if not question.order:
        by_group = {_key(row[:groups]): row for row in expected}
        assert len({_key(row[:groups]) for row in found}) == len(found), told
        assert all(_key(row[:groups]) in by_group for row in found), told
        expected = [by_group[_key(row[:groups])] for row in found]
    for row, wanted_row in zip(found, expected, strict=True):
        assert _key(row[:groups]) == _key(wanted_row[:groups]), told
        for each, value, wanted_value in zip(
            question.aggregates, row[groups:], wanted_row[groups:], strict=True
        ):
            assert agrees(each, value, wanted_value, answer), (
                f"{each}: {value!r} is not {wanted_value!r}{told}"
            )
    return answer


def _key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """NaN is one group, and so are both zeros; a moment is one, whatever its zone is called."""
    return tuple(
        "NaN"
        if isinstance(value, float) and math.isnan(value)
        else value.astimezone(UTC)
        if isinstance(value, datetime) and value.tzinfo
        else value
        for value in row
    )


def agrees(aggregate: Aggregate, value: Any, wanted: Any, answer: Answer) -> bool:
    """Exactly; doubles to a tolerance; sketches within the bound that the answer states."""
    if aggregate.function == "DISTINCTCOUNTHLL":
        return abs(value - wanted) <= _ratio(answer, aggregate) * wanted + 0.5
    if aggregate.function.startswith("PERCENTILE"):
        return _rank_agrees(aggregate, value, wanted, _ratio(answer, aggregate) if answer.star_tree else 0.0)
    if isinstance(value, float) and wanted is not None:
        both_nan = math.isnan(value) and math.isnan(wanted)
        return both_nan or math.isclose(value, wanted, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(value, datetime) and value.tzinfo:
        return bool(value.astimezone(UTC) == wanted.astimezone(UTC))
    return bool(value == wanted)


def _ratio(answer: Answer, aggregate: Aggregate) -> float:
    if not answer.star_tree:
        return 0.0
    stated = {"DISTINCTCOUNTHLL": "HyperLogLog", "PERCENTILEEST": "KLL", "PERCENTILETDIGEST": "t-digest"}
    return next(a.ratio for a in answer.approximations if a.bound.startswith(stated[aggregate.function]))


def _rank_agrees(aggregate: Aggregate, value: Any, ordered: list[Any] | None, ratio: float) -> bool:
    if not ordered:
        return value is None
    values = np.array([float(each) for each in ordered])
    # One value of few is a coarse step; a t-digest lies between two of them.
    slack = ratio + (1 if aggregate.function == "PERCENTILETDIGEST" else 1e-9) / len(values)
    below, up_to = (values < float(value) - 1e-9).mean(), (values <= float(value) + 1e-9).mean()
    return bool(below - slack <= aggregate.percentile / 100 <= up_to + slack)


def law(seen: Counter[str]) -> Callable[..., None]:
    def holds(case: Case) -> None:
        table, later, trees_of, tasks, asked = case
        with built(table, later, trees_of, tasks) as trees:
            for question in asked:
                answer = check(table, trees, question)
                if not question.is_shared_count:
                    assert answer.star_tree, f"{question.asked()}: {answer.reason}"
                seen["without a tree"] += not answer.star_tree
                seen["questions"] += 1
                seen["groups"] += answer.table.num_rows
                seen["documents read"] += answer.documents_read
                seen["with a predicate"] += question.where is not None
                seen["with a group-by"] += bool(question.groups)
                seen["with rows"] += answer.table.num_rows > 0

    return holds


def test_what_no_tree_answers_is_that_of_the_raw_table_too() -> None:
    fits_nothing = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": ["order by"], "functionColumnPairs": ["MAX__d_zone"]}
    )

    def holds(case: Case) -> None:
        table, later, _, tasks, asked = case
        with built(table, later, (fits_nothing,), tasks) as trees:
            for question in asked:
                answer = check(table, trees, question)
                assert answer.star_tree is (answer.reason is None)

    _settings(10)(given(cases())(holds))()


def _settings(tables: int, **more: Any) -> settings:
    # Not shrunk: with tables of this width that takes minutes, and a failure says all that it is about.
    return settings(
        max_examples=tables,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        **more,
    )


@pytest.mark.timeout(900 + CASES)
def test_an_answer_is_that_of_the_raw_table() -> None:
    seen: Counter[str] = Counter()
    _settings(-(-CASES // QUESTIONS_A_TABLE))(given(cases())(law(seen)))()
    print(dict(seen))
    assert seen["questions"] >= CASES
    assert seen["with a predicate"] > seen["questions"] / 4 and seen["with rows"] > seen["questions"] / 4


def _star_for_a_predicate(nodes: Any, parents: Any, mask: Any, star_code: int) -> Any:
    if mask is None:
        return _MATCHING(nodes, parents, mask, star_code)
    return traverse_module._undivided(nodes, parents, star_code)


def _leaves_as_they_are(self: Any, found: Any, request: Any) -> Any:
    none: dict[str, Any] = {}
    return _QUALIFIED(self, found, star_tree_module.ScanRequest(none, request.group_by, request.measures))


def _only_stars(nodes: Any, parents: Any, star_code: int) -> Any:
    last = nodes.end_child[parents] - 1
    return last[nodes.code[last] == star_code]


_MATCHING = traverse_module._matching
_QUALIFIED = star_tree_module.StarTree._qualified


@pytest.mark.parametrize(
    ("owner", "name", "fault"),
    [
        (traverse_module, "_matching", _star_for_a_predicate),
        (traverse_module, "_undivided", _only_stars),
        (star_tree_module.StarTree, "_qualified", _leaves_as_they_are),
    ],
    ids=[
        "star child for a predicate",
        "nodes without a star child left out",
        "no remaining predicates on leaves",
    ],
)
def test_a_planted_fault_breaks_the_law(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, fault: Any
) -> None:
    monkeypatch.setattr(owner, name, fault)
    run = _settings(200, database=None, derandomize=True)
    # A fault may show as a wrong answer, or as the code of the star where that of a value is due.
    with pytest.raises((AssertionError, IndexError), match=r"reference:|out of bounds"):
        run(given(cases())(law(Counter())))()
