"""Tables and columns of a log found among those that are known."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from starskip.advisor.workload.count_shapes import QUERY_COLUMNS, count_shapes
from starskip.advisor.workload.known_names import (
    NO_NAMES,
    KnownNames,
    known_names,
    known_table,
    with_known_tables,
)
from starskip.advisor.workload.query_weights import query_weights, weighted_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes, workload_table
from starskip.sql.query_shape import query_shape
from starskip.storage.schemas import QUERIES
from starskip.tables.table_overview import ColumnOverview, TableOverview

NAMES = KnownNames({"sales": frozenset({"Origin", "Dest", "tag.name"})}, aliases_in_where=False)


def counted(
    texts: list[str], names: KnownNames, table: str = "sales", line_format: str = "0.11.0"
) -> list[ShapeWorkload]:
    rows = [{"table": table, "query_text": text, "line_format": line_format, "weight": 1.0} for text in texts]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema([QUERIES.field(name) for name in QUERY_COLUMNS]))
    found = [
        shape
        for counts in count_shapes([batch], instances_per_shape=9, names=names)
        for shape in workload_shapes(counts)
    ]
    return sorted(found, key=lambda shape: shape.text)


@pytest.mark.parametrize(
    ("name", "tables", "found"),
    [
        ("SALES", ["sales", "other"], "sales"),
        ("Sales", ["sales", "SALES"], "Sales"),
        ("sales", ["sales", "SALES"], "sales"),
        ("default.Sales", ["sales"], "sales"),
        ("db.sales", ["sales"], "sales"),
        ("db.sales", ["sales", "DB.sales"], "DB.sales"),
        ("sales", ["db.sales", "other"], "db.sales"),
        ("sales", ["db.sales", "db2.sales"], "sales"),
        ("unknown", ["sales"], "unknown"),
        ("sales", [], "sales"),
    ],
)
def test_a_table_is_found_in_any_case_and_with_its_database_or_without(
    name: str, tables: list[str], found: str
) -> None:
    assert known_table(name, tables) == found


def test_records_of_several_tables_are_spelled_one_by_one() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1, 2, 3], "table": ["SALES, x", None, "Db.Other"]})
    spelled = with_known_tables(batch, ["sales", "other"])
    assert spelled.column("table").to_pylist() == ["sales, x", None, "other"]
    assert with_known_tables(batch, ["x"]) is batch


def test_spellings_of_a_column_are_one_shape_that_filters_on_it() -> None:
    where = ("origin = 'a'", "ORIGIN='b'", "\"Origin\" = 'c'", "sales.oRigin = 'd'", "Origin IN ('e')")
    texts = [f"SELECT COUNT(*) FROM Sales WHERE {each}" for each in where]
    equal, listed = sorted(counted(texts, NAMES), key=lambda shape: -shape.queries)
    assert equal.queries == 4
    assert set(equal.instances) == {((f"'{letter}",),) for letter in "abcd"}
    assert query_shape(equal.skeleton).filter_columns == ("Origin",)
    assert query_shape(listed.skeleton).filter_columns == ("Origin",)
    assert len(counted(texts, NO_NAMES)) > 2


def test_queries_of_a_half_are_spelled_as_those_of_its_table() -> None:
    names = KnownNames({"sales_OFFLINE": NAMES.columns["sales"]})
    found = counted(
        [f"SELECT 1 FROM {name} WHERE ORIGIN = 1" for name in ("SALES", "sales")], names, "sales_OFFLINE"
    )
    assert [(shape.queries, shape.text) for shape in found] == [(2, "SELECT ? FROM sales WHERE Origin = ?")]


def test_literals_of_an_alias_stand_where_it_stands() -> None:
    text = "SELECT CONCAT(Origin, 'x') AS c FROM sales WHERE Dest = 'y' AND c = 'z'"
    (shape,) = counted([text], KnownNames(NAMES.columns, aliases_in_where=True))
    assert set(shape.instances) == {(("'x",), ("'y",), ("'x",), ("'z",))}
    assert shape.text == (
        'SELECT CONCAT(Origin, ?) AS c FROM sales WHERE Dest = ? AND (CONCAT("Origin", ?)) = ?'
    )


@pytest.mark.parametrize(
    ("version", "line_format", "column"),
    [
        ("0.11", "0.11.0", "Dest"),
        ("1.0.0", "later", "Dest"),
        ("1.1.0", "0.11.0", "Origin"),
        ("0.11", "1.4.0", "Origin"),
        ("1.5.1", "2026-05", "Origin"),
        ("0.11", "1.6.0", "Origin"),
    ],
)
def test_aliases_apply_to_a_where_by_the_version_of_advice_and_of_the_log(
    version: str, line_format: str, column: str
) -> None:
    columns = {name: ColumnOverview(name) for name in ("Origin", "Dest")}
    names = known_names({"sales": TableOverview("sales", 1, 1, columns)}, version)
    (shape,) = counted(["SELECT Dest AS Origin FROM sales WHERE Origin = 1"], names, line_format=line_format)
    assert query_shape(shape.skeleton).filter_columns == (column,)


def test_a_query_with_options_that_decide_is_another_shape() -> None:
    query = "SELECT COUNT(*) FROM sales WHERE Dest = 'y'"
    texts = [
        *(query, f"SET timeoutMs=3; {query}", f"{query} OPTION(timeoutMs=4)"),
        *(f"SET useStarTree=false; {query}", f"{query}; set usestartree = 'FALSE'"),
        f"{query} option(enableNullHandling=true)",
    ]
    assert sorted(shape.queries for shape in counted(texts, NAMES)) == [1, 2, 3]


def test_weights_find_the_shapes_of_queries_as_users_spell_them() -> None:
    shapes = counted(["SELECT COUNT(*) FROM sales WHERE Origin = 'y' AND tag.name = 'z'"], NAMES)
    weights = query_weights(
        json.dumps({"select count(*) from SALES where origin = 1 and sales.TAG.name = 2": 5, "Sales": 2})
    )
    (batch,) = weighted_shapes(workload_table(shapes).to_batches(), weights, NAMES)
    assert [shape.weight for shape in workload_shapes(batch)] == [10.0]
