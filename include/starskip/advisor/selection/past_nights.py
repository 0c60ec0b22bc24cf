"""Votes and advice of earlier nights on a table, for advice that looks back and does not flap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from starskip.advisor.cost.planned_votes import indexes_in_force
from starskip.advisor.families.families import named
from starskip.advisor.families.index import Index, parse_index
from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.advisor.run.table_by_table import FAILED
from starskip.advisor.selection.look_back import NightVotes, is_comparable
from starskip.advisor.selection.recommendation import Entries
from starskip.advisor.selection.vote_list import IndexSet, vote_lists
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.errors import StorageError, StorageOutage, printable
from starskip.pinot.column_indexes.sorted_column import SORTED_NAME
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot
from starskip.tables.table_overview import TableOverview


@dataclass(frozen=True, slots=True)
class PastNights:
    """Weight and votes of earlier nights, and the newest advice.

    ``chosen``: its indexes to build, ``order``: its sort order, ``kept_answers``: its answers of queries;
    ``answers``: by family, the entries of a table config for these answers.
    """

    nights: Sequence[tuple[float, NightVotes]] = ()
    chosen: IndexSet = frozenset()
    order: IndexSet = frozenset()
    warnings: tuple[str, ...] = ()
    kept_answers: IndexSet = frozenset()
    answers: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def comparable_with(self, tonight: NightVotes) -> list[tuple[float, NightVotes]]:
        """Return the nights whose votes can be converted to tonight's indexes."""
        return [(weight, votes) for weight, votes in self.nights if is_comparable(votes, tonight)]


NO_PAST = PastNights()


def past_nights(night: Night, table: str) -> PastNights:
    """Return the votes and the advice on ``table`` in the settings' window before ``night``.

    A night counts if it came to a recommendation; its weight falls by ``look_back_decay_ratio`` a day. The
    newest advice is returned whether its votes count or not. A night that can no longer be read is left out
    with a warning: tonight's advice does not need it.
    """
    settings = night.settings.workload
    warnings: list[str] = []
    found: list[tuple[float, NightVotes]] = []
    newest: PastNights | None = None
    for age in range(1, max(settings.look_back_nights, ADVICE_NIGHTS)):
        day = night.run_date - timedelta(days=age)
        weight = settings.look_back_decay_ratio**age if age < settings.look_back_nights else 0.0
        if newest is not None and weight <= 0:
            continue
        try:
            snapshot = night.store.snapshot("recommendations", day.isoformat())
            part = snapshot.parts([table]).get(table) if snapshot else None
            if snapshot is None or part is None or part.properties.get(FAILED):
                continue
            newest = newest or _advice(snapshot, table, part)
            votes = _votes_of(night, table, day, part.properties) if weight > 0 else None
        except StorageOutage:
            raise
        except (StorageError, pa.ArrowInvalid, KeyError, TypeError) as error:
            warnings.append(printable(f"table {table}: {day} does not vote, it cannot be read: {error}"))
            continue
        if votes is not None:
            found.append((weight, replace(votes, run_date=day)))
    return replace(newest or NO_PAST, nights=found, warnings=tuple(warnings))


def night_votes(
    shapes: Sequence[ShapeWorkload],
    votes: pa.Table,
    overview: TableOverview | None,
    asked: IndexSet = frozenset(),
) -> NightVotes:
    """Return the votes of one table and night with the entries of its shapes; ``asked`` as in NightVotes."""
    in_force = indexes_in_force(overview) if overview else frozenset()
    order = sorted_columns(overview) if overview else frozenset()
    return _night_votes(shapes, votes, in_force, order, asked)


def sorted_columns(overview: TableOverview) -> frozenset[str]:
    """Return the columns that most segments are sorted by, without columns of one value."""
    return frozenset(
        name
        for name, column in overview.columns.items()
        if column.sorted_ratio > 0.5 and (column.cardinality or 0) > 1
    )


def _advice(snapshot: Snapshot, table: str, part: Part) -> PastNights:
    rows = snapshot.read_table([table], ["verdict", "kind", "column"]).to_pylist()
    chosen = frozenset(Index(row["kind"], row["column"]) for row in rows if row["verdict"] == "chosen")
    column = (part.properties.get("sort_order") or {}).get("column")
    order = frozenset([Index(SORTED_NAME, column)] if column else [])
    told = part.properties["answers"]
    entries: dict[str, list[Any]] = {}
    for each in told:
        family = named(each["family"])
        key = family.config if family else None
        entries.setdefault(each["family"], []).append(
            key.entry_of(each["config"]) if key and each["config"] else each["config"]
        )
    kept = frozenset(Index(each["family"], each["index"]) for each in told)
    return PastNights(chosen=chosen, order=order, kept_answers=kept, answers=entries)


def _votes_of(night: Night, table: str, day: date, properties: Mapping[str, Any]) -> NightVotes | None:
    votes = night.store.snapshot("votes", day.isoformat())
    workload = night.store.snapshot("workload", day.isoformat())
    if votes is None or workload is None:
        return None
    if table not in votes.tables or table not in workload.tables:
        return None
    if votes.parts([table])[table].properties.get(FAILED):
        return None
    return _night_votes(
        list(workload_shapes(workload.read_table([table]))),
        votes.read_table([table]),
        frozenset(map(parse_index, properties["in_force"])),
        frozenset(properties["sorted_columns"]),
        frozenset(map(parse_index, properties["asked"])),
    )


def _shape_entries(shape: ShapeWorkload) -> ShapeEntries:
    """Return the entries of a shape; the log separates its post-filter entries neither by query nor sampling.

    So each query is taken to read as many of them for an entry in filter; without any, as many as all others.
    """
    post_filter = shape.weight * shape.entries_scanned_post_filter
    post_filter *= shape.estimated_queries / max(shape.queries, 1)
    entries = shape.weighted_entries
    if entries > 0:
        squared = shape.weighted_entries_squared * (1 + post_filter / entries) ** 2
    else:
        squared = post_filter**2 / max(shape.estimated_queries, 1.0)
    return ShapeEntries(shape.weighted_queries, entries, post_filter, squared)


def _night_votes(
    shapes: Sequence[ShapeWorkload],
    votes: pa.Table,
    in_force: IndexSet,
    order: frozenset[str],
    asked: IndexSet,
) -> NightVotes:
    return NightVotes(
        lists=vote_lists(votes),
        entries=Entries(
            sum((shape.weighted_entries for shape in shapes), start=0.0),
            sum((shape.weighted_entries_squared for shape in shapes), start=0.0),
        ),
        shapes={shape.shape_id: _shape_entries(shape) for shape in shapes},
        in_force=in_force,
        order=order,
        asked=asked,
        queries=sum((shape.estimated_queries for shape in shapes), start=0.0),
        unparsed=sum((shape.estimated_queries for shape in shapes if not shape.is_parsed), start=0.0),
    )
