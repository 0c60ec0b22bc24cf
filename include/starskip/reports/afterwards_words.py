"""Sentences on applied changes, predicted beside measured by later logs."""

from __future__ import annotations

from starskip.number_text import percent, percent_range
from starskip.reports.advice_values import Interval
from starskip.reports.afterwards_evidence import Afterwards, LaterNight


def afterwards_words(change: Afterwards) -> str:
    """Return what was predicted and what the newest later night says, as sentences."""
    predicted = _predicted(change)
    if not change.nights:
        return f"{predicted} {_no_night(change)}"
    newest = change.nights[-1]
    less = "less" if newest.saving_ratio >= 0 else "more"
    measured = (
        f"On {newest.run_date} the queries of known shapes read {percent(abs(newest.saving_ratio))} {less}"
        f" than before ({percent(newest.covered_ratio)} of the queries)."
    )
    stopped = f" No newer night is compared: {change.note}." if change.note else ""
    return f"{predicted} {measured}{stopped}"


def refuted_words(change: Afterwards) -> str:
    """Return how a prediction was refuted, as a sentence."""
    assert change.interval is not None
    saved = " and ".join(f"{percent(each.saving_ratio)} on {each.run_date}" for each in change.refuting)
    predicted = percent_range(change.interval.low, change.interval.high)
    return f"{predicted} of all entries were predicted, and later nights saved {saved}."


def beside_words(change: Afterwards, night: LaterNight) -> str:
    """Return the place of a night's saving beside the predicted interval, empty if that is not known."""
    return "" if change.interval is None else place_words(night.saving_ratio, change.interval)


def place_words(measured: float, interval: Interval) -> str:
    """Return the place of what was measured beside an interval."""
    if measured < interval.low:
        return "less than predicted"
    return "more than predicted" if measured > interval.high else "as predicted"


def _predicted(change: Afterwards) -> str:
    if change.saving_ratio is None:
        return "What it saves was not predicted."
    saving = f"Predicted: {percent(change.saving_ratio)} of all entries"
    if change.interval is None:
        return f"{saving}, without an interval."
    return f"{saving} (90 % interval {percent_range(change.interval.low, change.interval.high)})."


def _no_night(change: Afterwards) -> str:
    return f"No later night is compared: {change.note}." if change.note else "No later night has run yet."
