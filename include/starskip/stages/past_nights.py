"""What earlier nights have voted and advised on a table, for advice that looks back and does not flap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import pyarrow as pa

from starskip.scoring.structure import Structure, parse_structure
from starskip.selection.entries_percentile import ShapeEntries
from starskip.selection.look_back import NightVotes, is_comparable
from starskip.selection.recommendation import Entries
from starskip.selection.vote_list import StructureSet, vote_lists
from starskip.stages.night import Night
from starskip.stages.planned_votes import indexes_in_force
from starskip.tables.table_overview import TableOverview
from starskip.workload.shape_workload import ShapeWorkload, workload_shapes


@dataclass(frozen=True, slots=True)
class PastNights:
    """Weight and votes of earlier nights, and the indexes that the newest of them advised to build."""

    nights: Sequence[tuple[float, NightVotes]] = ()
    chosen: StructureSet = frozenset()

    def comparable_with(self, tonight: NightVotes) -> list[tuple[float, NightVotes]]:
        """Return the nights whose votes can be read with tonight's indexes."""
        return [(weight, votes) for weight, votes in self.nights if is_comparable(votes, tonight)]


NO_PAST = PastNights()


def past_nights(night: Night, table: str) -> PastNights:
    """Return what the window of the settings holds of ``table`` before ``night``.

    A night counts if it came to a recommendation; its weight falls by ``look_back_decay_ratio`` a day.
    """
    settings = night.settings
    found: list[tuple[float, NightVotes]] = []
    chosen: StructureSet | None = None
    published = set(night.store.run_dates("recommendations"))
    for age in range(1, settings.look_back_nights):
        day = night.run_date - timedelta(days=age)
        weight = settings.look_back_decay_ratio**age
        if day.isoformat() not in published or weight <= 0:
            continue
        snapshot = night.store.snapshot("recommendations", day.isoformat())
        part = snapshot.parts([table]).get(table) if snapshot else None
        if snapshot is None or part is None:
            continue
        if chosen is None:
            rows = snapshot.read_table([table], ["verdict", "kind", "column"]).to_pylist()
            chosen = frozenset(
                Structure(row["kind"], row["column"]) for row in rows if row["verdict"] == "chosen"
            )
        votes = _votes_of(night, table, day, part.properties)
        if votes is not None:
            found.append((weight, votes))
    return PastNights(found, chosen or frozenset())


def night_votes(
    shapes: Sequence[ShapeWorkload], votes: pa.Table, overview: TableOverview | None
) -> NightVotes:
    """Return the votes of one table and night with what its shapes scanned."""
    in_force = indexes_in_force(overview) if overview else frozenset()
    return _night_votes(shapes, votes, in_force, sorted_columns(overview) if overview else frozenset())


def sorted_columns(overview: TableOverview) -> frozenset[str]:
    """Return the columns that most segments are sorted by, those of one value left out."""
    return frozenset(
        name
        for name, column in overview.columns.items()
        if column.sorted_ratio > 0.5 and (column.cardinality or 0) > 1
    )


def _votes_of(night: Night, table: str, day: date, properties: object) -> NightVotes | None:
    known = properties if isinstance(properties, dict) else {}
    votes = night.store.snapshot("votes", day.isoformat())
    workload = night.store.snapshot("workload", day.isoformat())
    if votes is None or workload is None or "in_force" not in known:
        return None
    if table not in votes.tables or table not in workload.tables:
        return None
    return _night_votes(
        list(workload_shapes(workload.read_table([table]))),
        votes.read_table([table]),
        frozenset(parse_structure(text) for text in known["in_force"]),
        frozenset(known["sorted_columns"]),
    )


def _night_votes(
    shapes: Sequence[ShapeWorkload], votes: pa.Table, in_force: StructureSet, order: frozenset[str]
) -> NightVotes:
    return NightVotes(
        lists=vote_lists(votes),
        entries=Entries(
            sum((shape.estimated_entries for shape in shapes), start=0.0),
            sum((shape.estimated_entries_squared for shape in shapes), start=0.0),
        ),
        shapes={
            shape.shape_id: ShapeEntries(shape.estimated_queries, shape.estimated_entries) for shape in shapes
        },
        in_force=in_force,
        order=order,
    )
