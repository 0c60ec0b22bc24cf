"""Inputs of a table's advice: queries, votes, facts, settings and the indexes in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from starskip.advisor.cost.planned_votes import rules_of
from starskip.advisor.cost.voting_shapes import voting_queries
from starskip.advisor.families.access_rules import AccessRules, access_rules
from starskip.advisor.families.answer import RowSource
from starskip.advisor.families.families import FamilyChoice
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.index import Index
from starskip.advisor.selection.filtered_columns import (
    Uses,
)
from starskip.advisor.selection.past_nights import NO_PAST, PastNights
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.sql.query_shape import parsed_shape
from starskip.tables.table_overview import TableOverview


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """Inputs of the advice for one table.

    ``shapes``: WORKLOAD shapes, ``votes``: VOTES. ``overview`` is None for a table without segments, for
    which nothing can be recommended. The sort orders among ``families`` are chosen beside the other families,
    or alone if no other is asked for. ``rows``: where answers may read the table's rows; None if they may
    not. ``skips``: the offers of families of indexes of files, which another engine's logs vote for.
    ``decided_against``: returns for an index and its saving by itself (of an index on columns a share of the
    entries in filters, of another one of all entries) why it must not be proposed again yet; empty if it may.
    """

    table: str
    shapes: Sequence[ShapeWorkload]
    votes: pa.Table
    overview: TableOverview | None
    settings: Settings
    families: FamilyChoice = field(default_factory=FamilyChoice)
    past: PastNights = NO_PAST
    size_bytes: Mapping[Index, int] = field(default_factory=dict)
    configs: Sequence[TableConfig] = ()
    rows: RowSource | None = None
    leaves: int = 0
    skips: Sequence[FileSkips] = ()
    decided_against: Callable[[str, float], str] = lambda _index, _saving: ""

    @property
    def parsed(self) -> list[ShapeWorkload]:
        """The shapes whose text was understood."""
        return [shape for shape in self.shapes if shape.is_parsed]

    @property
    def queries(self) -> float:
        """Number of queries that may vote."""
        return voting_queries(self.shapes, self.settings.workload.entries_scanned_threshold)

    @property
    def is_enough(self) -> bool:
        """Return whether the log has as many queries as the settings ask for."""
        return self.queries >= self.settings.workload.num_queries_threshold

    @property
    def rules(self) -> AccessRules:
        """Return the access paths of indexes in the version of Pinot that is advised for."""
        if self.overview:
            return rules_of(self.overview, self.settings, self.families.known)
        return access_rules(self.settings.scoring.pinot_version, families=self.families.known)

    @property
    def uses(self) -> Uses:
        """Each understood shape with its number of queries."""
        return [(parsed_shape(shape.skeleton), shape.queries) for shape in self.parsed]
