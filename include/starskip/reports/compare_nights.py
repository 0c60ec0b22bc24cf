"""Two reports of one table side by side: what was chosen, and everything known that may be the cause.

Only what both reports hold is compared. A cause is listed because it differs; how much of the difference is
of the workload is told where the same indexes were in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from starskip.number_text import count, percent, size
from starskip.reports.advice_values import ConfigValue, Interval, NamedIndex
from starskip.reports.evidence import Evidence
from starskip.reports.log_values import ShapeEvidence
from starskip.reports.past_words import kept_rule, named_index

MAX_SHAPES = 10
_LEAST_MOVED_RATIO = 0.005
"""Share of the entries that must lie in other shapes than before to be told."""
_LEAST_COVERED_RATIO = 0.5
_DECIDED_AGAINST = "decided_against"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: its name, and what it was in the first and the second night."""

    name: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Cause:
    """A possible cause of another advice: a title, and what differs."""

    title: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class ShapeMove:
    """A shape whose share of all entries differs; a share of 0 is of a night that did not ask it."""

    masked_text: str
    first_ratio: float
    second_ratio: float


@dataclass(frozen=True, slots=True)
class Attribution:
    """The advice of the first night on the shapes of the second one.

    Savings are shares of all entries of one night, by its shapes: ``first_ratio`` of the first night's advice
    on its own, ``carried_ratio`` of that advice on the second night's, where a shape that the first night did
    not ask counts as not saved; ``second_ratio`` of the second night's advice on its own. ``known_ratio``:
    the share of the second night's entries in shapes that both know.
    """

    first_ratio: float
    carried_ratio: float
    second_ratio: float
    known_ratio: float


@dataclass(frozen=True, slots=True)
class ComparedNight:
    """One of the nights, by its report."""

    evidence: Evidence

    @property
    def saving_ratio(self) -> float | None:
        """The saving of all changes together."""
        combined = self.evidence.summary.combined
        return combined.saving_ratio if combined else None

    @property
    def interval(self) -> Interval | None:
        """The interval of that saving."""
        combined = self.evidence.summary.combined
        return combined.interval if combined else None

    @property
    def chosen(self) -> tuple[NamedIndex, ...]:
        """Indexes that the advice adds to the table config."""
        answers = (NamedIndex(each.kind, each.columns) for each in self.evidence.answers)
        return tuple(dict.fromkeys([*self.evidence.change.add, *answers]))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two nights of one table, the chosen sets and what differs; ``attribution``: None if it is not known."""

    first: ComparedNight
    second: ComparedNight
    causes: tuple[Cause, ...]
    shapes: tuple[ShapeMove, ...]
    attribution: Attribution | None

    @property
    def joined(self) -> tuple[NamedIndex, ...]:
        """The indexes that the second night's advice has and the first one's has not."""
        return tuple(each for each in self.second.chosen if each not in self.first.chosen)

    @property
    def left(self) -> tuple[NamedIndex, ...]:
        """The indexes that the first night's advice has and the second one's has not."""
        return tuple(each for each in self.first.chosen if each not in self.second.chosen)


def compare_nights(first: Evidence, second: Evidence) -> Comparison:
    """Return two reports of one table side by side."""
    in_force = tuple(_in_force(first, second))
    found = {
        "The workload": tuple(_workload(first, second)),
        "Settings": tuple(_settings(first, second)),
        "Indexes in force, such as advice that was applied meanwhile": in_force,
        "The table's data": tuple(_data(first, second)),
        "Kept from the advice before": tuple(_differences(_kept_of(first), _kept_of(second))),
        "Decisions in the ledger": tuple(
            _differences(_refused_by_decision(first), _refused_by_decision(second))
        ),
        "Nights that vote": tuple(_nights(first, second)),
        "Starskip and its choice": tuple(_versions(first, second)),
    }
    return Comparison(
        ComparedNight(first),
        ComparedNight(second),
        tuple(Cause(title, differences) for title, differences in found.items() if differences),
        _moves(first, second),
        None if in_force else _attribution(_by_id(first), _by_id(second)),
    )


def _workload(first: Evidence, second: Evidence) -> Iterator[Difference]:
    one, other = first.summary, second.summary
    if one.queries != other.queries:
        yield Difference("queries", count(one.queries), count(other.queries))
    if one.entries_scanned_in_filter != other.entries_scanned_in_filter:
        entries = count(one.entries_scanned_in_filter), count(other.entries_scanned_in_filter)
        yield Difference("entries scanned in filters", *entries)
    moved = sum(abs(each.first_ratio - each.second_ratio) for each in _all_moves(first, second)) / 2
    if moved >= _LEAST_MOVED_RATIO:
        yield Difference("share of the entries that lies in other shapes", "", percent(moved))


def _settings(first: Evidence, second: Evidence) -> Iterator[Difference]:
    one = {each.name: each.value for each in first.settings}
    other = {each.name: each.value for each in second.settings}
    for name in sorted({**one, **other}):
        if one.get(name) != other.get(name):
            yield Difference(name, _value(one.get(name)), _value(other.get(name)))


def _in_force(first: Evidence, second: Evidence) -> Iterator[Difference]:
    one, other = first.change.keys, second.change.keys
    for key in sorted(one.keys() & other.keys()):
        before, after = _listed(one[key].current), _listed(other[key].current)
        if sorted(before) != sorted(after):
            yield Difference(key, ", ".join(before) or "none", ", ".join(after) or "none")


def _data(first: Evidence, second: Evidence) -> Iterator[Difference]:
    one, other = first.summary, second.summary
    if one.table_rows is not None and other.table_rows is not None and one.table_rows != other.table_rows:
        yield Difference("rows", count(one.table_rows), count(other.table_rows))
    if first.data_quality.segments != second.data_quality.segments:
        segments = count(first.data_quality.segments), count(second.data_quality.segments)
        yield Difference("segments", *segments)
    if one.table_bytes != other.table_bytes:
        yield Difference("bytes of the segments", size(one.table_bytes), size(other.table_bytes))


def _differences(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({**one, **other}):
        if one.get(name) != other.get(name):
            yield Difference(name, one.get(name, ""), other.get(name, ""))


def _kept_of(evidence: Evidence) -> dict[str, str]:
    kept = evidence.past.kept if evidence.past else ()
    return {named_index(each.family, each.columns): kept_rule(each) for each in kept}


def _refused_by_decision(evidence: Evidence) -> dict[str, str]:
    return {
        named_index(each.kind, each.columns): each.detail
        for each in evidence.refused
        if each.reason == _DECIDED_AGAINST
    }


def _nights(first: Evidence, second: Evidence) -> Iterator[Difference]:
    if first.nights != second.nights:
        yield Difference("nights", count(first.nights), count(second.nights))


def _versions(first: Evidence, second: Evidence) -> Iterator[Difference]:
    for name, one, other in (
        ("version", first.version, second.version),
        ("schema of the report", str(first.schema_version), str(second.schema_version)),
        ("strategy", first.strategy, second.strategy),
        ("version of Pinot that is advised for", first.pinot_version, second.pinot_version),
        ("unit of the choice", first.unit, second.unit),
    ):
        if one != other:
            yield Difference(name, one or "unknown", other or "unknown")


def _moves(first: Evidence, second: Evidence) -> tuple[ShapeMove, ...]:
    moves = [each for each in _all_moves(first, second) if each.first_ratio != each.second_ratio]
    moves.sort(key=lambda each: (-abs(each.first_ratio - each.second_ratio), each.masked_text))
    return tuple(moves[:MAX_SHAPES])


def _all_moves(first: Evidence, second: Evidence) -> Iterator[ShapeMove]:
    one, other = _by_id(first), _by_id(second)
    for shape_id, shape in {**one, **other}.items():
        shares = (each[shape_id].all_entries_ratio if shape_id in each else 0.0 for each in (one, other))
        yield ShapeMove(shape.masked_text, *shares)


def _attribution(
    first: Mapping[str, ShapeEvidence], second: Mapping[str, ShapeEvidence]
) -> Attribution | None:
    known = sum(shape.all_entries_ratio for shape_id, shape in second.items() if shape_id in first)
    if known < _LEAST_COVERED_RATIO:
        return None
    return Attribution(
        sum(shape.all_entries_ratio * shape.saved for shape in first.values()),
        sum(
            shape.all_entries_ratio * first[shape_id].saved
            for shape_id, shape in second.items()
            if shape_id in first
        ),
        sum(shape.all_entries_ratio * shape.saved for shape in second.values()),
        known,
    )


def _by_id(evidence: Evidence) -> Mapping[str, ShapeEvidence]:
    return {shape.shape_id: shape for shape in evidence.shapes.top}


def _listed(value: ConfigValue) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value


def _value(value: object) -> str:
    return "not set" if value is None else str(value)
