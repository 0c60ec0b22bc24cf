"""The segments of a live table: their sizes and order, and whether they are as a config says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.advisor.deployment.forecast import TableSize
from starskip.advisor.deployment.replay import Options
from starskip.advisor.families.families import named
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.pinot.cluster.controller import Controller
from starskip.pinot.column_key import INDEX_CONFIG
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.star_trees_key import StarTreesKey

MAX_LOOKED_AT = 40
"""Segments of a table that are looked into, evenly spread and the newest among them."""
_NO_COLUMN = "$none"
_DIGITS = re.compile(r"(\d+)")


_SKIPPING_SINCE = (1, 2)
"""skipIndexes is of 1.2; an older Pinot takes no notice of it, and would scan as before."""
_INDEX = "_index"


def table_size(controller: Controller, table: str) -> TableSize:
    """Return the sizes of the segments of a table with its type, as the servers tell them."""
    name, table_type = without_type(table)
    told = controller.sizes(name).get("realtimeSegments" if table_type == "REALTIME" else "offlineSegments")
    segments = (told or {}).get("segments") or {}
    by_server: dict[str, tuple[int, int]] = {}
    largest = 0
    for of_segment in segments.values():
        for server, info in (of_segment.get("serverInfo") or {}).items():
            # Below 0 is a server's way to say that it does not know.
            held = max(int(info.get("diskSizeInBytes") or 0), 0)
            count, total = by_server.get(server, (0, 0))
            by_server[server] = (count + 1, total + held)
            largest = max(largest, held)
    return TableSize(len(segments), largest, by_server)


def newest_first(segments: Sequence[str]) -> list[str]:
    """Return segments by their names, newest first: names end in times or numbers that grow."""
    return sorted(segments, key=_natural, reverse=True)


def _natural(name: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in _DIGITS.split(name) if part]


def looked_at(segments: Sequence[str]) -> list[str]:
    """Return the segments that are looked into, the newest first."""
    ordered = newest_first(segments)
    step = max(len(ordered) / MAX_LOOKED_AT, 1.0)
    return [ordered[int(number * step)] for number in range(min(len(ordered), MAX_LOOKED_AT))]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The indexes that segments must have, and must not have, and how many star-trees at least or at most.

    ``present`` and ``absent``: a column, and an index by the name that the metadata of segments has for it.
    ``trees``: None where their number does not change.
    """

    present: frozenset[tuple[str, str]]
    absent: frozenset[tuple[str, str]]
    trees: int | None

    @property
    def columns(self) -> list[str]:
        """The columns to ask for; one that there is not, where only star-trees are asked for."""
        return sorted({column for column, _ in (*self.present, *self.absent)}) or [_NO_COLUMN]

    @property
    def is_nothing(self) -> bool:
        """True if no index is asked for."""
        return not self.present and not self.absent and self.trees is None

    def reversed(self, trees: int | None) -> Wanted:
        """Return what is wanted once the change is taken back."""
        return Wanted(self.absent, self.present, trees)

    def is_met_by(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a segment is as wanted, by what the servers say of it.

        What cannot be built on a segment is not missed: indexes on a raw column there, and those that a
        sorted column has without being asked.
        """
        indexes = metadata.get("indexes")
        if not isinstance(indexes, Mapping):
            return False
        facts = {
            each.get("columnName"): each for each in metadata.get("columns") or () if isinstance(each, dict)
        }
        for column, index in self.present:
            held = indexes.get(column)
            is_raw = isinstance(held, Mapping) and held.get("dictionary") == "NO"
            if isinstance(held, Mapping) and held.get(index) == "NO" and not is_raw:
                return False
        for column, index in self.absent:
            held = indexes.get(column)
            is_sorted = bool((facts.get(column) or {}).get("sorted"))
            if isinstance(held, Mapping) and held.get(index) == "YES" and not is_sorted:
                return False
        return self.trees is None or trees_in(metadata) == self.trees


def trees_in(metadata: Mapping[str, Any]) -> int:
    """Return the number of star-trees that the servers say a segment has."""
    trees = metadata.get("star-tree-index")
    return len(trees) if isinstance(trees, list) else 0


def wanted_of(indexes: Sequence[AdvisedIndex], config: Mapping[str, Any], *, has_trees: bool) -> Wanted:
    """Return what segments must be like under ``config``; ``has_trees``: its star-trees change."""
    present: set[tuple[str, str]] = set()
    absent: set[tuple[str, str]] = set()
    for each in indexes:
        family = named(each.family)
        name = family.path.segment_index.replace("_", "-") if family and family.path else ""
        if name:
            (absent if each.is_drop else present).update((column, name) for column in each.columns)
    return Wanted(frozenset(present), frozenset(absent), tree_count(config) if has_trees else None)


def tree_count(config: Mapping[str, Any]) -> int:
    """Return the number of star-trees that a config asks for."""
    held = config.get(INDEX_CONFIG) or {}
    return len(held.get("starTreeIndexConfigs") or ()) + bool(held.get("enableDefaultStarTree"))


def is_star_tree(index: AdvisedIndex) -> bool:
    """Return whether an index is a star-tree of Pinot."""
    family = named(index.family)
    return family is not None and isinstance(family.config, StarTreesKey)


def hiding_options(
    index: AdvisedIndex,
    release: tuple[int, ...],
    config: Mapping[str, Any],
    *,
    only_trees_of: Sequence[AdvisedIndex] = (),
) -> Options | None:
    """Return the options of queries that do without ``index``; None if it cannot be hidden by itself.

    A query does without all star-trees or none: one is hidden by itself if ``config`` has no other.
    """
    family = named(index.family)
    if family is None or index.is_drop:
        return None
    if is_star_tree(index):
        is_only = tree_count(config) == 1 == sum(map(is_star_tree, only_trees_of))
        return {"useStarTree": False} if is_only else None
    if family.path is None or not family.path.segment_index.endswith(_INDEX) or release < _SKIPPING_SINCE:
        return None
    kind = family.path.segment_index.removesuffix(_INDEX)
    return {"skipIndexes": "&".join(f"{column}={kind}" for column in index.columns)}
