"""The state of each advised index of a table and night, and the forms by which a person decides on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from starskip.advisor.deployment.advised_change import change_of_night
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.index_states import IndexState, index_states
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import proposed_again_from
from starskip.advisor.run.night import Night
from starskip.advisor.selection.stored_question import settings_of_advice
from starskip.errors import MissingSource
from starskip.number_text import percent
from starskip.settings.night_groups import DeploymentSettings


@dataclass(frozen=True, slots=True)
class DecisionForms:
    """The advised indexes by name, each with its state and that state in words.

    ``may_decide``: forms are shown only to whom they work. ``decided``: what was just decided, such as
    "approved", empty if nothing was.
    """

    indexes: Mapping[str, AdvisedIndex]
    states: Mapping[str, IndexState]
    words: Mapping[str, str]
    may_decide: bool = False
    decided: str = ""

    @property
    def in_order(self) -> Sequence[AdvisedIndex]:
        """The advised indexes, best first."""
        return list(self.indexes.values())


def decision_forms(
    night: Night, table: str, advised_at: datetime, *, may_decide: bool, decided: str
) -> DecisionForms | None:
    """Return the states and forms of the night's advice; None where only its report is left."""
    try:
        indexes = change_of_night(night, table).indexes
    except MissingSource:
        return None
    states = index_states(indexes, ledger_entries(night.store, table), advised_at)
    terms = settings_of_advice(night, table).deployment
    return DecisionForms(
        {each.name: each for each in indexes},
        states,
        {name: state_words(state, terms) for name, state in states.items()},
        may_decide,
        decided,
    )


def state_words(state: IndexState, terms: DeploymentSettings) -> str:
    """Return what stands behind a state, empty for an open index; ``terms``: of the advice's night."""
    entry = state.entry
    if entry is None:
        return ""
    told = f"by {entry.who} on {entry.at.date()}{_measured(entry)}"
    why = entry.reason or entry.detail
    again = proposed_again_from(entry, terms.cool_down_days)
    if again is None:
        return f"{told}: {why}" if why else told
    sooner = f", or once it saves {percent(terms.propose_again_gain_ratio)} more"
    until = f"proposed again from {again} on{'' if entry.event is Event.DEFERRED else sooner}"
    return f"{told}: {why}; {until}" if why else f"{told}; {until}"


def _measured(entry: LedgerEntry) -> str:
    predicted, measured = entry.index.saving_ratio, entry.measured_saving_ratio
    if measured is None:
        return ""
    promised = f", {percent(predicted)} predicted" if predicted is not None else ""
    return f" ({percent(measured)} measured{promised})"
