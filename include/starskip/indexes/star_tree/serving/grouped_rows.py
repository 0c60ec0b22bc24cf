"""Turn the groups of a scan into a table: expressions in place of codes, equal groups merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.indexes.star_tree.documents import sorted_runs
from starskip.indexes.star_tree.measure import Measure
from starskip.indexes.star_tree.query.group_expressions import GroupExpression
from starskip.indexes.star_tree.scalar_expressions import Grouping, ScalarExpressions
from starskip.indexes.star_tree.serving.star_tree import ScanResult, StarTree


def grouped_rows(
    scanned: ScanResult, groups: Sequence[GroupExpression], tree: StarTree, expressions: ScalarExpressions
) -> tuple[list[pa.Array], Mapping[Measure, Any]]:
    """Return an array of values for each of ``groups``, and the measures of these groups."""
    groupings = [_grouping(group, tree, expressions) for group in groups]
    keys = [
        scanned.codes[group.column] if grouping is None else grouping.codes[scanned.codes[group.column]]
        for group, grouping in zip(groups, groupings, strict=True)
    ]
    measures = scanned.measures
    if any(grouping is not None for grouping in groupings):
        keys, measures = _merged(keys, _sizes(groups, groupings, tree), measures)
    values = [
        _values(tree.dictionary(group.column), key)
        if grouping is None
        else grouping.values.take(pa.array(key))
        for group, grouping, key in zip(groups, groupings, keys, strict=True)
    ]
    return values, measures


def _grouping(group: GroupExpression, tree: StarTree, expressions: ScalarExpressions) -> Grouping | None:
    if group.is_plain:
        return None
    return expressions.grouping(group.column, group.column, tree.dictionary(group.column), group.expression)


def _sizes(
    groups: Sequence[GroupExpression], groupings: Sequence[Grouping | None], tree: StarTree
) -> list[int]:
    return [
        tree.star_code(group.column) if grouping is None else max(len(grouping.values), 1)
        for group, grouping in zip(groups, groupings, strict=True)
    ]


def _merged(
    keys: list[npt.NDArray[np.int32]], sizes: Sequence[int], measures: Mapping[Measure, Any]
) -> tuple[list[npt.NDArray[np.int32]], Mapping[Measure, Any]]:
    if not len(keys[0]):
        return keys, measures
    order, starts = sorted_runs(keys, sizes)
    merged = {
        measure: (array if order is None else array.take(order)).merged(starts)
        for measure, array in measures.items()
    }
    return [(key if order is None else key[order])[starts] for key in keys], merged


def _values(dictionary: pa.Array, codes: npt.NDArray[np.int32]) -> pa.Array:
    """Return the values that codes stand for; the code behind the last value is null's."""
    return dictionary.take(pa.array(codes, mask=codes == len(dictionary)))
