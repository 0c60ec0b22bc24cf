"""The evidence of one table and one night: all values that a report shows.

A family brings its section of the report itself (advisor/families/family_section.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

from starskip.advisor.families.skipping.report.section_data import SkippingIndexes
from starskip.advisor.families.star_tree.report.star_tree_evidence import StarTreeEvidence
from starskip.advisor.selection.table_advice import TypicalEntries
from starskip.reports.advice_values import (
    AdvisedAction,
    ChosenAnswer,
    ChosenIndex,
    CombinedSavingEvidence,
    ConfigChange,
    Interval,
    KCurve,
    ReasonedIndex,
    SortOrder,
    TimeSavingEvidence,
)
from starskip.reports.applied_evidence import AppliedAdvice
from starskip.reports.log_values import DataQuality, LatencyEvidence, Shapes, TimesEvidence
from starskip.reports.past_evidence import PastEvidence

SCHEMA_VERSION = 1
"""Rises when a field changes its meaning or is removed; an added field with a default changes nothing."""

JsonScalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that the night ran with; ``unit`` is empty if it has none."""

    name: str
    value: JsonScalar
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The night in figures.

    ``time``, and ``saving_ms`` of all queries together, are null if no latency model is trusted.
    ``workload``: the source of the weights, the log, or without one "equal_columns" or "given_weights".
    ``combined``: the saving of all changes together, null if nothing was chosen or there is no log. The
    predicted saving is that of the indexes on columns by themselves, a share of all entries scanned in
    filter. Failed and unparsed queries are included in both. ``table_bytes``: all columns and indexes in the
    table's segments, ``table_rows``: their rows, null if none are known.
    """

    queries: int
    unparsed: int
    failed: int
    shapes: int
    entries_scanned_in_filter: int
    predicted_saving_ratio: float
    predicted_interval: Interval
    saving_ms: float | None = None
    workload: Literal["log", "equal_columns", "given_weights"] = "log"
    table_bytes: int | None = None
    table_rows: int | None = None
    combined: CombinedSavingEvidence | None = None
    time: TimeSavingEvidence | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The contents of the report of ``table`` for the night of ``run_date``. ``created_at`` is in UTC.

    ``unit``: the unit in which the choice was made. ``times``: the model of the time of queries, null if the
    log has none. ``nights``: how many nights voted, this one included; the
    saving is over the whole window, older nights counting less. ``show_literals``: the setting that shows
    literals. ``star_trees``, ``skipping``: null if the night looked at none; ``sections``: the sections
    of families without a field here, by family. ``lake_only``: the table has no segments, so that only
    ``skipping`` has facts on it. ``answers``: chosen indexes of other families that serve whole queries.
    ``not_used``: families of users' own that failed, each with its fault. ``notes``: what no index that may
    be chosen can do. ``applied``: what became of advice that was applied, null if none was.
    ``interval_factor``: how much wider the intervals are than the models say, by past applications.
    ``past``: what earlier nights and the last advice changed, null if there are none. ``version``: of the
    Starskip that wrote it, empty if it is not installed as a package.
    ``actions``: the advice line by line. ``reload_seconds``: how long one server that holds all segments
    would reload them, null if there are none.
    ``run_note``: that the run is an experiment, or which settings it changed for itself; else empty.
    """

    table: str
    run_date: date
    created_at: datetime
    unit: Literal["entries", "milliseconds"]
    strategy: str
    pinot_version: str
    settings: tuple[Setting, ...]
    summary: Summary
    change: ConfigChange
    chosen: tuple[ChosenIndex, ...]
    k_curve: KCurve
    shapes: Shapes
    latency: LatencyEvidence
    refused: tuple[ReasonedIndex, ...]
    drops: tuple[ReasonedIndex, ...]
    data_quality: DataQuality
    show_literals: bool = False
    typical_entries: TypicalEntries | None = None
    sort_order: SortOrder | None = None
    nights: int = 1
    drops_withheld: str = ""
    star_trees: StarTreeEvidence | None = None
    skipping: SkippingIndexes | None = None
    sections: Mapping[str, Any] = field(default_factory=dict)
    lake_only: bool = False
    answers: tuple[ChosenAnswer, ...] = ()
    not_used: Mapping[str, str] = field(default_factory=dict)
    times: TimesEvidence | None = None
    notes: tuple[str, ...] = ()
    applied: AppliedAdvice | None = None
    interval_factor: float = 1.0
    past: PastEvidence | None = None
    version: str = ""
    actions: tuple[AdvisedAction, ...] = ()
    reload_seconds: float | None = None
    run_note: str = ""
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.created_at.utcoffset() != timedelta(0):
            raise ValueError(f"created_at {self.created_at.isoformat()} is not in UTC")
