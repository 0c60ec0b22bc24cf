"""Parts that packages add to Starskip, found by the entry points of their distributions.

A package names its parts in its ``pyproject.toml``, such as ``months = "my_package.months:Months"`` in the
group ``starskip.index_types``. The packages beside this one are found in the same way as a user's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from starskip.errors import ConfigError

INDEX_TYPES = "starskip.index_types"
"""Types of skipping indexes, by their kinds."""
FUNCTIONS = "starskip.functions"
"""Functions that take a Spark session and register a package's functions in it, by any name."""
STORAGES = "starskip.storages"
"""Functions that take a location of metadata and seconds of patience, by the scheme of the location's URL."""
LOG_FORMATS = "starskip.log_formats"
"""Modules of formats of logs, by any name; those of all installed packages are read."""
GROUPS = (INDEX_TYPES, FUNCTIONS, STORAGES)
"""The groups that Starskip's own packages add to."""

DISTRIBUTION = "starskip"
NOTHING_RECORDED = (
    "; Python has no record of the packages beside starskip: install it again (in a checkout: make setup)"
)
"""Ends the message of what is not found, where not even Starskip's own packages are."""


@cache
def extensions(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name: of one name Starskip's own, then the first on the path."""
    found: dict[str, EntryPoint] = {}
    for each in sorted(entry_points(group=group), key=lambda each: not _comes_with_starskip(each)):
        found.setdefault(each.name, each)
    return found


@cache
def own_extensions(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name that are of Starskip's own distribution."""
    # The name of a distribution is read from its file each time.
    return {name: each for name, each in extensions(group).items() if _comes_with_starskip(each)}


def _comes_with_starskip(extension: EntryPoint) -> bool:
    """Return whether an entry point is of Starskip's own distribution."""
    return extension.dist is not None and extension.dist.name == DISTRIBUTION


def loaded(extension: EntryPoint) -> Any:
    """Import what an entry point names; raise ConfigError if that fails."""
    try:
        return extension.load()
    except ConfigError:
        raise
    except Exception as error:
        distribution = extension.dist.name if extension.dist is not None else extension.module
        raise ConfigError(
            f"{extension.name} needs {extension.module}, which cannot be imported: {type(error).__name__}: "
            f"{error}; install {distribution} again, with what it needs",
            setting=extension.group,
        ) from error
