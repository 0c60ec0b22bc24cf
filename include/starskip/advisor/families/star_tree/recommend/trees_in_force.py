"""Find the star-trees in force in a table's configuration, and the shapes that Pinot answers from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starskip.advisor.families.star_tree.recommend.asked_shape import AnswerableShape, answerable_shape
from starskip.advisor.families.star_tree.recommend.asked_shapes import asked_shapes
from starskip.advisor.families.star_tree.recommend.segment_sample import column_types
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import ConfigError, StarskipError
from starskip.pinot.star_tree_rules import star_tree_rules
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.tables.table_overview import TableOverview


@dataclass(frozen=True, slots=True)
class TreesInForce:
    """Star-trees of a table's configuration, in its order; ``answered``: by shape, the tree that answers it.

    Shapes that no tree answers are left out of ``answered``.
    """

    trees: tuple[StarTreeConfig, ...] = ()
    answered: Mapping[str, int] = field(default_factory=dict)

    def shapes_of(self, position: int) -> tuple[str, ...]:
        """Return the shapes that the tree at ``position`` answers."""
        return tuple(sorted(shape for shape, answering in self.answered.items() if answering == position))


NO_TREES_IN_FORCE = TreesInForce()


def star_trees_in_force(configs: Sequence[TableConfig]) -> tuple[StarTreeConfig, ...]:
    """Return the trees that all ``configs`` of a table hold: both configs of a hybrid table.

    An entry that Starskip does not understand is left out: it is not known which shapes it answers.
    """
    held = [_known_trees(config) for config in configs]
    return tuple(tree for tree in held[0] if all(tree in trees for trees in held[1:])) if held else ()


def trees_in_force(
    trees: Sequence[StarTreeConfig],
    shapes: Sequence[ShapeWorkload],
    overview: TableOverview | None,
    settings: Settings,
    window: Mapping[str, ShapeEntries],
) -> TreesInForce:
    """Return which of ``shapes`` a Pinot of the settings' version answers from one of ``trees``.

    Without facts of the columns (``overview`` is None) this is not known, and no shape counts as answered.
    """
    if not trees or overview is None:
        return TreesInForce(tuple(trees))
    types, rules = column_types(overview), star_tree_rules(settings.scoring.pinot_version)
    several = frozenset(name for name, column in overview.columns.items() if not column.is_single_value)
    raw = frozenset(name for name, column in overview.columns.items() if not column.dictionary_ratio)
    answered: dict[str, int] = {}
    for asked in asked_shapes(shapes, window, settings):
        try:
            shape = answerable_shape(
                asked, types, several, overview.table, rules, raw=raw, nulls=overview.columns_with_nulls
            )
        except StarskipError:
            continue
        fitting = (position for position, tree in enumerate(trees) if _answers(shape, tree))
        position = next(fitting, None)
        if position is not None:
            answered[asked.shape_id] = position
    return TreesInForce(tuple(trees), answered)


def _answers(shape: object, tree: StarTreeConfig) -> bool:
    return isinstance(shape, AnswerableShape) and shape.fits(tree)


def _known_trees(config: TableConfig) -> list[StarTreeConfig]:
    found = []
    for entry in config.star_tree_index_configs:
        try:
            found.append(StarTreeConfig.from_document(entry))
        except ConfigError:
            continue
    return found
