"""Wrap data keys by the transit engine of HashiCorp Vault or OpenBao, which never gives its keys away."""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from starskip.errors import ConfigError, StarskipError
from starskip.storage.encryption.wrapping_key import KeyServiceOutage, WrongKey

_URL = re.compile(r"vault\+(https?://[^/@?#]+)/(.+)/([^/?#]+)")
_TIMEOUT_S = 2.0
"""Short, since the planning of a query waits for it."""
_OUTAGES = (429, 500, 502, 503, 504)


def is_transit_url(source: str) -> bool:
    """Return whether a key's source is ``vault+https://HOST:PORT/MOUNT/KEY`` (or ``vault+http``)."""
    return source.startswith(("vault+http://", "vault+https://"))


def transit_key(url: str, environment: Mapping[str, str]) -> TransitKey:
    """Return the key at a URL; the token is ``VAULT_TOKEN``, a CA file ``VAULT_CACERT``, as Vault has them.

    Nothing is asked of the service yet. Raises ConfigError for another URL, and without a token.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise ConfigError(
            "a key of Vault's transit engine is vault+https://HOST:PORT/MOUNT/KEY, without a token in it",
            setting="key",
        )
    token = environment.get("VAULT_TOKEN", "")
    if not token:
        raise ConfigError(f"{url}: set VAULT_TOKEN to a token that may use the key", setting="key")
    return TransitKey(found[1], found[2], found[3], token, environment.get("VAULT_CACERT") or None)


class TransitKey:
    """A key of a transit engine; implements WrappingKey with one request for many data keys."""

    def __init__(self, address: str, mount: str, name: str, token: str, ca_file: str | None = None) -> None:
        """Take the service's address, the engine's mount, the key's name there, and a token."""
        self._address, self._mount, self._name, self._ca_file = address, mount, name, ca_file
        self._token = token

    def wrap(self, data_keys: Sequence[bytes]) -> list[str]:
        """See WrappingKey.wrap."""
        batch = [{"plaintext": base64.b64encode(each).decode()} for each in data_keys]
        return [str(each["ciphertext"]) for each in self._results("encrypt", batch)]

    def unwrap(self, wrapped: Sequence[str]) -> list[bytes]:
        """See WrappingKey.unwrap."""
        batch = [{"ciphertext": each} for each in wrapped]
        return [base64.b64decode(each["plaintext"]) for each in self._results("decrypt", batch)]

    @property
    def _place(self) -> str:
        return f"{self._address}/{self._mount}/{self._name}"

    def _results(self, verb: str, batch: Sequence[Mapping[str, str]]) -> list[Mapping[str, Any]]:
        if not batch:
            return []
        request = Request(  # noqa: S310 - the URL's scheme is http or https
            f"{self._address}/v1/{self._mount}/{verb}/{self._name}",
            json.dumps({"batch_input": batch}).encode(),
            {"X-Vault-Token": self._token, "Content-Type": "application/json"},
            method="POST",
        )
        try:
            with urlopen(request, timeout=_TIMEOUT_S, context=self._tls()) as answer:  # noqa: S310
                results = json.load(answer)["data"]["batch_results"]
        except HTTPError as error:
            with error:
                raise self._refused(error.code, verb) from None
        except (URLError, OSError, ValueError, KeyError, TypeError) as error:
            why = getattr(error, "reason", None) or type(error).__name__
            raise KeyServiceOutage(f"{self._place}: the key service does not answer ({why})") from None
        if len(results) != len(batch) or any(each.get("error") for each in results):
            raise WrongKey(f"{self._place}: did not wrap these data keys")
        return list(results)

    def _refused(self, code: int, verb: str) -> StarskipError:
        if code in _OUTAGES:
            return KeyServiceOutage(f"{self._place}: the key service answers {code}")
        if code == 400 and verb == "decrypt":
            return WrongKey(f"{self._place}: did not wrap these data keys")
        return ConfigError(
            f"{self._place}: the key service refuses to {verb} ({code}): see the token and the key's name",
            setting="key",
        )

    def _tls(self) -> ssl.SSLContext | None:
        if not self._address.startswith("https:"):
            return None
        if self._ca_file is not None and not Path(self._ca_file).is_file():
            raise ConfigError(f"{self._ca_file}: VAULT_CACERT names no file", setting="VAULT_CACERT")
        return ssl.create_default_context(cafile=self._ca_file)
