"""Wrap the data keys of metadata by another key; no file of metadata is written anew."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from starskip.errors import ConfigError, SourceError
from starskip.file_metadata.commit_refresh import Commit
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_keys import TableKeys, WrappedKey
from starskip.file_metadata.table_state import ARTEFACT, TableState
from starskip.storage.encryption.keyring import Keyring, KeySource
from starskip.storage.encryption.wrapping_key import KEY_BYTES, WrappingKey, WrongKey
from starskip.storage.manifest import Manifest, Part
from starskip.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A key and its name."""

    name: str
    key: WrappingKey


def named_key(name: str, source: KeySource) -> NamedKey:
    """Return the key of a file, or of a key service; raise ConfigError for a file without a key."""
    return NamedKey(name, Keyring.from_environment(os.environ, {name: source}).key(name))


def rotate_keys(storage: Storage, former: NamedKey, following: NamedKey, commit: Commit) -> Manifest:
    """Publish the metadata with all data keys of ``former`` wrapped by ``following``; names may be the same.

    Former versions stay readable by the former key until a vacuum. Raises SourceError without metadata, and
    ConfigError if the metadata has no key of that name, or if a key is not the table's key of that name.
    """

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        state = TableState.from_parts(parts)
        if state is None:
            raise SourceError(f"{storage.place}: there is no metadata", source=storage.place)
        return _rotated(state, former, following).to_parts()

    return metadata_chain(storage, ARTEFACT).commit(
        change, commit_id=commit.name, created_at=commit.created_at, created_by=commit.created_by
    )


def _rotated(state: TableState, former: NamedKey, following: NamedKey) -> TableState:
    if former.name not in state.keys.names:
        there_are = ", ".join(sorted(state.keys.names)) or "none"
        raise ConfigError(f"the metadata has no key {former.name}; there are: {there_are}", setting="from")
    if following.name != former.name and following.name in state.keys.checks:
        _unwrapped(following, [state.keys.checks[following.name]])
    at = list(_of_key(state.segments, former.name))
    check = [state.keys.checks[former.name]] if former.name in state.keys.checks else []
    secrets = _unwrapped(former, [*check, *(wrapped for _, _, wrapped in at)])[len(check) :]
    segments = {name: dict(segment.keys) for name, segment in state.segments.items()}
    for (name, group, _), wrapped in zip(at, following.key.wrap(secrets), strict=True):
        segments[name][group] = WrappedKey(following.name, wrapped)
    keys = _renamed(state.keys, former.name, following)
    return replace(
        state,
        keys=keys,
        segments={name: replace(of, keys=segments[name]) for name, of in state.segments.items()},
    )


def _of_key(segments: Mapping[str, Segment], key: str) -> Iterator[tuple[str, str, str]]:
    for name, segment in segments.items():
        for group, wrapped in segment.keys.items():
            if wrapped.name == key:
                yield name, group, wrapped.wrapped


def _renamed(keys: TableKeys, former: str, following: NamedKey) -> TableKeys:
    def renamed(name: str) -> str:
        return following.name if name == former else name

    checks = {name: check for name, check in keys.checks.items() if name != former}
    if following.name not in checks:
        (checks[following.name],) = following.key.wrap([os.urandom(KEY_BYTES)])
    return TableKeys(
        {index: renamed(name) for index, name in keys.indexes.items()},
        None if keys.listing is None else renamed(keys.listing),
        checks,
    )


def _unwrapped(key: NamedKey, wrapped: Sequence[str]) -> list[bytes]:
    try:
        return key.key.unwrap(wrapped)
    except WrongKey as error:
        raise ConfigError(
            f"key {key.name} is not the key by which the metadata was encrypted", setting="key"
        ) from error
