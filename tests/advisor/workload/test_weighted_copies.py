"""A query of weight w counts in advice as w copies of it in the log would."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from index_choice import advised, in_force
from settings_with import settings_with
from starskip.advisor.cost.baseline_ranking import frequency_scores, parser_scores
from starskip.advisor.cost.estimation_votes import estimation_votes
from starskip.advisor.cost.leapfrog_votes import leapfrog_votes
from starskip.advisor.cost.segment_estimates import SegmentState, estimate_segment, merge_estimates
from starskip.advisor.cost.voting_shapes import voting_shapes
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index, by_column, drop_of
from starskip.advisor.selection.entries_percentile import entries_percentile
from starskip.advisor.selection.past_nights import night_votes
from starskip.advisor.workload.count_shapes import count_shapes
from starskip.advisor.workload.query_weights import query_weights, weighted_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.storage.schemas import WORKLOAD
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.table_overview import ColumnOverview, TableOverview

pytestmark = pytest.mark.slow

Record = dict[str, Any]
ToBatch = Callable[[list[Record]], pa.RecordBatch]

TEMPLATES = (
    "SELECT COUNT(*) FROM t WHERE a = {}",
    "SELECT COUNT(*) FROM t WHERE a = {} OR b = {}",
    "SELECT b FROM t WHERE a = {} AND b <> 2 LIMIT 10",
    "SELECT COUNT(*) FROM t WHERE held = {} AND b > 1",
    "SELECT COUNT(*) FROM t WHERE held = {}",
)
ROWS = 1000
RULES = AccessRules()
HELD = Index("inverted", "held")
CANDIDATES = by_column({Index("inverted", "a"), Index("inverted", "b"), drop_of(HELD)})
TABLE = TableOverview(
    "t",
    1,
    ROWS,
    {name: ColumnOverview(name, cardinality=10.0) for name in ("a", "b", "held")},
    in_force({"held"}),
)
SETTINGS = settings_with(min_gain_ratio=0.0, model_error_ratio=0.0)


def _window() -> RowWindow:
    codes = {
        name: np.random.default_rng(seed).integers(0, 10, ROWS) for seed, name in enumerate(TABLE.columns)
    }
    columns = {
        name: ColumnWindow(found.astype(np.int32), pa.array(range(10))) for name, found in codes.items()
    }
    return RowWindow("t", "0", ROWS, ROWS, columns)


WINDOW = _window()
STATE = SegmentState(RULES, in_force=frozenset({HELD}))


def votes_by_estimation(shapes: Sequence[ShapeWorkload]) -> pa.Table:
    return estimation_votes(shapes, TABLE, CANDIDATES, {HELD}, RULES)


def votes_by_leapfrog(shapes: Sequence[ShapeWorkload]) -> pa.Table:
    estimates = merge_estimates([estimate_segment(WINDOW, STATE, shapes, CANDIDATES, ROWS)])
    return leapfrog_votes(shapes, estimates, CANDIDATES, RULES)


STRATEGIES = [votes_by_estimation, votes_by_leapfrog]


@dataclass(frozen=True, slots=True)
class Query:
    template: int
    literal: int
    entries: int
    fails: bool = False
    stands_for: float = 1.0


@st.composite
def queries(draw: st.DrawFn) -> Query:
    template = draw(st.integers(0, len(TEMPLATES) - 1))
    entries = draw(st.integers(1, 5_000)) if template < 4 else 0
    fails = draw(st.booleans()) if entries else False
    return Query(template, draw(st.integers(0, 12)), entries, fails, draw(st.sampled_from([1.0, 1.0, 2.5])))


LOGS = st.lists(queries(), min_size=1, max_size=12)
WEIGHTS = st.lists(st.integers(0, 6), min_size=len(TEMPLATES), max_size=len(TEMPLATES))


@pytest.fixture(scope="module")
def workload(record: Callable[..., Record], batch: ToBatch) -> Callable[..., list[ShapeWorkload]]:
    """Shapes of a log; of ``copies`` of each query by template, or of ``weights`` of them."""

    def build(
        log: Sequence[Query],
        copies: Sequence[int] = (1,) * len(TEMPLATES),
        weights: Sequence[float] = (),
        instances: int = 100,
    ) -> list[ShapeWorkload]:
        records = [
            record(
                TEMPLATES[query.template].format(query.literal, query.literal % 3),
                table="t",
                entries_scanned_in_filter=query.entries,
                exceptions=int(query.fails),
                weight=1.0 if query.fails else query.stands_for,
                segments_matched=1,
            )
            for query in log
            for _ in range(copies[query.template])
        ]
        text = json.dumps({TEMPLATES[n].format(1, 1): weight for n, weight in enumerate(weights)})
        counted = pa.Table.from_batches(
            count_shapes([batch(records)], instances_per_shape=instances), WORKLOAD
        )
        weighted = weighted_shapes(counted.to_batches(), query_weights(text))
        return [shape for each in weighted for shape in workload_shapes(each)]

    return build


def told(votes: pa.Table) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    return {
        (row["shape_id"], row["leg"], *row["structures"]): (
            row["saving_entries"],
            row["saving_entries_squared"],
            row["saving_entries_cross"],
        )
        for row in votes.to_pylist()
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=40)
@given(log=LOGS, weights=WEIGHTS, threshold=st.sampled_from([0, 0, 1_000]))
def test_whole_weights_are_copies(
    workload: Any, strategy: Any, log: list[Query], weights: list[int], threshold: int
) -> None:
    plain, copied = workload(log), workload(log, copies=weights)
    weighted = workload(log, weights=weights)
    for shape, other in zip(plain, weighted, strict=True):
        assert replace(other, weight=1.0) == shape, "the counts of the log stay"
    by_weight, by_copies = (told(strategy(voting_shapes(shapes, threshold))) for shapes in (weighted, copied))
    assert by_weight.keys() == by_copies.keys()
    factors = {shape.shape_id: shape.weight for shape in weighted}
    for key, (saved, squared, cross) in by_weight.items():
        assert saved == pytest.approx(by_copies[key][0], rel=1e-9, abs=1e-6)
        # A copy tells nothing new: what is squared takes the weight twice, w copies take it once.
        assert squared == pytest.approx(factors[key[0]] * by_copies[key][1], rel=1e-9, abs=1e-6)
        assert cross == pytest.approx(factors[key[0]] * by_copies[key][2], rel=1e-9, abs=1e-6)
    here, there = (night_votes(shapes, strategy(shapes), TABLE, frozenset()) for shapes in (weighted, copied))
    assert here.entries.total == pytest.approx(there.entries.total)
    for structures in ([], [Index("inverted", "a")]):
        typical = [entries_percentile(night.lists, structures, night.shapes, 0.9) for night in (here, there)]
        assert typical[0] == pytest.approx(typical[1], rel=1e-9, abs=1e-6)
    for scores in (frequency_scores, parser_scores):
        found, expected = (scores(shapes, TABLE) for shapes in (weighted, copied))
        for name in {*found, *expected}:
            assert found.get(name, 0.0) == pytest.approx(expected.get(name, 0.0), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=25)
@given(
    log=LOGS, weight=st.sampled_from([0.5, 1e-5]) | st.floats(1e-6, 1e6), instances=st.sampled_from([2, 100])
)
def test_votes_are_in_proportion_to_any_weight(
    workload: Any, strategy: Any, log: list[Query], weight: float, instances: int
) -> None:
    plain = told(strategy(workload(log, instances=instances)))
    scaled = told(strategy(workload(log, weights=[weight] * len(TEMPLATES), instances=instances)))
    assert scaled.keys() == plain.keys()
    for key, vote in plain.items():
        assert scaled[key] == pytest.approx((vote[0] * weight, vote[1] * weight**2, vote[2] * weight**2))


@settings(max_examples=25)
@given(log=LOGS, weight=st.sampled_from([1e-3, 0.5, 1.0, 3.0, 1e6]))
def test_a_weight_of_all_queries_leaves_the_advice(workload: Any, log: list[Query], weight: float) -> None:
    # Ratios are of one entry at least.
    assume(sum(query.entries for query in log) * weight >= 1)
    plain, scaled = workload(log), workload(log, weights=[weight] * len(TEMPLATES))
    advice, same = (advised("t", s, votes_by_leapfrog(s), TABLE, SETTINGS) for s in (plain, scaled))
    for item, expected in zip(same.recommendation.chosen, advice.recommendation.chosen, strict=True):
        assert item.index == expected.index
        assert item.individual_saving_ratio == pytest.approx(expected.individual_saving_ratio)
        assert item.progressive_saving_ratio == pytest.approx(expected.progressive_saving_ratio)
    for name in ("ratio", "low", "high"):
        expected = getattr(advice.recommendation.saving, name)
        assert getattr(same.recommendation.saving, name) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert (same.log.queries, same.log.entries, same.log.unlogged_queries) == (
        advice.log.queries,
        advice.log.entries,
        advice.log.unlogged_queries,
    )
    typical, other = same.typical, advice.typical
    assert (typical is None) == (other is None)
    if typical and other:
        assert (typical.today, typical.advised) == pytest.approx((other.today, other.advised))


@pytest.mark.parametrize("weight", [10, 0.5])
def test_a_query_that_a_limit_ends_is_harmed_in_proportion(workload: Any, weight: float) -> None:
    plain, weighted = (
        told(votes_by_leapfrog(workload([Query(2, 1, 10)], weights=weights)))
        for weights in ((), (1, 1, weight))
    )
    assert min(saved for saved, _, _ in plain.values()) < 0
    assert {key: vote[0] for key, vote in weighted.items()} == {
        key: pytest.approx(weight * vote[0]) for key, vote in plain.items()
    }


def test_what_a_dropped_index_would_cost_is_weighted(workload: Any) -> None:
    log = [Query(4, 1, 0)] * 10
    (plain,), (weighted,) = (
        told(votes_by_leapfrog(workload(log, weights=weights))).values() for weights in ((), (1, 1, 1, 1, 10))
    )
    assert (plain[0], weighted[0]) == pytest.approx((-10.0 * ROWS, -100.0 * ROWS))


def test_a_weight_carries_no_query_over_a_threshold(workload: Any) -> None:
    (shape,) = workload([Query(0, 1, 100)] * 5, weights=[100])
    assert not voting_shapes([shape], 1_000)[0].instances
    few = settings_with(SETTINGS, num_queries_threshold=6)
    advice = advised("t", [shape], votes_by_leapfrog([shape]), TABLE, few)
    assert not advice.recommendation.chosen, "nor is the log longer for it"


def test_a_typical_query_scans_what_one_query_does(workload: Any) -> None:
    shapes = workload([Query(0, 1, 100)] * 10, weights=[100])
    typical = advised("t", shapes, votes_by_leapfrog(shapes), TABLE, SETTINGS).typical
    assert typical is not None
    assert (typical.today, typical.advised) == (100.0, 0.0)
