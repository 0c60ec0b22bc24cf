"""The advice for one table: what to build, what is refused and why, what to drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from math import isinf
from typing import Any

from starskip.advisor.families.answer import AnswerOffer, Unit
from starskip.advisor.families.verdict import Verdict
from starskip.advisor.latency.shape_times import ShapeTimes, TimeSaving
from starskip.advisor.selection.chosen_answers import ChosenAnswers
from starskip.advisor.selection.combined_saving import NO_SAVING, CombinedSaving
from starskip.advisor.selection.harmed_shapes import HarmedShape
from starskip.advisor.selection.past_changes import FreshChoice
from starskip.advisor.selection.recommendation import Recommendation
from starskip.advisor.selection.time_saving import IndexTimes
from starskip.advisor.selection.vote_list import IndexSet
from starskip.advisor.workload.logged_queries import LoggedQueries
from starskip.settings.advice_groups import ENTRIES

LEAST_GAP_RATIO = 0.0005
"""A choice is reported as proved if another one could be better by no more than this."""


@dataclass(frozen=True, slots=True)
class TypicalEntries:
    """Entries in filter that ``query_ratio`` of the queries stay within, today and with the chosen indexes.

    Each shape stands at its mean.
    """

    query_ratio: float
    today: float
    advised: float


@dataclass(frozen=True, slots=True)
class AdvisedAnswer:
    """A chosen answer as reports and command lines show it; ``saving_ratio``: share of all entries.

    ``unit``: what its family counts savings in, if not in entries; ``amount``: how much of it is saved.
    ``saving_ms``: milliseconds of a mean query, None without latencies. ``alone_ratio``: what it saves by
    itself. ``variant``: as in AnswerCandidate.
    """

    family: str
    columns: tuple[str, ...]
    saving_ratio: float
    size_bytes: int | None
    config: Mapping[str, Any]
    shapes: tuple[str, ...] = ()
    unit: Unit | None = None
    amount: float = 0.0
    variant: str = ""
    saving_ms: float | None = None
    alone_ratio: float | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the answer as JSON has it."""
        unit = self.unit
        saving = {"unit": unit.name, "amount": self.amount, "entries_each": unit.entries} if unit else None
        return {
            "family": self.family,
            "columns": list(self.columns),
            "saving_ratio": self.saving_ratio,
            "individual_saving_ratio": self.alone_ratio,
            "saving_ms": self.saving_ms,
            **({"saving": saving} if saving else {}),
            "size_bytes": self.size_bytes,
            "config": self.config or None,
        }


@dataclass(frozen=True, slots=True)
class RefusedAnswer:
    """A candidate that serves whole queries and was refused; ``variant``: as in AnswerCandidate."""

    columns: tuple[str, ...]
    verdict: Verdict
    variant: str = ""

    def to_document(self) -> dict[str, Any]:
        """Return the refusal as artefacts have it."""
        return {
            "columns": list(self.columns),
            "kind": self.verdict.index.family,
            "reason": self.verdict.code,
            "detail": f"with {self.variant}: {self.verdict.detail}" if self.variant else self.verdict.detail,
            "size_bytes": self.verdict.size_bytes,
        }


@dataclass(frozen=True, slots=True)
class VotedNights:
    """The nights that voted: how many, and all entries of their queries, of which savings are shares.

    ``entries``: milliseconds where the choice was made by time. ``earlier``: the nights before this one with
    their weights, the newest first.
    ``in_force``: the indexes that the table has tonight; ``asked``: those of them that answer a query.
    """

    count: int = 1
    entries: float = 0.0
    in_force: IndexSet = frozenset()
    asked: IndexSet = frozenset()
    sorted_columns: frozenset[str] = frozenset()
    earlier: tuple[tuple[date, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TableAdvice:
    """The advice for one table.

    ``combined``: what all that is chosen saves together, but for ``sort_order``. ``sort_order``: the one
    column to sort by, beside the present indexes; None if it was not asked for. ``drops_withheld``: why
    drops were not judged, empty if they were. ``answers``: the answers chosen beside the indexes; the
    queries of their shapes voted for them. ``offers``: by family, the candidates for answers. ``not_used``:
    families of users' own that failed, each with its fault. ``harmed``: shapes that read more with it.
    ``notes``: what no index that may be chosen can do. ``fresh``: what the last advice and earlier nights
    changed, None if nothing. ``unit``: the unit in which the choice was made,
    "ms" or "entries"; curve, reasons of refusals and ``bound`` are in it, all other savings in entries.
    ``mistrust``: why the latency model cannot be trusted, empty if it can. ``times``: the model, and
    ``time`` what all changes save by it; None if the log has no latencies. ``index_times``: the same by
    index. ``interval_factor``: how much wider intervals are than the models say, by past applications.
    """

    table: str
    log: LoggedQueries
    nights: VotedNights
    recommendation: Recommendation
    combined: CombinedSaving = NO_SAVING
    refused: tuple[Verdict, ...] = ()
    drops: tuple[Verdict, ...] = ()
    drops_withheld: str = ""
    typical: TypicalEntries | None = None
    sort_order: Recommendation | None = None
    answers: ChosenAnswers = field(default_factory=ChosenAnswers)
    offers: Mapping[str, AnswerOffer] = field(default_factory=dict)
    not_used: Mapping[str, str] = field(default_factory=dict)
    unit: str = ENTRIES
    mistrust: str = ""
    times: ShapeTimes | None = None
    time: TimeSaving | None = None
    index_times: IndexTimes = field(default_factory=IndexTimes)
    interval_factor: float = 1.0
    harmed: tuple[HarmedShape, ...] = ()
    notes: tuple[str, ...] = ()
    fresh: FreshChoice | None = None

    def widened(self, factor: float, time_factor: float) -> TableAdvice:
        """Return the advice with wider intervals of savings in entries and in time."""
        if factor == time_factor == 1.0:
            return self
        told = self.recommendation
        curve = tuple(replace(point, saving=point.saving.widened(factor)) for point in told.curve)
        return replace(
            self,
            recommendation=replace(told, saving=told.saving.widened(factor), curve=curve),
            combined=replace(self.combined, saving=self.combined.saving.widened(factor)),
            time=self.time.widened(time_factor) if self.time else None,
            fresh=self.fresh.widened(factor) if self.fresh else None,
            interval_factor=factor,
        )

    @property
    def gap_ratio(self) -> float | None:
        """Share by which another choice could be better; 0 if none is, None if unknown."""
        gap = max(self.answers.gap_ratio, self.recommendation.gap_ratio)
        return None if isinf(gap) else gap

    @property
    def bound(self) -> float | None:
        """The most that any choice could save, less each index's least gain; None if unproved."""
        of_answers, of_indexes = self.answers, self.recommendation
        is_of_answers = of_answers.gap_ratio >= of_indexes.gap_ratio
        bound = of_answers.bound if is_of_answers else of_indexes.bound
        return None if isinf(bound) else bound

    def chosen_answers(self) -> list[AdvisedAnswer]:
        """Return the chosen answers of all families, in the order in which queries try them."""
        return [
            AdvisedAnswer(
                answer.index.family,
                answer.columns,
                self.answers.saving_entries(position) / max(self._total_entries(answer.index.family), 1.0),
                None if answer.size_bytes is None else round(answer.size_bytes),
                answer.config,
                shapes := self.answers.shapes_of(position),
                answer.unit,
                sum(answer.amounts.get(shape, 0.0) for shape in shapes),
                answer.variant,
                self.index_times.answers[position] if self.index_times.answers else None,
                sum(answer.saving_entries.values()) / max(self._total_entries(answer.index.family), 1.0),
            )
            for position, answer in enumerate(self.answers.answers)
        ]

    def refused_answers(self) -> list[RefusedAnswer]:
        """Return the refused candidates that serve whole queries, of all families."""
        return [
            RefusedAnswer(answer.columns, verdict, answer.variant) for answer, verdict in self.answers.refused
        ]

    def _total_entries(self, family: str) -> float:
        """Return all entries that the answers of a family save shares of."""
        return self.offers[family].entries_of(self.combined.entries_before)
