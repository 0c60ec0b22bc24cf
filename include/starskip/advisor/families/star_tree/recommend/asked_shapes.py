"""Collect the shapes of a workload that star-trees may serve, with the entries that their queries scanned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.families.star_tree.recommend.asked_shape import AskedShape
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.settings import Settings
from starskip.sql.query_text import query_text

_MOST_EXAMPLES = 4


def asked_shapes(
    shapes: Sequence[ShapeWorkload], window: Mapping[str, ShapeEntries], settings: Settings
) -> list[AskedShape]:
    """Return the shapes that had successful queries; ``window``: their queries over all nights that vote."""
    return [found for shape in shapes if (found := _asked(shape, window, settings)) is not None]


def _asked(shape: ShapeWorkload, window: Mapping[str, ShapeEntries], settings: Settings) -> AskedShape | None:
    """Return a shape with the entries that its successful queries scanned, over the nights that vote."""
    queries = shape.estimated_queries - shape.failed
    if not shape.is_parsed or queries <= 0 or not shape.instances:
        return None
    entries = shape.estimated_entries - shape.failed_entries_scanned_in_filter
    # The log does not separate post-filter entries by success, nor by sampling.
    entries += (
        settings.of(StarTreeSettings).post_filter_entry_weight
        * shape.entries_scanned_post_filter
        * queries
        / shape.queries
    )
    nights = (
        window[shape.shape_id].queries / shape.estimated_queries if shape.shape_id in window else shape.weight
    )
    often = sorted(shape.instances.items(), key=lambda item: (-item[1].estimated_queries, item[0]))
    return AskedShape(
        shape_id=shape.shape_id,
        queries=queries * nights,
        entries_scanned=entries * nights,
        examples=tuple(
            (query_text(shape.skeleton, literals), instance.estimated_queries)
            for literals, instance in often[:_MOST_EXAMPLES]
        ),
    )
