"""A group of settings: a frozen dataclass whose values are checked when it is made."""

from __future__ import annotations

import types
from dataclasses import fields
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

from starskip.settings.declared import FACTS, Declared
from starskip.settings.setting_value import check_value

_KINDS = (bool, int, float, str)


class SettingsGroup:
    """Settings that belong together; a frozen dataclass inherits it and declares fields by ``setting``.

    ``group`` is the name before the dot, of small letters, digits and single underscores; ``heading`` stands
    above the group in the trigger form and in the docs.
    """

    __slots__ = ()

    group: ClassVar[str]
    heading: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse values that no night can run with."""
        for each in declared_settings(type(self)):
            check_value(each, getattr(self, each.name))


def declared_settings(group: type[SettingsGroup]) -> tuple[Declared, ...]:
    """Return the settings of ``group`` in their order.

    Raises TypeError for a field that ``setting`` did not make, or whose type cannot be read from text.
    """
    types_of = get_type_hints(group)
    of_class: Any = group  # a dataclass, which its base cannot say
    return tuple(_declared(group, item, types_of[item.name]) for item in fields(of_class))


def _declared(group: type[SettingsGroup], item: Any, annotated: Any) -> Declared:
    facts = item.metadata.get(FACTS)
    is_union = get_origin(annotated) in (Union, types.UnionType)
    kinds = [each for each in get_args(annotated) if each is not type(None)] if is_union else [annotated]
    if facts is None or len(kinds) != 1 or kinds[0] not in _KINDS:
        raise TypeError(
            f"{group.__name__}.{item.name}: a setting is bool, int, float or str, made by starskip.settings"
        )
    return Declared(group.group, item.name, kinds[0], is_union, item.default, facts)
