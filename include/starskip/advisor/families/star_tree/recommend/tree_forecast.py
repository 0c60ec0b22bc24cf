"""Forecast the size and the savings of one tree from simulated trees of all parts of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from starskip.advisor.families.star_tree.recommend.asked_shape import AnswerableShape
from starskip.advisor.families.star_tree.recommend.cuboids import Dimensions
from starskip.advisor.families.star_tree.recommend.simulated_tree import SimulatedTree, TreeLayout
from starskip.advisor.families.star_tree.recommend.size_estimate import pinot_size_estimate, size_estimate
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.advisor.families.star_tree.recommend.tree_read import TreeReading
from starskip.advisor.families.star_tree.recommend.tree_scan import TreeScan, tree_scan
from starskip.errors import UnsupportedQuery
from starskip.sql.sandboxed_duckdb import locked_database
from starskip.star_tree.scalar_expressions import ScalarExpressions
from starskip.star_tree.star_tree_config import StarTreeConfig


@dataclass(frozen=True, slots=True)
class TreeForecast:
    """``documents`` of the tree, and the documents that a shape's query reads; ``size_bytes`` once weighed.

    ``entries_read``: the entries of these reads. ``largest_leaf``: documents of the largest leaf of the
    sample; with any T between this number and the layout's T the tree is the same.
    """

    layout: TreeLayout
    documents: float
    documents_read: Mapping[str, float]
    entries_read: Mapping[str, float]
    largest_leaf: float
    size_bytes: float | None = None

    def with_threshold(self, max_leaf_records: int) -> TreeForecast | None:
        """Return the forecast with a smaller T if its tree is the same, else None."""
        if self.largest_leaf > max_leaf_records:
            return None
        return replace(self, layout=replace(self.layout, max_leaf_records=max_leaf_records))


class Forecaster:
    """Forecasts for the trees of one table; results that several trees share are computed once."""

    def __init__(self, sample: TableSample, shapes: Sequence[AnswerableShape]) -> None:
        """Evaluate the predicates of ``shapes`` over the dictionaries."""
        self.sample = sample
        self.refused: dict[str, str] = {}
        expressions = ScalarExpressions(locked_database())
        self._as_pinot = any(shape.reads_as_pinot for shape in shapes)
        self._scans: dict[str, list[list[tuple[TreeScan, float]]]] = {}
        for shape in shapes:
            try:
                self._scans[shape.shape_id] = [
                    [
                        (
                            tree_scan(read, part.cuboids, number, expressions, as_pinot=self._as_pinot),
                            share,
                        )
                        for read, share in shape.examples
                    ]
                    for number, part in enumerate(sample.parts)
                ]
            except UnsupportedQuery as error:
                self.refused[shape.shape_id] = str(error)

    def forecast(self, layout: TreeLayout, shapes: Sequence[AnswerableShape]) -> TreeForecast:
        """Return the number of documents, and how many a mean query of each of ``shapes`` reads."""
        trees = self._trees(layout)
        scale = self.sample.scale
        documents = scale * sum(tree.counts().documents for tree in trees)
        readings = {shape.shape_id: self._reading(trees, shape) for shape in shapes}
        return TreeForecast(
            layout,
            documents,
            {shape_id: reading.documents for shape_id, reading in readings.items()},
            {shape.shape_id: shape.entries_read(readings[shape.shape_id]) for shape in shapes},
            max((tree.largest_leaf() for tree in trees), default=0.0),
        )

    def _reading(self, trees: Sequence[SimulatedTree], shape: AnswerableShape) -> TreeReading:
        """Return the mean query's reads of all trees for ``shape``."""
        found = TreeReading()
        for tree, scans in zip(trees, self._scans[shape.shape_id], strict=True):
            for scan, share in scans:
                found = found.plus(tree.reading(scan).times(share * self.sample.scale))
        return found

    def base_documents(self, dimensions: Dimensions) -> float:
        """Return the documents without a star of any tree of these dimensions; infinite if not known."""
        cuboids = [part.cuboids for part in self.sample.parts]
        if not all(each.knows(dimensions) for each in cuboids):
            return inf
        return self.sample.scale * sum(each.combinations(dimensions).total for each in cuboids)

    def weighed(self, forecast: TreeForecast, config: StarTreeConfig) -> TreeForecast:
        """Return the forecast with the bytes of the tree, and its documents as it will be built.

        Starskip builds over rows of the lake, Pinot over the rows of a segment.
        """
        found = []
        for tree, part in zip(self._trees(forecast.layout), self.sample.parts, strict=True):
            if part.rows is None:
                found.append(pinot_size_estimate(tree, config.measures))
                continue
            codes = {name: part.rows.codes[name] for name in config.dimensions_split_order}
            own = SimulatedTree(part.cuboids, forecast.layout)
            found.append(size_estimate(own, config, replace(part.rows, codes=codes)))
        scale = self.sample.scale
        return replace(
            forecast,
            documents=scale * sum(each.documents for each in found),
            size_bytes=scale * sum(each.size_bytes for each in found),
        )

    def cardinality(self, dimension: str) -> int:
        """Return the distinct values of a dimension in the largest part."""
        return max(len(part.cuboids.values[dimension]) for part in self.sample.parts)

    def matching_ratio(self, shape: AnswerableShape, dimension: str) -> float:
        """Return the share of the values of ``dimension`` that pass the shape's predicates."""
        scans = [scan for part in self._scans[shape.shape_id] for scan, _ in part]
        return float(
            np.mean([scan.masks[dimension].mean() if dimension in scan.masks else 1.0 for scan in scans])
        )

    def _trees(self, layout: TreeLayout) -> list[SimulatedTree]:
        return [SimulatedTree(part.cuboids, layout, as_pinot=self._as_pinot) for part in self.sample.parts]
