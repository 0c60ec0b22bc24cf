"""Checks of what a user's family puts into a table config: it replaces no block and takes nothing away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from starskip.advisor.families.checked_values import WrongValue, plain_json
from starskip.errors import printable

_LISTS = ("fieldConfigList", "tierConfigs")
_OBJECTS = (
    "tableIndexConfig",
    "segmentsConfig",
    "tenants",
    "metadata",
    "routing",
    "query",
    "quota",
    "task",
    "ingestionConfig",
    "upsertConfig",
    "dedupConfig",
    "dimensionTableConfig",
)
"""Blocks of every table config; a value of another kind would replace one."""
_IDENTITY = ("tableName", "tableType")


def merging_config(value: Any, documents: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a copy of the keys of a config that can be laid over each document; raises WrongValue."""
    if not isinstance(value, Mapping):
        raise WrongValue(f"a config that is {type(value).__name__}, not a mapping")
    copied: dict[str, Any] = plain_json("a config", dict(value))
    blocks: dict[str, Any] = {key: {} for key in _OBJECTS} | {key: [] for key in _LISTS}
    for document in (blocks, *documents):
        clash = _clash(document, copied)
        if clash:
            raise WrongValue(f"a config that replaces the block {printable(clash, 100)!r}")
    if any(key in copied for key in _IDENTITY):
        raise WrongValue("a config with another name or type of the table")
    return copied


def _clash(held: Mapping[str, Any], change: Mapping[str, Any], place: str = "") -> str:
    """Return the place where ``change`` has a value of another kind than ``held``; empty if none."""
    for key, value in change.items():
        there, here = held.get(key), f"{place}.{key}" if place else key
        if there is None:
            continue
        if _kind(there) != _kind(value):
            return here
        if isinstance(there, Mapping) and (clash := _clash(there, value, here)):
            return clash
    return ""


def _kind(value: Any) -> type:
    return dict if isinstance(value, Mapping) else list if isinstance(value, list | tuple) else str


def lost_place(before: Any, after: Any, own: str, is_dropping: bool, place: str = "") -> str:
    """Return the first place of a config that an edit of the key ``own`` took away; empty if none.

    What was there may have got another value of its kind, except under ``own``; ``is_dropping``: entries of
    fieldConfigList may go, too.
    """
    if isinstance(before, Mapping):
        if not isinstance(after, Mapping):
            return place
        for key, value in before.items():
            here = f"{place}.{key}" if place else key
            if key == own or (is_dropping and key == "fieldConfigList"):
                continue
            if key not in after or (key in _IDENTITY and after[key] != value):
                return here
            if lost := lost_place(value, after[key], own, is_dropping, here):
                return lost
        return ""
    if isinstance(before, list):
        is_kept = isinstance(after, list) and len(after) >= len(before)
        if not is_kept:
            return place
        inner = (
            lost_place(old, new, own, is_dropping, place) if isinstance(old, Mapping) else place
            for old, new in zip(before, after, strict=False)
            if old != new and old not in after
        )
        return next((lost for lost in inner if lost), "")
    return place if before is not None and _kind(before) != _kind(after) else ""
