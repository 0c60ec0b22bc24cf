"""One table tonight: the votes of all nights, the budget, and what families offer for whole queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot

from starskip.advisor.cost.alternatives import SORTED_BY_ANOTHER
from starskip.advisor.cost.baseline_ranking import baseline_ranking
from starskip.advisor.cost.planned_votes import candidate_indexes, indexes_in_force
from starskip.advisor.families.answer import AnswerCandidate, AnswerOffer, TableQueries
from starskip.advisor.families.config_limits import edit_faults
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_edit import family_edit
from starskip.advisor.families.index import Index, drop_of
from starskip.advisor.families.verdict import Reason, Verdict, refused
from starskip.advisor.selection.entries_percentile import DesirableEntries
from starskip.advisor.selection.filtered_columns import answering_indexes
from starskip.advisor.selection.look_back import NightVotes, look_back
from starskip.advisor.selection.past_nights import NO_PAST, night_votes
from starskip.advisor.selection.recommendation import Budget
from starskip.advisor.selection.table_advice import VotedNights
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.selection.vote_list import (
    IndexSet,
    VoteList,
    building_lists,
    lists_of,
    total_saving,
)
from starskip.advisor.workload.logged_queries import LoggedQueries, logged_queries
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.advisor.workload.unlogged_texts import REDACTED_ERROR_RATIO, UnloggedTexts
from starskip.settings import Settings
from starskip.sql.predicate import Operator, leaves
from starskip.sql.query_shape import QueryShape, parsed_shape

ROUGH_ERROR_RATIO = 0.05
"""Error where every query ends early or asks an index of its own, as a standard deviation."""


# An index that few logs do not name may still be needed.
@dataclass(frozen=True, slots=True)
class DropEvidence:
    """Queries of some nights, and how many were not understood; printed as "9 queries in 1 night"."""

    queries: float
    unparsed: float
    nights: int

    def __str__(self) -> str:
        """Return the number of queries and nights in words."""
        nights = "1 night" if self.nights == 1 else f"{self.nights} nights"
        return f"{self.queries:,.0f} queries in {nights}"

    def lack(self, min_queries: int, max_unparsed_ratio: float) -> str:
        """Return why the evidence is too little to call an index unneeded; empty if it is enough."""
        if self.queries < min_queries:
            return f"{self} are too few to call an index unneeded: at least {min_queries:,} are asked for"
        if self.unparsed > max_unparsed_ratio * self.queries:
            return f"{self.unparsed:,.0f} of {self} were not understood, and may need any of the indexes"
        return ""


def drop_evidence(nights: Sequence[NightVotes]) -> DropEvidence:
    """Return the evidence of ``nights``; each counts in full, however old."""
    return DropEvidence(
        sum((night.queries for night in nights), start=0.0),
        sum((night.unparsed for night in nights), start=0.0),
        len(nights),
    )


@dataclass(frozen=True)
class Tonight:
    """The knowledge of one table before anything is chosen.

    ``votes``: of tonight alone; ``window``: of all nights that vote, restated for tonight's indexes.
    ``evidence``: the queries of these nights, which drops are judged by. ``offers``: answers of whole
    queries, by family. ``barred``: answers that the table config must not have, or that somebody
    decided against; ``decided_against``: indexes on columns of this kind, which do not vote. ``plain``: the
    same in entries, where window and offers are in milliseconds.
    """

    question: TableQuestion
    log: LoggedQueries
    votes: NightVotes
    window: NightVotes
    evidence: DropEvidence
    budget: Budget
    offers: Mapping[str, AnswerOffer]
    barred: Sequence[tuple[AnswerCandidate, Verdict]] = ()
    decided_against: Sequence[Verdict] = ()
    plain: Tonight | None = None

    @property
    def in_entries(self) -> Tonight:
        """The same in entries."""
        return self.plain or self

    @property
    def candidates(self) -> list[AnswerCandidate]:
        """The answers of whole queries, of all families, among which one may choose."""
        return [candidate for offer in self.offers.values() for candidate in offer.candidates]

    @cached_property
    def paths(self) -> tuple[Family, ...]:
        """The families asked for that answer predicates of a column."""
        return self.question.families.with_path

    @cached_property
    def is_sorting(self) -> bool:
        """True if a sort order is asked for."""
        return any(family.path is not None and family.path.reorders for family in self.paths)

    @cached_property
    def is_only_sorting(self) -> bool:
        """True if nothing but a sort order is asked for: then that order is the choice."""
        return self.is_sorting and all(
            family.path is not None and family.path.reorders for family in self.paths
        )

    @cached_property
    def answered(self) -> frozenset[str]:
        """The shapes that an index in force answers as whole queries; their votes do not count."""
        return frozenset().union(*(offer.answered for offer in self.offers.values()))

    @cached_property
    def lists(self) -> Sequence[VoteList]:
        """The votes that count."""
        return [votes for votes in self.window.lists if votes.shape_id not in self.answered]

    @cached_property
    def ranking(self) -> Sequence[Index] | None:
        """The order in which a baseline takes the indexes; None where the best set is taken."""
        question = self.question
        shapes = [shape for shape in question.parsed if shape.shape_id not in self.answered]
        voting = shapes if question.is_enough else ()
        return baseline_ranking(question.settings, voting, question.overview, self.paths)

    @cached_property
    def drops_withheld(self) -> str:
        """The reason why drops are not judged; empty where they are."""
        if not self.votes.in_force:
            return ""
        terms = self.question.settings.advice
        return self.evidence.lack(terms.min_drop_queries, terms.max_drop_unparsed_ratio)

    @cached_property
    def not_to_drop(self) -> Mapping[Index, str]:
        """The indexes in force that somebody has decided to keep, each with that decision."""
        told = {
            item: self.question.decided_against(str(drop_of(item)), 0.0)
            for item in sorted(self.window.in_force)
        }
        return {item: why for item, why in told.items() if why}

    @cached_property
    def earlier(self) -> Sequence[tuple[float, NightVotes]]:
        """The earlier nights that vote, with their weights."""
        return self.question.past.comparable_with(self.votes) if self.question.is_enough else ()

    @cached_property
    def nights(self) -> VotedNights:
        """The nights that voted, in short."""
        return VotedNights(
            self.evidence.nights,
            self.window.entries.total,
            self.votes.in_force,
            self.votes.asked,
            self.votes.order,
            tuple((votes.run_date, weight) for weight, votes in self.earlier if votes.run_date is not None),
        )


def tonight_of(question: TableQuestion) -> Tonight:
    """Return what is known of one table before anything is chosen."""
    votes, past = question.votes, question.past
    if not question.is_enough:
        votes, past = votes.slice(0, 0), NO_PAST
    tonight = night_votes(question.shapes, votes, question.overview, _asked(question))
    earlier = past.comparable_with(tonight)
    window = _of_candidates(look_back(tonight, earlier), question)
    log = logged_queries(question.shapes, question.leaves)
    offers, barred = _without_barred(question, _offers(question, window), window)
    decided = _decided_against(question, window)
    kept = {item for votes in window.lists for item in votes.indexes} - {each.index for each in decided}
    window = replace(window, lists=lists_of(window.lists, kept)) if decided else window
    return Tonight(
        question,
        log,
        tonight,
        window,
        drop_evidence([tonight, *(votes_of for _, votes_of in earlier)]),
        budget_of(
            question.settings,
            model_error_ratio(
                question.shapes, log.unlogged_texts, question.settings.advice.model_error_ratio
            ),
            window.shapes,
        ),
        offers,
        barred,
        decided,
    )


def _asked(question: TableQuestion) -> IndexSet:
    """Return the indexes in force that answer a predicate of some query."""
    if not question.overview:
        return frozenset()
    return answering_indexes(question.uses, indexes_in_force(question.overview), question.rules)


def _of_candidates(window: NightVotes, question: TableQuestion) -> NightVotes:
    """Leave out earlier nights' votes for indexes that are no candidates tonight (a dropped column)."""
    overview = question.overview
    found = (
        candidate_indexes(overview, question.families.with_path, question.settings).values()
        if overview
        else ()
    )
    candidates = {SORTED_BY_ANOTHER, *(item for of_column in found for item in of_column)}
    return replace(window, lists=lists_of(window.lists, candidates))


def budget_of(settings: Settings, error_ratio: float, shapes: Mapping[str, ShapeEntries]) -> Budget:
    """Return the terms of the choice; ``error_ratio``: the model's, ``shapes``: of all nights that vote."""
    terms = settings.advice
    wanted = terms.desirable_entries_scanned_in_filter
    return Budget(
        terms.max_indexes,
        terms.min_gain_ratio,
        error_ratio,
        storage_bytes=terms.index_budget_bytes,
        switch_gain_ratio=terms.switch_gain_ratio,
        desirable=None if wanted is None else DesirableEntries(wanted, terms.desirable_query_ratio, shapes),
        time_s=terms.choice_time_s,
    )


def _offers(question: TableQuestion, window: NightVotes) -> dict[str, AnswerOffer]:
    """Return the offers of all families with answers.

    A family that is not asked for offers no candidates, but says which of its indexes are in force.
    """
    offers = {}
    for family in question.families.known:
        if family.answer is None:
            continue
        is_asked = question.families.has(family) and question.is_enough
        queries = TableQueries(
            question.table,
            question.shapes,
            window.shapes,
            question.overview,
            question.settings,
            question.configs,
            question.rows if is_asked else None,
            question.past.answers.get(family.name, ()),
        )
        offer = family.answer(queries)
        offers[family.name] = offer if is_asked else replace(offer, candidates=())
    return offers


def _without_barred(
    question: TableQuestion, offers: Mapping[str, AnswerOffer], window: NightVotes
) -> tuple[dict[str, AnswerOffer], list[tuple[AnswerCandidate, Verdict]]]:
    """Return the offers without candidates that must not be proposed, and these candidates."""
    kept, barred = {}, []
    for family in question.families.known:
        if family.name not in offers:
            continue
        offer = offers[family.name]
        told = [(each, _barred(question, family, each, window)) for each in offer.candidates]
        barred += [(each, why) for each, why in told if why]
        kept[family.name] = replace(offer, candidates=tuple(each for each, why in told if not why))
    return kept, barred


def _barred(
    question: TableQuestion, family: Family, candidate: AnswerCandidate, window: NightVotes
) -> Verdict | None:
    if why := _breaks(question, family, candidate):
        return refused(candidate.index, Reason.BREAKS_CONFIG_RULE, why)
    saving = sum(candidate.saving_entries.values()) / max(window.all_entries, 1.0)
    name = f"{candidate.index.family}:{','.join(candidate.columns)}"
    if why := question.decided_against(name, saving):
        return refused(candidate.index, Reason.DECIDED_AGAINST, why, saving)
    return None


def _decided_against(question: TableQuestion, window: NightVotes) -> list[Verdict]:
    """Return a refusal for each index on columns that must not be proposed again yet."""
    building = building_lists(window.lists)
    found = []
    for index in sorted({item for votes in building for item in votes.indexes}):
        saving = total_saving(building, [index]) / max(window.entries.total, 1.0)
        if why := question.decided_against(str(index), saving):
            found.append(refused(index, Reason.DECIDED_AGAINST, why, saving))
    return found


def _breaks(question: TableQuestion, family: Family, candidate: AnswerCandidate) -> str:
    """Return the rule that the candidate's config breaks; empty if it breaks none."""
    overview, version = question.overview, question.settings.scoring.pinot_version
    if overview is None or not candidate.config:
        return ""
    known = overview.barred.get(family.name, {}).get(candidate.index.column)
    if known:
        return known
    edit = family_edit(family, (), (), [candidate.config])
    faults = edit_faults(overview, question.configs, [edit], version)
    return faults[0].sentence(version) if faults else ""


# The walk of a filter is exact for the rows that it sees. Everything that it does not see widens the
# interval: rows and literals that were left out of the sample, literals that the log does not hold, LIMITs
# that end a query in unknown segments, and functions that are not computed.
def model_error_ratio(shapes: Sequence[ShapeWorkload], texts: UnloggedTexts, least: float) -> float:
    """Return the standard deviation of a saving's error: ``least``, and more for roughly known entries."""
    return hypot(
        least,
        REDACTED_ERROR_RATIO * texts.voting_entries_ratio,
        ROUGH_ERROR_RATIO * rough_entries_ratio(shapes),
    )


def rough_entries_ratio(shapes: Sequence[ShapeWorkload]) -> float:
    """Return the share of the entries of understood queries that the model knows roughly."""
    parsed = [shape for shape in shapes if shape.is_parsed]
    entries = sum(shape.estimated_entries for shape in parsed)
    rough = sum(shape.estimated_entries for shape in parsed if _is_rough(parsed_shape(shape.skeleton)))
    return rough / entries if entries else 0.0


def _is_rough(shape: QueryShape) -> bool:
    return shape.stops_early or any(leaf.operator is Operator.OWN_INDEX for leaf in leaves(shape.filter))
