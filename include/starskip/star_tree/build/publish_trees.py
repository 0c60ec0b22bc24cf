"""Publishes a table's star-trees: unchanged, extended by new files, or built anew; never stale."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import partial

from starskip.errors import DamagedManifest
from starskip.predicates.column_types import char_length
from starskip.star_tree.build.build_tree import DOCUMENTS_PER_TASK, RunTasks
from starskip.star_tree.build.build_trees import ROWS_PER_TASK, FormerTrees, build_trees
from starskip.star_tree.build.file_digests import damaged_files, digests_by_tasks
from starskip.star_tree.build.published_trees import PublishedPart, data_folder, published_part
from starskip.star_tree.build.source_files import (
    SourceChanges,
    changes_since,
    has_other_columns,
    known_files,
    recorded_files,
    settled_files,
)
from starskip.star_tree.build.source_table import SourceTable, source_table
from starskip.star_tree.build.stored_sources import write_recorded
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import Part


class Outcome(Enum):
    """Outcome of publishing the trees."""

    UNCHANGED = "unchanged"
    REFRESHED = "refreshed"
    BUILT = "built"


@dataclass(frozen=True, slots=True)
class PublishedTrees:
    """The published part, how it came about, and why in a few words."""

    part: Part
    outcome: Outcome
    reason: str


def publish_trees(
    run_tasks: RunTasks,
    store: ArtefactStore,
    order: TreeOrder,
    *,
    now: datetime,
    created_by: str,
    rebuild: bool = False,
    in_place_of: Collection[str] = (),
    clock_ns: Callable[[], int] | None = None,
    rows_per_task: int = ROWS_PER_TASK,
    documents_per_task: int = DOCUMENTS_PER_TASK,
) -> PublishedTrees:
    """Bring the published trees of a table to its order, in one commit.

    Trees of the same configurations over the same files stay. If files were only added, only these are read
    and the former base documents are reused. A changed or removed file can't be subtracted from MIN, MAX or a
    sketch, so everything is built again; likewise with ``rebuild``, and if a file of the trees, or their
    manifest, is gone or damaged. ``now`` stamps the commit. Files written shortly before it are too young to
    be compared by size and time; ``clock_ns`` is read again after all files were read. ``in_place_of``:
    tables whose trees are removed in the same commit. Killed at any moment, the former trees stay published.
    """
    before = published_part(store, order.table)
    known = known_files(before.recorded) if before and before.recorded and not rebuild else {}
    source = source_table(
        order.source_path,
        order.casts,
        known,
        file_format=order.file_format,
        version=order.version,
        run_tasks=run_tasks,
    )
    work = _Work(run_tasks, store, order, source, now, created_by, in_place_of)
    former, reason = (None, "asked for") if rebuild else work.former(before)
    if before is not None and former is not None and reason == "":
        return PublishedTrees(
            work.described(before, former), Outcome.UNCHANGED, "same configuration, same files"
        )
    part = build_trees(
        run_tasks,
        store.staged_write(ARTEFACT, CURRENT),
        order.table,
        source,
        order.configs,
        observed_at_ns=work.observed_at_ns,
        former=former,
        is_named=order.is_named,
        clock_ns=clock_ns,
        rows_per_task=rows_per_task,
        documents_per_task=documents_per_task,
    )
    work.publish(part)
    return PublishedTrees(part, Outcome.REFRESHED if former else Outcome.BUILT, reason)


@dataclass(frozen=True, slots=True)
class _Work:
    run_tasks: RunTasks
    store: ArtefactStore
    order: TreeOrder
    source: SourceTable
    now: datetime
    created_by: str
    in_place_of: Collection[str]

    @property
    def observed_at_ns(self) -> int:
        return int(self.now.timestamp() * 1e9)

    def publish(self, part: Part) -> None:
        self.store.publish(
            ARTEFACT,
            CURRENT,
            {self.order.table: part},
            replace="tables",
            remove=self.in_place_of,
            created_at=self.now,
            created_by=self.created_by,
        )

    def former(self, before: PublishedPart | None) -> tuple[FormerTrees | None, str]:
        """Return the trees that can be reused, and why there is something to do ("" if there is not)."""
        trees = before.trees if before else None
        if before is None or trees is None:
            return None, "its manifest was damaged" if _is_damaged(self.store) else "there was none"
        if tuple(record.config for record in trees.trees) != self.order.configs:
            return None, "another configuration"
        casts = {name: str(type_) for name, type_ in self.source.casts.items()}
        if (trees.source_path, dict(trees.casts), trees.schema) != (
            self.source.path,
            casts,
            self.source.schema,
        ):
            return None, "the table lies elsewhere or has other types"
        if list(map(char_length, trees.schema)) != list(map(char_length, self.source.schema)):
            return None, "its texts were padded otherwise"
        if has_other_columns(trees.column_ids, self.source.column_ids):
            return None, "columns were renamed or made anew"
        if before.recorded is None:
            return None, "its list of files is gone or damaged"
        # The listing of the build, so that both see the same files.
        listed = [file.identity for file in self.source.files]
        changes = changes_since(before.recorded, listed, partial(digests_by_tasks, self.run_tasks))
        if not (changes.is_none or changes.is_growth):
            return None, _reasons(changes)
        folder = data_folder(self.store)
        if bad := damaged_files(self.run_tasks, self.store.storage, folder, before.part):
            return None, f"{_shown([file.file_name for file in bad])} of the tree gone or damaged"
        recorded = settled_files(before.recorded, changes.unchanged, observed_at_ns=self.observed_at_ns)
        former = FormerTrees(trees, recorded, before.part.by_name)
        return former, f"{_files(changes.added)} new" if changes.added else ""

    def described(self, before: PublishedPart, former: FormerTrees) -> Part:
        """Return the part of unchanged trees, updated where more is known of their files now."""
        digests = partial(digests_by_tasks, self.run_tasks)
        recorded = recorded_files(
            self.source, observed_at_ns=self.observed_at_ns, before=former.recorded, digests=digests
        )
        trees = former.trees
        former_terms = (trees.is_named, trees.asked_format, trees.asked_version, dict(trees.column_ids))
        ids = dict(self.source.column_ids)
        ordered = (self.order.is_named, self.order.file_format, self.order.version, ids)
        is_same = recorded == before.recorded and former_terms == ordered
        if is_same and not self.in_place_of and before.is_newest:
            return before.part
        staged = self.store.staged_write(ARTEFACT, CURRENT)
        sources = write_recorded(staged, self.order.table, recorded, self.order.to_document())
        trees = replace(
            former.trees,
            sources_file=sources.name,
            is_named=self.order.is_named,
            asked_format=self.order.file_format,
            asked_version=self.order.version,
            column_ids=ids,
        )
        kept = (file for file in before.part.files if file.name != former.trees.sources_file)
        part = Part((*kept, sources), trees.to_properties())
        self.publish(part)
        return part


def _is_damaged(store: ArtefactStore) -> bool:
    try:
        store.snapshot(ARTEFACT, CURRENT)
    except DamagedManifest:
        return True
    return False


def _reasons(changes: SourceChanges) -> str:
    kinds: Sequence[tuple[str, Sequence[str]]] = (("changed", changes.changed), ("gone", changes.gone))
    what = " and ".join(f"{_files(names)} {kind}" for kind, names in kinds if names)
    return f"{what}, which cannot be subtracted"


def _files(paths: Sequence[str]) -> str:
    return _shown([path.rpartition("/")[2] for path in paths])


def _shown(names: Sequence[str]) -> str:
    return f"{names[0]}{f' and {len(names) - 1} more files' if len(names) > 1 else ''}"
