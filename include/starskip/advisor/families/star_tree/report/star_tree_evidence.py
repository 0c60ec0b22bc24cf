"""The star-trees of a table in its report: chosen, built, refused, proved against a scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starskip.number_text import count

MAX_STAR_TREES = 20
MAX_ANSWERED_SHAPES = 100


STAR_TREES_KEY = "starTreeIndexConfigs"
"""The key of tableIndexConfig that lists star-trees."""


@dataclass(frozen=True, slots=True)
class AnsweredShape:
    """A query shape that a tree was chosen for, and the entries of its queries, in and post filter."""

    shape_id: str
    masked_text: str
    queries: int
    entries_scanned: int


@dataclass(frozen=True, slots=True)
class ChosenStarTree:
    """One star-tree in Pinot's terms, with the reason of the choice and the outcome of its build.

    ``saving_ratio``: share of all entries that its queries no longer scan, null if not known. ``outcome``: a
    code, such as "built", "refreshed", "rebuilt", "unchanged", "failed" or "not_built"; ``detail`` is the
    clause that explains it. ``documents`` and ``size_bytes``: of the built tree, null without one.
    ``is_in_force``: the table's configuration holds the tree already, and ``shapes`` are the shapes that it
    answers today.
    """

    dimensions: tuple[str, ...]
    skipped_star_nodes: tuple[str, ...]
    pairs: tuple[str, ...]
    max_leaf_records: int
    outcome: str
    detail: str | None = None
    shapes: tuple[AnsweredShape, ...] = ()
    saving_ratio: float | None = None
    estimated_documents: int | None = None
    estimated_bytes: int | None = None
    documents: int | None = None
    size_bytes: int | None = None
    is_in_force: bool = False

    @property
    def most_documents(self) -> int:
        """Return the bound: the documents that a query reads at most in one branch."""
        most = self.max_leaf_records
        return most if self.documents is None else min(most, self.documents)

    def __post_init__(self) -> None:
        if len(self.shapes) > MAX_ANSWERED_SHAPES:
            raise ValueError(f"{len(self.shapes)} shapes of a star-tree, at most {MAX_ANSWERED_SHAPES}")


@dataclass(frozen=True, slots=True)
class RefusedStarTree:
    """A star-tree that was not chosen: ``reason`` is a code, ``detail`` a sentence with figures."""

    dimensions: tuple[str, ...]
    pairs: tuple[str, ...]
    reason: str
    detail: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ShapeOfStarskipOnly:
    """A shape that Starskip's tree answers on the lake, and Pinot of the version advised for does not.

    ``reason`` is a code, ``detail`` the clause that says why. Its queries vote for indexes.
    """

    shape: AnsweredShape
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class ProvedShape:
    """One shape answered both ways, from a tree and by a scan, with the literals of ``instances`` queries.

    ``verdict``: "equal", "within_bound" (approximate, and no further apart than the answer states),
    "not_comparable", "different", "not_answered" or "failed"; ``detail`` explains it where needed. ``tree``
    counts from 1 in ``StarTreeEvidence.chosen``, null if no tree answered. Rows and times are means over the
    instances; an aggregated document is one row.
    """

    shape_id: str
    masked_text: str
    tree: int | None
    instances: int
    verdict: str
    detail: str | None
    rows_read_from_tree: float | None
    rows_read_by_scan: float | None
    tree_ms: float | None
    scan_ms: float | None

    @property
    def is_agreed(self) -> bool:
        """Return whether both answers are the same, up to the bounds that the tree's answer states."""
        return self.verdict in ("equal", "within_bound")


@dataclass(frozen=True, slots=True)
class StarTreeEvidence:
    """The star-trees of one table; ``note`` says why no tree was looked for, null if some were.

    ``unanswerable``: queries that Pinot answers from no star-tree, by reason code. ``by_starskip_only``: the
    shapes among them that a chosen tree answers on the lake. ``table_rows``: rows of the lake table that
    trees are built from, null without one. ``table_bytes``: bytes of that table, or of the segments.
    ``not_proved``: sentences on queries that were not asked both ways, null if all were.
    """

    chosen: tuple[ChosenStarTree, ...] = ()
    refused: tuple[RefusedStarTree, ...] = ()
    proved: tuple[ProvedShape, ...] = ()
    note: str | None = None
    unanswerable: Mapping[str, int] = field(default_factory=dict)
    by_starskip_only: tuple[ShapeOfStarskipOnly, ...] = ()
    table_rows: int | None = None
    table_bytes: int | None = None
    not_proved: str | None = None

    @property
    def proposed(self) -> tuple[ChosenStarTree, ...]:
        """Chosen trees that the table's configuration does not hold yet."""
        return tuple(tree for tree in self.chosen if not tree.is_in_force)

    def __post_init__(self) -> None:
        if len(self.chosen) > MAX_STAR_TREES:
            raise ValueError(f"{len(self.chosen)} star-trees of a table, at most {MAX_STAR_TREES}")


def star_tree_entry(tree: ChosenStarTree) -> dict[str, Any]:
    """Return the entry that lets Pinot build ``tree``."""
    return {
        "dimensionsSplitOrder": list(tree.dimensions),
        "skipStarNodeCreationForDimensions": list(tree.skipped_star_nodes),
        "functionColumnPairs": list(tree.pairs),
        "maxLeafRecords": tree.max_leaf_records,
    }


def star_tree_words(entry: Mapping[str, Any]) -> str:
    """Return the dimensions and pairs of an entry in one line."""
    dimensions = ", ".join(map(str, entry.get("dimensionsSplitOrder") or ()))
    pairs = [str(pair) for pair in entry.get("functionColumnPairs") or ()]
    pairs += [
        f"{each.get('aggregationFunction')}__{each.get('columnName', '*')}"
        for each in entry.get("aggregationConfigs") or ()
    ]
    most = entry.get("maxLeafRecords")
    leaf = f", at most {count(most)} records a leaf" if isinstance(most, int) and most > 0 else ""
    return f"by {dimensions}: {', '.join(pairs)}{leaf}"
