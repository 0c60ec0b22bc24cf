"""Settings laid over others; texts that are JSON documents of their own are checked at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.advisor.workload.query_weights import query_weights
from starskip.errors import ConfigError
from starskip.settings import Settings
from starskip.settings.overrides import with_overrides
from starskip.tables.untracked_indexes import untracked_indexes


def checked_overrides(settings: Settings, overrides: Mapping[str, Any], *, origin: str) -> Settings:
    """Return ``with_overrides``; raises ConfigError naming ``origin`` for a JSON text that is wrong too."""
    changed = with_overrides(settings, overrides, origin=origin)
    try:
        untracked_indexes(changed.scoring.untracked_inverted_index)
        query_weights(changed.workload.query_weights)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}", setting=error.setting) from error
    return changed
