"""The evidence of one table and one night: all values that a report shows.

A family brings its section of the report itself (indexes/family_section.py); kinds, reasons and Pinot's
keys are open sets of text, so the sections that exist hold its indexes as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

from starskip.indexes.skipping.report.section_data import SkippingIndexes
from starskip.indexes.star_tree.report.star_tree_evidence import StarTrees
from starskip.workload.unlogged_texts import NOTHING_REDACTED, UnloggedTexts

SCHEMA_VERSION = 1
"""Counts up when a field changes its meaning or goes; an added field with a default is no new version."""

MAX_SHAPES = 100
MAX_LATENCY_BINS = 2_000
MAX_REJECTED_EXAMPLES = 20

JsonScalar = str | int | float | bool | None
ConfigValue = str | tuple[str, ...] | None
"""A value of Pinot's table config: one column, several, or no such key."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that the night ran with; ``unit`` is empty where there is none."""

    name: str
    value: JsonScalar
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 90 % prediction interval of a saving ratio, ``low`` <= ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"interval from {self.low} to {self.high}: low must not pass high")


@dataclass(frozen=True, slots=True)
class Summary:
    """The night in figures; ``saving_ms`` is null where no latency model was accepted.

    ``workload``: where the weights come from, the log, or without one "equal_columns" or "given_weights".
    The saving is a share of all entries scanned in filter, failed and unparsed queries included.
    ``table_bytes``: all columns and indexes in the table's segments, null where none are known.
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


@dataclass(frozen=True, slots=True)
class Index:
    """An index by kind ("inverted", "range", "sorted", …) and columns, in their order."""

    kind: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReasonedIndex:
    """A index that was refused or should go: ``reason`` is a code, ``detail`` a sentence with figures.

    ``size_bytes``: what it would take or takes, over all segments; null where that is not known.
    """

    kind: str
    columns: tuple[str, ...]
    reason: str
    detail: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key of the table config, as it is and as it should be."""

    current: ConfigValue
    proposed: ConfigValue


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The saving of another sort order, beside the present indexes and without the chosen ones.

    ``column``: the best one, or None if no order saves enough; ``current``: what its segments are sorted by.
    """

    column: str | None
    current: tuple[str, ...]
    saving_ratio: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class TypicalEntries:
    """Entries in filter that ``query_ratio`` of the queries stay within, today and with the chosen indexes.

    Each shape stands at its mean.
    """

    query_ratio: float
    today: float
    advised: float


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """Changes under ``tableIndexConfig``, by Pinot's own key names, and the same as indexes.

    ``star_trees``: the entries of starTreeIndexConfigs that the table config holds, which stay. ``config``:
    the whole table config as it should be, null where none was given; its secrets are hidden, and
    ``hidden_keys`` are the paths of these.
    """

    keys: Mapping[str, KeyChange]
    add: tuple[Index, ...] = ()
    drop: tuple[Index, ...] = ()
    star_trees: tuple[Any, ...] = ()
    config: Any = None
    hidden_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChosenIndex:
    """A index of the chosen set, in rank order.

    ``individual_saving_ratio``: what it would save alone; ``progressive_saving_ratio``: what it adds to those
    ranked before it. Both are shares of all entries scanned in filter.
    """

    kind: str
    columns: tuple[str, ...]
    individual_saving_ratio: float
    progressive_saving_ratio: float
    size_bytes: int | None
    shapes_helped: int


@dataclass(frozen=True, slots=True)
class ChosenAnswer:
    """A chosen index that serves whole queries, of any family but star-trees.

    ``saving_ratio``: share of all entries scanned. ``config``: the keys that it sets in the table config.
    """

    kind: str
    columns: tuple[str, ...]
    saving_ratio: float
    size_bytes: int | None
    shapes_helped: int
    config: Any = None


@dataclass(frozen=True, slots=True)
class KPoint:
    """The best set of at most ``k`` indexes and its predicted saving."""

    k: int
    columns: tuple[str, ...]
    saving_ratio: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class KCurve:
    """Saving by number of indexes; ``stop_reason`` is the code of why it stopped at ``chosen_k``.

    ``gap_ratio``: by which share another choice could be better, 0 where the chosen one is proved the best.
    """

    points: tuple[KPoint, ...]
    chosen_k: int
    stop_reason: str
    gap_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class ShapeEvidence:
    """One shape; ``columns`` are those of the chosen indexes that serve it, ``latency_ms`` its mean.

    A chosen star-tree that answers it stands there instead, and the saving is that of all entries, those
    scanned post filter too.

    ``full_text`` is one query as logged, null unless the settings ask for it.
    """

    shape_id: str
    masked_text: str
    queries: int
    entries_scanned_in_filter: int
    entries_ratio: float
    predicted_saving_ratio: float
    columns: tuple[str, ...]
    latency_ms: float | None = None
    full_text: str | None = None


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes that scan most, most first, and how many more there are with what they scan together."""

    top: tuple[ShapeEvidence, ...]
    other_shapes: int = 0
    other_entries_scanned_in_filter: int = 0

    def __post_init__(self) -> None:
        if len(self.top) > MAX_SHAPES:
            raise ValueError(f"{len(self.top)} shapes in the evidence, at most {MAX_SHAPES}: use top_shapes")


@dataclass(frozen=True, slots=True)
class LatencyBin:
    """One pooled bin: minimum latency seen at these counters, and what the model says of it."""

    entries_scanned_in_filter: float
    entries_scanned_post_filter: float
    latency_ms: float
    predicted_ms: float | None


@dataclass(frozen=True, slots=True)
class Quantile:
    """Entries scanned in filter and latency at one ``probability`` in [0, 1].

    ``maximum_saving_ms``: the time of these entries, which indexes could win at most; null without a model.
    """

    probability: float
    entries_scanned_in_filter: float
    latency_ms: float
    maximum_saving_ms: float | None = None


@dataclass(frozen=True, slots=True)
class LatencyEvidence:
    """The linear fit, or the ``reason`` (a sentence) why it was not ``accepted``.

    ``alpha`` belongs to entries scanned in filter, ``beta`` to those post filter; R2 is centred.
    """

    accepted: bool
    reason: str | None
    intercept_ms: float | None
    alpha_ms_per_million_entries: float | None
    beta_ms_per_million_entries: float | None
    r2_out_of_sample: float | None
    r2_threshold: float
    bins: tuple[LatencyBin, ...] = ()
    quantiles: tuple[Quantile, ...] = ()

    def __post_init__(self) -> None:
        if len(self.bins) > MAX_LATENCY_BINS:
            raise ValueError(f"{len(self.bins)} latency bins, at most {MAX_LATENCY_BINS}: use thinned_bins")
        if not self.accepted and not self.reason:
            raise ValueError("a latency model that is not accepted needs a reason")


@dataclass(frozen=True, slots=True)
class RejectedExample:
    """One record that no format explains: where it starts, why, and its first characters, masked."""

    source_file: str
    source_position: int
    reason: str
    masked_text: str


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A segment that was set aside: the code and the sentence of why."""

    source_file: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One expectation of the gate after ``stage``, in words of what was seen and what was expected."""

    stage: str
    check: str
    success: bool
    observed: str
    expected: str


@dataclass(frozen=True, slots=True)
class DataQuality:
    """Counts of read and of rejected records; ``other`` and ``rejected`` count records by reason code.

    ``dropped_log_lines``: those that the broker says it did not write. ``sampled_queries`` of the log stand
    for ``unlogged_queries`` beside themselves. ``unlogged_texts``: what the broker redacted of this table's;
    ``leaf_queries``: those of it that were leaves of multi-stage queries.
    """

    lines: int
    records: int
    queries: int
    other: Mapping[str, int]
    rejected: Mapping[str, int]
    rejected_examples: tuple[RejectedExample, ...] = ()
    outside_run_date: int = 0
    segments: int = 0
    damaged_segments: tuple[DamagedSegment, ...] = ()
    gates: tuple[GateCheck, ...] = ()
    dropped_log_lines: int = 0
    sampled_queries: int = 0
    unlogged_queries: float = 0.0
    unlogged_texts: UnloggedTexts = NOTHING_REDACTED
    leaf_queries: int = 0

    def __post_init__(self) -> None:
        if len(self.rejected_examples) > MAX_REJECTED_EXAMPLES:
            raise ValueError(f"{len(self.rejected_examples)} examples, at most {MAX_REJECTED_EXAMPLES}")

    @property
    def failed_gates(self) -> tuple[GateCheck, ...]:
        """Return the checks that stopped this table."""
        return tuple(gate for gate in self.gates if not gate.success)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the report of ``table`` for the night of ``run_date`` says. ``created_at`` is in UTC.

    ``unit``: what the optimiser maximised. ``nights``: how many nights voted, this one included; the
    saving is that of the window, older nights counting less. ``show_literals``: the setting
    that lets literals through. ``star_trees``, ``skipping``: null where the night looked at none;
    ``sections``: those of users' own families, by family.
    ``lake_only``: the table has no segments, so that only ``skipping`` tells anything of it. ``answers``:
    chosen indexes of other families that serve whole queries.
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
    star_trees: StarTrees | None = None
    skipping: SkippingIndexes | None = None
    sections: Mapping[str, Any] = field(default_factory=dict)
    lake_only: bool = False
    answers: tuple[ChosenAnswer, ...] = ()
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.created_at.utcoffset() != timedelta(0):
            raise ValueError(f"created_at {self.created_at.isoformat()} is not in UTC")
