"""A group of settings: a frozen dataclass whose values are checked when it is made."""

from __future__ import annotations

from typing import ClassVar

from starskip.settings.declared import declared_settings
from starskip.settings.setting_value import check_value


class SettingsGroup:
    """Settings that belong together; a frozen dataclass inherits it and declares fields by ``setting``.

    ``group`` is the name before the dot, of small letters, digits and single underscores; ``heading`` stands
    above the group in the trigger form and in the docs.
    """

    __slots__ = ()

    group: ClassVar[str]
    heading: ClassVar[str]
    had_flat_names: ClassVar[bool] = False
    """True if each setting goes on to be read by the name that it had before settings were grouped."""

    def __post_init__(self) -> None:
        """Refuse values that no night can run with."""
        for each in declared_settings(type(self)):
            check_value(each, getattr(self, each.name))
