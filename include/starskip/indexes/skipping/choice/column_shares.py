"""Estimate, from a sample of rows, the share of rows that pass a predicate on each column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from starskip.indexes.skipping.choice.layout_notice import ColumnShare
from starskip.indexes.skipping.choice.range_workload import range_workload
from starskip.indexes.skipping.expression import Expression
from starskip.indexes.skipping.ordered_values import order_keys, sorted_keys


def column_shares(predicate: Expression, sample: Mapping[str, pa.Array]) -> Mapping[str, ColumnShare]:
    """Return the share by column; columns on which the predicate is no range or set are left out.

    ``sample``: values of rows by column name; null passes no range.
    """
    found = {}
    for column, values in sample.items():
        workload = range_workload([predicate], [1.0], column, values.type)
        if not len(workload.weights) or not len(values):
            continue
        known = values.drop_null()
        places = workload.places_of(order_keys(workload.literals), sorted_keys(order_keys(known)))
        ratio = float((places.high - places.low).sum()) / len(values)
        found[column] = ColumnShare(ratio, int(np.count_nonzero(places.high > places.low)))
    return found
