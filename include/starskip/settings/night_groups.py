"""The groups of settings of the rest of a night: logs, latency, building, gates, reports, retention."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from starskip.settings.declared import setting
from starskip.settings.group import SettingsGroup

_TUNER = "Automated inverted index recommendation"
_MOST_HOURS = 87_600
_MOST_DAYS = 3_650
"""Ten years: what calendars can count back."""


def is_time_zone(name: str) -> bool:
    """Return whether ``name`` is a time zone of the IANA database."""
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
        "Time zone of the log's timestamps, and of the day of a night.",
        allowed="an IANA time zone such as UTC or Europe/Berlin",
        is_valid=is_time_zone,
    )
    read_neighbouring_days: bool = setting(
        True,
        "Whether {run_date} in a log's path also stands for the day before and the day after.",
    )
    split_bytes: int = setting(
        32 * 1024 * 1024,
        "Bytes of a plain log file that one task reads.",
        unit="bytes",
        at_least=1,
    )
    query_text_length: int = setting(
        0,
        "The broker's pinot.broker.query.log.length, if it is set; 0 looks in the log for cut texts.",
        unit="characters",
        at_least=0,
    )
    message_field: str = setting(
        "",
        "Field of JSON lines that holds the broker's line, nested with dots; found if left out.",
    )
    formats: str = setting(
        "",
        "Python modules with log formats of your own, by commas; found beside the configuration, too.",
    )


@dataclass(frozen=True, slots=True)
class LatencySettings(SettingsGroup):
    """Settings of the latency model."""

    group = "latency"
    heading = "When savings are shown as time"

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
    """Settings of building and proving indexes."""

    group = "building"
    heading = "What is built and checked"

    build_indexes: bool = setting(
        True,
        "Whether chosen indexes on tables of the lake are built. A backfill never builds.",
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
    proof_table_bytes: int = setting(
        64 * 1024**3,
        "Bytes of a lake table that queries answered both ways may read in a night; 0 asks none.",
        unit="bytes",
        at_least=0,
    )
    proof_night_bytes: int = setting(
        512 * 1024**3,
        "Bytes that they may read of all lake tables, each of which has an equal part.",
        unit="bytes",
        at_least=0,
    )


@dataclass(frozen=True, slots=True)
class ScaleSettings(SettingsGroup):
    """Settings of how a night's work is divided."""

    group = "scale"
    heading = "How the work is divided"

    table_groups: int = setting(
        16,
        "Groups that a run divides its tables into; each group goes on alone. The most a run has.",
        unit="groups",
        at_least=1,
        at_most=32,
    )
    local_queries: int = setting(
        200_000,
        "Queries of a night up to which a group of tables is worked on without Spark; 0 always uses Spark.",
        unit="queries",
        at_least=0,
    )
    local_bytes: int = setting(
        256 * 1024 * 1024,
        "Bytes of logs, or of segments, up to which they are read without Spark; 0 always uses Spark.",
        unit="bytes",
        at_least=0,
    )


@dataclass(frozen=True, slots=True)
class GateSettings(SettingsGroup):
    """Settings of the quality gates."""

    group = "gates"
    heading = "What stops a table"

    max_rejected_ratio: float = setting(
        0.05,
        "Largest share of the log's records that no format explains.",
        title="Most rejected log records",
        unit="share",
        at_least=0,
        at_most=1,
    )
    max_not_understood_ratio: float = setting(
        0.5,
        "Largest share of the log's records that may be queries in a form that is not known.",
        title="Most log records not understood",
        unit="share",
        at_least=0,
        at_most=1,
    )
    max_without_counters_ratio: float = setting(
        0.95,
        "Largest share of the log's records on queries that do not tell what the query scanned.",
        title="Most log records without counters",
        unit="share",
        at_least=0,
        at_most=1,
    )
    max_unparsed_ratio: float = setting(
        0.5,
        "Largest share of a table's queries whose filter is not understood.",
        title="Most unparsed queries",
        unit="share",
        at_least=0,
        at_most=1,
    )
    max_damaged_ratio: float = setting(
        0.2,
        "Largest share of a table's segments that cannot be read.",
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
class DeploymentSettings(SettingsGroup):
    """Settings of applying approved advice to a running Pinot, and of proposing it again."""

    group = "deployment"
    heading = "How approved advice is applied"

    canary_segments: int = setting(
        1,
        "The newest segments, which are reloaded and measured before all others.",
        unit="segments",
        at_least=1,
    )
    max_minutes: float = setting(
        60.0,
        "A change whose reloading is forecast to take longer is refused: a reload cannot be aborted.",
        unit="minutes",
        at_least=0,
    )
    max_bytes: int | None = setting(
        None,
        "A change that needs more bytes over all replicas, or more than a server has room for, is refused.",
        unit="bytes",
        at_least=1,
    )
    no_progress_minutes: float = setting(
        10.0,
        "A reload in which no further segment is done for so long is given up, and taken back.",
        unit="minutes",
        at_least=0.01,
    )
    max_regression_ratio: float = setting(
        0.1,
        "If a shape then scans or takes more than before by more than this share, all is taken back.",
        unit="share",
        at_least=0,
        at_most=1,
    )
    replayed_instances: int = setting(
        3,
        "Queries of each shape that are asked before and after; the largest scans come first.",
        unit="queries a shape",
        at_least=1,
        at_most=1_000,
    )
    queries_per_second: float = setting(
        10.0,
        "Most queries a second that the replay asks the broker.",
        unit="queries a second",
        at_least=0.01,
    )
    cool_down_days: int = setting(
        30,
        "Days for which rejected advice, and advice that was taken back, is not proposed again.",
        unit="days",
        at_least=0,
        at_most=_MOST_DAYS,
    )
    propose_again_gain_ratio: float = setting(
        0.5,
        "By this share its saving must have grown for it to be proposed sooner.",
        unit="share",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True, slots=True)
class RetentionSettings(SettingsGroup):
    """Settings of the retention of old nights."""

    group = "retention"
    heading = "What is kept"

    nights: int = setting(
        366,
        "Newest nights of advice, reports and proofs that are kept; the newest of each table always stays.",
        unit="nights",
        at_least=1,
    )
    workload_days: int = setting(
        90,
        "Days for which shapes are kept, with sampled literals; at least workload.look_back_nights.",
        unit="days",
        at_least=1,
        at_most=_MOST_DAYS,
    )
    query_days: int = setting(
        30,
        "Days for which each query of the logs is kept, with its literals, and the facts of segments.",
        unit="days",
        at_least=1,
        at_most=_MOST_DAYS,
    )
    vacuum_grace_hours: int = setting(
        24,
        "Time for which files that no manifest names are kept, since readers may be slow.",
        unit="hours",
        at_least=1,
        at_most=_MOST_HOURS,
    )


@dataclass(frozen=True, slots=True)
class NotificationSettings(SettingsGroup):
    """Settings of what is worth a message by Airflow's notifiers."""

    group = "notifications"
    heading = "What is worth a message"

    min_new_saving_ratio: float = setting(
        0.1,
        "Indexes that the night before did not advise are told of if they save this share of all entries.",
        unit="share",
        at_least=0,
        at_most=1,
    )
