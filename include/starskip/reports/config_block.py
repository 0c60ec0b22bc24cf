"""Print a Pinot table config as JSON to copy: the keys that the advice changes, and the whole config."""

from __future__ import annotations

import re
from typing import Any

from starskip.advisor.families.star_tree.star_tree_entry import STAR_TREES_KEY, star_tree_entry
from starskip.pinot.column_key import lay_over
from starskip.pinot.proposed_config import BUILT_BY_RELOAD
from starskip.reports.advice_values import ConfigValue
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import harmless_json

MAX_BLOCK = 20_000
MAX_ON_A_LINE = 4
MAX_CONFIG = 200_000

_TEXT = r'\s*"(?:[^"\\]|\\.)*"'
_LIST = re.compile(rf"\[\n({_TEXT}(?:,\n{_TEXT})*)\n\s*\]")


def config_block(evidence: Evidence) -> str | None:
    """Return the proposed keys of the table config; None when too long to be shown, never cut.

    The list of star-trees includes the trees of the table config: pasting it loses none.
    """
    if sum(_length(each.proposed) for each in evidence.change.keys.values()) > MAX_BLOCK:
        return None
    block = _on_one_line(harmless_json(proposed_keys(evidence)))
    return block if len(block) <= MAX_BLOCK else None


def proposed_keys(evidence: Evidence) -> dict[str, Any]:
    """Return the keys of the table config that the advice is about, as they should be."""
    own = {STAR_TREES_KEY, *BUILT_BY_RELOAD, *(each.kind for each in evidence.answers)}
    lists = {key: each.proposed for key, each in evidence.change.keys.items() if key not in own}
    proposed: dict[str, Any] = dict(sorted(lists.items()))
    new = evidence.star_trees.proposed if evidence.star_trees else ()
    if new:
        proposed[STAR_TREES_KEY] = [*evidence.change.star_trees, *map(star_tree_entry, new)]
        proposed |= BUILT_BY_RELOAD
    document: dict[str, Any] = {"tableIndexConfig": proposed}
    for each in evidence.answers:
        lay_over(document, each.config or {})
    return document


def current_keys(evidence: Evidence) -> dict[str, Any]:
    """Return the same keys as they are today."""
    current: dict[str, Any] = {}
    for key, each in evidence.change.keys.items():
        if key in BUILT_BY_RELOAD:
            current |= {} if each.current is None else {key: each.current == "true"}
        elif each.current and key != STAR_TREES_KEY:
            current[key] = list(each.current) if isinstance(each.current, tuple) else each.current
    if evidence.change.star_trees:
        current[STAR_TREES_KEY] = list(evidence.change.star_trees)
    return {"tableIndexConfig": current}


def whole_config_block(evidence: Evidence) -> str | None:
    """Return the whole proposed table config; None if none was given or it is too long to be shown."""
    if evidence.change.config is None:
        return None
    block = _on_one_line(harmless_json(evidence.change.config))
    return block if len(block) <= MAX_CONFIG else None


def _on_one_line(block: str) -> str:
    """Return the JSON with short lists of texts on one line each, as people write them."""

    def joined(found: re.Match[str]) -> str:
        texts = [each.strip() for each in found[1].split(",\n")]
        return f"[{', '.join(texts)}]" if len(texts) <= MAX_ON_A_LINE else found[0]

    return _LIST.sub(joined, block)


def _length(value: ConfigValue) -> int:
    return len(value or "") if not isinstance(value, tuple) else sum(map(len, value))
