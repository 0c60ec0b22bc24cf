"""Queries of the night's ``workload`` that star-trees of a table claim to answer, with what these save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from starskip.advisor.families.star_tree.chosen_trees import chosen_trees, held_trees
from starskip.advisor.run.night import Night
from starskip.advisor.verification.proofs_within import WantedProof
from starskip.advisor.workload.shape_workload import Instance, Literals, ShapeWorkload, workload_shapes
from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import masked
from starskip.sql.query_text import query_text
from starskip.star_tree.aggregation_query import aggregation_query
from starskip.star_tree.serving.fitting_tree import FittingTree, fitting_tree
from starskip.star_tree.serving.tree_set import TreeSet
from starskip.storage.snapshot import Snapshot, SnapshotSource


def wanted_queries(
    night: Night, table: str, trees: TreeSet, snapshot_of: SnapshotSource
) -> Iterator[WantedProof[str]]:
    """Yield queries of the shapes that a tree claims, or was chosen, to answer, the largest scans first."""
    workload = snapshot_of("workload", night.date_text)
    assert workload is not None
    advised = _advised(table, snapshot_of("recommendations", night.date_text))
    for shape in sorted(workload_shapes(workload.read_table([table])), key=_most_first):
        if not (shape.instances and _is_asked(trees, shape, shape.shape_id in advised)):
            continue
        saving = shape.entries_scanned - shape.queries * advised.get(shape.shape_id, 0.0)
        literals = sorted(shape.instances, key=partial(_most_scanned, shape))
        asked = literals[: night.settings.building.verified_instances]
        for instance, each in enumerate(asked, start=1):
            yield WantedProof(shape.shape_id, instance, saving, query_text(shape.skeleton, each))


def _advised(table: str, advice: Snapshot | None) -> Mapping[str, float]:
    """Return the documents that a query of each shape reads of the tree chosen for it, 0 if not estimated."""
    part = advice.parts([table]).get(table) if advice else None
    trees = (*chosen_trees(table, part), *held_trees(table, part)) if part else ()
    return {shape: documents or 0.0 for tree in trees for shape, documents in tree.shapes.items()}


def _most_first(shape: ShapeWorkload) -> tuple[int, str]:
    return -shape.entries_scanned, shape.shape_id


def _most_scanned(shape: ShapeWorkload, literals: Literals) -> tuple[int, Literals]:
    instance: Instance = shape.instances[literals]
    return (-instance.entries_scanned_in_filter, literals)


def _is_asked(trees: TreeSet, shape: ShapeWorkload, is_advised: bool) -> bool:
    """Return whether a tree has to answer the shape, or says that it can.

    Pinot's trees answer some shapes that Starskip's never do, such as groups by an expression of two columns.
    """
    if not shape.is_parsed:
        return False
    try:
        query = aggregation_query(masked(shape.skeleton), "pinot", trees.published.schema.names)
    except UnsupportedQuery:
        return False
    return is_advised or isinstance(fitting_tree(query, trees.trees), FittingTree)
