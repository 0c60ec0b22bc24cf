"""The groups of settings of the rest of a night: logs, latency, building, gates, reports, retention."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from starskip.settings.declared import setting
from starskip.settings.group import SettingsGroup

_TUNER = "Automated inverted index recommendation"
_MOST_HOURS = 87_600
"""Ten years: what calendars can count back."""


def is_time_zone(name: str) -> bool:
    """Return whether ``name`` is one of the IANA's."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class LogSettings(SettingsGroup):
    """Settings of reading query logs."""

    group = "log"
    heading = "How query logs are read"

    time_zone: str = setting(
        "UTC",
        "Time zone whose clock the log shows, and whose day a night is.",
        allowed="an IANA time zone such as UTC or Europe/Berlin",
        is_valid=is_time_zone,
    )
    read_neighbouring_days: bool = setting(
        True,
        "Whether {run_date} in a path of a log stands for the days beside the night too.",
    )
    split_bytes: int = setting(
        32 * 1024 * 1024,
        "Part of a plain log file that one task reads.",
        unit="bytes",
        at_least=1,
    )


@dataclass(frozen=True, slots=True)
class LatencySettings(SettingsGroup):
    """Settings of the latency model."""

    group = "latency"
    heading = "When savings are told in time"

    r2_threshold: float = setting(
        0.7,
        "Below this out-of-sample R² of the latency model, savings are shown as entries, not as time.",
        title="Least R² of the latency model",
        unit="R²",
        source=f"{_TUNER}, II.1",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True, slots=True)
class BuildingSettings(SettingsGroup):
    """Settings of what is built and proved."""

    group = "building"
    heading = "What is built and checked"

    build_indexes: bool = setting(
        True,
        "Whether what is chosen for tables of the lake is built. A backfill never builds.",
        title="Build",
    )
    verified_instances: int = setting(
        3,
        "Queries of each shape to answer with the index and by a scan; the largest scans come first.",
        title="Queries answered both ways",
        unit="queries a shape",
        at_least=1,
        at_most=1_000,
    )


@dataclass(frozen=True, slots=True)
class GateSettings(SettingsGroup):
    """Settings of the quality gates."""

    group = "gates"
    heading = "What stops a table"

    max_rejected_ratio: float = setting(
        0.05,
        "Share of the log's records that no format explains.",
        title="Most rejected log records",
        unit="share",
        at_least=0,
        at_most=1,
    )
    max_unparsed_ratio: float = setting(
        0.5,
        "Share of a table's queries whose filter is not understood.",
        title="Most unparsed queries",
        unit="share",
        at_least=0,
        at_most=1,
    )
    max_damaged_ratio: float = setting(
        0.2,
        "Share of a table's segments that cannot be read.",
        title="Most damaged segments",
        unit="share",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True, slots=True)
class ReportSettings(SettingsGroup):
    """Settings of what reports show."""

    group = "reports"
    heading = "What reports show"

    show_literals: bool = setting(
        False,
        "Whether reports show the values in queries, which may be personal data.",
        title="Show literals",
    )


@dataclass(frozen=True, slots=True)
class RetentionSettings(SettingsGroup):
    """Settings of what is kept of old nights."""

    group = "retention"
    heading = "What is kept"

    nights: int = setting(
        90,
        "Nights that each table keeps of every artefact; its newest one always stays.",
        unit="nights",
        at_least=1,
    )
    vacuum_grace_hours: int = setting(
        24,
        "How long files that no manifest names are kept, since readers may be slow.",
        unit="hours",
        at_least=1,
        at_most=_MOST_HOURS,
    )
