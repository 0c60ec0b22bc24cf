from __future__ import annotations

import json
from dataclasses import replace

import pytest
from starskip.advisor.workload.query_weights import query_weights, weighted_shapes
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload, workload_shapes, workload_table
from starskip.errors import ConfigError
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

SQL = "SELECT COUNT(*) FROM t WHERE a = 1"
SHAPE_ID = query_shape(normalize_sql(SQL).skeleton).shape_id


def shape(table: str, shape_id: str) -> ShapeWorkload:
    instances = {(("1",),): Instance(2, 100, 5000.0, 7, 3)}
    return ShapeWorkload(table, shape_id, "", "", 2, 0, 100, 5000.0, 40, 10, instances=instances)


def weighted(text: str, *shapes: ShapeWorkload) -> list[ShapeWorkload]:
    batches = workload_table(shapes).to_batches()
    return [
        found for batch in weighted_shapes(batches, query_weights(text)) for found in workload_shapes(batch)
    ]


def test_a_query_text_names_its_shape_whatever_its_literals_and_case() -> None:
    weights = json.dumps({"select  count(*) from t where a = 99": 10, "t": 2})
    mine, other, elsewhere = weighted(weights, shape("t", SHAPE_ID), shape("t", "x"), shape("u", "x"))
    assert (mine.weight, other.weight) == (20.0, 2.0)
    assert (mine.weighted_queries, mine.weighted_entries) == (40.0, 2000.0)
    assert mine.weighted_entries_squared == 5000.0 * 400
    assert replace(mine, weight=1.0) == shape("t", SHAPE_ID), "the counts of the log stay"
    assert elsewhere == shape("u", "x")


def test_the_id_that_reports_show_names_a_shape_too() -> None:
    (found,) = weighted(json.dumps({SHAPE_ID: 0}), shape("t", SHAPE_ID))
    assert (found.weighted_entries, found.entries_scanned_in_filter) == (0.0, 100)


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_no_weights_change_nothing(text: str) -> None:
    assert weighted(text, shape("t", "x")) == [shape("t", "x")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[1]", "must be an object"),
        ('{"t": "2"}', "t needs a weight"),
        ('{"t": true}', "t needs a weight"),
        ('{"t": -1}', "t needs a weight"),
        ('{"t": NaN}', "t needs a weight"),
        ('{"t": 1e99}', "t needs a weight"),
        ('{"SELECT a FROM": 2}', "SELECT a FROM"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")) as caught:
        query_weights(text)
    assert caught.value.setting == "workload.query_weights"
