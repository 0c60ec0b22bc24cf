"""The families of indexes: Starskip's own, and the families of users' modules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from starskip.advisor.families.column_indexes import FST, INVERTED, RANGE, SORTED
from starskip.advisor.families.family import Family, listed
from starskip.advisor.families.guarded_family import guarded
from starskip.advisor.families.index import DROP_PREFIX, Index
from starskip.advisor.families.secondary.family import SECONDARY
from starskip.advisor.families.skipping.family import SKIPPING
from starskip.advisor.families.star_tree.family import STAR_TREE
from starskip.advisor.run.night import Night
from starskip.errors import ConfigError, SourceError, printable
from starskip.pinot.table_config import TableConfig
from starskip.settings import Settings
from starskip.settings.advice_groups import ALL
from starskip.user_modules import user_module

BUILT_IN: tuple[Family, ...] = (INVERTED, RANGE, SORTED, FST, STAR_TREE, SKIPPING, SECONDARY)
"""The families that come with Starskip, in the order in which reports name them."""


@dataclass(frozen=True, slots=True)
class FamilyChoice:
    """The families that are considered, ``asked``, among all that are ``known``."""

    asked: tuple[Family, ...] = BUILT_IN
    known: tuple[Family, ...] = BUILT_IN

    @property
    def with_path(self) -> tuple[Family, ...]:
        """The considered families that answer predicates of a column."""
        return tuple(family for family in self.asked if family.path is not None)

    def without(self, names: Collection[str]) -> FamilyChoice:
        """Return the choice without the families of these names."""
        if not names:
            return self
        asked, known = (
            tuple(family for family in each if family.name not in names) for each in (self.asked, self.known)
        )
        return FamilyChoice(asked, known)

    def has(self, family: Family) -> bool:
        """Return whether ``family`` is considered."""
        return any(family.name == each.name for each in self.asked)


_NAME = re.compile(r"[a-z][a-z0-9_]*")
_known: dict[str, Family] = {family.name: family for family in BUILT_IN}


def load_families(modules: Iterable[str], faults: dict[str, str] | None = None) -> tuple[Family, ...]:
    """Return the built-in families and the families in the tuple ``FAMILIES`` of each module, in their order.

    A module is importable, or a file in the current folder. Raises ConfigError if a module is not found.
    Raises SourceError if it cannot be imported or has no such tuple, or if a family's name is taken or is not
    a word of a-z, 0-9 and _; with ``faults`` such a family is left out, and its fault is kept there. What is
    wrong in a family later comes as FamilyFault with module and line.
    """
    found = {family.name: family for family in BUILT_IN}
    for name in modules:
        for family in _families_of(name):
            try:
                _check(family, name, found)
                found[family.name] = guarded(family, name)
            except SourceError as error:
                if faults is None:
                    raise
                faults[str(family.name)] = f"a family is not used: {error}"
    _known.update(found)
    return tuple(found.values())


def configured_indexes(
    configs: Mapping[str, Iterable[TableConfig]], families: Iterable[Family] = BUILT_IN
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the columns with an index in the configs of each table, by family, in their order."""
    return {
        table: {
            family.name: tuple(
                dict.fromkeys(c for config in of_table for c in family.config.in_force(config))
            )
            for family in families
            if family.config is not None and family.path is not None and not family.path.reorders
        }
        for table, of_table in ((table, tuple(each)) for table, each in configs.items())
    }


def segment_indexes(families: Iterable[Family] = BUILT_IN) -> dict[str, str]:
    """Return by family the name of its index in the metadata of segments."""
    return {
        family.name: family.path.segment_index
        for family in families
        if family.path is not None and not family.path.reorders
    }


def known_families() -> tuple[Family, ...]:
    """Return the loaded families: the built-in ones, then the families of users' modules."""
    return tuple(_known.values())


def family_of(index: Index) -> Family | None:
    """Return the family of an index, None if its module was not loaded."""
    return _known.get(index.family)


def named(family: str) -> Family | None:
    """Return the family of that name, None if it is not known."""
    return _known.get(family)


def reorders(index: Index) -> bool:
    """Return whether ``index`` is the order of the table's rows."""
    family = family_of(index)
    return family is not None and family.path is not None and family.path.reorders


def families_named(names: str, known: tuple[Family, ...] = BUILT_IN) -> FamilyChoice:
    """Return the families that a comma separated list names, ``all`` for every one, among ``known``.

    Raises ConfigError for a name that no family of ``known`` has.
    """
    wanted = listed(names)
    unknown = [name for name in wanted if name != ALL and name not in {family.name for family in known}]
    if unknown or not wanted:
        listing = ", ".join(family.name for family in known)
        wrong = printable(unknown[0] if unknown else names)
        raise ConfigError(
            f"{wrong!r} is no family of indexes: use some of {listing}, by commas, or all",
            setting="index_kinds",
        )
    return FamilyChoice(tuple(family for family in known if ALL in wanted or family.name in wanted), known)


def _families_of(name: str) -> Sequence[Family]:
    module = user_module(name, of="families", setting="families")
    families = getattr(module, "FAMILIES", None)
    if not isinstance(families, list | tuple) or not all(isinstance(each, Family) for each in families):
        raise SourceError(
            f"module {name!r} of families: it has no tuple FAMILIES of "
            "starskip.advisor.families.family.Family",
            source=name,
        )
    return families


def _check(family: Family, module: str, taken: Iterable[str]) -> None:
    name = str(family.name)
    wrong = not _NAME.fullmatch(name) or name.startswith(DROP_PREFIX) or name == ALL
    if wrong or name in taken:
        raise SourceError(
            f"module {module!r}: a family is called {printable(name)!r}, which"
            f" {'must be a word of a-z, 0-9 and _' if wrong else 'another one is called too'}",
            source=module,
        )
    if family.path is None and family.answer is None and family.measured is None:
        raise SourceError(
            f"module {module!r}: family {name} has neither an access path nor an answer", source=module
        )


def families_of(settings: Settings, modules: Iterable[str] = ()) -> FamilyChoice:
    """Return the families that the settings consider; users' modules add to the known ones."""
    return families_named(settings.advice.index_kinds, load_families(modules))


def families_of_night(night: Night) -> FamilyChoice:
    """Return the families that a night considers, without those that failed in it."""
    return families_of(night.settings, night.family_modules).without(night.left_out_families)
