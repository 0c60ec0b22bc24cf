"""Generate and weigh the candidate star-trees of one table from its query shapes and a sample of its rows.

Each set of dimensions that a shape uses is a candidate, and so is the union of two candidates if it saves
more than either (one tree for both instead of two). Each candidate has the best order, T and star nodes
(layout_search). If its shapes need sketches, a candidate comes with them and without them: sketches take more
room than all other measures together. A candidate is refused if it is nearly as large as its table, or saves
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf

from starskip.advisor.families.star_tree.recommend.asked_shape import AnswerableShape
from starskip.advisor.families.star_tree.recommend.cuboids import Dimensions
from starskip.advisor.families.star_tree.recommend.layout_search import best_layout, first_orders, saving_of
from starskip.advisor.families.star_tree.recommend.simulated_tree import TreeLayout
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.advisor.families.star_tree.recommend.tree_forecast import Forecaster, TreeForecast
from starskip.number_text import count, share
from starskip.star_tree.star_tree_config import DEFAULT_MAX_LEAF_RECORDS, StarTreeConfig

_MOST_DIMENSIONS = 8
_MOST_SETS = 32
"""Sets of dimensions that are considered."""
_MOST_SEARCHED = 6
"""Sets of dimensions with a tree that may be built: the search for the best order ends with them."""
_MOST_TRIED = 16
"""Sets of dimensions whose best order is searched, trees that are too large included."""


@dataclass(frozen=True, slots=True)
class CandidateTree:
    """A tree that could be built, the shapes that it answers, and what it saves each of them (entries)."""

    config: StarTreeConfig
    documents: float
    size_bytes: float
    documents_read: Mapping[str, float]
    saving_entries: Mapping[str, float]

    @property
    def total_saving_entries(self) -> float:
        """Return the saving of all of its shapes."""
        return sum(self.saving_entries.values())


@dataclass(frozen=True, slots=True)
class RefusedTree:
    """A tree that was considered and is not worth it: ``reason`` is a code, ``detail`` a sentence."""

    config: StarTreeConfig
    reason: str
    detail: str
    size_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class CandidateTrees:
    """Trees to choose from, and refused trees."""

    candidates: tuple[CandidateTree, ...]
    refused: tuple[RefusedTree, ...]


def candidate_trees(
    sample: TableSample,
    shapes: Sequence[AnswerableShape],
    *,
    max_size_ratio: float,
    most: int,
    entries_per_byte: float = 0.0,
    known: Sequence[StarTreeConfig] = (),
) -> CandidateTrees:
    """Return at most ``most`` candidates, best first, and ``known`` configurations as they are, if they help.

    ``max_size_ratio``: of the table's rows, and of its bytes, that a tree may have at most.
    ``entries_per_byte``: the entries that each byte has to save.
    """
    forecaster = Forecaster(sample, shapes)
    usable = [shape for shape in shapes if shape.shape_id not in forecaster.refused]
    search = _Search(forecaster, usable, max_size_ratio)
    before = [each for each in (search.forecast_of(config) for config in known) if each is not None]
    found = [each for each in search.trees() if each.config not in known]
    found.sort(
        key=lambda item: (item.size_bytes * entries_per_byte - item.total_saving_entries, str(item.config))
    )
    # Last night's trees stay in the choice, even if another candidate does as well now.
    kept = (*before, *_undominated(found)[: max(most - len(before), 1)])
    return CandidateTrees(kept, tuple(search.refused))


@dataclass(frozen=True, slots=True)
class _Scope:
    """Dimensions, and the shapes that a tree of them is made for."""

    dimensions: Dimensions
    shapes: tuple[AnswerableShape, ...]


class _Search:
    def __init__(
        self, forecaster: Forecaster, shapes: Sequence[AnswerableShape], max_size_ratio: float
    ) -> None:
        self.refused: list[RefusedTree] = []
        self._forecaster = forecaster
        self._shapes = shapes
        self._ratio = max_size_ratio
        self._most_documents = max_size_ratio * forecaster.sample.rows

    def sets(self) -> list[Dimensions]:
        """Return sets of dimensions, the sets that save most first."""
        own = dict.fromkeys(shape.dimensions for shape in self._by_weight() if shape.dimensions)
        savings = {item: self._quick_saving(item) for item in list(own)[: _MOST_SETS // 2]}
        frontier = list(savings)
        while frontier and len(savings) < _MOST_SETS:
            # Both sets have to be possible: with more dimensions there are never fewer documents.
            good = sorted((item for item, saving in savings.items() if saving > 0), key=lambda i: -savings[i])
            unions = dict.fromkeys(
                first | second for first, second in combinations(good, 2) if {first, second} & {*frontier}
            )
            frontier = []
            for union in unions:
                if union in savings or len(union) > _MOST_DIMENSIONS or len(savings) >= _MOST_SETS:
                    continue
                parts = [savings[item] for item in good if item < union]
                saving = self._quick_saving(union)
                savings[union] = saving if saving > max(parts) else 0.0
                if savings[union]:
                    frontier.append(union)
        ranked = sorted(savings, key=lambda item: (-savings[item], len(item), sorted(item)))
        others = ranked[_MOST_SEARCHED:_MOST_TRIED]
        return [*ranked[:_MOST_SEARCHED], *(item for item in others if savings[item] > 0)]

    def trees(self) -> list[CandidateTree]:
        """Return the best trees of the best sets of dimensions that have any."""
        found: list[CandidateTree] = []
        built = 0
        for dimensions in self.sets():
            trees = [each for each in map(self._searched, self._scopes(dimensions)) if each is not None]
            found += trees
            built += bool(trees)
            if built == _MOST_SEARCHED:
                break
        return found

    def _scopes(self, dimensions: Dimensions) -> list[_Scope]:
        answered = tuple(self._answered(dimensions))
        exact = tuple(shape for shape in answered if not shape.needs_sketch)
        return [_Scope(dimensions, each) for each in dict.fromkeys((answered, exact)) if each]

    def _searched(self, scope: _Scope) -> CandidateTree | None:
        """Return the best tree for a scope, weighed; None if it is refused."""
        forecast = best_layout(self._forecaster, scope.dimensions, scope.shapes, self._most_documents)
        if forecast is None:
            self._refuse_large(scope)
            return None
        return self._candidate(forecast, _config(forecast.layout, scope.shapes), scope.shapes)

    def forecast_of(self, config: StarTreeConfig) -> CandidateTree | None:
        """Return the candidate of a given configuration; None if it helps no query."""
        dimensions = frozenset(config.dimensions_split_order)
        shapes = [shape for shape in self._shapes if shape.fits(config)]
        if not shapes or not dimensions <= self._forecaster.sample.dimensions:
            return None
        skipped = frozenset(config.skip_star_node_creation_for_dimensions)
        layout = TreeLayout(config.dimensions_split_order, config.max_leaf_records, skipped)
        return self._candidate(self._forecaster.forecast(layout, shapes), config, shapes)

    def _candidate(
        self, forecast: TreeForecast, config: StarTreeConfig, shapes: Sequence[AnswerableShape]
    ) -> CandidateTree | None:
        sample = self._forecaster.sample
        if saving_of(forecast, shapes) <= 0:
            detail = "its queries would read as many documents as they scan entries today"
            self.refused.append(RefusedTree(config, "saves_nothing", detail))
            return None
        weighed = self._forecaster.weighed(forecast, config)
        size_bytes = weighed.size_bytes or 0.0
        if sample.size_bytes and size_bytes > self._ratio * sample.size_bytes:
            detail = (
                f"would take {share(size_bytes / sample.size_bytes)} of the table's bytes, "
                f"more than the {share(self._ratio)} allowed"
            )
            self.refused.append(RefusedTree(config, "near_table_size", detail, size_bytes))
            return None
        read = forecast.documents_read
        entries = forecast.entries_read
        saved = {shape.shape_id: shape.saving_entries(entries[shape.shape_id]) for shape in shapes}
        return CandidateTree(config, weighed.documents, size_bytes, read, saved)

    def _refuse_large(self, scope: _Scope) -> None:
        sample = self._forecaster.sample
        order = first_orders(self._forecaster, scope.dimensions, scope.shapes)[0]
        config = _config(TreeLayout(order, DEFAULT_MAX_LEAF_RECORDS), scope.shapes)
        documents = self._forecaster.base_documents(scope.dimensions)
        if documents == inf:
            detail = "has more dimensions than are sampled together in a table with so many rows"
            self.refused.append(RefusedTree(config, "size_unknown", detail))
            return
        detail = (
            f"would have {count(documents)} documents before any star,"
            f" {share(documents / max(sample.rows, 1))} of the table's {count(sample.rows)} rows;"
            f" with its stars more than the {share(self._ratio)} allowed"
        )
        self.refused.append(RefusedTree(config, "near_table_size", detail))

    def _quick_saving(self, dimensions: Dimensions) -> float:
        """Return the saving with one likely order and T; 0 if the tree would be too large."""
        shapes = self._answered(dimensions)
        if self._forecaster.base_documents(dimensions) > self._most_documents:
            return 0.0
        order = first_orders(self._forecaster, dimensions, shapes)[0]
        skipped = dimensions.intersection(*(shape.dimensions for shape in shapes))
        forecast = self._forecaster.forecast(TreeLayout(order, DEFAULT_MAX_LEAF_RECORDS, skipped), shapes)
        return max(saving_of(forecast, shapes), 0.0) if forecast.documents <= self._most_documents else 0.0

    def _answered(self, dimensions: Dimensions) -> list[AnswerableShape]:
        return [shape for shape in self._shapes if shape.dimensions <= dimensions]

    def _by_weight(self) -> list[AnswerableShape]:
        return sorted(self._shapes, key=lambda shape: (-shape.entries_scanned, shape.shape_id))


def _config(layout: TreeLayout, shapes: Sequence[AnswerableShape]) -> StarTreeConfig:
    order = layout.dimensions_split_order
    return StarTreeConfig(
        dimensions_split_order=order,
        function_column_pairs=tuple(
            sorted({pair for shape in shapes for pair in shape.pairs}, key=lambda p: p.name)
        ),
        max_leaf_records=layout.max_leaf_records,
        skip_star_node_creation_for_dimensions=tuple(name for name in order if name in layout.skipped),
    )


def _undominated(found: Sequence[CandidateTree]) -> list[CandidateTree]:
    """Leave out each candidate that another one equals or beats for each shape, in no more bytes."""
    kept: list[CandidateTree] = []
    for item in found:
        is_covered = any(
            other.size_bytes <= item.size_bytes
            and all(
                other.saving_entries.get(shape, -1.0) >= saved for shape, saved in item.saving_entries.items()
            )
            for other in kept
        )
        if not is_covered:
            kept.append(item)
    return kept
