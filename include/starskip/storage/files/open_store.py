"""Open a bucket: credentials from the environment, time-outs, bounded retries.

The environment is read here and not handed down, since an executor on another machine has its own:
credentials never travel with the work, and never stand in a plan, a log or an artefact.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from configparser import ConfigParser, Error
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from obstore import exceptions, store
from obstore.store import ObjectStore

from starskip.errors import SourceError
from starskip.storage.files.object_failure import NO_CREDENTIALS

# The store library knows the environment and the metadata service of a cloud machine, but not the key file.
_NAMES = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}

_CLIENT = {"connect_timeout": "5s", "timeout": "120s"}
"""For one request; the largest object that is written is about 64 MiB, the largest range read 4 MiB."""
_RETRIES = {
    "max_retries": 5,
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=5),
        "base": 3,
    },
    "retry_timeout": timedelta(seconds=180),
}
_PREFIXES = ("AWS_", "GOOGLE_", "AZURE_", "HOME")
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""Variables with the address of a store that is not the cloud's own."""
_OTHER_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_ENDPOINT = re.compile(
    r"https?://[A-Za-z0-9.-]+(:\d{1,5})?(/[A-Za-z0-9._~/-]*)?|https?://\[[0-9A-Fa-f:]+\](:\d{1,5})?/?"
)
_AZURE_ACCOUNTS = ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_USE_EMULATOR")
_processes: set[int] = set()

Environment = tuple[tuple[str, str], ...]


def open_store(scheme: str, bucket: str) -> ObjectStore:
    """Return the client of a bucket, made once a process; nothing is asked of the store yet.

    Raises SourceError where the environment holds no credentials or unusable ones, and in a process that was
    forked from one with open stores: their threads are gone there, and every call would wait for ever.
    """
    if _processes and os.getpid() not in _processes:
        raise SourceError(
            f"{scheme}://{bucket}: this process was forked from one that had used an object store; "
            "start it as a process of its own",
            source=bucket,
        )
    _processes.add(os.getpid())
    return _opened(scheme, bucket, store_environment())


def client_options(scheme: str) -> dict[str, str]:
    """Return the options by which a library with a client of its own reaches a store as ``open_store`` does.

    The options hold keys: give them to the library, and keep them nowhere. Raises SourceError as
    ``open_store`` does.
    """
    options = {"connect_timeout": _CLIENT["connect_timeout"], "timeout": _CLIENT["timeout"]}
    variables = dict(store_environment())
    if scheme == "s3":
        options |= _s3_options(variables)
    if _is_plain_http(scheme, variables):
        options["allow_http"] = "true"
    return options


def store_environment() -> Environment:
    """Return the variables on which clients depend, so that a client is made anew when they change."""
    return tuple(sorted(item for item in os.environ.items() if item[0].startswith(_PREFIXES)))


@lru_cache(maxsize=64)
def _opened(scheme: str, bucket: str, environment: Environment) -> ObjectStore:
    variables = dict(environment)
    kind: Any = {"s3": store.S3Store, "gs": store.GCSStore, "az": store.AzureStore}[scheme]
    options = _s3_options(variables) if scheme == "s3" else {}
    client = {**_CLIENT, "allow_http": _is_plain_http(scheme, variables)}
    if scheme == "az" and not any(variables.get(name) for name in _AZURE_ACCOUNTS):
        raise SourceError(
            f"az://{bucket}: no storage account is named: set AZURE_STORAGE_ACCOUNT_NAME", source=bucket
        )
    try:
        opened: ObjectStore = kind(bucket, client_options=client, retry_config=_RETRIES, **options)
    except (exceptions.BaseError, ValueError, TypeError) as error:
        # The parser's message may quote the text that it could not read, which may be a key.
        raise SourceError(
            f"{scheme}://{bucket}: the settings of the store in the environment cannot be used "
            f"({type(error).__name__}); see docs/object-stores.md",
            source=bucket,
        ) from None
    return opened


def _is_plain_http(scheme: str, variables: Mapping[str, str]) -> bool:
    is_emulator = scheme == "az" and variables.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in ("1", "true")
    return is_emulator or _endpoint(scheme, variables).startswith("http://")


def _endpoint(scheme: str, variables: Mapping[str, str]) -> str:
    """Return the address of a store that is not the cloud's own, "" for the cloud's."""
    name = next((each for each in _ENDPOINTS[scheme] if variables.get(each)), "")
    endpoint = variables.get(name, "")
    if "@" in endpoint:
        raise SourceError(
            f"{name} holds a user or password: take it out (docs/object-stores.md)", source=name
        )
    if endpoint and not _ENDPOINT.fullmatch(endpoint):  # the library aborts its thread on one
        raise SourceError(
            f"{name} is no URL of a server: write http://host:port or https://host", source=name
        )
    return endpoint


def _s3_options(variables: Mapping[str, str]) -> dict[str, str]:
    options = {}
    if endpoint := _endpoint("s3", variables):
        options["endpoint"] = endpoint
    if variables.get("AWS_SKIP_SIGNATURE", "").lower() in ("1", "true"):
        return options
    if not variables.get("AWS_ACCESS_KEY_ID"):
        options |= aws_key_file(variables)
    if (
        "access_key_id" not in options
        and not any(variables.get(name) for name in _OTHER_CREDENTIALS)
        and variables.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
    ):
        raise SourceError(NO_CREDENTIALS, source="AWS_ACCESS_KEY_ID")
    return options


def aws_key_file(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the profile AWS_PROFILE ("default"), {} if there is no file that names it.

    Raises SourceError, which quotes nothing of the file, if a file that the environment names cannot be read.
    """
    named = environment.get("AWS_SHARED_CREDENTIALS_FILE")
    home = environment.get("HOME")
    if not named and not home:
        return {}
    path = Path(named) if named else Path(home or "", ".aws", "credentials")
    profile = environment.get("AWS_PROFILE") or "default"
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except OSError as error:
        if not named:
            return {}
        raise SourceError(f"AWS_SHARED_CREDENTIALS_FILE {path}: {error.strerror}", source=str(path)) from None
    except (Error, UnicodeDecodeError):
        raise SourceError(f"{path}: is no file of AWS credentials", source=str(path)) from None
    if not parser.has_section(profile):
        if named:
            raise SourceError(f"{path}: has no profile [{profile}]", source=str(path))
        return {}
    section = parser[profile]
    return {ours: section[theirs] for theirs, ours in _NAMES.items() if section.get(theirs)}
