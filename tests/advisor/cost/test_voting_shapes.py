"""The seed's thresholds: who votes, while all entries stay in the denominator."""

from __future__ import annotations

import pytest
from starskip.advisor.cost.voting_shapes import is_selective, voting_queries, voting_shapes
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.tables.table_overview import ColumnOverview


def shape(*instances: tuple[int, int], failed: int = 0, scale: int = 1) -> ShapeWorkload:
    """Instances are (queries, entries in all); ``scale``: of the sample to the whole."""
    queries, entries = (sum(column) for column in zip(*instances, strict=True))
    return ShapeWorkload(
        "t",
        "id",
        "text",
        "skeleton",
        queries=queries * scale + failed,
        failed=failed,
        entries_scanned_in_filter=entries * scale + 50 * failed,
        failed_entries_scanned_in_filter=50 * failed,
        instances={((str(n),),): Instance(q, e, float(e)) for n, (q, e) in enumerate(instances)},
    )


def test_a_query_at_the_threshold_has_no_vote() -> None:
    (voting,) = voting_shapes([shape((1, 100), (1, 101), (2, 200))], 100)
    assert list(voting.instances) == [(("1",),)]
    assert (voting.queries - voting.failed, voting.entries_scanned_in_filter) == (1, 401)
    assert voting.entries_scanned_in_filter - voting.failed_entries_scanned_in_filter == 101


def test_of_a_sample_the_same_share_of_all_queries_votes() -> None:
    (voting,) = voting_shapes([shape((1, 100), (3, 900), failed=2, scale=10)], 200)
    assert voting.queries - voting.failed == 30
    assert voting.entries_scanned_in_filter - voting.failed_entries_scanned_in_filter == 9000


def test_a_query_that_scans_nothing_may_vote_against_but_not_for() -> None:
    idle = shape((5, 0), (1, 10))
    assert voting_shapes([idle], 0) == [idle]
    assert len(voting_shapes([idle], 50)[0].instances) == 1
    (voting,) = voting_shapes([idle], 0, idle_vote=False)
    assert (len(voting.instances), voting.queries - voting.failed) == (1, 1)


def test_queries_counted_against_the_number_asked_for() -> None:
    unparsed = ShapeWorkload("t", "unparsed:syntax", "", "", queries=4, entries_scanned_in_filter=400)
    shapes = [shape((1, 100), (3, 900), scale=10), unparsed]
    assert voting_queries(shapes, 0) == pytest.approx(44)
    assert voting_queries(shapes, 99) == pytest.approx(44)
    assert voting_queries(shapes, 100) == pytest.approx(30)
    assert voting_queries([], 0) == 0


@pytest.mark.parametrize(
    ("column", "threshold", "selective"),
    [
        (ColumnOverview("c", cardinality=10.0), 9.9, True),
        (ColumnOverview("c", cardinality=10.0), 10.0, False),
        (ColumnOverview("c", cardinality=10.0, sorted_ratio=0.5), 5.0, False),
        (ColumnOverview("c", cardinality=None), 1.5, False),
        (ColumnOverview("c", cardinality=None), 1.0, True),
        (ColumnOverview("c", cardinality=1.0), 0.0, True),
    ],
)
def test_selectivity_is_passed_by_more_than_it(
    column: ColumnOverview, threshold: float, selective: bool
) -> None:
    assert is_selective(column, threshold) is selective
