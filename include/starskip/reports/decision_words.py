"""The state of an advised index in words: who decided what, why, and what becomes of it."""

from __future__ import annotations

from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.index_states import IndexState
from starskip.advisor.ledger.standing import proposed_again_from
from starskip.number_text import percent
from starskip.settings.night_groups import DeploymentSettings


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
