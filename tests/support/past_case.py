"""The part of the past in a night's choice as the evidence of a report has it."""

from __future__ import annotations

from datetime import date

from starskip.advisor.selection.past_changes import KeptIndex
from starskip.reports.advice_values import Interval, NamedIndex
from starskip.reports.past_evidence import EarlierNight, OtherSet, PastEvidence


def past() -> PastEvidence:
    """Two indexes are kept, and other sets would be chosen afresh."""
    return PastEvidence(
        (EarlierNight(date(2026, 11, 17), 0.8), EarlierNight(date(2026, 11, 16), 0.64)),
        (
            KeptIndex("inverted", ("l_shipmode",), "below_min_gain", 0.042, 0.05),
            KeptIndex("star_tree", ("l_shipdate", "l_returnflag"), "near_equal"),
        ),
        OtherSet((NamedIndex("inverted", ("l_suppkey",)),), 0.55, Interval(0.51, 0.59)),
        OtherSet((NamedIndex("range", ("l_shipdate",)),), 0.49, Interval(0.46, 0.52)),
        0.61,
        Interval(0.57, 0.65),
    )
