"""A night as a configuration file, the environment and arguments describe it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

import yaml

from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.storage_for import storage_for
from starskip.errors import ConfigError
from starskip.files.object_url import local_path, object_url
from starskip.files.open_file import open_file
from starskip.settings import Settings, environment_overrides, with_overrides
from starskip.stages.night import Night

_KEYS = ("artefacts", "log_paths", "segments_root", "table_configs", "tables", "settings")


@dataclass(frozen=True, slots=True)
class NightArguments:
    """What the caller of a stage decides; ``settings`` lies over file and environment."""

    run_date: date
    run_id: str
    started_at: datetime
    tables: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def night_from_config(path: str | Path, arguments: NightArguments, environment: Mapping[str, str]) -> Night:
    """Return the night; paths in the file are relative to its folder, which may be one of an object store.

    Raises ConfigError naming the file and the key that is missing, unknown or wrong.
    """
    document = _document(str(path))
    folder = _folder_of(str(path))
    settings = with_overrides(Settings(), _mapping(path, document, "settings"), origin=str(path))
    settings = with_overrides(settings, environment_overrides(environment), origin="environment")
    settings = with_overrides(settings, arguments.settings, origin="arguments")
    tables = arguments.tables or _texts(path, document, "tables")
    return Night(
        run_date=arguments.run_date,
        store=ArtefactStore(storage_for(_beside(folder, _text(path, document, "artefacts")))),
        settings=settings,
        started_at=arguments.started_at,
        run_id=arguments.run_id,
        tables=frozenset(tables) or None,
        log_paths=[_beside(folder, item) for item in _texts(path, document, "log_paths")],
        segments_root=_beside(folder, _text(path, document, "segments_root")),
        table_config_paths=[_beside(folder, item) for item in _texts(path, document, "table_configs")],
    )


def _document(path: str) -> Mapping[str, Any]:
    try:
        with open_file(path) as file:
            document = yaml.safe_load(file.read().decode("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read the configuration {path}: {error.strerror}", setting=str(path)
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise ConfigError(f"{path} is not YAML: {problem}", setting=str(path)) from error
    if not isinstance(document, Mapping):
        raise ConfigError(f"{path} must map keys to values: {', '.join(_KEYS)}", setting=str(path))
    unknown = sorted(set(document) - set(_KEYS))
    if unknown:
        raise ConfigError(
            f"{path}: key {unknown[0]!r} is not known: use {', '.join(_KEYS)}", setting=str(unknown[0])
        )
    return document


def _text(path: str | Path, document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{path}: {key} is missing: give a path", setting=key)
    return value


def _texts(path: str | Path, document: Mapping[str, Any], key: str) -> list[str]:
    value = document.get(key) or []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise ConfigError(f"{path}: {key} must be a list of texts", setting=key)
    return values


def _mapping(path: str | Path, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key) or {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path}: {key} must map names to values", setting=key)
    return value


def _folder_of(path: str) -> str:
    url = object_url(path)
    if url is None:
        return str(local_path(path).resolve().parent)
    return str(url._replace(key=url.key.rpartition("/")[0]))


def _beside(folder: str, text: str) -> str:
    """Return an absolute path for a relative one; URLs stay as they are."""
    if "://" in text:
        return text
    url = object_url(folder)
    if url is None:
        return os.path.normpath(Path(folder, text))
    return str(url._replace(key=posixpath.normpath(posixpath.join(url.key, text)).strip("/")))
