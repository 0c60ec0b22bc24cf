"""Changes of single keys of a table config: found, laid over a config, taken back, and shown as a diff.

Pinot writes a config anew when it takes it: formats change, nulls go and defaults come. Two configs are the
same if they are equal as JSON, nulls counting as absent.
"""

from __future__ import annotations

import copy
import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.pinot.column_key import INDEX_CONFIG
from starskip.pinot.given_config import without_secrets
from starskip.pinot.proposed_config import BUILT_BY_RELOAD

_DIGEST_DIGITS = 16
_CONTEXT_LINES = 2


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key of a table config, of tableIndexConfig or at the top; None as a value: there is no such key."""

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The key as people write it, tableIndexConfig.invertedIndexColumns."""
        return ".".join(self.path)

    def to_json(self) -> dict[str, Any]:
        """Return the change as plain JSON."""
        return {"path": list(self.path), "before": self.before, "after": self.after}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KeyChange:
        """Return the change that ``to_json`` wrote."""
        return cls(tuple(document["path"]), document["before"], document["after"])

    def reversed(self) -> KeyChange:
        """Return the change that takes this one back."""
        return KeyChange(self.path, self.after, self.before)


def key_changes(base: Mapping[str, Any], target: Mapping[str, Any]) -> tuple[KeyChange, ...]:
    """Return the keys in which the configs differ."""
    before, after = _by_path(base), _by_path(target)
    paths = dict.fromkeys([*before, *after])
    found = (KeyChange(path, before.get(path), after.get(path)) for path in paths)
    return tuple(each for each in found if each.before != each.after)


def with_changes(config: Mapping[str, Any], changes: Sequence[KeyChange]) -> dict[str, Any]:
    """Return the config with the keys as they are after ``changes``; all other keys stay as they are."""
    changed = copy.deepcopy(dict(config))
    for each in changes:
        *above, key = each.path
        parent = changed
        for name in above:
            parent = parent.setdefault(name, {})
        if each.after is None:
            parent.pop(key, None)
        else:
            parent[key] = copy.deepcopy(each.after)
    return changed


def has_changes(config: Mapping[str, Any], changes: Sequence[KeyChange]) -> bool:
    """Return whether each key is as it is after ``changes``, but for defaults that Pinot filled in."""
    held = _by_path(config)
    return all(_fills(without_nulls(each.after), held.get(each.path)) for each in changes)


def is_as_written(read: Mapping[str, Any], written: Mapping[str, Any], changes: Sequence[KeyChange]) -> bool:
    """Return whether Pinot holds the config as it was written, but for defaults below the changed keys."""
    changed = {each.path for each in changes}
    held, wanted = _by_path(read), _by_path(written)
    others = all(held.get(path) == wanted.get(path) for path in {*held, *wanted} - changed)
    return others and has_changes(read, changes)


def same_config(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two configs are equal as JSON."""
    return bool(without_nulls(one) == without_nulls(other))


def config_digest(config: Mapping[str, Any]) -> str:
    """Return a short digest, the same for configs that are equal as JSON."""
    text = json.dumps(without_nulls(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS]


def config_diff(base: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """Return the lines that change, as a unified diff, with secrets hidden."""
    found = difflib.unified_diff(
        _shown(base), _shown(target), "now", "planned", lineterm="", n=_CONTEXT_LINES
    )
    return "\n".join(found)


def steps_back(config: Mapping[str, Any], changes: Sequence[KeyChange]) -> Iterator[tuple[KeyChange, ...]]:
    """Yield the changes that take ``changes`` back, a config after the other; each is followed by a reload.

    A reload adds, changes and removes star-trees only while enableDynamicStarTreeCreation is true: with the
    old config alone its new trees would stay on disk and in use. So the flag goes last.
    """
    back = [each.reversed() for each in changes]
    flags = [each for each in back if each.path == _FLAG]
    others = [each for each in back if each.path != _FLAG]
    is_on = bool((config.get(INDEX_CONFIG) or {}).get(_FLAG[-1]))
    if others and any(each.path in TREE_PATHS for each in others) and not is_on:
        # The flag was turned off after the trees were built.
        others = [*others, KeyChange(_FLAG, None, True)]
        flags = flags or [KeyChange(_FLAG, True, (config.get(INDEX_CONFIG) or {}).get(_FLAG[-1]))]
    if others:
        yield tuple(others)
    if flags:
        yield tuple(flags)


def without_nulls(value: Any) -> Any:
    """Return JSON without the keys whose values are null."""
    if isinstance(value, Mapping):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(each) for each in value]
    return value


_FLAG = (INDEX_CONFIG, *BUILT_BY_RELOAD)
TREE_PATHS = ((INDEX_CONFIG, "starTreeIndexConfigs"), (INDEX_CONFIG, "enableDefaultStarTree"))


def _by_path(config: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for key, value in without_nulls(config).items():
        if key == INDEX_CONFIG and isinstance(value, dict):
            found |= {(key, inside): each for inside, each in value.items()}
        else:
            found[key,] = value
    return found


def _fills(wanted: Any, held: Any) -> bool:
    """Return whether ``held`` is ``wanted``, or that with more keys in its objects."""
    if isinstance(wanted, dict) and isinstance(held, dict):
        return all(_fills(value, held.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(held, list):
        return len(wanted) == len(held) and all(map(_fills, wanted, held))
    # Pinot answers with the default of a key that the written config does not have.
    return bool(wanted == held) or (wanted is None and held in (False, [], {}, ""))


def _shown(config: Mapping[str, Any]) -> list[str]:
    return json.dumps(without_secrets(without_nulls(config))[0], indent=2).splitlines()
