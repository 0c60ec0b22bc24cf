"""Find the star-trees in force in a table's configuration, and the shapes that Pinot answers from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starskip.advisor.families.star_tree.recommend.asked_shape import AnswerableShape, answerable_shape
from starskip.advisor.families.star_tree.recommend.asked_shapes import asked_shapes
from starskip.advisor.families.star_tree.recommend.segment_sample import column_types
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import ConfigError, StarskipError
from starskip.pinot.column_key import INDEX_CONFIG
from starskip.pinot.config_columns import NUMBERS, is_true
from starskip.pinot.star_tree_rules import star_tree_rules
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.star_tree.star_tree_config import STAR_TREE_KEYS, StarTreeConfig
from starskip.tables.table_overview import TableOverview

_MOST_DEFAULT_VALUES = 10_000


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


def star_trees_in_force(
    configs: Sequence[TableConfig], overview: TableOverview | None = None
) -> tuple[StarTreeConfig, ...]:
    """Return the trees that all ``configs`` of a table hold, in the order in which Pinot tries them.

    An entry, or a pair of one, that Starskip does not understand is left out: it is not known which shapes it
    answers. ``overview``: columns from which Pinot makes the tree of enableDefaultStarTree.
    """
    held = [[*_known_trees(config), *_default_tree(config, overview)] for config in configs]
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
    raw |= overview.raw_columns
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
            found.append(StarTreeConfig.from_document(_understood(entry)))
        except ConfigError:
            continue
    return found


def _understood(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry without the keys and pairs that Starskip does not know; Pinot ignores unknown keys."""
    known = {key: value for key, value in entry.items() if key in STAR_TREE_KEYS}
    pairs = known.get("functionColumnPairs")
    if isinstance(pairs, list):
        known["functionColumnPairs"] = [each for each in pairs if _is_known({"functionColumnPairs": [each]})]
    aggregations = known.get("aggregationConfigs")
    if isinstance(aggregations, list):
        known["aggregationConfigs"] = [
            each for each in aggregations if _is_known({"aggregationConfigs": [each]})
        ]
    return known


def _is_known(pairs: Mapping[str, Any]) -> bool:
    try:
        StarTreeConfig.from_document({"dimensionsSplitOrder": ["any"], **pairs})
    except ConfigError:
        return False
    return True


def _default_tree(config: TableConfig, overview: TableOverview | None) -> list[StarTreeConfig]:
    """Return the tree that Pinot makes itself where enableDefaultStarTree is true.

    Pinot's generateDefaultConfig, for each segment alone: by falling cardinality the single-value dimensions
    with a dictionary of at most 10,000 values, then so the time columns; COUNT(*) and the sum of each metric
    that is a number. Here for the mean segment, so that columns of nearly one cardinality may stand in
    another order.
    """
    is_asked = is_true((config.document.get(INDEX_CONFIG) or {}).get("enableDefaultStarTree"))
    if not is_asked or overview is None:
        return []
    columns = [column for column in overview.columns.values() if column.is_single_value]
    split = sorted(
        (column for column in columns if column.dictionary_ratio and column.cardinality is not None),
        key=lambda column: -(column.cardinality or 0.0),
    )
    dimensions = [each for each in split if each.column_type == "DIMENSION"]
    order = [each for each in dimensions if (each.cardinality or 0.0) <= _MOST_DEFAULT_VALUES]
    order += [each for each in split if each.column_type in ("TIME", "DATE_TIME")]
    metrics = [c for c in columns if c.column_type == "METRIC" and c.data_type in NUMBERS]
    names = [column.name for column in order if not column.name.startswith("$")]
    pairs = ["COUNT__*", *(f"SUM__{column.name}" for column in metrics)]
    tree = {"dimensionsSplitOrder": names, "functionColumnPairs": pairs}
    return [StarTreeConfig.from_document(tree)] if names else []
