"""An index type of one's own: how long a file's texts are, for WHERE length(body) > 100000."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
from starskip.skipping.own_types import (
    Call,
    Clause,
    ColumnIndex,
    Expression,
    FileMetadata,
    Literal,
    Mask,
    mask_of,
    register,
)


@register
class LengthRange(ColumnIndex):
    """``length:c``: the greatest length of a file's texts."""

    kind = "length"
    families = frozenset({"string"})

    def aggregates(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the aggregates of a file's rows to collect."""
        return {"longest": f"max(length({columns[0]}))"}

    def label(self, node: Expression) -> Clause | None:
        """Return the clause of a node of a predicate, None if it is not understood."""
        match node:
            case Call("GreaterThan", (Call("Length", (column,)), Literal() as bound)) if self.is_of(column):
                return LongerThan(self.specification, bound.python)
        return None


@dataclass(frozen=True, slots=True)
class LongerThan(Clause):
    """A clause: a file may hold a text that is longer."""

    index: str
    length: int

    def may_match(self, metadata: FileMetadata) -> Mask:
        """Judge all files at once; one that is not known is kept."""
        longest = metadata.column(self.index, "longest")
        return mask_of(pc.fill_null(pc.greater(longest, self.length), True))
