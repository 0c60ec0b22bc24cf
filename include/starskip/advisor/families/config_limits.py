"""Hold proposals of families against the rules of Pinot's table configs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starskip.advisor.families.family import Family
from starskip.errors import StarskipError, printable
from starskip.pinot.column_key import lay_over
from starskip.pinot.config_columns import ConfigColumns, SchemaColumn
from starskip.pinot.config_rule import ConfigFault
from starskip.pinot.config_rules import config_faults
from starskip.pinot.proposed_config import KeyEdit, with_edits
from starskip.pinot.table_config import TableConfig
from starskip.pinot.target_version import release_number
from starskip.tables.table_overview import TableOverview

_MOST_NAMED = 3
_UNKNOWN_TYPE = "LONG"
"""Packed metadata has no types: a column then counts as one that may have any index."""


def with_config_limits(
    overviews: Mapping[str, TableOverview],
    configs: Mapping[str, Sequence[TableConfig]],
    families: Iterable[Family],
    pinot_version: str,
) -> dict[str, TableOverview]:
    """Return the overviews with the indexes that the table configs must not have, by family and column."""
    of_columns = [family for family in families if family.path is not None and family.config is not None]
    return {
        table: _limited(overview, configs.get(table, ()), of_columns, pinot_version)
        for table, overview in overviews.items()
    }


def edit_faults(
    overview: TableOverview, configs: Sequence[TableConfig], edits: Sequence[KeyEdit], pinot_version: str
) -> tuple[ConfigFault, ...]:
    """Return the rules that the configs keep, and break with ``edits``."""
    return _new_faults(overview, configs, lambda config: with_edits(config, edits), pinot_version)


def config_notes(
    overview: TableOverview, configs: Sequence[TableConfig], pinot_version: str
) -> tuple[str, ...]:
    """Return what to know of the given configs: rules that they break, and parts that are not read."""
    columns, release = _schema_columns(overview), release_number(pinot_version)
    told = []
    for config in configs:
        faults = [each for each in config_faults(config.document, columns, release) if each.is_validated]
        if faults:
            named = "; ".join(fault.words for fault in faults[:_MOST_NAMED])
            more = f", and {len(faults) - _MOST_NAMED} more" if len(faults) > _MOST_NAMED else ""
            told.append(f"Pinot {pinot_version} refuses the given config: {named}{more}")
        read = ConfigColumns(config.document, columns, release)
        tiers = read.tiers()
        if tiers:
            told.append(
                f"tier {', '.join(tiers)} has indexes of its own, which the advice leaves as they are"
            )
        if read.index_config.get("starTreeIndexSpec"):
            told.append("starTreeIndexSpec is of old releases, and counts as no star-tree")
    return tuple(printable(f"table {overview.table}: {each}") for each in told)


def barred_also(overview: TableOverview, family: str, column: str, why: str) -> TableOverview:
    """Return the overview with one more index that the table config must not have."""
    of_family = {**overview.barred.get(family, {}), column: why}
    return replace(overview, barred={**overview.barred, family: of_family})


def _limited(
    overview: TableOverview, configs: Sequence[TableConfig], families: Sequence[Family], pinot_version: str
) -> TableOverview:
    columns, release = _schema_columns(overview), release_number(pinot_version)
    raw = [ConfigColumns(each.document, columns, release).raw() for each in configs]
    barred = {family.name: _barred(overview, configs, family, pinot_version) for family in families}
    return replace(overview, barred=barred, raw_columns=frozenset().union(*raw))


def _barred(
    overview: TableOverview, configs: Sequence[TableConfig], family: Family, pinot_version: str
) -> dict[str, str]:
    """Return the columns on which an index of ``family`` breaks a rule, with the rule."""
    names = [name for name in overview.columns if name not in overview.indexed(family.name)]
    together = _laid_faults(overview, configs, family, names, pinot_version)
    by_subject = {fault.subject: fault.sentence(pinot_version) for fault in reversed(together)}
    if by_subject.keys() <= {"", *names}:
        of_all = by_subject.get("")
        return {name: why for name in names if (why := by_subject.get(name, of_all)) is not None}
    # A family of a user's own: its keys may name anything.
    alone = {name: _laid_faults(overview, configs, family, [name], pinot_version) for name in names}
    return {name: faults[0].sentence(pinot_version) for name, faults in alone.items() if faults}


def _laid_faults(
    overview: TableOverview,
    configs: Sequence[TableConfig],
    family: Family,
    names: Sequence[str],
    pinot_version: str,
) -> tuple[ConfigFault, ...]:
    key, path = family.config, family.path
    assert key is not None
    assert path is not None

    def laid(config: TableConfig) -> Mapping[str, Any]:
        if not path.reorders:
            return with_edits(config, [KeyEdit(key, names)])
        # A table has one order: writing would take one column alone.
        document = with_edits(config, [])
        for name in names:
            lay_over(document, key.fragment(name))
        return document

    try:
        return _new_faults(overview, configs, laid, pinot_version)
    except StarskipError:
        # A user's family: writing the config reports the error.
        return ()


def _new_faults(
    overview: TableOverview,
    configs: Sequence[TableConfig],
    changed: Any,
    pinot_version: str,
) -> tuple[ConfigFault, ...]:
    columns, release = _schema_columns(overview), release_number(pinot_version)
    found: dict[ConfigFault, None] = {}
    for config in configs or (TableConfig(overview.table),):
        before = {*config_faults(config.document, columns, release)}
        after = config_faults(changed(config), columns, release)
        found.update(dict.fromkeys(fault for fault in after if fault not in before))
    return tuple(found)


def _schema_columns(overview: TableOverview) -> dict[str, SchemaColumn]:
    """Return the columns of the schema; Pinot adds those whose names begin with $ itself."""
    return {
        name: SchemaColumn(column.data_type or _UNKNOWN_TYPE, column.is_single_value, column.column_type)
        for name, column in overview.columns.items()
        if not name.startswith("$")
    }
