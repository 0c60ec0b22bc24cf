"""Make data keys for groups to be written, and wrap them by the named keys of a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from starskip.errors import ConfigError
from starskip.file_metadata.collect_order import FILES, CollectOrder
from starskip.file_metadata.refresh_plan import RefreshPlan
from starskip.file_metadata.table_keys import TableKeys, WrappedKey
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.encryption.keyring import KEYS_DIR, Keyring, MissingKey
from starskip.storage.encryption.wrapping_key import KEY_BYTES, WrongKey

NewKeys = tuple[Mapping[str, DataKey], Mapping[str, WrappedKey]]


def new_keys(groups: Iterable[str], table: str, keys: TableKeys, keyring: Keyring) -> NewKeys:
    """Return a random data key for each group of columns that has a named key, and all of them wrapped.

    Raises ConfigError for a named key that is missing or wrong, and StarskipError where a key service fails.
    """
    of_names: dict[str, list[str]] = {}
    for group in groups:
        name = keys.of_group(group)
        if name is not None:
            of_names.setdefault(name, []).append(group)
    data_keys: dict[str, DataKey] = {}
    wrapped: dict[str, WrappedKey] = {}
    for name, mine in of_names.items():
        made = [DataKey.new(table, group) for group in mine]
        texts = require_key(name, keyring).wrap(name, [each.secret for each in made])
        data_keys |= dict(zip(mine, made, strict=True))
        wrapped |= {group: WrappedKey(name, text) for group, text in zip(mine, texts, strict=True)}
    return data_keys, wrapped


def with_new_keys(plan: RefreshPlan, keyring: Keyring) -> RefreshPlan:
    """Return the plan with data keys in its orders, and wrapped ones for the commit; raises as ``new_keys``.

    No key is used where nothing is to be collected.
    """
    if not plan.keys.names:
        return plan
    table = plan.source.path
    made = [new_keys(_groups(order), table, plan.keys, keyring) for order in plan.orders]
    listing_key = None if plan.keys.listing is None else DataKey.new(table, "listing")
    orders = [
        replace(order, keys=keys, listing_key=listing_key)
        for order, (keys, _) in zip(plan.orders, made, strict=True)
    ]
    patches = [replace(patch, order=order) for patch, order in zip(plan.patches, orders[1:], strict=True)]
    wrapped = tuple(wrapped for _, wrapped in made)
    return replace(plan, fresh=orders[0], patches=tuple(patches), wrapped_keys=wrapped)


def with_checks(keys: TableKeys, keyring: Keyring) -> TableKeys:
    """Return the keys with a check for each name that has no check.

    Raises ConfigError for a named key that is missing, or that does not fit its check.
    """
    checks = dict(keys.checks)
    for name in sorted(keys.names - checks.keys()):
        (checks[name],) = require_key(name, keyring).wrap(name, [os.urandom(KEY_BYTES)])
    return replace(keys, checks=checks)


def require_checked(names: Iterable[str], keys: TableKeys, keyring: Keyring) -> None:
    """Raise ConfigError for a named key that is missing, or is not the table's key of that name."""
    for name in names:
        found = require_key(name, keyring)
        if name not in keys.checks:
            continue
        try:
            found.unwrap(name, [keys.checks[name]])
        except WrongKey as error:
            raise ConfigError(
                f"key {name} is not the one that the metadata is encrypted with: name another key, or change "
                "it with starskip skipping rotate",
                setting="key",
            ) from error


def require_key(name: str, keyring: Keyring) -> Keyring:
    """Return the keyring if it has a key; raise ConfigError if it is missing."""
    try:
        keyring.key(name)
    except MissingKey:
        raise ConfigError(
            f"key {name} is missing: give --key {name}=FILE, or a file of that name in the folder {KEYS_DIR}",
            setting="key",
        ) from None
    return keyring


def _groups(order: CollectOrder) -> list[str]:
    if not len(order.files):
        return []
    return [FILES] * order.with_files + [index.specification for index in order.indexes]
