"""A sample of a table's rows, from which star-trees are estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids
from starskip.advisor.families.star_tree.recommend.document_bytes import SampledRows


@dataclass(frozen=True, slots=True)
class TablePart:
    """Rows that a tree would be built over: a whole lake table, or one segment of a Pinot table.

    ``rows`` has the codes of all dimensions and the columns of all measures; None for a segment.
    """

    cuboids: Cuboids
    rows: SampledRows | None = None


@dataclass(frozen=True, slots=True)
class TableSample:
    """``parts`` of the table, each standing for ``scale`` parts; ``types``: of all columns.

    ``rows`` and ``size_bytes`` count the whole table.
    """

    table: str
    parts: tuple[TablePart, ...]
    types: Mapping[str, pa.DataType]
    rows: float
    size_bytes: float
    scale: float = 1.0
    multi_value: frozenset[str] = frozenset()

    @property
    def dimensions(self) -> frozenset[str]:
        """Return the columns that the cuboids cover."""
        return frozenset(self.parts[0].cuboids.values) if self.parts else frozenset()
