"""Simulations of a table are dealt out to its shapes by what they scan."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.cost.planned_votes import instance_shares
from starskip.advisor.cost.sampled_segments import SampledSegment
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.segments.segment_files import SegmentFile

FILE = SegmentFile("t", "s", "t/s.tar.gz", 1, 0, "")


def shape(name: str, instances: int, entries: int) -> ShapeWorkload:
    found = ShapeWorkload("t", name, name, name, queries=instances, entries_scanned_in_filter=entries)
    found.instances = {((str(number),),): Instance(1, entries) for number in range(instances)}
    return found


def simulated(shapes: list[ShapeWorkload], segments: int, most: int) -> dict[str, list[int]]:
    """Return by shape how many segments each of its queries is simulated on."""
    counts = {each.shape_id: [0] * len(each.instances) for each in shapes}
    for position in range(segments):
        shares = instance_shares(SampledSegment(FILE, position, segments, segments), shapes, most)
        for each in shapes:
            share = shares.get(each.shape_id)
            for number in range(len(each.instances)):
                counts[each.shape_id][number] += share is None or share.includes(number)
    return counts


@given(
    sizes=st.lists(st.tuples(st.integers(0, 64), st.integers(0, 10**9)), min_size=1, max_size=12),
    segments=st.integers(1, 32),
    most=st.integers(1, 8_000),
)
def test_each_query_is_simulated_and_beyond_once_only_within_the_limit(
    sizes: list[tuple[int, int]], segments: int, most: int
) -> None:
    shapes = [shape(f"s{number}", *size) for number, size in enumerate(sizes)]
    counts = simulated(shapes, segments, most)
    assert all(1 <= count <= segments for of_shape in counts.values() for count in of_shape)
    # A query's simulations are whole numbers: one more than its part at most, and half of it at least.
    queries = sum(instances for instances, _ in sizes)
    total = sum(sum(of_shape) for of_shape in counts.values())
    assert total <= most + queries
    assert total >= min(most, queries * segments) // 2 - queries
    if queries * segments <= most:
        assert all(count == segments for of_shape in counts.values() for count in of_shape)


def test_a_shape_that_scans_most_is_simulated_most() -> None:
    shapes = [shape("busy", 64, 10**9), *(shape(f"idle{number}", 64, 10) for number in range(30))]
    counts = simulated(shapes, 32, 8_000)
    assert set(counts["busy"]) == {32}
    assert all(set(counts[f"idle{number}"]) <= {2, 3} for number in range(30))


def test_shapes_of_a_log_without_counters_are_simulated_alike() -> None:
    counts = simulated([shape(f"s{number}", 64, 0) for number in range(10)], 32, 2_560)
    assert {count for of_shape in counts.values() for count in of_shape} == {4}


def test_shapes_of_one_query_are_simulated_on_all_segments_between_them() -> None:
    shapes = [shape(f"s{number}", 1, 10) for number in range(2_000)]
    known = set()
    for position in range(32):
        shares = instance_shares(SampledSegment(FILE, position, 32, 32), shapes, 8_000)
        known.update((position, each.shape_id) for each in shapes if shares[each.shape_id].includes(0))
    by_segment = [sum(segment == position for segment, _ in known) for position in range(32)]
    assert min(by_segment) > 150
    assert len({name for _, name in known}) == 2_000
