"""Collect the star-tree section of a table's report from the night's artefacts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from starskip.advisor.families.star_tree.chosen_trees import ChosenTree, chosen_trees, held_trees
from starskip.advisor.families.star_tree.report.star_tree_evidence import (
    MAX_ANSWERED_SHAPES,
    MAX_STAR_TREES,
    AnsweredShape,
    ChosenStarTree,
    ProvedShape,
    RefusedStarTree,
    ShapeOfStarskipOnly,
    StarTreeEvidence,
)
from starskip.advisor.run.artefact_rows import Row, published_rows
from starskip.advisor.run.night import Night
from starskip.advisor.verification.unproved_words import is_asked, unproved_sentences
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.sql.masking import mask_literals
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.manifest import Part

_WORST_FIRST = ("failed", "different", "not_answered", "not_comparable", "within_bound", "equal")
"""The verdict of a shape is the worst of its queries'."""

Shapes = Mapping[str, ShapeWorkload]


def star_tree_report(
    night: Night, table: str, advice: Part, workload: Sequence[ShapeWorkload]
) -> StarTreeEvidence | None:
    """Return the section on the star-trees of ``table``, None if the night did not look at star-trees.

    ``advice``: the table's part of ``recommendations``.
    """
    builds, properties = published_rows(night, "star_tree_builds", table)
    proofs, _ = published_rows(night, "verdicts", table)
    if not builds and "star_trees" not in advice.properties:
        return None
    shapes = {shape.shape_id: shape for shape in workload}
    known = (*held_trees(table, advice), *chosen_trees(table, advice))
    chosen = {tree.config: tree for tree in reversed(known)}
    lake_bytes = properties.get("lake_bytes")
    return StarTreeEvidence(
        chosen=tuple(_chosen(row, chosen, shapes) for row in builds[:MAX_STAR_TREES]),
        refused=tuple(map(_refused, advice.properties.get("refused_star_trees", ()))),
        proved=_proved(filter(is_asked, proofs), shapes),
        note=advice.properties.get("star_trees_note") or None,
        by_starskip_only=_by_starskip_only(night, table, advice, shapes),
        unanswerable=advice.properties.get("unanswerable_by_star_trees", {}),
        table_rows=next((row["rows"] for row in builds if row["rows"] is not None), None),
        table_bytes=advice.properties.get("table_bytes") if lake_bytes is None else lake_bytes,
        not_proved=unproved_sentences(proofs, {each: shapes[each].entries_scanned for each in shapes}),
    )


def _chosen(row: Row, chosen: Mapping[StarTreeConfig, ChosenTree], shapes: Shapes) -> ChosenStarTree:
    config = StarTreeConfig.from_document(json.loads(row["config"]))
    tree = chosen.get(config)
    answered = [shapes[shape_id] for shape_id in (tree.shapes if tree else ()) if shape_id in shapes]
    return ChosenStarTree(
        dimensions=config.dimensions_split_order,
        skipped_star_nodes=config.skip_star_node_creation_for_dimensions,
        pairs=tuple(pair.name for pair in config.function_column_pairs),
        max_leaf_records=config.max_leaf_records,
        outcome=row["outcome"],
        detail=row["detail"],
        shapes=tuple(map(_answered, sorted(answered, key=_most_first)[:MAX_ANSWERED_SHAPES])),
        saving_ratio=tree.saving_ratio if tree else None,
        is_in_force=tree.is_in_force if tree else False,
        estimated_documents=row["estimated_documents"],
        estimated_bytes=row["estimated_bytes"],
        documents=row["documents"],
        size_bytes=row["size_bytes"],
    )


def _most_first(shape: ShapeWorkload) -> tuple[int, str]:
    return -shape.entries_scanned, shape.shape_id


def _answered(shape: ShapeWorkload) -> AnsweredShape:
    text = mask_literals(shape.text, quoted_names=True)
    return AnsweredShape(shape.shape_id, text, shape.queries, shape.entries_scanned)


def _by_starskip_only(
    night: Night, table: str, advice: Part, shapes: Shapes
) -> tuple[ShapeOfStarskipOnly, ...]:
    """Return the shapes that the lake's trees answer and Pinot's do not; none without a lake table."""
    if table not in night.lake_tables:
        return ()
    listed = advice.properties.get("answered_by_starskip_only", ())
    return tuple(
        ShapeOfStarskipOnly(_answered(shapes[each["shape_id"]]), each["reason"], each["detail"])
        for each in listed
        if each["shape_id"] in shapes
    )


def _refused(document: Mapping[str, Any]) -> RefusedStarTree:
    config = StarTreeConfig.from_document(document["config"])
    return RefusedStarTree(
        dimensions=config.dimensions_split_order,
        pairs=tuple(pair.name for pair in config.function_column_pairs),
        reason=document["reason"],
        detail=document["detail"],
        size_bytes=document["size_bytes"],
    )


def _proved(rows: Iterable[Row], shapes: Shapes) -> tuple[ProvedShape, ...]:
    by_shape: dict[str, list[Row]] = {}
    for row in rows:
        by_shape.setdefault(row["shape_id"], []).append(row)
    return tuple(_proved_shape(shapes.get(shape_id), of_shape) for shape_id, of_shape in by_shape.items())


def _proved_shape(shape: ShapeWorkload | None, rows: Sequence[Row]) -> ProvedShape:
    worst = min(rows, key=lambda row: _WORST_FIRST.index(row["verdict"]))
    return ProvedShape(
        shape_id=worst["shape_id"],
        masked_text=mask_literals(shape.text, quoted_names=True) if shape else "",
        tree=worst["tree"],
        instances=len(rows),
        verdict=worst["verdict"],
        detail=worst["detail"],
        rows_read_from_tree=_mean(rows, "tree_rows_read"),
        rows_read_by_scan=_mean(rows, "scan_rows_read"),
        tree_ms=_mean(rows, "tree_ms"),
        scan_ms=_mean(rows, "scan_ms"),
    )


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row[name] is not None]
    return fmean(values) if values else None
