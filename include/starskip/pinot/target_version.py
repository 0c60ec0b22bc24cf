"""The version of Pinot that is advised for, and the columns whose dictionary answers patterns there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

REGEXP_DICTIONARY_VALUES = 10_000
"""DEFAULT_REGEX_DICT_SIZE_THRESHOLD of Pinot 1.5: larger dictionaries are scanned by row."""


@dataclass(frozen=True, slots=True)
class TargetVersion:
    """A release of Pinot, for one table.

    ``pattern_columns``: columns whose LIKE and REGEXP_LIKE go through the dictionary (from 1.5 on).
    """

    release: tuple[int, ...] = (0, 11)
    pattern_columns: frozenset[str] = frozenset()


def target_version(pinot_version: str, short_dictionary_columns: Collection[str] = ()) -> TargetVersion:
    """Return the target of ``pinot_version`` (such as 0.11 or 1.2.0).

    ``short_dictionary_columns``: columns with fewer than REGEXP_DICTIONARY_VALUES distinct values.
    """
    release = release_number(pinot_version)
    return TargetVersion(release, frozenset(short_dictionary_columns) if release >= (1, 5) else frozenset())


def release_number(pinot_version: str) -> tuple[int, ...]:
    """Return (0, 11) of 0.11.0, or (1, 2) of 1.2.0-SNAPSHOT."""
    return tuple(int(part) for part in pinot_version.partition("-")[0].split(".")[:2])
