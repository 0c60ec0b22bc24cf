"""Turn a set that a person chose in place of the advised one into an advice that can be approved."""

from __future__ import annotations

from starskip.advisor.deployment.advised_change import told_apart
from starskip.advisor.families.families import named
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.advisor.selection.other_sets import Member, OtherSets
from starskip.advisor.selection.set_saving import SetSaving
from starskip.advisor.selection.vote_list import IndexSet


def change_of_set(table: str, source: str, sets: OtherSets, indexes: IndexSet) -> AdvisedChange:
    """Return the set with what is predicted of it: each index saves what the set would lack without it."""
    whole = sets.saving(indexes)
    is_trusted = whole.time is not None and not sets.stored.mistrust
    found = [
        _advised(sets.members[index], whole, sets.saving(indexes - {index}), is_trusted)
        for index in sets.members
        if index in indexes
    ]
    saving = whole.combined.saving
    return AdvisedChange(
        table,
        source,
        told_apart(found),
        saving.ratio,
        (saving.low, saving.high),
        whole.time if is_trusted else None,
    )


def _advised(member: Member, whole: SetSaving, without: SetSaving, is_trusted: bool) -> AdvisedIndex:
    index, answer = member.index, member.answer
    family = named(index.family)
    key = family.config if family else None
    config = answer.config if answer else key.fragment(index.column) if key else {}
    ms = None
    if is_trusted and whole.time is not None and without.time is not None:
        ms = whole.time.saving_ms - without.time.saving_ms
    served = [at for at, each in enumerate(whole.answers.answers) if each.index == index]
    return AdvisedIndex(
        index.family,
        member.columns,
        dict(config),
        whole.combined.saving.ratio - without.combined.saving.ratio,
        ms,
        member.size_bytes,
        whole.answers.shapes_of(served[0]) if served else (),
        alone_ratio=member.of_filters_ratio,
    )
