"""Every threshold with its unit, default and source; read at the edge, handed down as values.

A settings file (YAML), then the environment (``STARSKIP_`` and the name in capitals), then
arguments: the later one wins if it is present, so that 0 and false survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any
from zoneinfo import ZoneInfo

from starskip.errors import ConfigError

STRATEGIES = ("leapfrog", "estimation", "parser", "frequency")
STRATEGY_ALIASES = {"freq": "frequency"}
"""The name that Pinot's own tuner has for it."""
_PREFIX = "STARSKIP_"
_VERSION = re.compile(r"\d+(?:\.\d+){1,2}(?:-\w+)?")
_LARGEST = {"look_back_nights": 3_650, "vacuum_grace_hours": 87_600, "max_star_trees": 6}
"""Ten years: what calendars can count back. Every set of so many of the candidate trees is weighed."""
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a night; see the comment of each for its unit and its source."""

    strategy: str = "leapfrog"  # scores votes; design.md, "The mathematics"
    max_indexes: int = 8  # K, indexes a table; an upper bound, min_gain_ratio stops earlier
    selectivity_threshold: float = 1.0  # S, at least 1; columns up to it get no vote; seed 000, III.5
    entries_scanned_threshold: int = 0  # entries a query; up to it, no vote; seed 000, III.5
    num_queries_threshold: int = 0  # a table; with fewer there is no advice; seed 000, III.5
    untracked_inverted_index: str = ""  # JSON, {"table": ["column"]}; seed 000, III.5
    query_weights: str = ""  # JSON, {"table or query": weight}; seed 000, II.3 C
    exclusive_vote_ratio: float = 0.8  # g0, share of the best saving; seed 000, II.3 B
    sufficient_column_scans: float = 1.0  # C0, scans left of a column; seed 000, II.3 B
    incremental_column_scans: float = 0.05  # what a further index must save, beside C0
    min_gain_ratio: float = 0.005  # share of all entries that one more index must save; seed 000 calls it G0
    pinot_version: str = "0.11"  # which index serves which predicate; the rules are measured on 0.11
    index_kinds: str = "all"  # families of indexes that a night considers, by commas
    index_budget_bytes: int | None = None  # bytes, a table's new indexes together
    desirable_entries_scanned_in_filter: int | None = None  # few enough a query; seed 000, III.1
    desirable_query_ratio: float = 0.9  # share of the queries that must stay within them
    look_back_nights: int = 7  # nights that vote, this one included
    look_back_decay_ratio: float = 0.8  # weight of a night against that of the next
    switch_gain_ratio: float = 0.01  # share of all entries that a swap in last night's advice must save
    max_drop_loss_ratio: float = 0.001  # share of all entries that dropping an index may cost
    min_drop_queries: int = 100  # queries of all nights that vote, before an index is called unneeded
    max_drop_unparsed_ratio: float = 0.01  # share of queries not understood, up to which drops are judged
    model_error_ratio: float = 0.0125  # standard deviation; calibrated by benchmarks/advice.py
    latency_r2_threshold: float = 0.7  # centred, out of sample; the seed's tool uses 0.7 too
    instances_per_shape: int = 64  # literals kept a shape; more change no advice on the samples
    max_shapes_per_table: int = 2_000  # the busiest ones; the rest counts in the denominator only
    window_rows_per_table: int = 131_072  # rows that filters are simulated on
    max_sampled_segments: int = 32  # segments a table that rows are taken from
    max_simulations_per_table: int = 20_000  # instances times segments
    log_split_bytes: int = 32 * 1024 * 1024  # bytes of a plain log file a task
    log_time_zone: str = "UTC"  # IANA name; whose clock the log shows, and whose day a night is
    read_neighbouring_logs: bool = True  # {run_date} in log_paths stands for the days beside it too
    max_star_trees: int = 2  # star-trees a table, beside max_indexes
    max_tree_size_ratio: float = 0.5  # of the table's rows and of its bytes: a larger tree is refused
    tree_gain_size_ratio: float = (
        0.05  # of the table's bytes: for each such part a tree must save min_gain_ratio
    )
    post_filter_entry_weight: float = (
        1.0  # entries in filter that one post filter counts, when trees are weighed
    )
    max_skipping_size_ratio: float = 0.05  # of the table's bytes: the metadata of its skipping indexes
    sampled_files: int = 256  # files of a lake table whose rows are counted for indicators; fewer are all
    max_rejected_ratio: float = 0.05  # share of log records that no format explains
    max_unparsed_ratio: float = 0.5  # share of a table's queries that no shape was found for
    max_damaged_ratio: float = 0.2  # share of a table's segments that cannot be read
    build_indexes: bool = (
        True  # whether what is chosen for tables of the lake is built; a backfill never does
    )
    verified_instances: int = 3  # queries of a shape that are answered both ways, those that scanned most
    show_literals: bool = False  # literals of queries in reports; they may be personal data
    retention_nights: int = 90  # nights that each table keeps of every artefact; its newest one always stays
    vacuum_grace_hours: int = 24  # how long files stay that no manifest names: readers may be slow

    def __post_init__(self) -> None:
        """Refuse values that no night can run with."""
        if self.strategy not in STRATEGIES:
            raise ConfigError(
                f"strategy {self.strategy!r} is not known: use one of {', '.join(STRATEGIES)}",
                setting="strategy",
            )
        if not _VERSION.fullmatch(self.pinot_version):
            raise ConfigError(
                f"pinot_version {self.pinot_version!r} is no version such as 0.11 or 1.2.0",
                setting="pinot_version",
            )
        try:
            ZoneInfo(self.log_time_zone)
        except (KeyError, ValueError, OSError):
            raise ConfigError(
                f"log_time_zone {self.log_time_zone!r} is no time zone such as UTC or Europe/Berlin",
                setting="log_time_zone",
            ) from None
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name.endswith("_ratio") and not 0 <= value <= 1:
                raise ConfigError(f"{item.name} is a share between 0 and 1, not {value}", setting=item.name)
            least = 0 if item.name.endswith("_threshold") else 1
            if str(item.type).startswith("int") and value is not None and value < least:
                raise ConfigError(f"{item.name} must be at least {least}, not {value}", setting=item.name)
            most = _LARGEST.get(item.name)
            if most is not None and value > most:
                raise ConfigError(f"{item.name} must be at most {most}, not {value}", setting=item.name)
            if item.type == "float" and not 0 <= value < inf:
                raise ConfigError(
                    f"{item.name} must be a number of at least 0, not {value}", setting=item.name
                )


def with_overrides(settings: Settings, overrides: Mapping[str, Any], *, origin: str) -> Settings:
    """Return ``settings`` with the given values laid over; None means "not given", 0 does not.

    ``origin`` names where they come from, for the error about a name or value that is wrong.
    """
    known = {item.name: str(item.type) for item in fields(Settings)}
    changes: dict[str, Any] = {}
    for name, value in overrides.items():
        if name not in known:
            raise ConfigError(
                f"{origin}: setting {name!r} is not known: use one of {', '.join(sorted(known))}",
                setting=name,
            )
        if value is not None:
            changes[name] = _converted(name, known[name], value, origin)
    return replace(settings, **changes)


def environment_overrides(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that the environment gives, by name."""
    known = {_PREFIX + item.name.upper(): item.name for item in fields(Settings)}
    return {known[name]: value for name, value in environment.items() if name in known}


def settings_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which ``environment_overrides`` finds ``settings``."""
    return {_PREFIX + name.upper(): value for name, value in settings.items()}


def _converted(name: str, kind: str, value: Any, origin: str) -> Any:
    try:
        if kind == "bool":
            return value if isinstance(value, bool) else _BOOLEANS[str(value).lower()]
        if kind == "int | None" and str(value).lower() == "none":
            return None
        if kind.startswith("int"):
            number = float(value)
            if number != int(number):
                raise ValueError(value)
            return int(number)
        if kind == "float":
            return float(value)
        if name == "strategy":
            return STRATEGY_ALIASES.get(str(value), str(value))
        return json.dumps(value) if isinstance(value, Mapping) else str(value)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise ConfigError(
            f"{origin}: {name} takes a value of type {kind}, not {value!r}", setting=name
        ) from None
