"""The parts of a Pinot table config that the advice changes, and the whole of it, as JSON to copy."""

from __future__ import annotations

from typing import Any

from starskip.reports.evidence import ConfigValue, Evidence
from starskip.reports.evidence_json import harmless_json
from starskip.reports.star_tree_entry import STAR_TREES_KEY, star_tree_entry

MAX_BLOCK = 20_000
MAX_CONFIG = 200_000


def config_block(evidence: Evidence) -> str | None:
    """Return the proposed keys under ``tableIndexConfig``; None when too long to be shown, never cut.

    The list of star-trees holds those that the table config has: whoever pastes it loses none.
    """
    lists = {key: each.proposed for key, each in evidence.change.keys.items() if key != STAR_TREES_KEY}
    if sum(map(_length, lists.values())) > MAX_BLOCK:
        return None
    proposed: dict[str, Any] = dict(sorted(lists.items()))
    new = evidence.star_trees.proposed if evidence.star_trees else ()
    if new:
        proposed[STAR_TREES_KEY] = [*evidence.change.star_trees, *map(star_tree_entry, new)]
    block = harmless_json({"tableIndexConfig": proposed})
    return block if len(block) <= MAX_BLOCK else None


def whole_config_block(evidence: Evidence) -> str | None:
    """Return the whole proposed table config; None where none was given or it is too long to be shown."""
    if evidence.change.config is None:
        return None
    block = harmless_json(evidence.change.config)
    return block if len(block) <= MAX_CONFIG else None


def _length(value: ConfigValue) -> int:
    return len(value or "") if not isinstance(value, tuple) else sum(map(len, value))
