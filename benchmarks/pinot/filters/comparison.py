"""Predicted beside measured entries: how near they are, over all pairs of query and set, and by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pinot.filters.filter_truth import Measured

NEAR_RATIO = 0.05
NEAR_ENTRIES = 100
"""A pair is near where the prediction is within the greater of both."""

OFF_FACTOR = 2.0
WANTED_NEAR = 0.95
WANTED_SUM_ERROR = 0.01

SET_KINDS = ("none", "inverted", "range", "both", "sorted")
FILTER_KINDS = (
    *("depth 0", "depth 1", "depth 2", "depth 3", "depth 4"),
    *("and", "or", "not", "or in and", "and in or", "repeated column", "negated in"),
    *("=", "in", "<>", "not in", "range", "between", "like", "regexp", "function", "null test"),
    *("multi-value", "raw", "literal absent", "literal in some segments"),
    *("aggregate", "group by", "filter clause", "distinct", "limit", "ordered"),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A measured pair and its prediction for each copy asked, None where the query is not understood.

    A pair is judged by its worst copy.

    ``is_changed``: the pair read otherwise than without index, so that the set matters to the query.
    """

    measured: Measured
    predicted: tuple[float, ...] | None
    is_changed: bool

    @property
    def predicted_mean(self) -> float:
        """Mean over the copies; 0 where the query is not understood."""
        return sum(self.predicted) / len(self.predicted) if self.predicted else 0.0

    @property
    def error(self) -> float:
        """Entries by which the prediction lies outside of what the runs of a copy read; signed."""
        predicted = self.predicted or (0.0,) * len(self.measured.runs)
        errors = (
            entries - min(max(entries, min(runs)), max(runs))
            for entries, runs in zip(predicted, self.measured.runs, strict=True)
        )
        return max(errors, key=abs)

    @property
    def is_near(self) -> bool:
        """Return whether the prediction is within 5 % or 100 entries."""
        return self.predicted is not None and all(
            min(runs) - _tolerance(runs) <= entries <= max(runs) + _tolerance(runs)
            for entries, runs in zip(self.predicted, self.measured.runs, strict=True)
        )

    @property
    def is_off(self) -> bool:
        """Return whether the prediction is off by more than a factor of 2, however few entries that are."""
        return self.predicted is None or any(
            entries * OFF_FACTOR < min(runs) or entries > max(runs) * OFF_FACTOR
            for entries, runs in zip(self.predicted, self.measured.runs, strict=True)
        )

    @property
    def is_small(self) -> bool:
        """Return whether so few entries are at stake that a factor says nothing."""
        return self.predicted is not None and abs(self.error) <= NEAR_ENTRIES


def _tolerance(runs: Sequence[int]) -> float:
    return max(NEAR_RATIO * max(runs), NEAR_ENTRIES)


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of some pairs; ``off_small``: off by the factor, but by 100 entries at most."""

    label: str
    pairs: int
    near: int
    off: int
    off_small: int
    measured: float
    predicted: float

    @property
    def near_ratio(self) -> float:
        """Share of pairs within 5 % or 100 entries."""
        return self.near / max(self.pairs, 1)

    @property
    def sum_ratio(self) -> float:
        """Sum of predictions by sum of measurements."""
        return self.predicted / max(self.measured, 1)

    @property
    def is_as_wanted(self) -> bool:
        """Return whether near pairs, pairs off by the factor and the sum reach their aims."""
        is_sum_near = abs(self.sum_ratio - 1) <= WANTED_SUM_ERROR
        return self.near_ratio >= WANTED_NEAR and not self.off and is_sum_near


def compared(
    pairs: Iterable[Measured], predict: Callable[[Measured], tuple[float, ...] | None]
) -> tuple[Compared, ...]:
    """Return the pairs with their predictions; the first set of a table has no index."""
    without: dict[str, Measured] = {}
    found = []
    for pair in pairs:
        before = without.setdefault(pair.query.sql, pair)
        found.append(Compared(pair, predict(pair), is_changed=pair.runs != before.runs))
    return tuple(found)


def summary(label: str, pairs: Iterable[Compared]) -> Summary:
    """Return the figures of ``pairs``."""
    these = list(pairs)
    return Summary(
        label,
        len(these),
        near=sum(pair.is_near for pair in these),
        off=sum(pair.is_off and not pair.is_small for pair in these),
        off_small=sum(pair.is_off and pair.is_small for pair in these),
        measured=sum(pair.measured.mean for pair in these),
        predicted=sum(pair.predicted_mean for pair in these),
    )


def summaries(pairs: Sequence[Compared]) -> list[Summary]:
    """Return all stable pairs, then those of each table, kind of set and kind of filter."""
    stable = [pair for pair in pairs if pair.measured.is_stable]
    tables = sorted({pair.measured.query.table for pair in stable})
    parts = [
        ("all", stable),
        ("the set changes what is read", [pair for pair in stable if pair.is_changed]),
        *((f"table {each}", [p for p in stable if p.measured.query.table == each]) for each in tables),
        *((f"set: {each}", [p for p in stable if p.measured.index_set.kind == each]) for each in SET_KINDS),
        *(
            (f"filter: {each}", [p for p in stable if each in p.measured.query.kinds])
            for each in FILTER_KINDS
        ),
    ]
    return [summary(label, those) for label, those in parts if those]


def worst(pairs: Iterable[Compared], count: int) -> list[tuple[float, Compared]]:
    """Return the queries with the greatest error over all sets, in entries, each with its worst pair.

    Pairs whose runs differ are left out.
    """
    by_query: dict[str, list[Compared]] = {}
    for pair in pairs:
        if pair.measured.is_stable and not pair.is_near:
            by_query.setdefault(pair.measured.query.sql, []).append(pair)
    totals = [
        (sum(abs(pair.error) for pair in those), max(those, key=lambda pair: abs(pair.error)))
        for those in by_query.values()
    ]
    return sorted(totals, key=lambda each: -each[0])[:count]
