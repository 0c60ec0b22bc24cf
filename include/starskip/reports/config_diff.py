"""The change of a table config as a unified diff, from the whole config or of the changed keys alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from starskip.advisor.families.star_tree.star_tree_entry import STAR_TREES_KEY
from starskip.pinot.proposed_config import BUILT_BY_RELOAD
from starskip.reports.config_block import proposed_keys
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import harmless_json

MAX_LINES = 400
"""Lines of a diff that are shown; the whole config stands beside it."""
MAX_COMPARED = 20_000
CONTEXT = 3
"""Lines around each change of a whole config."""


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
    lines = list(_unified(now, then, CONTEXT if is_whole else MAX_COMPARED))
    return ConfigDiff(tuple(lines[:MAX_LINES]), max(0, len(lines) - MAX_LINES), is_whole) if lines else None


def _unified(now: Sequence[str], then: Sequence[str], context: int) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff; a comma at the end of a line is no change of it."""
    matcher = SequenceMatcher(None, *([line.rstrip(",") for line in each] for each in (now, then)))
    for group in matcher.get_grouped_opcodes(context):
        (_, start, _, new_start, _), (_, _, end, _, new_end) = group[0], group[-1]
        if context < MAX_COMPARED:
            lengths = f"-{start + 1},{end - start} +{new_start + 1},{new_end - new_start}"
            yield DiffLine(f"@@ {lengths} @@", "place")
        for what, first, last, new_first, new_last in group:
            if what == "equal":
                yield from (DiffLine(f" {line}", "same") for line in then[new_first:new_last])
                continue
            yield from (DiffLine(f"-{line}", "removed") for line in now[first:last])
            yield from (DiffLine(f"+{line}", "added") for line in then[new_first:new_last])


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
