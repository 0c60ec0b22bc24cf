"""The measured sample of generated filters belongs to the rows and queries that the generator makes.

The cost model predicts the entries that a real Pinot 0.11 scanned for generated filters.

`tests/data/pinot_filters` has the counters; the rows are made anew. `make bench-pinot-filters` measures.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pinot.filters.checked_segments import GENERATORS, generated_variants
from pinot.filters.comparison import Compared, compared, summaries, summary, worst
from pinot.filters.filter_truth import COUNTERS, FilterTruth, Measured, read_truth, write_truth
from pinot.filters.generated_queries import GeneratedQuery, generated_queries
from pinot.filters.generated_windows import row_windows, sorted_columns
from pinot.filters.index_sets import IndexSet, index_sets
from pinot.filters.opened_segments import generated_segments
from pinot.filters.predicted_entries import Predictor
from pinot.filters.sampled_truth import sampled_truth
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "data" / "pinot_filters" / "seed-1.json.gz"
QUERIES = 320
SEED = 1


PAIR = Measured(GeneratedQuery("t", "SELECT 1", ("or",)), IndexSet("t", "t"), ((1_000,),))
LEAST_PAIRS = 2_000
LEAST_EARLY_PAIRS = 1_000


@pytest.fixture(scope="module")
def truth() -> FilterTruth:
    return read_truth(SAMPLE)


def test_the_generator_makes_the_rows_that_were_measured(truth: FilterTruth) -> None:
    tables = generated_variants(truth)
    assert {name: table.rows for name, table in tables.items()} == {
        "events": 115_300,
        "events_by_city": 115_300,
        "orders": 100_000,
        "orders_by_city": 100_000,
    }
    other = deepcopy(truth)
    other.document["tables"]["orders"]["seed"] += 1
    with pytest.raises(ValueError, match="orders: the generator makes other rows"):
        generated_variants(other)


@pytest.mark.parametrize("table", ["events", "orders"])
def test_the_generator_makes_the_queries_and_sets_that_were_measured(truth: FilterTruth, table: str) -> None:
    made = GENERATORS[table](SEED)
    queries = generated_queries(made, QUERIES, SEED)
    assert len(queries) == len({query.sql for query in queries}) == QUERIES
    assert set(truth.queries(table)) <= set(queries)
    assert generated_queries(made, 50, SEED + 1)[-1] not in queries
    measured = dict.fromkeys(pair.index_set for pair in truth.pairs() if pair.index_set.table == table)
    assert tuple(measured) == index_sets(made)


def test_every_measured_query_is_understood(truth: FilterTruth) -> None:
    for table in truth.document["tables"]:
        for query in truth.queries(table):
            assert query_shape(normalize_sql(query.sql).skeleton).filter is not None


def test_generated_rows_are_windows_sorted_as_the_table_is() -> None:
    events = GENERATORS["events"](SEED)
    windows = row_windows(events)
    assert [window.rows for window in windows] == [60_000, 30_000, 20_000, 5_000, 300]
    assert all("daysSinceEpoch" in sorted_columns(window) for window in windows)
    assert "city" not in sorted_columns(windows[0])
    by_city = row_windows(events.sorted_by("city", "events_by_city"))
    assert all("city" in sorted_columns(window) for window in by_city)
    assert "daysSinceEpoch" not in sorted_columns(by_city[0])
    tags, window = events.segments[4]["tags"], windows[4]
    column = window.columns["tags"]
    assert column.offsets is not None and column.dictionary is not None
    read = [
        column.dictionary.take(column.codes[start:end]).to_pylist()
        for start, end in zip(column.offsets[:-1].tolist(), column.offsets[1:].tolist(), strict=True)
    ]
    assert read == tags
    price = window.columns["price"]
    assert price.dictionary is None and price.values is not None
    assert np.asarray(price.values)[price.codes].tolist() == events.segments[4]["price"]


def test_a_truth_is_read_as_it_was_written(truth: FilterTruth, tmp_path: Path) -> None:
    for name in ("truth.json", "truth.json.gz"):
        write_truth(truth, tmp_path / name)
        assert list(read_truth(tmp_path / name).pairs()) == list(truth.pairs())
    (tmp_path / "truth.json").write_text("[]")
    with pytest.raises(ValueError, match=r"no measured filters of format 2$"):
        read_truth(tmp_path / "truth.json")
    (tmp_path / "truth.json").write_text('{"format": 1}')
    with pytest.raises(ValueError, match=r"format 2; those of format 1 do not tell .*: measure them anew"):
        read_truth(tmp_path / "truth.json")


def test_runs_are_told_by_copy_and_with_the_copys_order(tmp_path: Path) -> None:
    variants = {"t": {"segments": ["a", "b"]}}
    queries = [
        {"table": "t", "sql": sql, "kinds": kinds}
        for sql, kinds in (("q1", []), ("q2", ["limit"]), ("q3", ["limit"]), ("q4", ["limit"]), ("q5", []))
    ]
    counted = {counter: [7, 7, [7, 8], [7, [8, 9]], [[7, 8]]] for counter in COUNTERS}
    index_set = {"table": "t", "variant": "t", "inverted": [], "ranges": [], "orders": [[0, 1], [1, 0]]}
    truth = FilterTruth(
        {
            "format": 2,
            "tables": {"t": {"variants": variants}},
            "queries": queries,
            "sets": [{**index_set, **counted}],
        }
    )
    write_truth(truth, tmp_path / "truth.json")
    read = list(read_truth(tmp_path / "truth.json").pairs())
    assert [(pair.runs, pair.orders, pair.is_stable, pair.mean) for pair in read] == [
        (((7,),), (), True, 7.0),
        (((7,), (7,)), ((0, 1), (1, 0)), True, 7.0),
        (((7,), (8,)), ((0, 1), (1, 0)), True, 7.5),
        (((7,), (8, 9)), ((0, 1), (1, 0)), False, 7.75),
        (((7, 8),), (), False, 7.5),
    ]
    assert truth.segments("t") == ["a", "b"]


def test_a_sample_keeps_the_counters_of_its_queries(truth: FilterTruth) -> None:
    before = {(pair.query.sql, pair.index_set): pair for pair in truth.pairs()}
    sample = sampled_truth(truth, 20)
    pairs = list(sample.pairs())
    assert len(pairs) == 20 * len(sample.document["sets"])
    assert all(before[pair.query.sql, pair.index_set] == pair for pair in pairs)
    kinds = {
        kind for table in sample.document["tables"] for query in sample.queries(table) for kind in query.kinds
    }
    assert {"limit", "negated in", "multi-value", "null test", "depth 4", "regexp", "raw"} <= kinds


@pytest.mark.parametrize(
    ("runs", "predicted", "is_near", "is_off"),
    [
        (((1_000,),), (1_100,), True, False),  # within 100 entries
        (((1_000,),), (1_101,), False, False),
        (((10_000,),), (10_500,), True, False),  # within 5 %
        (((10_000,),), (9_499,), False, False),
        (((10_000,),), (20_001,), False, True),
        (((10_000,),), (4_999,), False, True),
        (((0,),), (100,), True, True),  # off by any factor, but by few entries
        (((0,),), (101,), False, True),
        (((100, 10_000),), (5_000,), True, False),  # between the runs
        (((100, 10_000),), (11_000,), False, False),
        (((100,), (10_000,)), (100, 10_000), True, False),  # copies differ, as predicted
        (((100,), (10_000,)), (5_000, 5_000), False, True),
        (((100,), (10_000,)), (10_000, 100), False, True),
        (((1_000,),), None, False, True),
    ],
)
def test_near_and_off(
    runs: tuple[tuple[int, ...], ...], predicted: tuple[float, ...] | None, is_near: bool, is_off: bool
) -> None:
    pair = Compared(replace(PAIR, runs=runs), predicted, is_changed=False)
    assert (pair.is_near, pair.is_off) == (is_near, is_off)


def _as_measured(pair: Measured, factor: float) -> Compared:
    means = tuple(factor * sum(runs) / len(runs) for runs in pair.runs)
    return Compared(pair, means, is_changed=False)


def test_the_aim_is_met_by_the_measurements_and_missed_by_a_model_that_is_ten_percent_off() -> None:
    pairs = list(read_truth(SAMPLE).pairs())
    exact = [_as_measured(pair, 1.0) for pair in pairs]
    assert summary("all", exact).is_as_wanted
    assert summary("all", exact).near == len(pairs)
    assert worst(exact, 15) == []
    above = [_as_measured(pair, 1.1) for pair in pairs]
    whole, *parts = summaries(above)
    assert not whole.is_as_wanted
    assert whole.sum_ratio == pytest.approx(1.1)
    assert {"set: inverted", "set: range", "set: both", "set: sorted", "filter: not"} <= {
        p.label for p in parts
    }
    assert len(worst(above, 15)) == 15


@pytest.fixture(scope="module")
def predictor(truth: FilterTruth) -> Predictor:
    tables = generated_variants(truth)
    return Predictor(lambda variant: generated_segments(tables[variant]))


def _compared(
    truth: FilterTruth, predictor: Predictor, is_asked: Callable[[Measured], bool]
) -> tuple[Compared, ...]:
    return compared((pair for pair in truth.pairs() if pair.is_stable and is_asked(pair)), predictor.entries)


def test_queries_that_read_all_rows(truth: FilterTruth, predictor: Predictor) -> None:
    pairs = _compared(truth, predictor, lambda pair: not pair.query.ends_early)
    found = summary("all", pairs)
    assert found.pairs >= LEAST_PAIRS
    assert found.near_ratio >= 0.98
    assert not [
        (pair.measured.query.sql, pair.predicted) for pair in pairs if pair.is_off and not pair.is_small
    ]
    assert found.sum_ratio == pytest.approx(1, abs=0.01)


def test_queries_that_end_early(truth: FilterTruth, predictor: Predictor) -> None:
    pairs = _compared(truth, predictor, lambda pair: pair.query.ends_early)
    found = summary("early", pairs)
    assert found.pairs >= LEAST_EARLY_PAIRS
    assert found.near_ratio >= 0.95
    assert found.sum_ratio == pytest.approx(1, abs=0.02)
