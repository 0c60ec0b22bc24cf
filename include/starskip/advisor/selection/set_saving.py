"""The saving of one given set of indexes and answers, chosen or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.families import reorders
from starskip.advisor.latency.shape_times import ShapeTimes, TimeSaving
from starskip.advisor.selection.chosen_answers import ChosenAnswers, given_answers
from starskip.advisor.selection.combined_saving import CombinedSaving, combined_saving
from starskip.advisor.selection.exclusive_orders import exclusive_orders
from starskip.advisor.selection.saving_interval import SavingInterval, saving_interval
from starskip.advisor.selection.time_saving import time_saving
from starskip.advisor.selection.timed_tonight import in_unit_of, timed
from starskip.advisor.selection.tonight import Tonight
from starskip.advisor.selection.vote_list import IndexSet, VoteList, building_lists, order_lists


@dataclass(frozen=True, slots=True)
class SetSaving:
    """Saving of one set beside the present indexes; ``time`` is None if the log has no latencies.

    ``saving``: of the indexes on columns, of the entries in filters; ``combined``: of all of the set, of all
    entries. ``answers``: the shapes that each answer of the set serves. ``size_bytes``: None if the size of a
    member is not known.
    """

    indexes: IndexSet
    saving: SavingInterval
    combined: CombinedSaving
    time: TimeSaving | None
    size_bytes: int | None
    answers: ChosenAnswers


class SetSavings:
    """Judges sets by the votes of one table, which are timed only once."""

    def __init__(self, tonight: Tonight, times: ShapeTimes | None, *, by_time: bool = False) -> None:
        """Keep the votes; ``by_time``: which of two answers serves a shape is decided by time."""
        self.tonight, self.times = tonight, times
        self.timed = timed(tonight, times) if times is not None else None
        self._judged = self.timed if by_time and self.timed is not None else tonight
        self._lists: dict[tuple[bool, bool], Sequence[VoteList]] = {}

    def of(self, indexes: IndexSet, answers: Sequence[AnswerCandidate] = ()) -> SetSaving:
        """Return the saving of a set; ``answers`` are among the night's candidates, in entries."""
        tonight, lists = self.tonight, self.lists(indexes)
        entries, error = tonight.window.entries, tonight.budget.model_error_ratio
        given = ChosenAnswers()
        if answers:
            asked = {each.index for each in answers}
            own = [each for each in self._judged.candidates if each.index in asked]
            served = given_answers(own, self._lists_of(self._judged, indexes), indexes)
            given = in_unit_of(tonight, served)
        return SetSaving(
            indexes,
            saving_interval(
                lists,
                indexes,
                entries=entries.total,
                entries_squared=entries.squared,
                model_error_ratio=error,
            ),
            combined_saving(tonight.window, lists, indexes, given, error),
            self._time(indexes, given),
            self._size(indexes, answers),
            given,
        )

    def lists(self, indexes: IndexSet) -> Sequence[VoteList]:
        """Return the votes that decide on a set, in entries: of sort orders if it is one, else of indexes."""
        return self._lists_of(self.tonight, indexes)

    def _lists_of(self, tonight: Tonight, indexes: IndexSet) -> Sequence[VoteList]:
        is_order = any(map(reorders, indexes))
        key = (tonight is self.tonight, is_order)
        if key not in self._lists:
            lists = tonight.lists
            self._lists[key] = exclusive_orders(order_lists(lists)) if is_order else building_lists(lists)
        return self._lists[key]

    def _time(self, indexes: IndexSet, answers: ChosenAnswers) -> TimeSaving | None:
        if self.timed is None or self.times is None:
            return None
        error = self.timed.budget.model_error_ratio
        lists, own = self._lists_of(self.timed, indexes), in_unit_of(self.timed, answers)
        return time_saving(self.timed.window, self.times, lists, indexes, own, error)

    def _size(self, indexes: IndexSet, answers: Sequence[AnswerCandidate]) -> int | None:
        known = self.tonight.question.size_bytes
        sizes = [known.get(index) for index in indexes if not reorders(index)]
        sizes += [None if each.size_bytes is None else round(each.size_bytes) for each in answers]
        return None if None in sizes else sum(size for size in sizes if size is not None)
