"""Answers of whole queries and indexes of files, chosen together with the indexes on columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.file_skips import FileSkips
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Reason, Verdict, refused
from starskip.advisor.selection.choice import Choice, ChoiceLimits, choose
from starskip.advisor.selection.recommendation import Budget
from starskip.advisor.selection.vote_list import IndexSet, Saving, VoteList, total_saving
from starskip.number_text import saves, share


@dataclass(frozen=True, slots=True)
class AnswerTerms:
    """Terms on which the answers of one family are chosen.

    ``max_answers``: how many, None for any number. ``total_entries``: all entries that queries scan. An
    answer must save ``min_gain_ratio`` of them, once for each ``gain_bytes`` of its size (None: once,
    whatever its size): a larger answer costs more to read, write and refresh.
    """

    total_entries: float
    min_gain_ratio: float
    max_answers: int | None = None
    gain_bytes: float | None = None
    switch_gain_ratio: float = 0.0

    def must_gain(self, answer: AnswerCandidate) -> float:
        """Return the entries that ``answer`` has to save."""
        times = 1.0
        if self.gain_bytes is not None and answer.size_bytes is not None:
            times = max(answer.size_bytes / max(self.gain_bytes, 1.0), 1.0)
        return self.min_gain_ratio * self.total_entries * times


@dataclass(frozen=True, slots=True)
class ChosenAnswers:
    """Chosen answers, exclusive ones in the order in which queries try them, and the others with reasons.

    ``answered``: each shape that an answer serves, with the answer's position. ``indexes``: the indexes on
    columns that were chosen with them. ``file_indexes``: the chosen indexes of files, which take
    ``file_bytes``. ``gap_ratio``: by how much another choice could be better, ``bound``: as in Choice.
    """

    answers: tuple[AnswerCandidate, ...] = ()
    answered: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[tuple[AnswerCandidate, Verdict], ...] = ()
    indexes: IndexSet = frozenset()
    gap_ratio: float = 0.0
    file_indexes: IndexSet = frozenset()
    file_bytes: float = 0.0
    bound: float = 0.0

    @property
    def answer_indexes(self) -> IndexSet:
        """The chosen answers as indexes."""
        return frozenset(each.index for each in self.answers)

    def saving_entries(self, position: int) -> float:
        """Return the entries that an answer saves in the shapes that it serves."""
        return sum(
            self.answers[position].saving_entries[shape]
            for shape, serving in self.answered.items()
            if serving == position
        )

    def shapes_of(self, position: int) -> tuple[str, ...]:
        """Return the shapes that an answer serves."""
        return tuple(sorted(shape for shape, serving in self.answered.items() if serving == position))

    @property
    def size_bytes(self) -> float:
        """The known bytes of the chosen answers and of the indexes of files."""
        return self.file_bytes + sum(answer.size_bytes or 0.0 for answer in self.answers)

    def unanswered(self, lists: Sequence[VoteList]) -> list[VoteList]:
        """Return the votes of the shapes that no answer serves."""
        return [votes for votes in lists if votes.shape_id not in self.answered]


def chosen_answers(
    candidates: Sequence[AnswerCandidate],
    lists: Sequence[VoteList],
    budget: Budget,
    index_entries: float,
    terms: Mapping[str, AnswerTerms],
    *,
    size_bytes: Mapping[Index, int] | None = None,
    kept: IndexSet = frozenset(),
    skips: Sequence[FileSkips] = (),
) -> ChosenAnswers:
    """Return the best set of answers and of indexes of files beside the best indexes on columns.

    ``lists``: votes for indexes. ``index_entries``: all entries scanned in filter, of which an index must
    save the budget's least gain. ``kept``: indexes and answers of the last advice, which stay unless others
    save ``switch_gain_ratio`` more. ``terms``: by family of ``candidates``. ``skips``: the offers of families
    of indexes of files, which fall under the same ``storage_bytes``.
    """
    voted = frozenset().union(*(votes.indexes for votes in lists)) if lists else frozenset()
    upkeep = dict.fromkeys(voted, budget.min_gain_ratio * index_entries)
    for index in voted & kept:
        upkeep[index] -= budget.switch_gain_ratio * index_entries
    for answer in candidates:
        of_family = terms[answer.index.family]
        bonus = of_family.switch_gain_ratio * of_family.total_entries if answer.index in kept else 0.0
        upkeep[answer.index] = of_family.must_gain(answer) - bonus
    of_files: dict[Index, float] = {}
    for each in skips:
        upkeep.update(each.must_gain_entries)
        of_files.update(each.size_bytes)
    limits = ChoiceLimits(
        budget.max_indexes,
        {family: each.max_answers for family, each in terms.items() if each.max_answers is not None},
        budget.storage_bytes,
        {**(size_bytes or {}), **of_files},
        budget.time_s,
        {each.family: each.max_bytes for each in skips},
    )
    choice = choose([*lists, *skip_lists(skips)], limits, answers=candidates, upkeep_entries=upkeep)
    file_indexes = frozenset(index for index in choice.indexes if index.family in limits.file_bytes)
    return ChosenAnswers(
        answers=choice.answers,
        answered=_answered(choice, lists),
        refused=tuple(
            (answer, _refused(answer, choice, limits, terms[answer.index.family], budget.of_all))
            for answer in candidates
            if answer not in choice.answers
        ),
        indexes=choice.indexes - file_indexes,
        gap_ratio=choice.gap_ratio,
        file_indexes=file_indexes,
        file_bytes=sum(of_files.get(index, 0.0) for index in file_indexes),
        bound=choice.bound,
    )


def given_answers(
    answers: Sequence[AnswerCandidate], lists: Sequence[VoteList], indexes: IndexSet
) -> ChosenAnswers:
    """Return given answers beside given indexes, with the shapes that each serves."""
    ordered = tuple(sorted(answers, key=lambda each: (each.rank, each.index)))
    served = _answered(Choice(indexes, ordered, 0.0, 0.0), lists)
    return ChosenAnswers(ordered, served, indexes=indexes)


def skip_lists(skips: Sequence[FileSkips]) -> list[VoteList]:
    """Return a vote list for each group of files that the same indexes skip.

    A set of indexes skips a whole group or none of it, so the best built set counts, whichever it is.
    """
    found = []
    for each in skips:
        allowed = each.must_gain_entries.keys()
        for number, (sets, saved) in enumerate(each.saving_entries.items()):
            usable = {needed: Saving(saved) for needed in sorted(sets, key=sorted) if needed <= allowed}
            if usable:
                found.append(VoteList("", f"{each.family} {number}", 0, usable, is_complete=False))
    return found


def _answered(choice: Choice, lists: Sequence[VoteList]) -> dict[str, int]:
    answered: dict[str, int] = {}
    for position, answer in enumerate(choice.answers):
        if answer.is_exclusive:
            for shape in answer.saving_entries:
                answered.setdefault(shape, position)
    by_shape: dict[str, list[VoteList]] = {}
    for votes in lists:
        by_shape.setdefault(votes.shape_id, []).append(votes)
    best: dict[str, float] = {}
    for position, answer in enumerate(choice.answers):
        for shape, saved in () if answer.is_exclusive else answer.saving_entries.items():
            least = best.get(shape, total_saving(by_shape.get(shape, ()), choice.indexes))
            if saved > max(least, 0.0) and (shape in best or shape not in answered):
                best[shape], answered[shape] = saved, position
    return answered


def _refused(
    answer: AnswerCandidate, choice: Choice, limits: ChoiceLimits, terms: AnswerTerms, of_all: str
) -> Verdict:
    total = max(terms.total_entries, 1.0)
    alone = sum(answer.saving_entries.values()) / total
    added = choice.added.get(answer.index, 0.0) / total
    room = limits.storage_bytes
    if room is not None:
        of_files = sum(limits.size_bytes.get(i, 0.0) for i in choice.indexes if i.family in limits.file_bytes)
        room -= ceil(of_files + sum(each.size_bytes or 0.0 for each in choice.answers))
    of_family = sum(each.index.family == answer.index.family for each in choice.answers)
    counted = len(choice.answers) + sum(i.family not in limits.file_bytes for i in choice.indexes)
    most = limits.max_answers.get(answer.index.family)
    size = answer.size_bytes
    is_too_large = limits.storage_bytes is not None and (size or 0.0) > limits.storage_bytes
    if room is not None and size is None:
        reason = Reason.SIZE_UNKNOWN
    elif is_too_large or (added > 0 and room is not None and (size or 0.0) > room):
        reason = Reason.OVER_STORAGE_BUDGET
    elif added > 0 and most is not None and of_family >= most:
        reason = Reason.OVER_MAX_ANSWERS
    elif added > 0 and counted >= limits.max_indexes:
        reason = Reason.OVER_MAX_INDEXES
    elif alone < terms.must_gain(answer) / total:
        reason = Reason.BELOW_MIN_GAIN
    else:
        reason = Reason.COVERED_BY_CHOSEN
    must = terms.must_gain(answer) / total
    detail = f"by itself it {saves(alone)} {of_all}, beside the chosen set it {saves(added + must)}"
    if reason in (Reason.BELOW_MIN_GAIN, Reason.COVERED_BY_CHOSEN) and must > terms.min_gain_ratio:
        detail += f"; at its size it must save {share(must)}"
    size_bytes = None if size is None else round(size)
    return refused(answer.index, reason, detail, alone, size_bytes)
