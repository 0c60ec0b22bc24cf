"""Judge and choose other sets than the advised one, from the question that the night has kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import floor

from starskip.advisor.families.answer import AnswerCandidate
from starskip.advisor.families.families import reorders
from starskip.advisor.families.index import Index
from starskip.advisor.ledger.advised_index import form_key
from starskip.advisor.selection.choice_steps import choose_set
from starskip.advisor.selection.set_saving import SetSaving, SetSavings
from starskip.advisor.selection.stored_question import StoredQuestion
from starskip.advisor.selection.vote_list import IndexSet, total_saving
from starskip.errors import ConfigError
from starskip.settings.advice_groups import MS

CHOICE_TIME_S = 0.4
"""A person waits for a page: after this time the best set found is taken."""


@dataclass(frozen=True, slots=True)
class Member:
    """An index or answer that a set may have.

    ``answer``: None of an index on columns. ``alone_ratio``: what it saves by itself, of all entries;
    ``of_filters_ratio``: the same of an index on columns, of the entries in filters.
    """

    index: Index
    columns: tuple[str, ...]
    alone_ratio: float
    of_filters_ratio: float
    size_bytes: int | None
    answer: AnswerCandidate | None = None

    @property
    def key(self) -> str:
        """The member in a form."""
        return form_key(str(self.index))


@dataclass(frozen=True, slots=True)
class ShapeChange:
    """Entries that a query of one shape scans: today, with the advised set, and with the asked one."""

    shape_id: str
    queries: float
    today: float
    advised: float
    asked: float


class OtherSets:
    """The sets that one table may have in place of the advised one."""

    def __init__(self, stored: StoredQuestion) -> None:
        """Keep the question, with its votes prepared."""
        self.stored = stored
        self._savings = SetSavings(stored.tonight, stored.times, by_time=stored.unit == MS)
        found = _members(stored, self._savings)
        self.members = {each.index: each for each in found}
        """The advised ones first, then what saves most by itself."""
        self.advised = self.saving(stored.chosen)

    def saving(self, indexes: IndexSet) -> SetSaving:
        """Return the saving of a set, its intervals as wide as the night's."""
        answers = [member.answer for index in indexes if (member := self.members[index]).answer is not None]
        columns = frozenset(index for index in indexes if self.members[index].answer is None)
        found = self._savings.of(columns, [each for each in answers if each is not None])
        of_entries, of_time = self.stored.interval_factors
        return replace(
            found,
            saving=found.saving.widened(of_entries),
            combined=replace(found.combined, saving=found.combined.saving.widened(of_entries)),
            time=found.time.widened(of_time) if found.time else None,
        )

    def of_keys(self, keys: Iterable[str]) -> IndexSet:
        """Return the set of the members with these keys; raises ConfigError for a key that none has."""
        by_key = {each.key: each.index for each in self.members.values()}
        asked = set(keys)
        if asked - by_key.keys():
            raise ConfigError("the indexes that may be chosen have changed since", setting="index")
        return frozenset(by_key[key] for key in asked)

    def require_possible(self, indexes: IndexSet) -> None:
        """Raise ConfigError for a set that cannot be judged: a sort order beside another index."""
        if len(indexes) > 1 and any(map(reorders, indexes)):
            raise ConfigError("a sort order stands alone, nothing is judged beside it", setting="index")

    def chosen_again(self, max_indexes: int, storage_bytes: int | None) -> IndexSet:
        """Return the best set under another K and budget, on the night's own terms otherwise."""
        room = None if storage_bytes is None else max(floor(storage_bytes - self.stored.file_bytes), 0)
        timed = self._savings.timed if self.stored.unit == MS else None
        tonight = timed or self.stored.tonight
        budget = tonight.budget
        judged = replace(
            tonight,
            budget=replace(
                budget,
                max_indexes=max_indexes,
                storage_bytes=room,
                time_s=min(budget.time_s, CHOICE_TIME_S),
            ),
        )
        return choose_set(judged)

    def shape_changes(self, asked: SetSaving) -> list[ShapeChange]:
        """Return the shapes that ``asked`` serves otherwise than the advice, greatest change first."""
        shapes = self.stored.tonight.window.shapes
        before, after = self._saved(self.advised), self._saved(asked)
        found = []
        for shape_id, shape in shapes.items():
            advised, other = before.get(shape_id, 0.0), after.get(shape_id, 0.0)
            if shape.queries > 0 and abs(other - advised) > 1e-6 * max(shape.all_entries, 1.0):
                left = (shape.all_entries - each for each in (0.0, advised, other))
                found.append(ShapeChange(shape_id, shape.queries, *(each / shape.queries for each in left)))
        return sorted(found, key=lambda each: -abs(each.asked - each.advised) * each.queries)

    def _saved(self, of: SetSaving) -> dict[str, float]:
        saved: dict[str, float] = {}
        for votes in of.answers.unanswered(self._savings.lists(of.indexes)):
            saved[votes.shape_id] = saved.get(votes.shape_id, 0.0) + votes.saving(of.indexes).entries
        shapes = self.stored.tonight.window.shapes
        for shape_id, position in of.answers.answered.items():
            if shape_id in shapes:
                served = of.answers.answers[position].saving_entries[shape_id]
                saved[shape_id] = min(served, shapes[shape_id].all_entries)
        return saved


def _members(stored: StoredQuestion, savings: SetSavings) -> list[Member]:
    tonight = stored.tonight
    window, sizes = tonight.window, tonight.question.size_bytes
    lists = savings.lists(stored.chosen if tonight.is_only_sorting else frozenset())
    of_all, of_filters = max(window.all_entries, 1.0), max(window.entries.total, 1.0)
    voted: dict[Index, list[int]] = {}
    for number, votes in enumerate(lists):
        for index in votes.indexes:
            voted.setdefault(index, []).append(number)
    # The advised ones stand even where no vote for them is left.
    answers = {each.index: each for each in tonight.candidates}
    found = []
    for index in voted.keys() | (stored.chosen - answers.keys()):
        saved = total_saving([lists[number] for number in voted.get(index, ())], [index])
        found.append(Member(index, (index.column,), saved / of_all, saved / of_filters, sizes.get(index)))
    for index, each in answers.items():
        saved = sum(each.saving_entries.values())
        size = None if each.size_bytes is None else round(each.size_bytes)
        found.append(Member(index, each.columns, saved / of_all, saved / of_all, size, each))
    return sorted(found, key=lambda each: (each.index not in stored.chosen, -each.alone_ratio, each.index))
