"""A file of rows that is read in pieces from its beginning: by stripes, by blocks, or line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]


class UnlikeSpark(ValueError):
    """Raised for a file that is not read here as Spark reads it; the text says what it holds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """So many neighbouring rows of a file, of which the first has the position ``start``.

    ``unit``: the number of the stripe or block that they are of; 0 in files that are read as a whole.
    """

    start: int
    rows: pa.Table
    unit: int
    count: int


class PiecedFile(Protocol):
    """A file of any format but Parquet.

    All members raise OSError, ValueError and pa.ArrowException for a file that cannot be read.
    """

    @property
    def schema(self) -> pa.Schema:
        """Return the columns with the Arrow types of what Spark reads; null where no value is told."""

    @property
    def units(self) -> int:
        """Return the number of stripes or blocks, 1 of a file that is read as a whole."""

    @property
    def is_columnar(self) -> bool:
        """Return whether only the columns that are asked for are read."""

    def pieces(self, schema: pa.Schema, positions: Positions | None) -> Iterator[Piece]:
        """Yield the rows in their order, with those columns of ``schema`` that the file has.

        ``positions``: rising positions of rows; stripes and blocks without any are left out, and nothing is
        read behind the last one. None for all rows.
        """


def reaches(positions: Positions | None, start: int, rows: int) -> bool:
    """Return whether rows at some positions lie among those from ``start`` on."""
    if positions is None:
        return True
    first, last = np.searchsorted(positions, [start, start + rows])
    return bool(first < last)


def is_behind(positions: Positions | None, start: int) -> bool:
    """Return whether no row from ``start`` on has one of some positions."""
    return positions is not None and (not len(positions) or start > int(positions[-1]))


def columns_of(schema: pa.Schema, wanted: Sequence[str]) -> list[str]:
    """Return those of the columns that are wanted, in the order of the schema."""
    names = set(wanted)
    return [name for name in schema.names if name in names]
