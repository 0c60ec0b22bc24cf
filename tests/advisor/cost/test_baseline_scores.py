from __future__ import annotations

import pytest
from starskip.advisor.cost.baseline_ranking import frequency_scores, parser_scores
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.table_overview import ColumnOverview, TableOverview

TABLE = TableOverview(
    "t",
    1,
    1000,
    {
        name: ColumnOverview(name, cardinality=n)
        for name, n in {"a": 10.0, "b": 4.0, "c": 100.0, "one": 1.0}.items()
    }
    | {"sorted": ColumnOverview("sorted", cardinality=10.0, sorted_ratio=1.0)},
    {"inverted": frozenset({"c"})},
)


def shape(
    where: str, *instances: tuple[int, int], failed: int = 0, queries: int | None = None
) -> ShapeWorkload:
    """Queries of one text; each instance is (queries, entries), its literals the text's own."""
    cut = normalize_sql(f"select count(*) from t where {where}")
    return ShapeWorkload(
        "t",
        where,
        where,
        cut.skeleton,
        queries=queries if queries is not None else sum(n for n, _ in instances) + failed,
        failed=failed,
        entries_scanned_in_filter=sum(e for _, e in instances) + 1_000_000 * failed,
        failed_entries_scanned_in_filter=1_000_000 * failed,
        instances={
            (*cut.literals[:-1], (*cut.literals[-1], *("x" * n for n in range(number)))): Instance(n, e)
            for number, (n, e) in enumerate(instances)
        },
    )


def test_frequency_counts_queries_that_ask_an_equality() -> None:
    shapes = [
        shape("a = 1 and b in (1, 2)", (3, 300)),
        shape("a <> 1 or a = 2", (2, 10), failed=4),
        shape("b not in (1)", (1, 1)),
        shape("a > 1 and b like 'x'", (50, 50)),
        shape("c = 1 and one = 1 and sorted = 1 and missing = 1 and upper(a) = 'x'", (7, 7)),
    ]
    assert frequency_scores(shapes, TABLE) == {"a": 5.0, "b": 4.0}


def test_parser_votes_entries_times_the_share_that_is_cut() -> None:
    # 1 - 1/10 of 300 entries, and 1 - 1/4: both children of the AND vote in full.
    assert parser_scores([shape("a = 1 and b = 2", (3, 300))], TABLE) == pytest.approx(
        {"a": 300 * 0.9, "b": 300 * 0.75}
    )


def test_many_values_a_row_are_own_entries_and_count() -> None:
    # m reads 5 entries a row where d reads one; s of m: 1 - (20 - 5) / 20, so d leads: L = 1 + 5/10.
    # A third of the entries is m's own and saved whole; of the others m cuts 3/4, d 9/10 of all.
    columns = {
        "m": ColumnOverview("m", cardinality=20.0, entries_per_row=5.0, is_single_value=False),
        "d": ColumnOverview("d", cardinality=10.0),
    }
    table = TableOverview("t", 1, 1000, columns)
    scores = parser_scores([shape("m = 1 and d = 2", (1, 1500))], table)
    assert scores == pytest.approx({"m": 500 + 1000 * 0.75, "d": 1500 * 0.9})


def test_a_lone_scan_of_many_values_a_row_is_saved_whole() -> None:
    columns = {"m": ColumnOverview("m", cardinality=20.0, entries_per_row=5.0, is_single_value=False)}
    table = TableOverview("t", 1, 1000, columns)
    assert parser_scores([shape("m = 1", (1, 5000))], table) == pytest.approx({"m": 5000.0})


def test_a_selectivity_at_the_threshold_has_no_vote() -> None:
    shapes = [shape("a = 1 and b = 2", (3, 300)), shape("a in (1, 2)", (1, 100))]
    assert set(parser_scores(shapes, TABLE, selectivity_threshold=4)) == {"a"}
    assert parser_scores(shapes, TABLE, selectivity_threshold=10) == {}
    assert frequency_scores(shapes, TABLE, selectivity_threshold=4) == {"a": 4.0}
    assert frequency_scores(shapes, TABLE, selectivity_threshold=0.2) == {"a": 4.0, "b": 3.0}


def test_parser_votes_of_a_sample_are_scaled_to_all_entries_that_succeeded() -> None:
    workload = shape("a = 1", (2, 100), failed=5)
    workload.entries_scanned_in_filter += 300
    assert parser_scores([workload], TABLE) == pytest.approx({"a": 400 * 0.9})


def test_each_instance_votes_with_its_own_number_of_literals() -> None:
    # One literal keeps 1/10, two keep 2/10.
    assert parser_scores([shape("a in (1)", (1, 100), (1, 200))], TABLE) == pytest.approx(
        {"a": 100 * 0.9 + 200 * 0.8}
    )


def test_nothing_seen_nothing_scored() -> None:
    assert parser_scores([shape("a = 1", failed=3)], TABLE) == {}
    assert parser_scores([shape("a = 1", (3, 0))], TABLE) == {}
    assert frequency_scores([], TABLE) == {}
