"""Values of the evidence on the night's log, bounded: shapes, latency model, unreadable records, gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starskip.advisor.run.gate_verdicts import GateCheck
from starskip.advisor.workload.unlogged_texts import NOTHING_REDACTED, UnloggedTexts

MAX_SHAPES = 100
MAX_LATENCY_BINS = 2_000
MAX_REJECTED_EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class PlannedPredicate:
    """One predicate of a shape: how Pinot answers it ``today``, and how with the advice (``advised``).

    ``comparison``: in words. Null is a scan; otherwise the kind of the index.
    """

    column: str
    comparison: str
    today: str | None
    advised: str | None


@dataclass(frozen=True, slots=True)
class ShapeEvidence:
    """One shape; ``columns``: of the chosen indexes that serve it; ``latency_ms``: its mean.

    If a chosen star-tree answers it, the tree stands there instead, and the saving is a share of all entries,
    including entries scanned post filter.

    ``full_text`` is one query as logged, null unless the settings ask for it. ``skip_option``: the statement
    by which a query does without the chosen indexes that would have it read more, null if none does.

    ``all_entries_ratio``: its share of all entries of the table's queries. ``entries_a_query`` and
    ``entries_a_query_advised``: what a mean query of it reads in filters and behind them, today and
    predicted with the advice, null without queries. ``plan``: its predicates. ``tree_today``: a star-tree
    answers it already.
    """

    shape_id: str
    masked_text: str
    queries: int
    entries_scanned_in_filter: int
    all_entries_ratio: float
    predicted_saving_ratio: float
    columns: tuple[str, ...]
    latency_ms: float | None = None
    full_text: str | None = None
    skip_option: str | None = None
    entries_a_query: float | None = None
    entries_a_query_advised: float | None = None
    plan: tuple[PlannedPredicate, ...] = ()
    tree_today: bool = False

    @property
    def scanned(self) -> float:
        """Entries of all of its queries, in filters and behind them."""
        return (self.entries_a_query or 0.0) * self.queries

    @property
    def saved(self) -> float:
        """The share of all of its entries that the advice saves; without queries of entries in filters."""
        if self.entries_a_query is None or self.entries_a_query_advised is None:
            return self.predicted_saving_ratio
        read = self.entries_a_query_advised / self.entries_a_query if self.entries_a_query else 1.0
        return 1.0 - read


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes that scan most, most first, and the number and entries of all others."""

    top: tuple[ShapeEvidence, ...]
    other_shapes: int = 0
    other_entries_scanned_in_filter: int = 0

    def __post_init__(self) -> None:
        if len(self.top) > MAX_SHAPES:
            raise ValueError(f"{len(self.top)} shapes in the evidence, at most {MAX_SHAPES}: use top_shapes")


@dataclass(frozen=True, slots=True)
class LatencyBin:
    """One pooled bin: the minimum latency seen at these counters, and the model's prediction."""

    entries_scanned_in_filter: float
    entries_scanned_post_filter: float
    latency_ms: float
    predicted_ms: float | None


@dataclass(frozen=True, slots=True)
class Quantile:
    """Entries scanned in filter and latency at one ``probability`` in [0, 1].

    ``maximum_saving_ms``: the time of these entries, which is the most that indexes could save; null without
    a model.
    """

    probability: float
    entries_scanned_in_filter: float
    latency_ms: float
    maximum_saving_ms: float | None = None


@dataclass(frozen=True, slots=True)
class TimesEvidence:
    """The model that milliseconds are predicted by, fitted on the shapes' own times.

    ``mistrust``: why it is not trusted, empty if it is. ``constant_ms``: what a query takes that neither
    reads nor waits. ``waiting_ms``: the mean time that a query waits for others. ``candidates``: the
    out-of-sample R2 of every model, null if it cannot be judged.
    """

    model: str
    r2: float | None
    trusted: bool
    mistrust: str
    ms_per_query: float
    constant_ms: float
    waiting_ms: float
    candidates: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class LatencyEvidence:
    """The linear fit, or the ``reason`` (a sentence) why it was not ``accepted``.

    ``alpha`` belongs to entries scanned in filter, ``beta`` to entries post filter; R2 is centred.
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
class DataQuality:
    """Counts of read and of rejected records; ``other`` and ``rejected`` count records by reason code.

    ``dropped_log_lines``: lines that the broker says it did not write. ``sampled_queries`` of the log stand
    for ``unlogged_queries`` beside themselves. ``unlogged_texts``: the texts of this table that the broker
    redacted; ``leaf_queries``: its queries that were leaves of multi-stage queries. ``wrapped``: records that
    shippers had put something around, by wrapper. ``pulled``: what a pull from a live Pinot sampled.
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
    wrapped: Mapping[str, int] = field(default_factory=dict)
    pulled: str | None = None

    def __post_init__(self) -> None:
        if len(self.rejected_examples) > MAX_REJECTED_EXAMPLES:
            raise ValueError(f"{len(self.rejected_examples)} examples, at most {MAX_REJECTED_EXAMPLES}")

    @property
    def failed_gates(self) -> tuple[GateCheck, ...]:
        """Return the checks that stopped this table."""
        return tuple(gate for gate in self.gates if not gate.success)


def top_shapes(shapes: tuple[ShapeEvidence, ...]) -> Shapes:
    """Return the MAX_SHAPES that scan most, ties by shape_id, and the rest as counts."""
    ranked = sorted(shapes, key=lambda shape: (-shape.scanned, shape.shape_id))
    rest = ranked[MAX_SHAPES:]
    return Shapes(
        tuple(ranked[:MAX_SHAPES]), len(rest), sum(shape.entries_scanned_in_filter for shape in rest)
    )


def thinned_bins(bins: tuple[LatencyBin, ...], limit: int = MAX_LATENCY_BINS) -> tuple[LatencyBin, ...]:
    """Return at most ``limit`` bins, evenly by rank of latency, the first and the last among them."""
    ranked = sorted(bins, key=lambda each: (each.latency_ms, each.entries_scanned_in_filter))
    if len(ranked) <= limit:
        return tuple(ranked)
    return tuple(ranked[round(i * (len(ranked) - 1) / (limit - 1))] for i in range(limit))
