"""Predictions beside what Pinot counted, and the table of mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pinot.tree_matching.measured import Measured
from pinot.tree_matching.predicted import Predicted

WITHIN_RATIO = 0.05


@dataclass(frozen=True, slots=True)
class Compared:
    """One query of one table."""

    table: str
    sql: str
    measured: Measured
    predicted: Predicted

    @property
    def is_used_right(self) -> bool:
        """Return whether the use of a tree was predicted; it is not seen where nothing is read either way."""
        told = not self.predicted.reason
        reads_nothing = not self.measured.documents_scanned and not self.predicted.documents_scanned
        return told == self.measured.used or (reads_nothing and not self.measured.entries_in_filter)

    @property
    def is_read(self) -> bool:
        """Return whether trees were read, as predicted, and nothing else."""
        return self.measured.used and not self.predicted.reason and self.predicted.by_trees_alone

    @property
    def are_documents_right(self) -> bool:
        """Return whether the documents scanned are within WITHIN_RATIO."""
        return _near(self.predicted.documents_scanned, self.measured.documents_scanned)

    @property
    def are_entries_right(self) -> bool:
        """Return whether the entries scanned, in filter and post filter, are within WITHIN_RATIO."""
        return _near(self.entries[0], self.entries[1])

    @property
    def entries(self) -> tuple[float, float]:
        """Return the sums of entries, as predicted and as counted."""
        return (
            self.predicted.entries_in_filter + self.predicted.entries_post_filter,
            self.measured.entries_in_filter + self.measured.entries_post_filter,
        )


def print_compared(compared: Sequence[Compared], worst: int) -> float:
    """Print the table and the worst mistakes; return the lesser ratio of those right."""
    print(
        f"{'table':<14} {'asked':>6} {'refused':>8} {'used':>6} {'told right':>10} {'read':>6} "
        f"{'documents':>10} {'entries':>8}"
    )
    asked = [each for each in compared if not each.measured.error]
    for table in [*dict.fromkeys(each.table for each in asked), ""]:
        of = [each for each in asked if table in ("", each.table)]
        refused = sum(bool(each.measured.error) for each in compared if table in ("", each.table))
        read = [each for each in of if each.is_read]
        print(
            f"{table or 'all':<14} {len(of):>6} {refused:>8} {sum(each.measured.used for each in of):>6} "
            f"{_ratio(sum(each.is_used_right for each in of), len(of)):>10} {len(read):>6} "
            f"{_ratio(sum(each.are_documents_right for each in read), len(read)):>10} "
            f"{_ratio(sum(each.are_entries_right for each in read), len(read)):>8}"
        )
    read = [each for each in asked if each.is_read]
    totals = [sum(each.entries[side] for each in read) for side in (0, 1)]
    print(f"Entries of all queries that read a tree: predicted {totals[0]:,.0f}, counted {totals[1]:,.0f}.")
    reasons = Counter(each.predicted.reason for each in asked if each.predicted.reason)
    print("Not used, because:", ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))
    mistakes = [each for each in asked if not each.is_used_right]
    print(f"\n{len(mistakes)} wrong predictions of whether a tree is used; at most {worst}:")
    for each in mistakes[:worst]:
        said = each.predicted.reason or "used"
        print(f"  {'used' if each.measured.used else 'not used'}, said {said}: {each.sql}")
    off = [each for each in read if not (each.are_documents_right and each.are_entries_right)]
    off.sort(key=lambda each: -abs(each.entries[0] - each.entries[1]))
    print(f"\n{len(off)} read otherwise than predicted (documents, entries in filter, post filter):")
    for each in off[:worst]:
        told, counted = each.predicted, each.measured
        print(
            f"  {each.table}: {told.documents_scanned:,.0f}, {told.entries_in_filter:,.0f}, "
            f"{told.entries_post_filter:,.0f}; counted {counted.documents_scanned:,}, "
            f"{counted.entries_in_filter:,}, {counted.entries_post_filter:,}: {each.sql}"
        )
    refusals = Counter(each.measured.error for each in compared if each.measured.error)
    for error, count in refusals.most_common(5):
        print(f"  Pinot refused {count}: {error}")
    right = sum(each.is_used_right for each in asked) / max(len(asked), 1)
    near = sum(each.are_documents_right for each in read) / max(len(read), 1)
    return min(right, near)


def _near(told: float, counted: float) -> bool:
    return abs(told - counted) <= max(WITHIN_RATIO * counted, 0.5)


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
