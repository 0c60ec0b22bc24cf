"""Check a star-tree's configuration against its table's columns (Pinot's StarTreeIndexConfig)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from starskip.errors import ConfigError
from starskip.star_tree.function_column_pair import AggregationFunction
from starskip.star_tree.measure import Measure, MeasureKind
from starskip.star_tree.star_tree_config import StarTreeConfig

_NUMERIC_ONLY = {MeasureKind.SUM, MeasureKind.KLL, MeasureKind.T_DIGEST}


def validate_config(config: StarTreeConfig, column_types: Mapping[str, pa.DataType], *, table: str) -> None:
    """Raise ConfigError naming the column and the rule if the table cannot have this tree."""
    for name in config.dimensions_split_order:
        _require_column(name, column_types, "dimensionsSplitOrder", table)
        _require_single_value(name, column_types[name], "dimensionsSplitOrder", table)
    for pair in config.function_column_pairs:
        for measure in pair.measures:
            if measure.column != "*":
                _require_measure(pair.name, measure, column_types, table)
        is_range = pair.function is AggregationFunction.MINMAXRANGE
        if is_range and not _is_numeric(column_types[pair.column]):
            raise _refused(
                pair.name, f"column {pair.column} of {table} is {column_types[pair.column]}, not a number"
            )


def _require_measure(pair: str, measure: Measure, types: Mapping[str, pa.DataType], table: str) -> None:
    column = measure.column
    _require_column(column, types, "functionColumnPairs", table, pair)
    _require_single_value(column, types[column], "functionColumnPairs", table, pair)
    if measure.kind in _NUMERIC_ONLY and not _is_numeric(types[column]):
        raise _refused(pair, f"column {column} of {table} is {types[column]}, not a number")


def _require_column(
    name: str, types: Mapping[str, pa.DataType], key: str, table: str, pair: str | None = None
) -> None:
    if name not in types:
        known = ", ".join(list(types)[:30])
        where = f"{key}: {pair}: " if pair else f"{key}: "
        raise ConfigError(f"{where}{table} has no column {name}; it has {known}", setting=key)


def _require_single_value(
    name: str, arrow_type: pa.DataType, key: str, table: str, pair: str | None = None
) -> None:
    where = f"{key}: {pair}: " if pair else f"{key}: "
    if (
        pa.types.is_list(arrow_type)
        or pa.types.is_large_list(arrow_type)
        or pa.types.is_fixed_size_list(arrow_type)
    ):
        what = "a dimension of" if pair is None else "an aggregated column of"
        raise ConfigError(
            f"{where}column {name} of {table} is multi-value, which {what} a star-tree cannot be", setting=key
        )
    if pa.types.is_nested(arrow_type):
        raise ConfigError(
            f"{where}column {name} of {table} is {arrow_type}; a star-tree needs plain values", setting=key
        )


def _is_numeric(arrow_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type)
    )


def _refused(pair: str, what: str) -> ConfigError:
    return ConfigError(f"functionColumnPairs: {pair}: {what}", setting="functionColumnPairs")
