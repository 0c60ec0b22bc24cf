"""Numbers as people read them: thousands, percents, bytes, durations."""

from __future__ import annotations

from collections.abc import Sequence

_NONE = "–"
LEAST_WHOLE = 0.095
"""The least share that sentences show in whole percents."""


def count(value: float | None) -> str:
    """Return a whole number with thousands separators, ``256,205,146``, or a dash for none."""
    return _NONE if value is None else f"{round(value):,}"


def mean_count(value: float | None) -> str:
    """Return a mean of counts, ``2.33`` or ``1,996``, or a dash for none."""
    return decimal(value) if value is not None and abs(value) < 100 else count(value)


def compact_count(value: float | None) -> str:
    """Return a count in at most four digits and a suffix, ``256 M``, or a dash for none."""
    return _NONE if value is None else _scaled(float(value), ("", "k", "M", "G", "T", "P"))


def size(size_bytes: int | None) -> str:
    """Return a size in decimal units, ``1.59 MB``, or ``unknown``."""
    return (
        "unknown" if size_bytes is None else _scaled(float(size_bytes), ("B", "kB", "MB", "GB", "TB", "PB"))
    )


def size_share(size_bytes: int | None, table_bytes: int | None) -> str:
    """Return a size with its share of the table where both are known, ``1.59 MB (8.1 %)``."""
    if size_bytes is None or not table_bytes:
        return size(size_bytes)
    return f"{size(size_bytes)} ({percent(size_bytes / table_bytes)})"


def percent(ratio: float, decimals: int = 1) -> str:
    """Return a ratio as ``59.6 %``; never ``-0.0 %``, and never ``100.0 %`` for less than all."""
    shown = ratio * 100
    rounded = round(shown, decimals) + 0.0
    if rounded == 100 and ratio < 1:
        rounded = 100 - 10**-decimals
    return f"{rounded:.{decimals}f} %".replace("-", "−")


def points(difference: float) -> str:
    """Return the difference of two ratios in points of percent, with its sign."""
    rounded = round(difference * 100, 1)
    sign = "−" if rounded < 0 else "+" if rounded > 0 else "±"
    return f"{sign}{abs(rounded):.1f} points"


def share(ratio: float) -> str:
    """Return a share as sentences show it: ``63 %``, ``4.6 %``, ``0.02 %``."""
    if abs(ratio) >= LEAST_WHOLE:
        return percent(ratio, 0)
    if abs(ratio) >= 0.0005 or ratio == 0:
        return percent(ratio)
    return f"−{fine_percent(-ratio)}" if ratio < 0 else fine_percent(ratio)


def saves(ratio: float) -> str:
    """Return a saving as a verb and its object: ``saves 4.6 %``, ``saves nothing``, ``costs 0.1 %``.

    A share below a hundredth of a percent counts as nothing: no prediction can resolve it.
    """
    if abs(ratio) < 0.0001:
        return "saves nothing"
    return f"{'saves' if ratio > 0 else 'costs'} {share(abs(ratio))}"


def fine_percent(ratio: float) -> str:
    """Return a share as ``59.6 %``; below 1 % with two digits: ``0.0012 %``."""
    shown = ratio * 100
    if shown <= 0 or shown >= 1:
        return percent(ratio)
    if shown < 1e-6:
        return "under 0.000001 %"
    return f"{float(f'{shown:.2g}'):.9f}".rstrip("0").rstrip(".") + " %"


def percent_range(low: float, high: float, decimals: int = 0) -> str:
    """Return two ratios as ``55–63 %``; with a minus in it as ``−2 to 3 %``."""
    joint = "–" if low >= 0 else " to "
    return f"{percent(low, decimals)[:-2]}{joint}{percent(high, decimals)}"


def milliseconds(value_ms: float | None) -> str:
    """Return a duration in the unit that suits it, ``3.2 ms``, ``12.4 s``, ``7.1 min``; a dash for none."""
    if value_ms is None:
        return _NONE
    magnitude = abs(value_ms)
    for limit, divisor, unit in ((1e3, 1, "ms"), (6e4, 1e3, "s"), (3.6e6, 6e4, "min")):
        if magnitude < limit:
            return f"{value_ms / divisor:.3g} {unit}".replace("-", "−")
    return f"{value_ms / 3.6e6:,.1f} h".replace("-", "−")


def decimal(value: float | None) -> str:
    """Return a number with three significant digits, or a dash for none."""
    return _NONE if value is None else f"{value:.3g}".replace("-", "−")


def _scaled(value: float, units: tuple[str, ...]) -> str:
    for unit in units:
        if abs(value) < 999.5 or unit == units[-1]:
            digits = f"{value:.0f}" if unit == units[0] or abs(value) >= 99.95 else f"{value:.3g}"
            return f"{digits} {unit}".rstrip().replace("-", "−")
        value /= 1000
    raise AssertionError("the last unit takes all")


def some_names(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
