"""Counters of a logged query, related to one segment: rows that passed, entries that were read."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from starskip.advisor.workload.shape_workload import Instance

_LEAST_ENTRIES = 1e-3
_ENTRIES_WEIGHT = 4.0
"""Two scans read between one and two entries a row whatever they ask, so small differences mean much."""


@dataclass(frozen=True, slots=True)
class ObservedScan:
    """Observed scan of a segment in which rows matched, a row of it.

    ``passing_ratio``: share of rows that passed the filter. Entries in filter lie between ``least_entries``,
    if every segment was scanned, and ``most_entries``, if only the segments with a match were; None where a
    LIMIT ended the query.
    """

    passing_ratio: float
    least_entries: float | None = None
    most_entries: float | None = None

    def passing_distance(self, passing_ratio: float, least: float) -> float:
        """Return how far ``passing_ratio`` is from the observed share of rows, 0 for no distance."""
        return abs(log(max(passing_ratio, least) / max(self.passing_ratio, least)))

    def entries_distance(self, entries: float) -> float:
        """Return how far ``entries`` a row are from the observed ones, 0 for no distance."""
        if self.least_entries is None or self.most_entries is None:
            return 0.0
        nearest = min(max(entries, self.least_entries), self.most_entries)
        return _ENTRIES_WEIGHT * abs(log(max(entries, _LEAST_ENTRIES) / max(nearest, _LEAST_ENTRIES)))


def observed_scan(
    instance: Instance, segment_rows: int, table_rows: int, *, stops_early: bool
) -> ObservedScan | None:
    """Return the scan that an instance's counters show; None if they show none."""
    if not instance.queries or not table_rows:
        return None
    passed = instance.rows_scanned / instance.queries
    read = instance.entries_scanned_in_filter / instance.queries
    if stops_early:
        # The scan ended when LIMIT rows had passed; it read about one entry a row.
        return ObservedScan(min(passed / read, 1.0)) if read else None
    matched_rows = min(instance.segments_matched / instance.queries * segment_rows, table_rows) or table_rows
    return ObservedScan(min(passed / matched_rows, 1.0), read / table_rows, read / matched_rows)
