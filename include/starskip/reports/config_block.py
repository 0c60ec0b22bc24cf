"""Print a Pinot table config as JSON to copy, its changed keys or all, and the change as a unified diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from starskip.advisor.families.star_tree.report.star_tree_evidence import STAR_TREES_KEY, star_tree_entry
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


MAX_LINES = 400
"""Lines of a diff that are shown; the whole config stands beside it."""
MAX_COMPARED = 20_000
CONTEXT = 3
"""Lines around each change of a whole config."""


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


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line with its mark, ``+``, ``-``, ``@`` or a space; ``kind``: the same as a word."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """The lines of a diff, and how many more there are; ``is_whole``: of the whole table config.

    ``keys``: the names of the keys that change.
    """

    lines: tuple[DiffLine, ...]
    more: int
    is_whole: bool
    keys: tuple[str, ...]


def config_diff(evidence: Evidence) -> ConfigDiff | None:
    """Return how the table config changes; None if it does not, or is too long to be compared."""
    change = evidence.change
    if config_block(evidence) is None:
        return None
    is_whole = change.config is not None and change.current is not None
    before, after = (change.current, change.config)
    if not is_whole:
        before, after = current_keys(evidence), proposed_keys(evidence)
    now, then = harmless_json(before).splitlines(), harmless_json(after).splitlines()
    if len(now) + len(then) > MAX_COMPARED:
        return None
    lines = list(_unified(now, then, CONTEXT if is_whole else MAX_COMPARED))
    more = max(0, len(lines) - MAX_LINES)
    return ConfigDiff(tuple(lines[:MAX_LINES]), more, is_whole, _changed(evidence)) if lines else None


def _changed(evidence: Evidence) -> tuple[str, ...]:
    inner = "tableIndexConfig"
    now, then = current_keys(evidence), proposed_keys(evidence)

    def written(of: Mapping[str, Any], key: str) -> str:
        # A list that is empty stands for a key that is not there.
        return harmless_json(of[inner].get(key) or None)

    keys = [key for key in then[inner] if written(now, key) != written(then, key)]
    return (*keys, *(key for key in then if key != inner))


def _unified(now: Sequence[str], then: Sequence[str], context: int) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff; a comma at the end of a line is no change of it."""
    before, after = ([line.rstrip(",") for line in each] for each in (now, then))
    matcher = SequenceMatcher(None, before, after)
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
