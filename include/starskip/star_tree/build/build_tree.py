"""One tree of aggregated documents: nodes too large for a task are cut by ranges of their dimension.

A task takes a range of values. The star child, without the dimension, is cut again; a skewed value is cut by
the next dimension. The driver holds only counts and names of files, some for each range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from starskip.star_tree.build.document_files import StoredDocuments, code_bins
from starskip.star_tree.build.node_tasks import BuiltFiles, MergedRange, NodeRange, NodeTasks, Waiting
from starskip.star_tree.build.tree_parts import Prefix, SplitNode, TreeLayout, TreePart
from starskip.storage.manifest import DataFile

T = TypeVar("T")
R = TypeVar("R")

DOCUMENTS_PER_TASK = 500_000
"""Documents of a task before star nodes are added; with these, some hundreds of megabytes."""


class RunTasks(Protocol):
    """Runs a function over items, in this process or on a cluster; results are small."""

    def __call__(self, label: str, items: Sequence[T], function: Callable[[T], R]) -> list[R]:
        """Return the results in the order of the items; ``label`` is for the progress display."""
        ...


@dataclass(slots=True)
class _Growing:
    parts: list[TreePart] = field(default_factory=list)
    split_nodes: list[SplitNode] = field(default_factory=list)
    files: list[DataFile] = field(default_factory=list)

    def keep(self, built: BuiltFiles) -> None:
        self.parts.append(built.part)
        self.files.extend(built.files)


@dataclass(frozen=True, slots=True)
class BuiltTree:
    """A tree's layout and the files that it names."""

    layout: TreeLayout
    files: tuple[DataFile, ...]


def build_tree(
    run_tasks: RunTasks,
    tasks: NodeTasks,
    pieces: Sequence[StoredDocuments],
    *,
    documents_per_task: int = DOCUMENTS_PER_TASK,
) -> BuiltTree:
    """Return the tree of all documents of ``pieces``, which may hold the same combination several times."""
    grown = _Growing()
    limit = max(documents_per_task, tasks.rules.max_leaf_records)
    works = [NodeRange((), tuple(Waiting(piece) for piece in pieces))] if pieces else []
    while works:
        whole = [work for work in works if _fits(work, limit, tasks)]
        cut = [work for work in works if not _fits(work, limit, tasks)]
        ranges = [replace(work, codes=codes) for work in cut for codes in _bins(work, limit)]
        merged = _by_prefix(ranges, run_tasks("merging documents", ranges, tasks.merge))
        jobs: list[Any] = [("node", work) for work in whole]
        works = []
        oversized: dict[Prefix, list[Waiting]] = {}
        for prefix, found in merged.items():
            jobs_of_node, larger = _split(prefix, found, limit, tasks, grown)
            jobs += jobs_of_node
            works += larger
            oversized[prefix] = [w for work in larger if len(work.prefix) > len(prefix) for w in work.inputs]
        built = run_tasks("building subtrees", jobs, _Job(tasks))
        star_inputs: dict[Prefix, list[Waiting]] = {}
        for (kind, work), files in zip(jobs, built, strict=True):
            grown.keep(files)
            if kind == "children" and files.for_star_child is not None:
                star_inputs.setdefault(work.prefix, []).append(files.for_star_child)
        works += _star_works(merged, star_inputs, oversized, tasks)
    grown.parts.sort(key=lambda part: part.place)
    return BuiltTree(TreeLayout(tuple(grown.parts), tuple(grown.split_nodes)), tuple(grown.files))


@dataclass(frozen=True, slots=True)
class _Job:
    tasks: NodeTasks

    def __call__(self, job: tuple[str, NodeRange]) -> BuiltFiles:
        kind, work = job
        if kind == "node":
            return self.tasks.build_node(work)
        return self.tasks.build_children(work) if kind == "children" else self.tasks.total(work)


def _fits(work: NodeRange, limit: int, tasks: NodeTasks) -> bool:
    """Return whether one task can hold the node; below the last dimension all documents become one."""
    is_last = len(work.prefix) == len(tasks.rules.star_codes)
    return is_last or sum(each.rows for each in work.inputs) <= limit


def _bins(work: NodeRange, limit: int) -> list[tuple[int, int]]:
    return code_bins([each.stored for each in work.inputs], limit)


def _by_prefix(ranges: Sequence[NodeRange], merged: Sequence[MergedRange]) -> dict[Prefix, list[MergedRange]]:
    found: dict[Prefix, list[MergedRange]] = {}
    for work, result in zip(ranges, merged, strict=True):
        found.setdefault(work.prefix, []).append(result)
    return found


def _split(
    prefix: Prefix, merged: list[MergedRange], limit: int, tasks: NodeTasks, grown: _Growing
) -> tuple[list[tuple[str, NodeRange]], list[NodeRange]]:
    """Return the tasks of a node with merged ranges, and the nodes that are still too large for one task."""
    inputs = tuple(each.waiting for each in merged)
    if sum(each.rows for each in inputs) <= limit:
        return [("node", NodeRange(prefix, inputs))], []
    depth = len(prefix)
    jobs: list[tuple[str, NodeRange]] = []
    larger: list[NodeRange] = []
    for each in merged:
        is_node = (
            each.distinct_codes == 1 and each.waiting.rows > limit and depth + 1 < len(tasks.rules.star_codes)
        )
        if is_node:
            larger.append(NodeRange((*prefix, each.codes[0]), (each.waiting,)))
        else:
            jobs.append(("children", NodeRange(prefix, (each.waiting,))))
    has_several = sum(each.distinct_codes for each in merged) > 1
    has_total = has_several and tasks.rules.skips_star[depth]
    if has_total:
        jobs.append(("total", NodeRange(prefix, inputs)))
    grown.split_nodes.append(
        SplitNode(prefix, (*prefix, tasks.rules.star_codes[depth]) if has_total else None)
    )
    return jobs, larger


def _star_works(
    merged: dict[Prefix, list[MergedRange]],
    star_inputs: dict[Prefix, list[Waiting]],
    oversized: dict[Prefix, list[Waiting]],
    tasks: NodeTasks,
) -> list[NodeRange]:
    """Return the star children of the nodes that were split, each with all documents of its node."""
    works = []
    for prefix, found in merged.items():
        depth = len(prefix)
        was_split = prefix in star_inputs or oversized[prefix]
        if not was_split or tasks.rules.skips_star[depth] or sum(each.distinct_codes for each in found) < 2:
            continue
        of_larger = [replace(each, dropped=(*each.dropped, depth)) for each in oversized[prefix]]
        inputs = (*star_inputs.get(prefix, []), *of_larger)
        works.append(NodeRange((*prefix, tasks.rules.star_codes[depth]), inputs))
    return works
