"""Every threshold with its unit, default and source; read at the edge, handed down as values.

A settings file (YAML), then the environment (``STARSKIP_`` and the name in capitals), then
arguments: the later one wins if it is present, so that 0 and false survive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from starskip.errors import ConfigError

STRATEGIES = ("leapfrog", "frequency", "parser")
_PREFIX = "STARSKIP_"
_VERSION = re.compile(r"\d+(?:\.\d+){1,2}(?:-\w+)?")
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a night; see the comment of each for its unit and its source."""

    strategy: str = "leapfrog"  # scores votes; design.md, "The mathematics"
    max_indexes: int = 8  # K, indexes a table; an upper bound, min_gain_ratio stops earlier
    min_gain_ratio: float = 0.005  # share of all entries that one more index must save; seed 000 calls it G0
    pinot_version: str = "0.11"  # which index serves which predicate; the rules are measured on 0.11
    model_error_ratio: float = 0.015  # standard deviation; calibrated by benchmarks/advice.py
    latency_r2_threshold: float = 0.7  # centred, out of sample; the seed's tool uses 0.7 too
    instances_per_shape: int = 64  # literals kept a shape; more change no advice on the samples
    max_shapes_per_table: int = 2_000  # the busiest ones; the rest counts in the denominator only
    window_rows_per_table: int = 65_536  # rows that filters are simulated on
    max_sampled_segments: int = 32  # segments a table that rows are taken from
    max_simulations_per_table: int = 20_000  # instances times segments
    log_split_bytes: int = 32 * 1024 * 1024  # bytes of a plain log file a task
    max_rejected_ratio: float = 0.05  # share of log records that no format explains
    max_unparsed_ratio: float = 0.5  # share of a table's queries that no shape was found for
    max_damaged_ratio: float = 0.2  # share of a table's segments that cannot be read
    show_literals: bool = False  # literals of queries in reports; they may be personal data
    vacuum_grace_hours: int = (
        24  # how long files stay that no manifest names: readers and writers may be slow
    )

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
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name.endswith("_ratio") and not 0 <= value <= 1:
                raise ConfigError(f"{item.name} is a share between 0 and 1, not {value}", setting=item.name)
            if item.type == "int" and value < 1:
                raise ConfigError(f"{item.name} must be at least 1, not {value}", setting=item.name)


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


def _converted(name: str, kind: str, value: Any, origin: str) -> Any:
    try:
        if kind == "bool":
            return value if isinstance(value, bool) else _BOOLEANS[str(value).lower()]
        if kind == "int":
            number = float(value)
            if number != int(number):
                raise ValueError(value)
            return int(number)
        return float(value) if kind == "float" else str(value)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise ConfigError(
            f"{origin}: {name} takes a value of type {kind}, not {value!r}", setting=name
        ) from None
