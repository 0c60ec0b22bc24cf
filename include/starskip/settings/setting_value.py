"""Convert values of files, environments and arguments to the type of a setting."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from starskip.errors import ConfigError, printable
from starskip.settings.declared import Declared
from starskip.settings.written_number import is_share, is_size, number_forms, number_words, written_number

_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NOTHING = "none"


def setting_value(declared: Declared, raw: Any) -> Any:
    """Return ``raw`` as a value of the setting; ConfigError names setting, value and allowed values."""
    try:
        if declared.kind is str and isinstance(raw, float) and not isinstance(raw, WrittenFloat):
            raise _unquoted(declared, raw)
        value = _converted(declared, raw)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise _refused(declared, raw) from None
    check_value(declared, value, raw)
    return value


def check_value(declared: Declared, value: Any, shown: Any = None) -> None:
    """Raise ConfigError for a value that the declaration does not allow; ``shown``: the value as written."""
    if not _is_allowed(declared, value):
        raise _refused(declared, value if shown is None else shown)


def value_text(value: Any) -> str:
    """Return the text that ``setting_value`` reads as ``value``."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)


def shown_value(declared: Declared, value: Any) -> str:
    """Return a value as people write it, which ``setting_value`` reads as the same: ``32 MiB``, ``0.5%``."""
    if value is None or declared.kind not in (int, float):
        return value_text(value)
    return number_words(value, declared.facts.unit)


def allowed_values(declared: Declared) -> str:
    """Return the values that the setting takes, in words that follow "use"."""
    facts = declared.facts
    if declared.kind is bool:
        words = "true or false"
    elif facts.choices:
        words = f"one of {', '.join(facts.choices)}"
    elif facts.allowed:
        words = facts.allowed
    elif declared.kind is str:
        words = "a text"
    else:
        words = _numbers(declared)
    return f"{words}, or {_NOTHING}" if declared.is_optional else words


def _numbers(declared: Declared) -> str:
    facts = declared.facts
    least, most = facts.at_least, facts.at_most
    words, unit = "a whole number" if declared.kind is int else "a number", ""
    if is_share(facts.unit):
        words = "a share"
    elif is_size(facts.unit):
        words, unit = "a size", " byte" if least == 1 else " bytes"
    if least is not None and most is not None:
        words += f" from {least:,} to {most:,}{unit}"
    elif least is not None:
        words += f" of at least {least:,}{unit}"
    elif most is not None:
        words += f" of at most {most:,}{unit}"
    forms = number_forms(facts.unit)
    return f"{words}, {forms}" if forms else words


class WrittenFloat(float):
    """A number that keeps the text it was written as: 1.10 is a version of Pinot, and 1.1 another one."""

    def __new__(cls, value: float, text: str) -> WrittenFloat:
        """Return the number ``value``, written as ``text``."""
        found = super().__new__(cls, value)
        found.text = text
        return found

    text: str


def _converted(declared: Declared, raw: Any) -> Any:
    if isinstance(raw, WrittenFloat) and declared.kind is str:
        raw = raw.text
    if declared.is_optional and str(raw).lower() == _NOTHING:
        return None
    if declared.kind is bool:
        return raw if isinstance(raw, bool) else _BOOLEANS[str(raw).lower()]
    if declared.kind is str:
        return _text(declared, raw)
    if isinstance(raw, bool):
        raise TypeError(raw)
    try:
        return float(raw) if declared.kind is float else _whole(raw)
    except ValueError:
        if not isinstance(raw, str):
            raise
        return written_number(raw, declared.facts.unit, is_whole=declared.kind is int)


def _text(declared: Declared, raw: Any) -> str:
    facts = declared.facts
    if facts.json_values and isinstance(raw, Mapping):
        return json.dumps(raw)
    if isinstance(raw, Mapping | list | tuple):
        if isinstance(raw, Mapping) or not facts.is_list:
            raise TypeError(raw)
        return ",".join(str(each) for each in raw)
    return facts.aliases.get(str(raw), str(raw))


def _whole(raw: Any) -> int:
    try:
        return int(raw, 10) if isinstance(raw, str) else _same(raw)
    except ValueError:
        return _same(float(raw))


def _same(number: Any) -> int:
    if int(number) != number:
        raise ValueError(number)
    return int(number)


def _is_allowed(declared: Declared, value: Any) -> bool:
    facts = declared.facts
    if value is None:
        return declared.is_optional
    if isinstance(value, bool) != (declared.kind is bool):
        return False
    if declared.kind in (int, float):
        return isinstance(value, int | declared.kind) and _is_within(value, facts.at_least, facts.at_most)
    if declared.kind is bool or not isinstance(value, str):
        return declared.kind is bool
    if facts.choices:
        return value in facts.choices
    if facts.pattern and not re.fullmatch(facts.pattern, value):
        return False
    return facts.is_valid is None or facts.is_valid(value)


def _is_within(value: float, least: float | None, most: float | None) -> bool:
    # An integer may be larger than any float, which isfinite does not take.
    is_number = isinstance(value, int) or isfinite(value)
    return is_number and (least is None or value >= least) and (most is None or value <= most)


def _unquoted(declared: Declared, raw: float) -> ConfigError:
    # 1.10 as a number is 1.1, which is another version; a file's number keeps its text, see WrittenFloat.
    return ConfigError(
        f"{declared.place}: {raw} is a number, which loses zeros at its end: write it in quotes, "
        f"such as {declared.name}: '1.10'",
        setting=declared.place,
    )


def _refused(declared: Declared, raw: Any) -> ConfigError:
    # Values of JSON objects may be queries, with their literals.
    shown = (
        "its value"
        if declared.facts.json_values
        else printable(raw if isinstance(raw, str) else repr(raw), 80)
    )
    return ConfigError(
        f"{declared.place}: {shown} is not allowed: use {allowed_values(declared)}", setting=declared.place
    )
