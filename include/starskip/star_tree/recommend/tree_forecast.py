"""What one tree would take and save, from the simulated trees of all parts of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from starskip.errors import UnsupportedQuery
from starskip.star_tree.locked_database import locked_database
from starskip.star_tree.recommend.asked_shape import AnswerableShape
from starskip.star_tree.recommend.cuboids import Dimensions
from starskip.star_tree.recommend.simulated_tree import Flags, SimulatedTree, TreeLayout
from starskip.star_tree.recommend.size_estimate import pinot_size_estimate, size_estimate
from starskip.star_tree.recommend.table_sample import TablePart, TableSample
from starskip.star_tree.scalar_expressions import ScalarExpressions
from starskip.star_tree.star_tree_config import StarTreeConfig


@dataclass(frozen=True, slots=True)
class TreeForecast:
    """``documents`` of the tree, and what a shape's query reads of them; ``size_bytes`` once weighed."""

    layout: TreeLayout
    documents: float
    documents_read: Mapping[str, float]
    size_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class _Scan:
    """One example on one part: which dimensions it uses, and which of their codes pass."""

    used: Dimensions
    masks: Mapping[str, Flags]
    share: float


class Forecaster:
    """Forecasts for the trees of one table; what several of them share is computed once."""

    def __init__(self, sample: TableSample, shapes: Sequence[AnswerableShape]) -> None:
        """Evaluate the predicates of ``shapes`` over the dictionaries."""
        self.sample = sample
        self.refused: dict[str, str] = {}
        expressions = ScalarExpressions(locked_database())
        self._scans: dict[str, list[list[_Scan]]] = {}
        for shape in shapes:
            try:
                self._scans[shape.shape_id] = [
                    _scans(shape, part, number, expressions) for number, part in enumerate(sample.parts)
                ]
            except UnsupportedQuery as error:
                self.refused[shape.shape_id] = str(error)

    def forecast(self, layout: TreeLayout, shapes: Sequence[AnswerableShape]) -> TreeForecast:
        """Return how many documents there are, and how many a mean query of each of ``shapes`` reads."""
        trees = self._trees(layout)
        scale = self.sample.scale
        documents = scale * sum(tree.counts().documents for tree in trees)
        read = {}
        for shape in shapes:
            on_parts = zip(trees, self._scans[shape.shape_id], strict=True)
            read[shape.shape_id] = scale * sum(
                scan.share * tree.documents_read(scan.used, scan.masks)
                for tree, scans in on_parts
                for scan in scans
            )
        return TreeForecast(layout, documents, read)

    def base_documents(self, dimensions: Dimensions) -> float:
        """Return the documents without a star of any tree of these dimensions; infinite where not known."""
        cuboids = [part.cuboids for part in self.sample.parts]
        if not all(each.knows(dimensions) for each in cuboids):
            return inf
        return self.sample.scale * sum(each.combinations(dimensions).total for each in cuboids)

    def weighed(self, forecast: TreeForecast, config: StarTreeConfig) -> TreeForecast:
        """Return the forecast with the bytes of the tree."""
        total = 0.0
        for tree, part in zip(self._trees(forecast.layout), self.sample.parts, strict=True):
            if part.rows is None:
                total += pinot_size_estimate(tree, config.measures).size_bytes
                continue
            codes = {name: part.rows.codes[name] for name in config.dimensions_split_order}
            total += size_estimate(tree, config, replace(part.rows, codes=codes)).size_bytes
        return replace(forecast, size_bytes=self.sample.scale * total)

    def cardinality(self, dimension: str) -> int:
        """Return the distinct values of a dimension in the largest part."""
        return max(len(part.cuboids.values[dimension]) for part in self.sample.parts)

    def matching_ratio(self, shape: AnswerableShape, dimension: str) -> float:
        """Return the share of the values of ``dimension`` that the shape's predicates let through."""
        scans = [scan for part in self._scans[shape.shape_id] for scan in part]
        return float(
            np.mean([scan.masks[dimension].mean() if dimension in scan.masks else 1.0 for scan in scans])
        )

    def _trees(self, layout: TreeLayout) -> list[SimulatedTree]:
        return [SimulatedTree(part.cuboids, layout) for part in self.sample.parts]


def _scans(
    shape: AnswerableShape, part: TablePart, number: int, expressions: ScalarExpressions
) -> list[_Scan]:
    found = []
    for query, share in shape.examples:
        masks: dict[str, Flags] = {}
        for each in query.conjuncts:
            if each.column is not None:
                values = part.cuboids.values[each.column]
                mask = expressions.mask((number, each.column), each.column, values, each.expression)
                masks[each.column] = masks[each.column] & mask if each.column in masks else mask
        # As when it is answered: what everything passes asks nothing.
        masks = {name: mask for name, mask in masks.items() if not mask.all()}
        used = frozenset(masks) | {group.column for group in query.group_by}
        found.append(_Scan(used, masks, share))
    return found
