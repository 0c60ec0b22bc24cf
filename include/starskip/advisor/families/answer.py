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
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.staged_write import StagedWrite
from starskip.tables.table_overview import TableOverview

SegmentListing = Callable[[], Sequence[SegmentFile]]


@dataclass(frozen=True, slots=True)
class RowSource:
    """Places of a table's rows: in the lake, which is preferred, or in segments.

    ``run_tasks`` runs functions on the engine's tasks, which pass results on in ``staged``; nothing is left
    there. ``segments``: lists the table's segment files, None if none are to be read. ``store``: the store of
    the night, None for a single command.
    """

    run_tasks: Callable[..., Any]
    segments: SegmentListing | None = None
    lake: LakeTable | None = None
    staged: StagedWrite | None = None
    store: ArtefactStore | None = None


@dataclass(frozen=True, slots=True)
class TableQueries:
    """One table and the queries of its log, in which a family looks for candidates.

    ``shapes``: the shapes of the night's log; ``is_parsed``: the text was understood. ``window``: queries and
    entries of each shape over all nights that vote. ``overview``: facts of the table's columns, None if there
    are none. ``configs``: its current table configs. ``rows``: the place of its rows, None if they must not
    be read. ``last``: the table config keys of the family's indexes in the last advice.
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
class Unit:
    """A unit of savings that Pinot does not count as entries, such as segments that no server looks at.

    ``name``: in the plural. ``entries``: the entries that one of it counts as, where savings are compared.
    """

    name: str
    entries: float


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """An index that could be built, and the entries that it would save.

    ``saving_entries``: by shape, entries that its queries would no longer scan, in filter and post filter.
    ``size_bytes``: None if unknown; an index of unknown size fits no storage budget. ``config``: the keys
    that it sets in the table config, as a document that is laid over it. ``is_exclusive``: the engine answers
    the shapes by this index alone, whatever other indexes there are; otherwise by whatever saves more.
    ``rank``: the engine tries exclusive answers from the least rank to the greatest. ``entries_read``: by
    shape, the entries of the index that a mean query reads. ``detail``: data of the family itself. ``unit``:
    what ``saving_entries`` of a user's family counts instead of entries; Starskip exchanges it, up to what a
    shape scanned, and keeps the family's own figures in ``amounts``. ``variant``: words that tell it from
    another candidate on the same columns, such as the functions of a star-tree.
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
    unit: Unit | None = None
    amounts: Mapping[str, float] = field(default_factory=dict)
    variant: str = ""


@dataclass(frozen=True, slots=True)
class AnswerOffer:
    """Candidates of one family for one table, and the terms on which they are chosen.

    ``answered``: shapes that a present index answers; their votes do not count. ``max_answers``: how many may
    be chosen, None for any number. ``total_entries``: the entries of which an answer must save the least
    gain, 0 for all entries scanned, in filter and post filter. ``gain_bytes``: the answer must save that gain
    once for each so many bytes of its size, None whatever its size. ``detail``: data of the family for its
    report.
    """

    candidates: tuple[AnswerCandidate, ...] = ()
    answered: frozenset[str] = frozenset()
    max_answers: int | None = None
    total_entries: float = 0.0
    gain_bytes: float | None = None
    detail: Any = None

    def entries_of(self, scanned: float) -> float:
        """Return the entries of which an answer must save a share; ``scanned``: all that queries scanned."""
        return self.total_entries or scanned


class AnswersChosen(Protocol):
    """The chosen answers of all families, exclusive ones in the order in which queries try them."""

    @property
    def answers(self) -> tuple[AnswerCandidate, ...]:
        """The chosen answers."""
        ...

    @property
    def refused(self) -> tuple[tuple[AnswerCandidate, Verdict], ...]:
        """The refused answers, with reasons."""
        ...

    def saving_entries(self, position: int) -> float:
        """Return the entries that an answer saves in the shapes that it serves."""
        ...

    def shapes_of(self, position: int) -> tuple[str, ...]:
        """Return the shapes that an answer serves."""
        ...


AnswerFinder = Callable[[TableQueries], AnswerOffer]
"""Returns the candidates of a family for one table."""
