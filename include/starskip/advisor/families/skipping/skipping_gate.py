"""The gate behind refresh_skipping_indexes: metadata of the table's files as they are now.

Source: Extensible Data Skipping, II.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow.compute as pc

from starskip.advisor.families.metadata_gate import build_expectations, build_views
from starskip.advisor.families.skipping.artefacts import BUILDS
from starskip.advisor.run.expectations import Expectation, View, none
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night
from starskip.file_metadata.open_metadata import open_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.ordered_values import order_keys, valid_mask
from starskip.settings import Settings


def _views(night: Night, table: str) -> Mapping[str, View]:
    def facts(metadata: TableMetadata, index: str) -> Mapping[str, int]:
        return {
            "disordered_bounds": _disordered(metadata, index),
            "impossible_nulls": _impossible(metadata, index),
        }

    return build_views(night, table, BUILDS, open_metadata, facts)


def _disordered(metadata: TableMetadata, index: str) -> int:
    """Return the number of files whose least value is above their greatest value."""
    if not index.startswith("minmax:"):
        return 0
    least, greatest = metadata.column(index, "min"), metadata.column(index, "max")
    known = valid_mask(least) & valid_mask(greatest)
    low, high = order_keys(least), order_keys(greatest)
    wrong = (
        low > high if isinstance(low, np.ndarray) else np.asarray(pc.fill_null(pc.greater(low, high), False))
    )
    return int(np.count_nonzero(wrong & known))


def _impossible(metadata: TableMetadata, index: str) -> int:
    """Return the number of files with more nulls than rows, or a negative number of nulls."""
    if not index.startswith("nulls:"):
        return 0
    nulls, rows = metadata.column(index, "nulls"), metadata.column(index, "rows")
    wrong = pc.or_(pc.less(nulls, 0), pc.greater(nulls, rows))
    return int(pc.sum(wrong, min_count=0).as_py())


def _expectations(_: Settings) -> Sequence[Expectation]:
    indexes = "skipping indexes of {table}"
    return (
        *build_expectations(indexes),
        none("kept", "disordered_bounds", f"{indexes}: files whose least value is above the greatest"),
        none("kept", "impossible_nulls", f"{indexes}: files with more nulls than rows"),
    )


SKIPPING_GATE = Gate(_views, _expectations)
