"""A lake table's skipping indexes in its report: chosen, kept, refused, what they do and prove (seed 003)."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SKIPPING_INDEXES = 100
MAX_REFUSED_INDEXES = 1_000
MAX_SKIPPED_SHAPES = 100
MAX_REPLAYED_SHAPES = 100


@dataclass(frozen=True, slots=True)
class ChosenSkippingIndex:
    """One chosen index, and what became of it; ``specification`` as ``starskip skipping create`` takes it.

    ``kind`` is its first word. Ratios are shares of the bytes that all queries read: what it saves alone, and
    what it adds to those ranked before it. ``measured_bytes``: of the metadata as collected for the choice,
    ``size_bytes``: as kept now. ``outcome``: "created", "refreshed", "unchanged", "failed" or "not_built".
    ``files`` are the table's, ``files_known`` those that the index knows. Null is not known.
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
        """Whether it does not know all files; those that it does not know are read as ever."""
        return self.files is not None and self.files_known is not None and self.files_known < self.files


@dataclass(frozen=True, slots=True)
class OtherSkippingIndex:
    """An index that the night did not choose: "deleted", made "by_hand", or kept as "unchanged", say."""

    specification: str
    outcome: str
    detail: str | None = None
    size_bytes: int | None = None
    files: int | None = None
    files_known: int | None = None


@dataclass(frozen=True, slots=True)
class RefusedSkippingIndex:
    """An index that was not chosen: ``reason`` is a code, ``detail`` a sentence with figures."""

    specification: str
    reason: str
    detail: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SkippingFactors:
    """Geometric means of sigma, lambda, mu and psi = sigma / (lambda * mu), each above 0 and at most 1.

    ``selectivity``: rows that match, of all. ``layout_factor``: rows that match, of those in files with a
    match. ``metadata_factor``: rows in files with a match, of those in files read. ``scanning_factor``: rows
    in files read, of all.
    """

    selectivity: float
    layout_factor: float
    metadata_factor: float
    scanning_factor: float


@dataclass(frozen=True, slots=True)
class SkippedShape:
    """A shape of predicates in Spark's log, and what the chosen indexes do for it.

    ``condition`` has no literals. ``queries`` are weighed by age; ``bytes_ratio``: share of all bytes that
    the log's queries read. ``verdict``: "defined", "no_matching_rows" (psi is undefined), "rows_lost" or
    "not_evaluated"; ``detail`` explains it. ``saving_ratio``: share of the table's bytes that is skipped.
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


@dataclass(frozen=True, slots=True)
class ReplayedShape:
    """One shape that Spark answered without skipping and with it, with the literals of ``instances`` queries.

    ``verdict``: the worst of theirs, "equal", "not_comparable", "different" or "failed". Files, bytes and
    times are means over the instances, null where none ran both ways.
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
        """Whether both ways gave the same rows, each time."""
        return self.verdict == "equal"


@dataclass(frozen=True, slots=True)
class EvaluatedQueries:
    """Distinct predicates by what could be said of them; the means are those of the ``defined`` ones."""

    defined: int = 0
    no_matching_rows: int = 0
    rows_lost: int = 0
    not_evaluated: int = 0


@dataclass(frozen=True, slots=True)
class SkippingIndexes:
    """The skipping indexes of one lake table; ``note`` says why none was looked for, null where some were.

    ``table_files``, ``_rows`` and ``_bytes`` are the table's. ``queries`` (weighed by age) read
    ``total_bytes`` without indexes, and ``saving_ratio`` less with the chosen ones. ``measured_bytes``: of
    all chosen metadata. ``choice`` and ``layout`` are sentences; ``relayout``: the columns to sort by.
    ``location`` and ``metadata_bytes``: of what is kept; ``build_note``: why nothing was built.
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
