"""Publishes a table's star-trees: left as they are, grown by new files, or built anew; never stale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.manifest import Part
from starskip.star_tree.build.build_tree import DOCUMENTS_PER_TASK, RunTasks
from starskip.star_tree.build.build_trees import ROWS_PER_TASK, FormerTrees, build_trees
from starskip.star_tree.build.source_files import SourceChanges, changes_since, read_recorded
from starskip.star_tree.build.source_table import SourceTable, source_table
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import ARTEFACT, CURRENT, TableTrees


class Outcome(Enum):
    """What became of the trees."""

    UNCHANGED = "unchanged"
    REFRESHED = "refreshed"
    BUILT = "built"


@dataclass(frozen=True, slots=True)
class PublishedTrees:
    """The published part, how it came about, and why in a few words."""

    part: Part
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class TreeOrder:
    """What to build: the trees of ``table`` over the files at ``source_path``, read with ``casts``.

    ``casts`` names Arrow types by column.
    """

    table: str
    source_path: str
    configs: tuple[StarTreeConfig, ...]
    casts: Mapping[str, str]


def publish_trees(
    run_tasks: RunTasks,
    store: ArtefactStore,
    order: TreeOrder,
    *,
    now: datetime,
    created_by: str,
    rebuild: bool = False,
    rows_per_task: int = ROWS_PER_TASK,
    documents_per_task: int = DOCUMENTS_PER_TASK,
) -> PublishedTrees:
    """Bring the published trees of a table to what is ordered, in one commit.

    Trees of the same configurations over the same files stay. Where files were only added, these alone are
    read and the former base documents are taken over; a changed or removed file can't be subtracted from
    MIN, MAX or a sketch (design.md), so that all is built again; so it is with ``rebuild``. ``now`` stamps
    the commit and tells which files are too young to be told apart by size and time. Killed at any moment,
    the former trees stay published.
    """
    source = source_table(order.source_path, order.casts)
    before = _published(store, order.table)
    former, reason = (None, "asked for") if rebuild else _former(store, before, order, source)
    if former is not None and reason == "":
        return PublishedTrees(before or Part(()), Outcome.UNCHANGED, "same configuration, same files")
    aside = store.write_aside(ARTEFACT, CURRENT)
    part = build_trees(
        run_tasks,
        aside,
        order.table,
        source,
        order.configs,
        observed_at_ns=int(now.timestamp() * 1e9),
        former=former,
        rows_per_task=rows_per_task,
        documents_per_task=documents_per_task,
    )
    store.publish(
        ARTEFACT, CURRENT, {order.table: part}, replace="tables", created_at=now, created_by=created_by
    )
    return PublishedTrees(part, Outcome.REFRESHED if former else Outcome.BUILT, reason)


def published_order(store: ArtefactStore, table: str) -> TreeOrder | None:
    """Return what the published trees of a table were built to, None if there are none."""
    before = _published(store, table)
    trees = _readable(before) if before else None
    if trees is None:
        return None
    configs = tuple(record.config for record in trees.trees)
    return TreeOrder(table, trees.source_path, configs, trees.casts)


def _published(store: ArtefactStore, table: str) -> Part | None:
    snapshot = store.snapshot(ARTEFACT, CURRENT)
    return snapshot.manifest.parts.get(table) if snapshot else None


def _readable(part: Part) -> TableTrees | None:
    try:
        return TableTrees.from_properties(part.properties)
    except (ValueError, KeyError, TypeError):
        return None  # of another version: as if there were none


def _former(
    store: ArtefactStore, before: Part | None, order: TreeOrder, source: SourceTable
) -> tuple[FormerTrees | None, str]:
    """Return the trees that can be taken over, and why there is something to do ("" if there is not)."""
    trees = _readable(before) if before else None
    if before is None or trees is None:
        return None, "there was none"
    if tuple(record.config for record in trees.trees) != order.configs:
        return None, "another configuration"
    casts = {name: str(type_) for name, type_ in source.casts.items()}
    if (trees.source_path, dict(trees.casts), trees.schema) != (source.path, casts, source.schema):
        return None, "the table lies elsewhere or has other types"
    recorded = read_recorded(store.storage, trees.sources_file)
    # As they were listed for the build, so that it is of the files that this tells of.
    changes = changes_since(recorded, [file.identity for file in source.files])
    former = FormerTrees(trees, recorded, {file.name: file for file in before.files})
    if changes.is_none:
        return former, ""
    if changes.is_growth:
        return former, f"{_files(changes.added)} new"
    return None, _reasons(changes)


def _reasons(changes: SourceChanges) -> str:
    told: Sequence[tuple[str, Sequence[str]]] = (("changed", changes.changed), ("gone", changes.gone))
    what = " and ".join(f"{_files(names)} {kind}" for kind, names in told if names)
    return f"{what}, which cannot be subtracted"


def _files(names: Sequence[str]) -> str:
    return f"{names[0].rpartition('/')[2]}{f' and {len(names) - 1} more files' if len(names) > 1 else ''}"
