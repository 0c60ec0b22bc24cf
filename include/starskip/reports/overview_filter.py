"""The part of an overview that a reader asks for: by a table's name, by state and by family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from starskip.advisor.ledger.index_states import STATES
from starskip.pinot.hybrid_tables import without_type
from starskip.reports.overview import Overview, TableRow
from starskip.reports.page_links import query_of


@dataclass(frozen=True, slots=True)
class OverviewFilter:
    """A reader's question; an empty text asks for everything.

    ``like``: a part of the table's name, in any case of letters, or its name with Pinot's type;
    ``state``: of one of its indexes; ``kind``: of one of its actions.
    """

    like: str = ""
    state: str = ""
    kind: str = ""

    @property
    def is_empty(self) -> bool:
        """True if everything is asked for."""
        return not (self.like or self.state or self.kind)

    def query(self, *, page: int = 1) -> str:
        """Return it as the query of an address, with the number of a page."""
        number = str(page) if page > 1 else ""
        return query_of(like=self.like, state=self.state, kind=self.kind, page=number)

    def of(self, found: Overview) -> Overview:
        """Return the overview with the rows that were asked for; ranks and unit stay as among all tables."""
        if self.is_empty:
            return found
        ranked, lake, without = (
            tuple(filter(self._wants, rows)) for rows in (found.ranked, found.lake, found.without)
        )
        return replace(found, ranked=ranked, lake=lake, without=without)

    def _wants(self, row: TableRow) -> bool:
        like, table = self.like.casefold(), row.table.casefold()
        return (
            (like in table or table == without_type(self.like)[0].casefold())
            and (not self.state or self.state in row.states)
            and (not self.kind or (row.advice is not None and self.kind in row.advice.kinds))
        )


def choices_of_states(found: Overview) -> Mapping[str, int]:
    """Return how many tables have an index in each state, states in the order in which an advice has them."""
    tables = Counter(state for row in found.rows for state in row.states)
    return {state: tables[state] for state in STATES if tables[state]}


def choices_of_kinds(found: Overview) -> Mapping[str, int]:
    """Return how many tables have an action of each kind, the most frequent kind first."""
    tables = Counter(kind for row in found.rows if row.advice for kind in row.advice.kinds)
    return dict(sorted(tables.items(), key=lambda item: (-item[1], item[0])))
