"""Applications of advice as the evidence of a report has them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from starskip.reports.advice_values import Interval, NamedIndex, TimeSavingEvidence
from starskip.reports.afterwards_evidence import Afterwards, LaterNight
from starskip.reports.applied_evidence import AppliedAdvice, AppliedChange, AppliedIndex


def applied() -> AppliedAdvice:
    """One advice was kept, and saved less than promised; the one before it was taken back unmeasured."""
    kept = AppliedChange(
        datetime(2026, 11, 18, 4, 12, tzinfo=UTC),
        "scheduled__2026-11-18",
        "2026-11-17",
        "kept",
        "measured: 47.9 % of all entries saved",
        0.5871,
        Interval(0.52, 0.65),
        0.479,
        TimeSavingEvidence(6.5, 2.96, Interval(2.4, 3.5)),
        5.1,
        2.2,
        61_400_000,
        84.0,
        (
            AppliedIndex(
                "inverted",
                ("l_suppkey",),
                False,
                41_000,
                0.42,
                0.401,
                2.1,
                1.9,
                "by the 4 shapes that it serves",
            ),
            AppliedIndex("inverted", ("l_comment",), True, None, None, 0.0, None, 0.0, "no query lacks it"),
        ),
    )
    back = replace(
        kept,
        at=datetime(2026, 11, 16, 4, 9, tzinfo=UTC),
        who="<b>ann</b>",
        outcome="taken_back",
        reason="canary: <script>a segment</script> could not be loaded",
        measured_saving_ratio=None,
        replayed_ms=None,
        measured_saving_ms=None,
        indexes=(replace(kept.indexes[0], measured_saving_ratio=None, measured_saving_ms=None),),
    )
    in_force = Afterwards(
        "2026-11-15",
        date(2026, 11, 16),
        (NamedIndex("inverted", ("l_suppkey",)),),
        0.5871,
        Interval(0.52, 0.65),
        TimeSavingEvidence(6.5, 2.96, Interval(2.4, 3.5)),
        (NamedIndex("inverted", ("l_comment",)),),
        (
            LaterNight(date(2026, 11, 16), 0.55, 0.41, 0.97),
            LaterNight(date(2026, 11, 17), 0.48, None, 0.91),
            LaterNight(date(2026, 11, 18), 0.31, 0.2, 0.88),
        ),
    )
    older = replace(
        in_force, interval=None, saving_ratio=None, nights=(), time=None, note="a later change is beside it"
    )
    drift = "measured savings are 5.1 % of all entries less than predicted (4 applications)"
    return AppliedAdvice((kept, back), 3, drift, (in_force, older))
