"""Numbers as people write them: ``10MB``, ``1.5 GiB``, ``5 %``, ``24h``, ``512k``, ``10,000``.

A MB has 10^6 bytes, as in every printed size, and a MiB 2^20 bytes. A letter alone is decimal.
"""

from __future__ import annotations

import re
from decimal import Decimal

_PREFIXES = "kmgtp"
_THOUSANDS = {"": 1} | {letter: 1000**power for power, letter in enumerate(_PREFIXES, start=1)}
_BYTES = (
    _THOUSANDS
    | {f"{letter}b": factor for letter, factor in _THOUSANDS.items()}
    | {f"{letter}i{end}": 1024**power for power, letter in enumerate(_PREFIXES, 1) for end in ("", "b")}
)
_MILLISECONDS = {
    "ms": 1,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_TIMES = {"ms": 1, "seconds": 1_000, "minutes": 60_000, "hours": 3_600_000}
"""Units of settings that are times, in milliseconds."""

_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+|\d[\d_]*)?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?"
_WRITTEN = re.compile(rf"([+-]?{_DIGITS})\s*([A-Za-z]*|%)")
_LONGEST = 60
_MOST_SHOWN = 10**18
_SHOWN = (
    ("TiB", 1024**4),
    ("TB", 1000**4),
    ("GiB", 1024**3),
    ("GB", 1000**3),
    ("MiB", 1024**2),
    ("MB", 1000**2),
    ("KiB", 1024),
    ("kB", 1000),
)


def written_number(text: str, unit: str, *, is_whole: bool) -> int | float:
    """Return the number that ``text`` says in ``unit``, the unit of a setting; ``is_whole``: as an int.

    A size is rounded to whole bytes. Raises ValueError for a text that is no number, a unit of another kind,
    and for a number that is not whole but should be.
    """
    found = _WRITTEN.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if found is None or not any(map(str.isdigit, found[1])):
        raise ValueError(text)
    factors, base = _factors(unit, is_whole=is_whole)
    suffix = found[2].lower()
    if suffix not in factors or ("," in found[1] and not is_whole):
        raise ValueError(text)
    number = Decimal(found[1].replace("_", "").replace(",", "")) * factors[suffix] / base
    if not is_whole:
        return float(number)
    if is_size(unit) and suffix not in ("", "b"):
        return round(number)
    if number != number.to_integral_value():
        raise ValueError(text)
    return int(number)


def number_words(value: float, unit: str) -> str:
    """Return a number as people write it, ``32 MiB`` or ``0.5%``; ``written_number`` reads it back."""
    if is_size(unit) and isinstance(value, int) and value < _MOST_SHOWN:
        for name, factor in _SHOWN:
            if value and value % factor == 0:
                return f"{value // factor} {name}"
    if is_share(unit):
        percent = f"{(Decimal(repr(float(value))) * 100).normalize():f}%"
        return percent if len(percent) < 9 else str(value)
    return str(value)


def number_forms(unit: str) -> str:
    """Return other forms of a number of this unit, in words behind its bounds; empty without any."""
    if is_size(unit):
        return "such as 10MB or 1.5GiB"
    if is_share(unit):
        return "such as 0.05 or 5%"
    return "such as 90s, 24h or 7d" if _time_of(unit) else ""


def is_size(unit: str) -> bool:
    """Return whether numbers of this unit count bytes."""
    return unit.split(" ")[0] == "bytes"


def is_share(unit: str) -> bool:
    """Return whether numbers of this unit are shares of a whole."""
    return unit == "share"


def _time_of(unit: str) -> int | None:
    return None if " a MiB" in unit else _TIMES.get(unit.split(" ")[0])


def _factors(unit: str, *, is_whole: bool) -> tuple[dict[str, Decimal | int], int]:
    """Return the factors of all suffixes, and what the product is divided by."""
    if is_size(unit):
        return dict(_BYTES), 1
    if is_share(unit):
        return {"": 1, "%": Decimal("0.01")}, 1
    if (base := _time_of(unit)) is not None:
        return {"": base, **_MILLISECONDS}, base
    return (dict(_THOUSANDS) if is_whole else {"": 1}), 1
