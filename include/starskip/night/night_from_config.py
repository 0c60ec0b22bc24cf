"""A night as a configuration file, the environment and arguments describe it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

import yaml

from starskip.errors import ConfigError
from starskip.indexes.star_tree.build.column_types import named_type
from starskip.lake.lake_table import LakeTable
from starskip.run.night import Night
from starskip.settings import Settings, environment_overrides, with_overrides
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.file_access import READABLE_BY, FileAccess
from starskip.storage.files.object_url import local_path, object_url
from starskip.storage.files.path_text import path_text
from starskip.storage.files.read_small_file import read_small_file
from starskip.storage.storage_for import storage_for
from starskip.tables.untracked_indexes import untracked_indexes
from starskip.workload.query_weights import query_weights

_KEYS = (
    "artefacts",
    "artefacts_readable_by",
    "log_paths",
    "spark_event_logs",
    "segments_root",
    "table_configs",
    "lake_tables",
    "skipping_metadata_root",
    "skipping_modules",
    "spark_conf",
    "tables",
    "settings",
)
_TABLE_KEYS = frozenset({"path", "casts", "format", "options", "logged_as"})
_FORMATS = ("parquet", "orc", "avro", "json", "csv", "delta")
_OF_THE_CONNECTION = ("spark.master", "spark.submit.deployMode")
_FIRST_YEAR, _LAST_YEAR = 1980, 2999


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
    if not _FIRST_YEAR <= arguments.run_date.year <= _LAST_YEAR:
        raise ConfigError(
            f"run date {arguments.run_date} is no night of a log: use one from {_FIRST_YEAR} to {_LAST_YEAR}",
            setting="run_date",
        )
    document = _document(str(path))
    folder = _folder_of(str(path))
    settings = with_overrides(Settings(), _mapping(path, document, "settings"), origin=str(path))
    settings = with_overrides(settings, environment_overrides(environment), origin="environment")
    settings = with_overrides(settings, arguments.settings, origin="arguments")
    _spark_conf(str(path), document)
    # Settings that are texts of their own are read now, and not an hour into the night.
    untracked_indexes(settings.untracked_inverted_index)
    query_weights(settings.query_weights)
    tables = arguments.tables or _texts(path, document, "tables")
    return Night(
        run_date=arguments.run_date,
        store=ArtefactStore(
            storage_for(_beside(folder, _text(path, document, "artefacts")), _access(path, document))
        ),
        settings=settings,
        started_at=arguments.started_at,
        run_id=arguments.run_id,
        tables=frozenset(tables) or None,
        log_paths=[_beside(folder, item) for item in _texts(path, document, "log_paths")],
        segments_root=_segments_root(path, document, folder),
        table_config_paths=[_beside(folder, item) for item in _texts(path, document, "table_configs")],
        lake_tables=_lake_tables(path, document, folder),
        event_log_paths=[_beside(folder, item) for item in _texts(path, document, "spark_event_logs")],
        skipping_root=_beside(folder, _text(path, document, "skipping_metadata_root"))
        if document.get("skipping_metadata_root") is not None
        else None,
        skipping_modules=_texts(path, document, "skipping_modules"),
    )


def spark_settings(path: str | Path) -> dict[str, str]:
    """Return the Spark settings (``spark_conf``) that the configuration file gives the night's jobs.

    Raises ConfigError, which quotes no value, for what is no setting of Spark.
    """
    return _spark_conf(str(path), _document(str(path)))


def _spark_conf(path: str, document: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, value in _mapping(path, document, "spark_conf").items():
        if not isinstance(name, str) or not re.fullmatch(r"spark\.[\w.-]+", name):
            raise ConfigError(
                f"{path}: spark_conf: {name!r} is no setting of Spark such as spark.driver.memory",
                setting="spark_conf",
            )
        if name in _OF_THE_CONNECTION:
            raise ConfigError(
                f"{path}: spark_conf: {name} is told by the Airflow connection spark_default, not here",
                setting="spark_conf",
            )
        if not isinstance(value, str | int | float):
            raise ConfigError(
                f"{path}: spark_conf: {name} takes a text, a number or a boolean", setting="spark_conf"
            )
        found[name] = _option(value)
    return found


def _document(path: str) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(read_small_file(path).decode("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read the configuration {path}: {error.strerror}", setting=str(path)
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: no UTF-8, and what YAML takes for a number or a date that there is not.
        problem = " ".join(str(error).split())
        raise ConfigError(f"{path} is not YAML: {problem}", setting=str(path)) from error
    if not isinstance(document, Mapping):
        raise ConfigError(f"{path} must map keys to values: {', '.join(_KEYS)}", setting=str(path))
    unknown = sorted(set(document) - set(_KEYS), key=str)
    if unknown:
        raise ConfigError(
            f"{path}: key {unknown[0]!r} is not known: use {', '.join(_KEYS)}", setting=str(unknown[0])
        )
    return document


def _text(path: str | Path, document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{path}: {key} is missing: give a path", setting=key)
    return _checked(path, value, key)


def _access(path: str | Path, document: Mapping[str, Any]) -> FileAccess:
    # Artefacts hold queries with their literals: they are nobody else's unless that is asked for.
    readable_by = document.get("artefacts_readable_by", "owner")
    if not isinstance(readable_by, str) or readable_by not in READABLE_BY:
        raise ConfigError(
            f"{path}: artefacts_readable_by must be one of {', '.join(READABLE_BY)}",
            setting="artefacts_readable_by",
        )
    return READABLE_BY[readable_by]


def _segments_root(path: str | Path, document: Mapping[str, Any], folder: str) -> str:
    of_pinot = [key for key in ("log_paths", "table_configs") if document.get(key)]
    if document.get("segments_root") is None and document.get("lake_tables"):
        if of_pinot:
            raise ConfigError(
                f"{path}: segments_root is missing: give a path, or, where all tables lie in the lake alone, "
                f"leave out {' and '.join(of_pinot)}",
                setting="segments_root",
            )
        return ""
    return _beside(folder, _text(path, document, "segments_root"))


def _texts(path: str | Path, document: Mapping[str, Any], key: str) -> list[str]:
    value = document.get(key) or []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise ConfigError(f"{path}: {key} must be a list of texts", setting=key)
    return [_checked(path, item, key) for item in values]


def _checked(path: str | Path, text: str, key: str) -> str:
    if "\0" in text or path_text(text) != text:
        raise ConfigError(f"{path}: {key} {text!r} holds what no name can hold", setting=key)
    return text


def _mapping(path: str | Path, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key) or {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path}: {key} must map names to values", setting=key)
    return value


def _lake_tables(path: str | Path, document: Mapping[str, Any], folder: str) -> Mapping[str, LakeTable]:
    found = {}
    for table, entry in _mapping(path, document, "lake_tables").items():
        place = f"lake_tables: {table}"
        if not isinstance(table, str) or not isinstance(entry, Mapping) or set(entry) - _TABLE_KEYS:
            raise ConfigError(
                f"{path}: {place} must have a path, and may have casts, format, options and logged_as",
                setting="lake_tables",
            )
        casts = _mapping(path, entry, "casts")
        try:
            for name in casts.values():
                named_type(str(name))
        except ValueError:
            raise ConfigError(
                f"{path}: {place}: casts: {name!r} is no type such as string, int32, int64, double or date32",
                setting="lake_tables",
            ) from None
        found[table] = LakeTable(
            _beside(folder, _text(path, entry, "path")),
            {str(column): str(name) for column, name in casts.items()},
            _file_format(path, place, entry),
            {str(name): _option(value) for name, value in _mapping(path, entry, "options").items()},
            tuple(_texts(path, entry, "logged_as")),
        )
    return found


def _file_format(path: str | Path, place: str, entry: Mapping[str, Any]) -> str:
    file_format = str(entry.get("format", "parquet")).lower()
    if file_format not in _FORMATS:
        raise ConfigError(
            f"{path}: {place}: format {file_format!r} is none of {', '.join(_FORMATS)}", setting="lake_tables"
        )
    return file_format


def _option(value: Any) -> str:
    """Return an option as Spark takes it, which knows no booleans of YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _folder_of(path: str) -> str:
    url = object_url(path)
    if url is None:
        return str(local_path(path).resolve().parent)
    return str(url._replace(key=url.key.rpartition("/")[0]))


def _beside(folder: str, text: str) -> str:
    """Return an absolute path for a relative one; URLs stay as they are."""
    if "://" in text:
        return text
    object_url(text)  # refuses what is neither a path nor a URL
    url = object_url(folder)
    if url is None:
        return os.path.normpath(Path(folder, text))
    return str(url._replace(key=posixpath.normpath(posixpath.join(url.key, text)).strip("/")))
