"""Data of the report's section on a lake table's skipping indexes: chosen, kept, refused, and proofs."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SKIPPING_INDEXES = 100
MAX_REFUSED_INDEXES = 1_000
MAX_SKIPPED_SHAPES = 100
MAX_REPLAYED_SHAPES = 100


@dataclass(frozen=True, slots=True)
class ChosenSkippingIndex:
    """A chosen index and the outcome of its build; ``specification`` as for ``starskip skipping create``.

    ``kind`` is its first word. Ratios are shares of the bytes that all queries read: saved alone, and added
    to the indexes ranked before it. ``measured_bytes``: metadata as collected for the choice, ``size_bytes``:
    as built. ``outcome``: "created", "refreshed", "unchanged", "failed" or "not_built". ``files``: all files
    of the table; ``files_known``: the files that the index covers. Null is unknown.
    """

    specification: str
    kind: str
    columns: tuple[str, ...]
    outcome: str
    detail: str | None = None
    individual_saving_ratio: float | None = None
    progressive_saving_ratio: float | None = None
    measured_bytes: int | None = None
    size_bytes: int | None = None
    files: int | None = None
    files_known: int | None = None

    @property
    def is_behind(self) -> bool:
        """True if the index does not cover all files; every query reads the other files."""
        return self.files is not None and self.files_known is not None and self.files_known < self.files


@dataclass(frozen=True, slots=True)
class OtherSkippingIndex:
    """An index beside the choice, such as "deleted", created "by_hand", or "unchanged"."""

    specification: str
    outcome: str
    detail: str | None = None
    size_bytes: int | None = None
    files: int | None = None
    files_known: int | None = None


@dataclass(frozen=True, slots=True)
class RefusedSkippingIndex:
    """A refused index: ``reason`` is a code, ``detail`` a sentence with figures."""

    specification: str
    reason: str
    detail: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SkippingFactors:
    """Geometric means of sigma, lambda, mu and psi = sigma / (lambda * mu), each above 0 and at most 1.

    ``selectivity``: matching rows / all rows. ``layout_factor``: matching rows / rows in files with a match.
    ``metadata_factor``: rows in files with a match / rows in files read. ``scanning_factor``: rows in files
    read / all rows.
    """

    selectivity: float
    layout_factor: float
    metadata_factor: float
    scanning_factor: float


@dataclass(frozen=True, slots=True)
class SkippedShape:
    """A shape of predicates in Spark's log, and the effect of the chosen indexes on it.

    ``condition`` has no literals. ``queries`` are weighted by age; ``bytes_ratio``: the shape's share of all
    bytes that the log's queries read. ``verdict``: "defined", "no_matching_rows" (psi is undefined),
    "rows_lost" or "not_evaluated"; ``detail`` explains it. ``saving_ratio``: share of the table's bytes that
    skipping indexes leave out by themselves.
    """

    shape_id: str
    condition: str
    queries: float
    bytes_read: int
    bytes_ratio: float
    verdict: str
    detail: str | None = None
    factors: SkippingFactors | None = None
    saving_ratio: float | None = None

    @property
    def left_out(self) -> float:
        """The share of all bytes read that is left out."""
        return self.bytes_ratio * (self.saving_ratio or 0.0)


@dataclass(frozen=True, slots=True)
class ReplayedShape:
    """A shape whose queries Spark ran without and with skipping, with the literals of ``instances`` queries.

    ``verdict``: the worst verdict of its queries, "equal", "not_comparable", "different" or "failed". Files,
    bytes and times are means over the instances, null if none ran both ways.
    """

    shape_id: str
    condition: str
    instances: int
    verdict: str
    detail: str | None
    plain_files_read: float | None
    skipping_files_read: float | None
    plain_bytes_read: float | None
    skipping_bytes_read: float | None
    plain_ms: float | None
    skipping_ms: float | None

    @property
    def is_equal(self) -> bool:
        """True if both runs gave the same rows, each time."""
        return self.verdict == "equal"

    @property
    def leaves_out(self) -> bool:
        """True if files were left out: of the same files, two times differ by chance."""
        return (self.skipping_files_read or 0.0) < (self.plain_files_read or 0.0)


@dataclass(frozen=True, slots=True)
class EvaluatedQueries:
    """Numbers of distinct predicates by verdict; the means are over the ``defined`` predicates."""

    defined: int = 0
    no_matching_rows: int = 0
    rows_lost: int = 0
    not_evaluated: int = 0


@dataclass(frozen=True, slots=True)
class SkippingIndexes:
    """The skipping indexes of one lake table; ``note`` says why there is no advice, null if there is.

    ``table_files``, ``_rows`` and ``_bytes`` count the whole table. ``queries`` (weighted by age) read
    ``total_bytes`` without indexes, and ``saving_ratio`` less with the chosen indexes. ``measured_bytes``:
    all chosen metadata. ``choice`` and ``layout`` are sentences; ``relayout``: the columns to sort by.
    ``location`` and ``metadata_bytes``: of the built metadata; ``build_note``: why nothing was built.
    ``by_secondary``: how many replayed shapes secondary indexes serve too: their section has them.
    ``not_proved``: sentences on queries that were not replayed, null if all were.
    """

    chosen: tuple[ChosenSkippingIndex, ...] = ()
    others: tuple[OtherSkippingIndex, ...] = ()
    refused: tuple[RefusedSkippingIndex, ...] = ()
    other_refused: int = 0
    shapes: tuple[SkippedShape, ...] = ()
    other_shapes: int = 0
    replayed: tuple[ReplayedShape, ...] = ()
    other_replayed: int = 0
    note: str | None = None
    choice: str | None = None
    layout: str | None = None
    relayout: tuple[str, ...] = ()
    means: SkippingFactors | None = None
    evaluated: EvaluatedQueries = EvaluatedQueries()
    sampled_files: int | None = None
    table_files: int | None = None
    table_rows: int | None = None
    table_bytes: int | None = None
    queries: float | None = None
    total_bytes: float | None = None
    saving_ratio: float | None = None
    measured_bytes: int | None = None
    budget_bytes: int | None = None
    location: str | None = None
    metadata_bytes: int | None = None
    files_read: int | None = None
    build_note: str | None = None
    by_secondary: int = 0
    not_proved: str | None = None

    def __post_init__(self) -> None:
        for what, items, limit in (
            ("skipping indexes", self.chosen, MAX_SKIPPING_INDEXES),
            ("skipping indexes beside the choice", self.others, MAX_SKIPPING_INDEXES),
            ("refused skipping indexes", self.refused, MAX_REFUSED_INDEXES),
            ("shapes of predicates", self.shapes, MAX_SKIPPED_SHAPES),
            ("replayed shapes", self.replayed, MAX_REPLAYED_SHAPES),
        ):
            if len(items) > limit:
                raise ValueError(f"{len(items)} {what} of a table, at most {limit}")
