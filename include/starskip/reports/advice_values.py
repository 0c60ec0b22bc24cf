"""Values of the evidence on the advice: chosen and refused indexes, and the change of the table config.

Kinds, reasons and Pinot's keys are open sets of text, so that they hold indexes of any family as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ConfigValue = str | tuple[str, ...] | None
"""A value of Pinot's table config: one column, several, or no such key."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 90 % prediction interval of a saving ratio, ``low`` <= ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"interval from {self.low} to {self.high}: low must not pass high")


@dataclass(frozen=True, slots=True)
class CombinedSavingEvidence:
    """The saving of all changes together: a share of all entries scanned, in filter and post filter.

    ``parts``: the shares that add up to it, by family of indexes that serve whole queries, and under
    ``indexes`` that of all indexes on columns.
    """

    saving_ratio: float
    interval: Interval
    entries_before: int
    entries_after: int
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TimeSavingEvidence:
    """The time that a mean query saves by all changes, of the ``ms_per_query`` that it takes today."""

    ms_per_query: float
    saving_ms: float
    interval_ms: Interval


@dataclass(frozen=True, slots=True)
class NamedIndex:
    """An index by the name of its kind and its columns, in their order."""

    kind: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReasonedIndex:
    """An index that was refused or should go: ``reason`` is a code, ``detail`` a sentence with figures.

    ``size_bytes``: its bytes over all segments; null if not known.
    """

    kind: str
    columns: tuple[str, ...]
    reason: str
    detail: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key of the table config, as it is and as it should be."""

    current: ConfigValue
    proposed: ConfigValue


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The saving of another sort order, beside the present indexes and without the chosen ones.

    ``column``: the best column, or None if no order saves enough; ``current``: the sorted columns of its
    segments.
    """

    column: str | None
    current: tuple[str, ...]
    saving_ratio: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """Changes under ``tableIndexConfig``, by Pinot's own key names, and the same as indexes.

    ``star_trees``: the entries of starTreeIndexConfigs that the table config holds, which stay. ``config``:
    the whole table config as it should be, ``current`` as it is, null if none was given; their secrets are
    hidden, and ``hidden_keys`` are their paths.
    """

    keys: Mapping[str, KeyChange]
    add: tuple[NamedIndex, ...] = ()
    drop: tuple[NamedIndex, ...] = ()
    star_trees: tuple[Any, ...] = ()
    config: Any = None
    hidden_keys: tuple[str, ...] = ()
    current: Any = None


@dataclass(frozen=True, slots=True)
class AdvisedAction:
    """One action of the advice: an index to add, or with ``is_drop`` one to drop.

    ``name``: as the ledger has it. ``columns``: of a star-tree its dimensions, ``functions`` its pairs of
    function and column. ``saving_ratio``: share of all entries beside the rest of the advice, ``saving_ms``
    of a mean query, null where no time is trusted. ``shapes``, ``queries_ratio``: how many query shapes it
    helps, and their share of the night's queries; ``harmed_shapes``: how many would read less without it.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    functions: tuple[str, ...] = ()
    is_drop: bool = False
    saving_ratio: float | None = None
    saving_ms: float | None = None
    size_bytes: int | None = None
    shapes: int = 0
    queries_ratio: float = 0.0
    harmed_shapes: int = 0


@dataclass(frozen=True, slots=True)
class ChosenIndex:
    """An index of the chosen set, in rank order.

    ``individual_saving_ratio``: the saving of the index alone; ``progressive_saving_ratio``: its saving
    beyond the indexes ranked before it. Both are shares of all entries scanned in filter, as the indexes
    would save them without the indexes that serve whole queries.
    """

    kind: str
    columns: tuple[str, ...]
    individual_saving_ratio: float
    progressive_saving_ratio: float
    size_bytes: int | None
    shapes_helped: int


@dataclass(frozen=True, slots=True)
class ChosenAnswer:
    """A chosen index that serves whole queries, of any family but star-trees.

    ``saving_ratio``: share of all entries scanned. ``config``: the keys that it sets in the table config.
    ``saving``: its unit, amount, and entries that one counts as, if its family counts in another unit.
    """

    kind: str
    columns: tuple[str, ...]
    saving_ratio: float
    size_bytes: int | None
    shapes_helped: int
    config: Any = None
    saving: Any = None


@dataclass(frozen=True, slots=True)
class KPoint:
    """The best set of at most ``k`` indexes of all families and its predicted saving.

    The saving is a share of all entries scanned, in filter and post filter. ``columns``: names of the
    indexes: their columns, with the family where it is not the usual one.
    """

    k: int
    columns: tuple[str, ...]
    saving_ratio: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class KCurve:
    """Saving by number of indexes; ``stop_reason`` is the code of why it stopped at ``chosen_k``.

    ``gap_ratio``: the share by which another choice could be better, 0 if the chosen one is proved the best,
    null if unknown.
    """

    points: tuple[KPoint, ...]
    chosen_k: int
    stop_reason: str
    gap_ratio: float | None = 0.0
