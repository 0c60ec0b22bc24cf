"""Declaration of a setting: a field of a dataclass, whose metadata holds unit, help, source and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

FACTS = "setting"
"""Key of the facts in a field's metadata."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SettingFacts:
    """Facts of a setting beside its name, type and default; ``setting`` describes each."""

    help: str
    title: str
    unit: str
    source: str
    at_least: float | None
    at_most: float | None
    choices: tuple[str, ...]
    is_list: bool
    aliases: Mapping[str, str]
    pattern: str
    allowed: str
    is_valid: Callable[[Any], bool] | None
    json_values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Declared:
    """One setting of a group; ``kind`` is bool, int, float or str."""

    group: str
    name: str
    kind: type
    is_optional: bool
    default: Any
    facts: SettingFacts

    @property
    def place(self) -> str:
        """Name of the setting in files, arguments and reports, such as ``advice.max_indexes``."""
        return f"{self.group}.{self.name}"


def setting(
    default: T,
    help: str,
    *,
    title: str = "",
    unit: str = "",
    source: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
    choices: tuple[str, ...] = (),
    is_list: bool = False,
    aliases: Mapping[str, str] | None = None,
    pattern: str = "",
    allowed: str = "",
    is_valid: Callable[[Any], bool] | None = None,
    json_values: Mapping[str, Any] | None = None,
) -> T:
    """Return a field of a group of settings; its type is bool, int, float or str, or one of these or None.

    ``title``: its label in Airflow's trigger form; without a title the setting is the same for every run.
    ``source``: the paper, by its title, or the benchmark that the default comes from. ``at_least`` and
    ``at_most`` bound a number. ``choices``: the allowed texts; ``aliases``: other names of
    these. ``is_list``: the text holds names separated by commas, and may be given as a list. ``pattern`` must
    match a whole text, ``is_valid`` judges what no pattern can, and ``allowed`` says both in words.
    ``json_values``: for a text that is a JSON object, the JSON schema of its values.
    """
    facts = SettingFacts(
        help,
        title,
        unit,
        source,
        at_least,
        at_most,
        choices,
        is_list,
        aliases or {},
        pattern,
        allowed,
        is_valid,
        json_values or {},
    )
    return field(default=default, metadata={FACTS: facts})
