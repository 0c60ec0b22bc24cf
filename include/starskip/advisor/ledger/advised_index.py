"""One index of an advice, as it is decided on, applied and measured: it needs no night to be understood."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from starskip.advisor.families.index import DROP_PREFIX
from starskip.advisor.latency.shape_times import TimeSaving


def form_key(name: str) -> str:
    """Return a name in a form, short and plain: a browser may send other text otherwise than it came."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class AdvisedIndex:
    """An index to add, or with ``is_drop`` one to drop, with what it is predicted to save and to take.

    ``config``: the keys of the table config that it sets. ``saving_ratio``: share of all entries of the
    table's queries, beside the rest of the advice. ``alone_ratio``: what it saves by itself, of an index on
    columns a share of the entries in filters. ``shapes``: the shapes that it answers whole, by their ids.
    ``size_bytes``: in one replica of all segments. ``variant``: tells it from another of the same columns,
    such as a star-tree of other functions.
    """

    family: str
    columns: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    saving_ratio: float | None = None
    saving_ms: float | None = None
    size_bytes: int | None = None
    shapes: tuple[str, ...] = ()
    is_drop: bool = False
    variant: str = ""
    alone_ratio: float | None = None

    @property
    def name(self) -> str:
        """The index in one word, inverted:country or without_inverted:country."""
        variant = f"#{self.variant}" if self.variant else ""
        return f"{DROP_PREFIX if self.is_drop else ''}{self.family}:{','.join(self.columns)}{variant}"

    @property
    def key(self) -> str:
        """The index in a form."""
        return form_key(self.name)

    def to_json(self) -> dict[str, Any]:
        """Return the index as plain JSON."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AdvisedIndex:
        """Return the index that ``to_json`` wrote."""
        sequences = {name: tuple(document[name]) for name in ("columns", "shapes")}
        return cls(**{**document, **sequences})


@dataclass(frozen=True, slots=True)
class AdvisedChange:
    """The advice on one table; ``source``: the night or the file that it is from.

    ``saving_ratio``, ``interval``, ``time``: predicted of the whole, None where they are not known.
    """

    table: str
    source: str
    indexes: tuple[AdvisedIndex, ...]
    saving_ratio: float | None = None
    interval: tuple[float, float] | None = None
    time: TimeSaving | None = None

    def only(self, names: Sequence[str]) -> AdvisedChange:
        """Return the advice with the indexes of these names alone; what a part of it saves is not known."""
        chosen = tuple(each for each in self.indexes if each.name in names)
        if all(each in chosen or each.is_drop for each in self.indexes):
            return replace(self, indexes=chosen)
        return AdvisedChange(self.table, self.source, chosen)
