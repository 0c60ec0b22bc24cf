"""The plan of a change: one config of one table as it is and as it should be, and why it may be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starskip.advisor.families.families import known_families, named
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_edit import family_edit
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.errors import ConfigError, MissingSource, printable
from starskip.pinot.column_key import INDEX_CONFIG
from starskip.pinot.config_change import KeyChange, config_diff, config_digest, key_changes, with_changes
from starskip.pinot.given_config import without_secrets
from starskip.pinot.hybrid_tables import TABLE_TYPES, half_name, without_type
from starskip.pinot.proposed_config import with_edits
from starskip.pinot.table_config import table_config

REALTIME = "REALTIME"
_UNRESOLVED_SINCE = (1, 3)
"""Before this release GET answers with the values of ${VARIABLES}, and a PUT would write them for good."""
_REFRESH_TASK = "RefreshSegmentTask"


@dataclass(frozen=True, slots=True)
class Plan:
    """A change of one table's config that has not been made yet.

    ``table``: with its type. ``base``: the config as the controller has it, and ``target`` as it should be.
    ``indexes``: the indexes that come and go. ``notes``: what of the advice is left out, and why.
    """

    table: str
    base: Mapping[str, Any]
    target: Mapping[str, Any]
    indexes: tuple[AdvisedIndex, ...]
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[KeyChange, ...]:
        """The keys that change."""
        return key_changes(self.base, self.target)

    @property
    def before(self) -> str:
        """The digest of the config as it is."""
        return config_digest(self.base)

    @property
    def after(self) -> str:
        """The digest of the config as it should be."""
        return config_digest(self.target)

    @property
    def diff(self) -> str:
        """The change as lines of a diff, without secrets; empty if nothing changes."""
        return config_diff(self.base, self.target)

    def without(self, names: Sequence[str], note: str) -> Plan:
        """Return the plan with the indexes of these names left out."""
        kept = tuple(each for each in self.indexes if each.name not in names)
        made = _plan(self.table, self.base, kept)
        return replace(made, notes=(*self.notes, note))


def config_of(table: str, configs: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the config of a table or of the half that its name says, of what GET /tables/T answers.

    Raises MissingSource if there is none, and ConfigError if the name may mean either half.
    """
    name, table_type = without_type(table)
    held = {each: configs[each] for each in TABLE_TYPES if configs.get(each)}
    if table_type is None and len(held) > 1:
        halves = " or ".join(half_name(name, each) for each in held)
        raise ConfigError(
            f"table {printable(name, 100)} has two configs: name {printable(halves, 200)}", setting=table
        )
    wanted = table_type or next(iter(held), TABLE_TYPES[0])
    if wanted not in held:
        raise MissingSource(f"Pinot has no {wanted} config of table {printable(name, 100)}", source=table)
    return held[wanted]


def plan_of(
    advice: AdvisedChange,
    config: Mapping[str, Any],
    release: tuple[int, ...],
    *,
    allow_realtime: bool = False,
) -> Plan:
    """Return the plan that lays ``advice`` over ``config``; nothing else of the config changes.

    What is in force already, and what a reload does not build, is left out. Raises ConfigError for a config
    that must not be written.
    """
    table_type = str(config.get("tableType") or TABLE_TYPES[0]).upper()
    table = half_name(without_type(str(config.get("tableName", advice.table)))[0], table_type)
    _require_writable(table, config, release, allow_realtime=allow_realtime)
    notes: list[str] = []
    kept: list[AdvisedIndex] = []
    for index in advice.indexes:
        why = _left_out(index, config)
        if why is None:
            kept.append(index)
        elif why:
            notes.append(f"{index.name}: {why}")
    plan = _plan(table, config, kept)
    _require_one_config(plan)
    return replace(plan, notes=tuple(notes))


def _plan(table: str, config: Mapping[str, Any], indexes: Sequence[AdvisedIndex]) -> Plan:
    edits = []
    for family in known_families():
        of_family = [each for each in indexes if each.family == family.name]
        if not of_family or family.config is None:
            continue
        added = [each for each in of_family if not each.is_drop]
        dropped = [column for each in of_family if each.is_drop for column in each.columns]
        if family.path is not None:
            columns = [column for each in added for column in each.columns]
            edits.append(family_edit(family, columns, dropped))
        else:
            edits.append(family_edit(family, (), dropped, [each.config for each in added]))
    written = with_edits(table_config(dict(config)), edits)
    # The keys alone that differ: what the base holds as null stays as it is.
    return Plan(table, config, with_changes(config, key_changes(config, written)), tuple(indexes))


def _left_out(index: AdvisedIndex, config: Mapping[str, Any]) -> str | None:
    """Return why an index is no part of the plan, None if it is; empty if there is nothing to say."""
    family = named(index.family)
    if family is None:
        return "its family is not loaded: name its module in the configuration"
    if family.config is None:
        return ""  # of files of the lake: no table config has it
    if family.path is not None and family.path.reorders:
        return "a reload does not sort segments: only new segments would follow it"
    if is_in_force(family, index, config) is not index.is_drop:
        return "is not in force" if index.is_drop else "is in force already"
    return None


def is_in_force(family: Family, index: AdvisedIndex, config: Mapping[str, Any]) -> bool:
    """Return whether a table config holds an index of a family with a key; of a drop, the index dropped."""
    key = family.config
    assert key is not None
    held = key.in_force(table_config(dict(config)))
    if index.is_drop or family.path is not None:
        return set(index.columns) <= {each for each in held if isinstance(each, str)}
    with_it = with_edits(table_config(dict(config)), [family_edit(family, (), (), [index.config])])
    return not key_changes(config, with_it)


def _require_one_config(plan: Plan) -> None:
    """Refuse a key that a tier has of its own: its segments would never be as the table's key says."""
    tiers = (plan.base.get(INDEX_CONFIG) or {}).get("tierOverwrites") or {}
    for tier, keys in tiers.items():
        for each in plan.changes:
            if each.path[0] == INDEX_CONFIG and each.path[-1] in (keys or {}):
                raise ConfigError(
                    f"table {printable(plan.table, 100)}: tier {printable(tier, 100)} has {each.path[-1]} of "
                    "its own (tierOverwrites), which its segments follow in place of the table's: change it "
                    "by hand",
                    setting=plan.table,
                )


def _require_writable(
    table: str, config: Mapping[str, Any], release: tuple[int, ...], *, allow_realtime: bool
) -> None:
    shown, is_realtime = printable(table, 100), table.endswith(f"_{REALTIME}")
    if is_realtime and not allow_realtime:
        raise ConfigError(
            f"table {shown}: a reload of a REALTIME table commits its consuming segments, which become small "
            "segments: ask for it with --realtime, or with realtime_tables of the DAG",
            setting=table,
        )
    if release < _UNRESOLVED_SINCE:
        hidden = without_secrets(config)[1]
        version = ".".join(map(str, release))
        if is_realtime:
            raise ConfigError(
                f"table {shown}: Pinot {version} answers with the values of variables such as "
                "${KAFKA_PASSWORD} in place of their names, and writing the config back would keep them in "
                "plain text for good: change it by hand, or use Pinot 1.3 or later",
                setting=table,
            )
        if hidden:
            raise ConfigError(
                f"table {shown}: {printable(hidden[0], 100)} looks like a secret, which Pinot {version} may "
                "have filled in for a variable, and writing the config back would keep it in plain text for "
                "good: change it by hand, or use Pinot 1.3 or later",
                setting=table,
            )
    if _REFRESH_TASK in ((config.get("task") or {}).get("taskTypeConfigsMap") or {}):
        raise ConfigError(
            f"table {shown}: has a {_REFRESH_TASK}: minions rebuild all its segments once the config changes,"
            " which leaves no canary to measure: take the task out first",
            setting=table,
        )
