"""Unwrap the data keys of a table's metadata, and report the parts that stay locked for each missing key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from starskip.errors import StarskipError, printable
from starskip.file_metadata.collect_order import FILES
from starskip.file_metadata.table_keys import WrappedKey
from starskip.file_metadata.table_state import TableState
from starskip.skipping.failing_indexes import reason_of_failure
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.encryption.keyring import KEYS_DIR, Keyring, MissingKey
from starskip.storage.encryption.wrapping_key import WrongKey
from starskip.storage.manifest import DataFile


@dataclass(frozen=True, slots=True)
class LockedKey:
    """A key that this process lacks, or has wrong; ``why`` is a sentence without its full stop.

    ``indexes``: the active indexes that it locks; ``listing``: whether it locks the names of files.
    """

    name: str
    why: str
    indexes: tuple[str, ...]
    listing: bool

    @property
    def matters(self) -> bool:
        """True if it locks something active."""
        return self.listing or bool(self.indexes)

    def means(self, consequence: str) -> str:
        """Return the sentence with the locked parts and their ``consequence``, such as "not used"."""
        locked = ", ".join(self.indexes) or "deleted indexes"
        if self.listing:
            locked = "all indexes, since the names of files are encrypted by it"
        return printable(f"{self.why}; {consequence}: {locked}", 400)


@dataclass(frozen=True, slots=True)
class Unlocked:
    """``data_keys`` of encrypted files, by their names; files of locked keys are missing."""

    data_keys: Mapping[str, DataKey]
    locked: tuple[LockedKey, ...]

    @property
    def locked_indexes(self) -> frozenset[str]:
        """The specifications of the active indexes that are locked."""
        return frozenset(index for each in self.locked for index in each.indexes)

    @property
    def locked_listing(self) -> LockedKey | None:
        """The key without which the names of files are locked."""
        return next((each for each in self.locked if each.listing), None)


NOTHING_ENCRYPTED = Unlocked({}, ())


def unlock(state: TableState, keyring: Keyring) -> Unlocked:
    """Unwrap all data keys of the current segments, by one request for each named key."""
    data_keys: dict[str, DataKey] = {}
    locked = []
    parts = list(_encrypted(state))
    names = dict.fromkeys([*sorted(state.keys.names), *(key.name for key, _, _ in parts)])
    for name in names:
        mine = [(key.wrapped, group, files) for key, group, files in parts if key.name == name]
        check = [state.keys.checks[name]] if name in state.keys.checks else []
        try:
            secrets = keyring.unwrap(name, [*check, *(wrapped for wrapped, _, _ in mine)])[len(check) :]
        except Exception as error:
            groups = {group for _, group, _ in mine}
            locked.append(_locked(state, name, groups, _why(name, error)))
            continue
        for secret, (_, group, files) in zip(secrets, mine, strict=True):
            key = DataKey(secret, state.source.path, group)
            data_keys.update({file.name: key for file in files})
    return Unlocked(data_keys, tuple(locked))


def _encrypted(state: TableState) -> Iterator[tuple[WrappedKey, str, tuple[DataFile, ...]]]:
    for segment in state.current.values():
        for group, key in segment.keys.items():
            yield key, group, segment.files if group == FILES else segment.groups.get(group, ())


def _locked(state: TableState, name: str, groups: set[str], why: str) -> LockedKey:
    of_key = groups | {index for index, key in state.keys.indexes.items() if key == name}
    indexes = tuple(index for index in state.active if index in of_key)
    return LockedKey(name, why, indexes, FILES in groups or state.keys.listing == name)


def _why(name: str, error: Exception) -> str:
    if isinstance(error, MissingKey):
        return f"key {name} is missing (--key {name}=FILE, or a file of that name in {KEYS_DIR})"
    if isinstance(error, WrongKey):
        return f"key {name} is not the key by which the metadata was encrypted"
    text = str(error) if isinstance(error, StarskipError) else reason_of_failure(error)
    return f"key {name} cannot be used ({text})"
