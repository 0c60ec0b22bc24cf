"""Votes of several nights merged into one night's votes; older nights weigh less.

Weekends and one odd day must not turn the advice round. An earlier night voted on the indexes of its day; its
votes are converted to the indexes of tonight, so that following the advice does not turn it round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from starskip.advisor.families.index import Index, drop_of
from starskip.advisor.selection.recommendation import Entries
from starskip.advisor.selection.vote_list import NOTHING, IndexSet, Saving, VoteList
from starskip.advisor.workload.shape_entries import ShapeEntries


@dataclass(frozen=True, slots=True)
class NightVotes:
    """The votes of one table and night; ``in_force``: the table's indexes that night.

    ``order``: its sorted columns. ``shapes``: the entries that the queries of each shape scanned. ``asked``:
    the indexes of ``in_force`` that answer a predicate of some query. ``queries``: how many ran, whatever
    their weight; ``unparsed``: how many of them were not understood. ``run_date``: of an earlier night.
    """

    lists: Sequence[VoteList]
    entries: Entries
    shapes: Mapping[str, ShapeEntries]
    in_force: IndexSet
    order: frozenset[str]
    asked: IndexSet = frozenset()
    queries: float = 0.0
    unparsed: float = 0.0
    run_date: date | None = None

    @property
    def all_entries(self) -> float:
        """The entries of all queries, in filter and post filter."""
        return sum((shape.all_entries for shape in self.shapes.values()), start=0.0)


def is_comparable(earlier: NightVotes, tonight: NightVotes) -> bool:
    """Return whether an earlier night's votes can be converted: not after another sort order."""
    return earlier.order == tonight.order


def look_back(tonight: NightVotes, earlier: Sequence[tuple[float, NightVotes]]) -> NightVotes:
    """Return ``tonight`` with the weighted votes of earlier nights added; their weights are in (0, 1]."""
    nights = [(1.0, tonight), *((weight, _given(night, tonight.in_force)) for weight, night in earlier)]
    merged: dict[tuple[object, ...], VoteList] = {}
    shapes: dict[str, ShapeEntries] = {}
    for weight, night in nights:
        for item in night.lists:
            weighted = replace(
                item, alternatives={s: _times(saving, weight) for s, saving in item.alternatives.items()}
            )
            key = (item.shape_id, item.disjunct, item.is_complete, frozenset(item.alternatives))
            merged[key] = _added(merged[key], weighted) if key in merged else weighted
        for shape_id, shape in night.shapes.items():
            before = shapes.get(shape_id, ShapeEntries(0.0, 0.0))
            shapes[shape_id] = ShapeEntries(
                before.queries + weight * shape.queries,
                before.entries + weight * shape.entries,
                before.post_filter + weight * shape.post_filter,
                before.squared + weight**2 * shape.squared,
            )
    return NightVotes(
        lists=list(merged.values()),
        entries=Entries(
            sum(weight * night.entries.total for weight, night in nights),
            sum(weight**2 * night.entries.squared for weight, night in nights),
        ),
        shapes=shapes,
        in_force=tonight.in_force,
        order=tonight.order,
        asked=tonight.in_force & frozenset().union(*(night.asked for _, night in nights)),
    )


def _times(saving: Saving, weight: float) -> Saving:
    # A weighted query saves and scans ``weight`` times as much: products of the two take it twice.
    return Saving(
        saving.entries * weight, saving.squared * weight**2, saving.cross * weight**2, saving.priced * weight
    )


def _plus(first: Saving, second: Saving) -> Saving:
    return Saving(
        first.entries + second.entries,
        first.squared + second.squared,
        first.cross + second.cross,
        first.priced + second.priced,
    )


def _added(first: VoteList, second: VoteList) -> VoteList:
    sums = {
        needed: _plus(saving, second.alternatives[needed]) for needed, saving in first.alternatives.items()
    }
    return replace(first, alternatives=sums)


def _given(night: NightVotes, in_force: IndexSet) -> NightVotes:
    """Return the night's votes as they would be with the indexes of ``in_force``.

    The entries that the new indexes would have saved that night are subtracted, the entries that the dropped
    indexes saved are added; the squares stay unchanged.
    """
    changes = (in_force - night.in_force) | {drop_of(item) for item in night.in_force - in_force}
    if not changes:
        return night
    saved_by_shape: dict[str, float] = {}
    lists = []
    for item in night.lists:
        made = changes & item.indexes
        lists.append(_restated(item, made) if made else item)
        saved_by_shape[item.shape_id] = saved_by_shape.get(item.shape_id, 0.0) + item.saving(made).entries
    shapes = {
        shape_id: replace(shape, entries=max(shape.entries - saved_by_shape.get(shape_id, 0.0), 0.0))
        for shape_id, shape in night.shapes.items()
    }
    total = max(night.entries.total - sum(saved_by_shape.values()), 0.0)
    return replace(night, lists=lists, shapes=shapes, entries=replace(night.entries, total=total))


def _restated(item: VoteList, made: IndexSet) -> VoteList:
    """Return the list as if ``made`` were built already: an alternative without a change of it now undoes it.

    An incomplete list stays incomplete. It gets each listed set together with ``made``, and the undoing of
    each change by itself.
    """
    sets = {frozenset(), *item.alternatives}
    if not item.is_complete:
        sets = {*(listed | made for listed in sets), *(made - {change} for change in made)}
    base = item.saving(made)
    alternatives: dict[IndexSet, Saving] = {}
    for listed in sets - {made}:
        saving = item.saving(listed)
        changed = frozenset(_undone(s) if s in made else s for s in listed ^ made)
        alternatives[changed] = Saving(
            saving.entries - base.entries, saving.squared, saving.cross, saving.priced - base.priced
        )
    return replace(item, alternatives=alternatives or {frozenset(): NOTHING})


def _undone(change: Index) -> Index:
    return change.dropped or drop_of(change)
