"""The forecast of a change: the bytes and minutes that it takes, and the room that servers need meanwhile.

A reload cannot be aborted, and whoever has put a config has committed: from then on each restart and each new
segment builds what the config says. So a change beyond a bound is refused before it is put.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from starskip.advisor.deployment.plan import Plan
from starskip.errors import ConfigError
from starskip.number_text import size
from starskip.settings.night_groups import DeploymentSettings

BYTES_A_SECOND = 5_000_000.0
"""Bytes of segments that a server reloads a second, where no past application tells."""
SECONDS_A_SEGMENT = 0.2
"""Time of a reloaded segment whatever its size: a message, a copy of its folder, a swap."""
UNKNOWN_SIZE_RATIO = 1.0
"""Bytes of an index of unknown size, as a share of the table: as much as all of its columns."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """Bytes of a table's segments: ``by_server``: segments and bytes that each server holds."""

    segments: int
    largest_bytes: int
    by_server: Mapping[str, tuple[int, int]]

    @property
    def stored_bytes(self) -> int:
        """Bytes of all replicas."""
        return sum(size_bytes for _, size_bytes in self.by_server.values())

    @property
    def copies(self) -> int:
        """Replicas of all segments together."""
        return sum(segments for segments, _ in self.by_server.values())


@dataclass(frozen=True, slots=True)
class Forecast:
    """Cost of a change; ``bytes``: of new indexes, over all replicas, less those of dropped ones.

    ``minutes``: until the last server has reloaded its last segment. ``room_bytes``: what a server needs
    beside its segments while it holds an old and a new one. ``is_rate_measured``: by past applications.
    ``guessed``: indexes whose size is not known, and counts as that of all their table's columns.
    """

    bytes: int
    minutes: float
    room_bytes: int
    is_rate_measured: bool
    guessed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, float]:
        """Return the forecast as commands print it."""
        return {"bytes": self.bytes, "minutes": round(self.minutes, 2)}

    @property
    def words(self) -> str:
        """The forecast as a sentence."""
        rate = (
            "measured in past applications" if self.is_rate_measured else "assumed, as none was applied yet"
        )
        guessed = f"; unknown sizes count as the table's: {', '.join(self.guessed)}" if self.guessed else ""
        return (
            f"{size(self.bytes)} of indexes over all replicas, about {minutes_words(self.minutes)} of "
            f"reloading (rate {rate}); each server needs {size(self.room_bytes)} of room meanwhile{guessed}"
        )


def forecast_of(plan: Plan, table: TableSize, rate: float | None = None) -> Forecast:
    """Return the forecast of a plan; ``rate``: bytes a second that past applications reloaded."""
    if not plan.changes:
        return Forecast(0, 0.0, 0, rate is not None)
    replicas = table.copies / max(table.segments, 1)
    one_replica = table.stored_bytes / max(replicas, 1.0)
    guessed = tuple(each.name for each in plan.indexes if each.size_bytes is None and not each.is_drop)
    added = sum(each.size_bytes or 0 for each in plan.indexes if not each.is_drop)
    added += round(len(guessed) * UNKNOWN_SIZE_RATIO * one_replica)
    dropped = sum(each.size_bytes or 0 for each in plan.indexes if each.is_drop)
    seconds = [reload_seconds(segments, held, rate) for segments, held in table.by_server.values()]
    room = table.largest_bytes + added / max(table.segments, 1) + added
    return Forecast(
        round((added - dropped) * replicas),
        max(seconds, default=0.0) / 60,
        round(room),
        rate is not None,
        guessed,
    )


def reload_seconds(segments: int, held_bytes: int, rate: float | None) -> float:
    """Return how long a server takes to reload what it holds; ``rate``: as in ``forecast_of``."""
    return segments * (0 if rate else SECONDS_A_SEGMENT) + held_bytes / (rate or BYTES_A_SECOND)


def require_within(forecast: Forecast, bounds: DeploymentSettings, table: str) -> None:
    """Raise ConfigError if the change would take more than the bounds allow."""
    if forecast.minutes > bounds.max_minutes:
        raise ConfigError(
            f"table {table}: reloading is forecast to take {minutes_words(forecast.minutes)}, and a reload "
            "cannot be aborted: apply fewer indexes, or allow it with --max-minutes "
            f"{ceil(forecast.minutes)}",
            setting="deployment.max_minutes",
        )
    if bounds.max_bytes is not None and forecast.bytes > bounds.max_bytes:
        raise ConfigError(
            f"table {table}: the new indexes are forecast to take {size(forecast.bytes)} over all replicas, "
            f"and deployment.max_bytes allows {size(bounds.max_bytes)}: apply fewer, or raise it",
            setting="deployment.max_bytes",
        )
    if bounds.max_bytes is not None and forecast.room_bytes > bounds.max_bytes:
        raise ConfigError(
            f"table {table}: a server is forecast to need {size(forecast.room_bytes)} of room while it holds "
            f"old and new segments, and deployment.max_bytes allows {size(bounds.max_bytes)}: apply fewer "
            "indexes, or raise it",
            setting="deployment.max_bytes",
        )


def minutes_words(minutes: float) -> str:
    """Return a forecast duration, ``45 s``, ``8 min`` or ``2.5 h``."""
    if minutes < 1:
        return f"{max(round(60 * minutes), 1)} s"
    return f"{minutes:,.0f} min" if minutes < 120 else f"{minutes / 60:,.1f} h"
