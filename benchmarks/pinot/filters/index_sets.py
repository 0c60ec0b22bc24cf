"""Sets of indexes under which the generated queries are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pinot.filters.generated_table import GeneratedTable

Kind = Literal["none", "inverted", "range", "both", "sorted"]
RESORTED_COLUMN = "city"


@dataclass(frozen=True, slots=True)
class IndexSet:
    """``variant``: the loaded table that has it, ``table`` or one with the same rows in another order."""

    table: str
    variant: str
    inverted: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """Return the kind of the set: "sorted" where the rows lie in another order, whatever its indexes."""
        if self.variant != self.table:
            return "sorted"
        if self.inverted:
            return "both" if self.ranges else "inverted"
        return "range" if self.ranges else "none"

    @property
    def name(self) -> str:
        """Short text."""
        parts = [f"sorted by {RESORTED_COLUMN}"] if self.variant != self.table else []
        parts += [f"inverted {_columns(self.inverted)}"] if self.inverted else []
        parts += [f"range {_columns(self.ranges)}"] if self.ranges else []
        return "; ".join(parts) or "no index"


_ALL_RANGES: Mapping[str, tuple[str, ...]] = {
    "events": ("latencyMs", "price", "sizeBytes", "userId"),
    "orders": ("quantity", "placedAt", "totalPrice", "weightGrams", "discount", "supplierId"),
}
_USUAL: Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {
    "events": (
        (("country",), ()),
        (("userId",), ()),
        (("platform",), ()),
        (("tags",), ()),
        (("tags", "itemIds"), ()),
        (("city", "campaign"), ()),
        (("status", "device", "platform", "isBot"), ()),
        ((), ("latencyMs",)),
        ((), ("latencyMs", "price", "sizeBytes")),
        ((), ("userId", "itemIds", "status")),
        (("userId", "country", "tags"), ("latencyMs", "price")),
        (("status", "referrer", "url", "appVersion"), ("score", "sizeBytes")),
    ),
    "orders": (
        (("category",), ()),
        (("warehouse",), ()),
        (("category", "warehouse"), ()),
        (("shipMode",), ()),
        (("supplierId", "customerId"), ()),
        (("city", "priority", "returnFlag", "region"), ()),
        ((), ("quantity",)),
        ((), ("placedAt", "totalPrice")),
        ((), ("category", "supplierId", "discount")),
        (("shipMode", "clerk", "coupon"), ("quantity", "weightGrams")),
        (("warehouse", "city", "supplierId"), ("placedAt", "quantity", "warehouse")),
    ),
}
_RESORTED: Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {
    "events": (((), ()), (("userId", "tags", "status"), ()), (("platform",), ("latencyMs", "price"))),
    "orders": (((), ()), (("category", "warehouse"), ()), (("shipMode",), ("quantity", "placedAt"))),
}


def _columns(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) < 10 else f"{len(names)} columns"


def resorted_name(table: str) -> str:
    """Return the name of the table with the same rows sorted by another column."""
    return f"{table}_by_{RESORTED_COLUMN}"


def index_sets(table: GeneratedTable) -> tuple[IndexSet, ...]:
    """Return the sets of ``table``: the first has no index, those before the resorted ones have all."""
    name = table.name
    inverted = tuple(column.name for column in table.columns if not column.is_raw)
    every = (inverted, ()), (inverted, _ALL_RANGES[name])
    usual = [IndexSet(name, name, *each) for each in ((((), ()),) + _USUAL[name] + every)]
    resorted = [IndexSet(name, resorted_name(name), *each) for each in _RESORTED[name]]
    return (*usual, *resorted)
