"""The change of a table config as a unified diff, from the whole config or of the changed keys alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from starskip.reports.config_block import config_block, current_keys, proposed_keys
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
