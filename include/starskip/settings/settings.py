"""Settings of a night: the groups of the core, and a group for each index family that has one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from starskip.errors import ConfigError, printable
from starskip.settings.advice_groups import ALL, AdviceSettings, ScoringSettings, WorkloadSettings
from starskip.settings.declared import Declared
from starskip.settings.group import SettingsGroup, declared_settings
from starskip.settings.night_groups import (
    BuildingSettings,
    DeploymentSettings,
    GateSettings,
    LatencySettings,
    LogSettings,
    NotificationSettings,
    ReportSettings,
    RetentionSettings,
    ScaleSettings,
)

_NO_GROUPS = ("families", "kinds")

G = TypeVar("G", bound=SettingsGroup)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings by group, such as ``settings.advice.max_indexes``.

    ``families`` holds the groups of index families. ``kinds``: the known kinds of index; without any,
    ``advice.index_kinds`` is not judged.
    """

    log: LogSettings = field(default_factory=LogSettings)
    workload: WorkloadSettings = field(default_factory=WorkloadSettings)
    advice: AdviceSettings = field(default_factory=AdviceSettings)
    scoring: ScoringSettings = field(default_factory=ScoringSettings)
    latency: LatencySettings = field(default_factory=LatencySettings)
    building: BuildingSettings = field(default_factory=BuildingSettings)
    scale: ScaleSettings = field(default_factory=ScaleSettings)
    gates: GateSettings = field(default_factory=GateSettings)
    deployment: DeploymentSettings = field(default_factory=DeploymentSettings)
    reports: ReportSettings = field(default_factory=ReportSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    notifications: NotificationSettings = field(default_factory=NotificationSettings)
    families: tuple[SettingsGroup, ...] = ()
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse group names that cannot be distinguished, and an unknown kind of index."""
        asked = self.advice.index_kinds
        if self.kinds and not {*asked.split(",")} <= {ALL, *self.kinds}:
            raise ConfigError(
                f"advice.index_kinds: {printable(asked, 80)} is not allowed: use {ALL}, or some of "
                f"{', '.join(self.kinds)}, separated by commas",
                setting="advice.index_kinds",
            )
        names = [group.group for group in self.groups]
        for name in names:
            if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
                raise ConfigError(
                    f"group of settings {printable(name, 80)!r}: use small letters, digits and single "
                    "underscores, since names of environment variables are made of it",
                    setting=name,
                )
            if names.count(name) > 1:
                raise ConfigError(f"two groups of settings are called {name}: rename one", setting=name)

    @property
    def groups(self) -> tuple[SettingsGroup, ...]:
        """The groups of the core, then the groups of the families."""
        core = (getattr(self, each.name) for each in fields(self) if each.name not in _NO_GROUPS)
        return (*core, *self.families)

    def of(self, kind: type[G]) -> G:
        """Return the group of a family; its defaults if the night has none of it."""
        for group in self.groups:
            if isinstance(group, kind):
                return group
        return kind()

    def items(self) -> Iterator[tuple[Declared, Any]]:
        """Yield each setting with its value, group by group."""
        for group in self.groups:
            for declared in declared_settings(type(group)):
                yield declared, getattr(group, declared.name)

    def differences(self) -> dict[str, Any]:
        """Return the values that are not the defaults, by place: ``changed`` takes them to the same."""
        return {each.place: value for each, value in self.items() if value != each.default}

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """Return settings with other values at some places, such as ``advice.max_indexes``.

        Raises ConfigError for an unknown place, and for a value that is not allowed.
        """
        for place in values.keys() - {each.place for each, _ in self.items()}:
            raise ConfigError(f"there is no setting {place}", setting=place)
        made: dict[str, Any] = {group.group: _changed(group, values) for group in self.groups}
        of_families = tuple(made.pop(group.group) for group in self.families)
        return replace(self, **made, families=of_families)


def _changed(group: SettingsGroup, values: Mapping[str, Any]) -> SettingsGroup:
    declared = declared_settings(type(group))
    inside = {each.name: values[each.place] for each in declared if each.place in values}
    return type(group)(**{each.name: getattr(group, each.name) for each in declared} | inside)
