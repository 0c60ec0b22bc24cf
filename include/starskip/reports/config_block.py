"""The part of a Pinot table config that the advice changes, as JSON to copy."""

from __future__ import annotations

from starskip.reports.evidence import ConfigChange, ConfigValue
from starskip.reports.evidence_json import harmless_json

MAX_BLOCK = 20_000


def config_block(change: ConfigChange) -> str | None:
    """Return the proposed keys under ``tableIndexConfig``; None when too long to be shown, never cut."""
    if sum(_length(each.proposed) for each in change.keys.values()) > MAX_BLOCK:
        return None
    proposed = {key: each.proposed for key, each in sorted(change.keys.items())}
    block = harmless_json({"tableIndexConfig": proposed})
    return block if len(block) <= MAX_BLOCK else None


def _length(value: ConfigValue) -> int:
    return len(value or "") if not isinstance(value, tuple) else sum(map(len, value))
