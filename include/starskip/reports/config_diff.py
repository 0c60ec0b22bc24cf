"""The change of a table config as a unified diff, from the whole config or of the changed keys alone."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from starskip.advisor.families.star_tree.star_tree_entry import STAR_TREES_KEY
from starskip.pinot.proposed_config import BUILT_BY_RELOAD
from starskip.reports.config_block import proposed_keys
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import harmless_json

MAX_LINES = 400
"""Lines of a diff that are shown; the whole config stands beside it."""
MAX_COMPARED = 20_000
_KINDS = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line with its mark, ``+``, ``-``, ``@`` or a space; ``kind``: the same as a word."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """The lines of a diff, and how many more there are; ``is_whole``: of the whole table config."""

    lines: tuple[DiffLine, ...]
    more: int
    is_whole: bool


def config_diff(evidence: Evidence) -> ConfigDiff | None:
    """Return how the table config changes; None if it does not, or is too long to be compared."""
    change = evidence.change
    is_whole = change.config is not None and change.current is not None
    before, after = (change.current, change.config) if is_whole else _keys(evidence)
    now, then = harmless_json(before).splitlines(), harmless_json(after).splitlines()
    if len(now) + len(then) > MAX_COMPARED:
        return None
    lines = list(unified_diff(now, then, "now", "proposed", lineterm="", n=3 if is_whole else 100))[2:]
    if not is_whole:
        # One place, the whole of it.
        lines = lines[1:]
    if not lines:
        return None
    shown = tuple(DiffLine(line, _KINDS.get(line[:1], "same")) for line in lines[:MAX_LINES])
    return ConfigDiff(shown, max(0, len(lines) - MAX_LINES), is_whole)


def _keys(evidence: Evidence) -> tuple[Any, Any]:
    """Return the changed keys as they are and as they should be, where the whole config is not known."""
    proposed = proposed_keys(evidence)
    current: dict[str, Any] = {}
    for key, each in evidence.change.keys.items():
        if key in BUILT_BY_RELOAD:
            current |= {} if each.current is None else {key: each.current == "true"}
        elif each.current:
            current[key] = list(each.current) if isinstance(each.current, tuple) else each.current
    current.pop(STAR_TREES_KEY, None)
    if evidence.change.star_trees:
        current[STAR_TREES_KEY] = list(evidence.change.star_trees)
    return {"tableIndexConfig": current}, proposed
