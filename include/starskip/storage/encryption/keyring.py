"""The named keys that a process has: given by name, from a folder, or kept by a key service."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from starskip.errors import ConfigError
from starskip.storage.encryption.transit_key import is_transit_url, transit_key
from starskip.storage.encryption.wrapping_key import KEY_BYTES, LocalKey, WrappingKey

KEYS_DIR = "STARSKIP_KEYS_DIR"
"""The environment variable with the folder of keys, one file a key, named as the key."""
KEYS = "STARSKIP_KEYS"
"""The variable with the keys themselves, a JSON object of their base64 by name, as a connection holds it."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_MOST_UNWRAPPED = 65_536

KeySource = str | os.PathLike[str] | WrappingKey
"""A key's file, the URL of a key in a transit engine, or a key service of the user's."""

_MOST_KEY_FILE_BYTES = 256
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_WHITE = re.compile(rb"\s+")


class MissingKey(Exception):
    """A named key that this process does not have."""


class Keyring:
    """Finds keys by name, and keeps in memory the data keys that it has unwrapped; thread-safe."""

    def __init__(
        self,
        given: Mapping[str, KeySource] = MappingProxyType({}),
        *,
        folder: str | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Take keys by name, and a folder for all others.

        ``environment`` holds the key service's token. Raises ConfigError for a text that cannot be a name,
        and for a file without a key.
        """
        self._folder = folder
        self._keys = {checked_name(name): _key(source, environment) for name, source in given.items()}
        self._unwrapped: dict[tuple[str, str], bytes] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str], given: Mapping[str, KeySource] = MappingProxyType({})
    ) -> Keyring:
        """Return the given keys, and the keys of the environment's folder and variable."""
        named = {**_named_keys(environment.get(KEYS, "")), **given}
        return cls(named, folder=environment.get(KEYS_DIR) or None, environment=environment)

    def key(self, name: str) -> WrappingKey:
        """Return a key; raise MissingKey without it, and ConfigError for a file without a key."""
        if name in self._keys:
            return self._keys[name]
        path = None if self._folder is None else Path(self._folder) / checked_name(name)
        if path is None or not path.is_file():
            raise MissingKey(name)
        return key_from_file(path)

    def wrap(self, name: str, data_keys: Sequence[bytes]) -> list[str]:
        """Return data keys wrapped by a named key; raises the errors of ``key`` and WrappingKey."""
        wrapped = self.key(name).wrap(data_keys)
        self._keep(name, wrapped, data_keys)
        return wrapped

    def unwrap(self, name: str, wrapped: Sequence[str]) -> list[bytes]:
        """Return the data keys that a named key has wrapped; raises the errors of ``key`` and WrappingKey."""
        with self._lock:
            known = {each: self._unwrapped.get((name, each)) for each in wrapped}
        missing = [each for each, found in known.items() if found is None]
        if missing:
            opened = self.key(name).unwrap(missing)
            self._keep(name, missing, opened)
            known |= dict(zip(missing, opened, strict=True))
        return [found for each in wrapped if (found := known[each]) is not None]

    def _keep(self, name: str, wrapped: Sequence[str], data_keys: Sequence[bytes]) -> None:
        with self._lock:
            if len(self._unwrapped) > _MOST_UNWRAPPED:
                self._unwrapped.clear()
            self._unwrapped.update(
                {(name, each): secret for each, secret in zip(wrapped, data_keys, strict=True)}
            )


def _named_keys(text: str) -> dict[str, WrappingKey]:
    try:
        found = json.loads(text) if text else {}
        return {name: key_from_bytes(secret.encode(), f"key {name}") for name, secret in found.items()}
    except (ValueError, AttributeError):
        raise ConfigError(
            f"{KEYS}: is no JSON object of keys as base64 by their names", setting=KEYS
        ) from None


def checked_name(name: str) -> str:
    """Return the name of a key; raise ConfigError for a text that cannot be one."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} is no name of a key: use up to 64 of letters, digits, '-', '_' and '.'", setting="key"
        )
    return name


def _key(source: KeySource, environment: Mapping[str, str]) -> WrappingKey:
    if isinstance(source, str) and is_transit_url(source):
        return transit_key(source, environment)
    if isinstance(source, str | os.PathLike):
        return key_from_file(os.fspath(source))
    return source


@lru_cache(maxsize=1)
def _of_environment(folder: str | None, keys: str | None) -> Keyring:
    return Keyring.from_environment({KEYS_DIR: folder or "", KEYS: keys or ""})


def process_keys() -> Keyring:
    """Return the keys that the environment of this process names."""
    return _of_environment(os.environ.get(KEYS_DIR), os.environ.get(KEYS))


def key_from_file(path: str | Path) -> LocalKey:
    """Return the key of a file; raise ConfigError, which never quotes it, for a file without a key."""
    try:
        with Path(path).open("rb") as opened:
            content = opened.read(_MOST_KEY_FILE_BYTES)
    except OSError as error:
        raise ConfigError(
            f"{path}: the key file cannot be read ({error.strerror or 'unreadable'})", setting="key"
        ) from None
    return key_from_bytes(content, str(path))


def key_from_bytes(content: bytes, place: str) -> LocalKey:
    """Return the key that 32 raw bytes, or their base64, are; ``place`` names them in errors."""
    if len(content) == KEY_BYTES:
        return LocalKey(content)
    text = _WHITE.sub(b"", content).rstrip(b"=").translate(_URL_SAFE)
    try:
        secret = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        secret = b""
    if len(secret) != KEY_BYTES:
        # The message does not even say how many bytes there are: they may be some other secret.
        raise ConfigError(
            f"{place}: is no key: write 32 random bytes, raw or as base64 (openssl rand -base64 32)",
            setting="key",
        )
    return LocalKey(secret)
