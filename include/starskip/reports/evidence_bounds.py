"""Cut shapes and latency bins to the most that the evidence may hold."""

from __future__ import annotations

from starskip.reports.log_values import MAX_LATENCY_BINS, MAX_SHAPES, LatencyBin, ShapeEvidence, Shapes


def top_shapes(shapes: tuple[ShapeEvidence, ...]) -> Shapes:
    """Return the MAX_SHAPES that scan most, ties by shape_id, and the rest as counts."""
    ranked = sorted(shapes, key=lambda shape: (-shape.scanned, shape.shape_id))
    rest = ranked[MAX_SHAPES:]
    return Shapes(
        tuple(ranked[:MAX_SHAPES]), len(rest), sum(shape.entries_scanned_in_filter for shape in rest)
    )


def thinned_bins(bins: tuple[LatencyBin, ...], limit: int = MAX_LATENCY_BINS) -> tuple[LatencyBin, ...]:
    """Return at most ``limit`` bins, evenly by rank of latency, the first and the last among them."""
    ranked = sorted(bins, key=lambda each: (each.latency_ms, each.entries_scanned_in_filter))
    if len(ranked) <= limit:
        return tuple(ranked)
    return tuple(ranked[round(i * (len(ranked) - 1) / (limit - 1))] for i in range(limit))
