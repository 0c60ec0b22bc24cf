"""Mask every text of a log in the evidence before it is shown."""

from __future__ import annotations

from dataclasses import replace

from starskip.indexes.skipping.report.section_data import SkippingIndexes
from starskip.indexes.star_tree.report.star_tree_evidence import StarTrees
from starskip.reports.evidence import Evidence
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import mask_condition, mask_literals


def masked_evidence(evidence: Evidence) -> Evidence:
    """Return the evidence as it may be shown: texts masked, full texts only where ``show_literals`` is set.

    The one door to all renderers: a stage that forgets to mask is made good for here.
    """
    shapes = tuple(
        replace(
            shape,
            masked_text=mask_literals(shape.masked_text, quoted_names=True),
            full_text=shape.full_text if evidence.show_literals else None,
        )
        for shape in evidence.shapes.top
    )
    examples = tuple(
        replace(each, masked_text=mask_unparsed(each.masked_text))
        for each in evidence.data_quality.rejected_examples
    )
    return replace(
        evidence,
        shapes=replace(evidence.shapes, top=shapes),
        star_trees=_masked_star_trees(evidence.star_trees) if evidence.star_trees else None,
        skipping=_masked_skipping(evidence.skipping) if evidence.skipping else None,
        data_quality=replace(evidence.data_quality, rejected_examples=examples),
    )


def _masked_star_trees(trees: StarTrees) -> StarTrees:
    chosen = (
        replace(tree, shapes=tuple(replace(s, masked_text=_masked(s.masked_text)) for s in tree.shapes))
        for tree in trees.chosen
    )
    proved = (replace(each, masked_text=_masked(each.masked_text)) for each in trees.proved)
    only = (
        replace(each, shape=replace(each.shape, masked_text=_masked(each.shape.masked_text)))
        for each in trees.by_starskip_only
    )
    return replace(trees, chosen=tuple(chosen), proved=tuple(proved), by_starskip_only=tuple(only))


def _masked_skipping(indexes: SkippingIndexes) -> SkippingIndexes:
    shapes = (replace(each, condition=mask_condition(each.condition)) for each in indexes.shapes)
    replayed = (replace(each, condition=mask_condition(each.condition)) for each in indexes.replayed)
    return replace(indexes, shapes=tuple(shapes), replayed=tuple(replayed))


def _masked(text: str) -> str:
    return mask_literals(text, quoted_names=True)
