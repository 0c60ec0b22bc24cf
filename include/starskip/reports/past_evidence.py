"""The part of earlier nights and of the last advice in a night's choice, as values of its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from starskip.advisor.selection.past_changes import KeptIndex
from starskip.reports.advice_values import Interval, NamedIndex


@dataclass(frozen=True, slots=True)
class EarlierNight:
    """An earlier night whose queries vote, each ``weight`` times."""

    run_date: date
    weight: float


@dataclass(frozen=True, slots=True)
class OtherSet:
    """A set that another choice would take, and its saving as a share of all entries."""

    indexes: tuple[NamedIndex, ...]
    saving_ratio: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class PastEvidence:
    """The part of the past in a choice; another choice that is the advised one is null.

    ``nights``: the earlier nights that vote, the newest first. ``kept``: chosen indexes of the last advice
    that a fresh choice would not take. ``fresh``: the choice by the queries of all nights without the last
    advice. ``tonight``: by this night's queries alone, of which the advised set saves
    ``tonight_saving_ratio``; all choices are among the same candidates.
    """

    nights: tuple[EarlierNight, ...] = ()
    kept: tuple[KeptIndex, ...] = ()
    fresh: OtherSet | None = None
    tonight: OtherSet | None = None
    tonight_saving_ratio: float | None = None
    tonight_interval: Interval | None = None


def past_evidence(properties: Mapping[str, Any]) -> PastEvidence | None:
    """Return what the past changed, by the properties of ``recommendations``; None if there is no past."""
    nights = tuple(
        EarlierNight(date.fromisoformat(day), weight) for day, weight in properties.get("earlier_nights", ())
    )
    told = properties.get("fresh") or {}
    if not nights and not told:
        return None
    of_night = told.get("tonight_saving")
    return PastEvidence(
        nights,
        tuple(KeptIndex(**{**each, "columns": tuple(each["columns"])}) for each in told.get("kept", ())),
        _other(told.get("fresh")),
        _other(told.get("tonight")),
        of_night["ratio"] if of_night else None,
        _interval(of_night) if of_night else None,
    )


def _other(told: Mapping[str, Any] | None) -> OtherSet | None:
    if told is None:
        return None
    indexes = tuple(NamedIndex(family, tuple(columns)) for family, columns in told["indexes"])
    return OtherSet(indexes, told["saving"]["ratio"], _interval(told["saving"]))


def _interval(saving: Mapping[str, float]) -> Interval:
    return Interval(saving["low"], saving["high"])
