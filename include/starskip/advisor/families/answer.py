"""Candidates of families whose indexes serve or prune whole queries, each with its saving by shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Verdict
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.lake.lake_table import LakeTable
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.staged_write import StagedWrite
from starskip.tables.table_overview import TableOverview


@dataclass(frozen=True, slots=True)
class RowSource:
    """Places of a table's rows: in the lake, which is taken if it is there, or in segments.

    ``run_tasks`` runs functions on the engine's tasks, which pass on what they find in ``staged``; nothing
    is left there. ``store``: that of the night, None for a single command.
    """

    run_tasks: Callable[..., Any]
    segments_root: str = ""
    lake: LakeTable | None = None
    staged: StagedWrite | None = None
    store: ArtefactStore | None = None


@dataclass(frozen=True, slots=True)
class TableQueries:
    """One table and the queries of its log, as a family looks for candidates in them.

    ``shapes``: those of the night's log; where a text was understood ``is_parsed`` is true. ``window``:
    queries and entries of each shape over all nights that vote. ``overview``: facts of the table's columns,
    None where there are none. ``configs``: its current table configs. ``rows``: where its rows lie, None
    where they must not be read. ``last``: table config keys of what the last advice chose of the family.
    """

    table: str
    shapes: Sequence[ShapeWorkload]
    window: Mapping[str, ShapeEntries]
    overview: TableOverview | None
    settings: Settings
    configs: Sequence[TableConfig] = ()
    rows: RowSource | None = None
    last: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """An index that could be built, and what it would save.

    ``saving_entries``: by shape, entries that its queries would no longer scan, in filter and post filter.
    ``size_bytes``: None where it is not known; such a one fits no storage budget. ``config``: the keys that
    it sets in the table config, as a document that is laid over it. ``is_exclusive``: the engine answers
    those shapes by it alone, whatever other index there is; else by whatever saves more. ``rank``: the
    exclusive ones are tried from the least to the greatest. ``entries_read``: by shape, what a mean query
    reads of it. ``detail``: what the family itself keeps of it.
    """

    index: Index
    columns: tuple[str, ...]
    saving_entries: Mapping[str, float]
    size_bytes: float | None = 0.0
    config: Mapping[str, Any] = field(default_factory=dict)
    is_exclusive: bool = False
    rank: float = 0.0
    entries_read: Mapping[str, float] = field(default_factory=dict)
    detail: Any = None


@dataclass(frozen=True, slots=True)
class AnswerOffer:
    """Candidates of one family for one table, and the terms on which they are chosen.

    ``answered``: shapes that an index in force answers, whose votes count no more. ``max_answers``: how many
    may be chosen, None for any number. ``total_entries``: entries of which one must save the least gain, 0
    for all entries scanned in filter; ``gain_bytes``: it must do so for each so many bytes, None whatever
    its size. ``detail``: what the family itself keeps for its report.
    """

    candidates: tuple[AnswerCandidate, ...] = ()
    answered: frozenset[str] = frozenset()
    max_answers: int | None = None
    total_entries: float = 0.0
    gain_bytes: float | None = None
    detail: Any = None

    def entries_of(self, scanned_in_filter: float) -> float:
        """Return the entries of which an answer must save a share, among all that were scanned in filter."""
        return self.total_entries or scanned_in_filter


class AnswersChosen(Protocol):
    """The chosen answers of all families, exclusive ones in the order in which queries try them."""

    @property
    def answers(self) -> tuple[AnswerCandidate, ...]:
        """The chosen ones."""
        ...

    @property
    def refused(self) -> tuple[tuple[AnswerCandidate, Verdict], ...]:
        """The others, with reasons."""
        ...

    def saving_entries(self, position: int) -> float:
        """Return what an answer saves the shapes that it serves."""
        ...

    def shapes_of(self, position: int) -> tuple[str, ...]:
        """Return the shapes that an answer serves."""
        ...


AnswerFinder = Callable[[TableQueries], AnswerOffer]
"""Returns the candidates of a family for one table."""
