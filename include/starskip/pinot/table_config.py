"""Read the indexes in force from Pinot table configurations, since tarred segments do not show them all.

Accepted: one configuration; ``{"OFFLINE": {…}, "REALTIME": {…}}`` as ``GET /tables/T`` answers;
``{"tableName": …, "schema": …, "offline": {…}, "realtime": {…}}`` as ``GET /tableConfigs/T`` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starskip.errors import ConfigError, MissingSource
from starskip.pinot.hybrid_tables import TABLE_TYPES, half_name, without_type
from starskip.storage.files.log_files import log_files
from starskip.storage.files.object_url import local_path, object_url
from starskip.storage.files.open_file import read_small_file

_GLOB = re.compile(r"[*?[]")
_READ_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The indexes of one table configuration; ``table`` has a type suffix if the other half is known too.

    Columns stand in the order of the configuration, tableIndexConfig before fieldConfigList.
    ``table_type`` is "OFFLINE", "REALTIME" or None where neither is given. ``document`` is the original
    configuration, ``path`` its file.
    """

    table: str
    table_type: str | None = None
    inverted_index_columns: tuple[str, ...] = ()
    range_index_columns: tuple[str, ...] = ()
    bloom_filter_columns: tuple[str, ...] = ()
    sorted_column: str | None = None
    star_tree_index_configs: tuple[Mapping[str, Any], ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    path: str = field(default="", compare=False)

    def is_of(self, table: str) -> bool:
        """Return whether the config is of ``table``, whose name may be of the half or of the whole table."""
        return table in (self.table, half_name(self.table, self.table_type))


TableConfigs = tuple[dict[str, tuple[TableConfig, ...]], dict[str, ConfigError]]
"""Configs by table, and errors by the paths of their files."""


def read_table_configs(paths: Iterable[str | Path]) -> dict[str, tuple[TableConfig, ...]]:
    """Return table to its one configuration; a hybrid table is T_OFFLINE and T_REALTIME.

    Raises ConfigError, naming file and key, for a document that is no table configuration and for a table and
    type that is given twice.
    """
    configs, problems = _sorted_out(paths)
    if problems:
        raise next(iter(problems.values()))
    return configs


def readable_table_configs(paths: Iterable[str | Path]) -> TableConfigs:
    """Return what ``read_table_configs`` returns of the sound files, and by path the errors of the others.

    A schema is no error: folders hold schemas beside the configs.
    """
    configs, problems = _sorted_out(paths)
    return configs, {path: each for path, each in problems.items() if not isinstance(each, _SchemaFile)}


class _SchemaFile(ConfigError):
    """A file holds the schema of a table, not its configuration."""


def _sorted_out(paths: Iterable[str | Path]) -> TableConfigs:
    found: dict[str, tuple[TableConfig, ...]] = {}
    problems: dict[str, ConfigError] = {}
    # In an object store each file is a request.
    with ThreadPoolExecutor(_READ_AT_ONCE) as pool:
        read = dict(pool.map(lambda path: (path, _configs_at(path)), map(str, paths)))
    for path, configs in read.items():
        if isinstance(configs, ConfigError):
            problems[path] = configs
            continue
        for config in configs:
            others = found.get(config.table, ())
            if any(
                None in (config.table_type, other.table_type) or config.table_type == other.table_type
                for other in others
            ):
                words = f"{path}: the configuration of table {config.table} is given twice"
                problems[path] = ConfigError(words, setting=config.table)
                continue
            found[config.table] = (*others, config)
    by_half: dict[str, tuple[TableConfig, ...]] = {}
    for table, halves in found.items():
        for config in halves:
            name = half_name(table, config.table_type) if len(halves) > 1 else table
            by_half[name] = (replace(config, table=name),)
    return by_half, problems


def table_config_files(path: str) -> tuple[str, ...]:
    """Return the files that a path, a folder of ``.json`` files or a glob names; a path as it is.

    Raises ConfigError for a folder or a glob without a file, and SourceError for a store.
    """
    is_folder = object_url(path) is None and local_path(path).is_dir()
    if not is_folder and not _GLOB.search(path) and not path.endswith("/"):
        return (path,)
    try:
        found = [file for file in log_files([path.rstrip("/")]) if file.endswith(".json")]
    except MissingSource:
        found = []
    if not found:
        raise ConfigError(f"{path}: no table configuration lies there (*.json)", setting=path)
    return tuple(found)


def table_config(document: dict[str, Any]) -> TableConfig:
    """Return the configuration of one table as JSON; raises ConfigError naming the key that is wrong."""
    return replace(_config(str(document.get("tableName")), document, None), path="")


def given_config(path: str | Path, changed: Callable[[TableConfig], dict[str, Any]]) -> Any:
    """Return the document of the file at ``path``, with ``changed`` applied to each configuration.

    Other parts of the file, such as a schema, stay. Raises ConfigError as ``read_table_configs`` does.
    """
    document = _document(str(path))
    configs = _configs_of(str(path), document)
    if len(configs) == 1 and configs[0].document is document:
        return changed(configs[0])
    new = {id(config.document): changed(config) for config in configs}
    return {key: new.get(id(value), value) for key, value in document.items()}


def _configs_at(path: str) -> Sequence[TableConfig] | ConfigError:
    """Return the configs in a file, or its error."""
    try:
        return _configs_of(path, _document(path))
    except ConfigError as error:
        return error


def _document(path: str) -> Any:
    try:
        return json.loads(read_small_file(path), parse_constant=_no_number)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})", setting=path) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is no JSON table configuration ({error})", setting=path) from error


def _no_number(text: str) -> Any:
    # Python reads these, and Pinot does not.
    raise ValueError(f"{text} is no number of JSON")


def _configs_of(path: str, document: Any) -> list[TableConfig]:
    if isinstance(document, dict):
        by_type = {key: document.get(key) or document.get(key.lower()) for key in TABLE_TYPES}
        parts = [(part, kind) for kind, part in by_type.items() if isinstance(part, dict)]
        if parts:
            return [_config(path, part, kind) for part, kind in parts]
        if "tableName" in document:
            return [_config(path, document, None)]
    kind = _SchemaFile if isinstance(document, dict) and "schemaName" in document else ConfigError
    raise kind(
        f"{path}: is no table configuration: it has neither tableName nor OFFLINE or REALTIME", setting=path
    )


def _config(path: str, document: dict[str, Any], kind: str | None) -> TableConfig:
    reader = _Reader(path)
    name = reader.text(document, "tableName")
    table_type = reader.text(document, "tableType", kind or "").upper() or None
    name, named_type = without_type(name)
    table_type = named_type or table_type
    if table_type not in (None, *TABLE_TYPES):
        raise ConfigError(f"{path}: tableType is not {' or '.join(TABLE_TYPES)}", setting="tableType")
    index_config = reader.mapping(document, "tableIndexConfig")
    fields = [
        reader.as_mapping(entry, "fieldConfigList") for entry in reader.sequence(document, "fieldConfigList")
    ]
    by_index = _field_indexes(reader, fields)
    blooms = reader.mapping(index_config, "bloomFilterConfigs")

    def columns(index: str, key: str, more: Iterable[str] = ()) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*reader.columns(index_config, key), *more, *by_index.get(index, [])]))

    sorted_columns = reader.columns(index_config, "sortedColumn")
    return TableConfig(
        table=name,
        table_type=table_type,
        inverted_index_columns=columns("INVERTED", "invertedIndexColumns"),
        range_index_columns=columns("RANGE", "rangeIndexColumns"),
        bloom_filter_columns=columns("BLOOM", "bloomFilterColumns", blooms),
        sorted_column=sorted_columns[0] if sorted_columns else None,
        star_tree_index_configs=tuple(
            reader.as_mapping(entry, "starTreeIndexConfigs")
            for entry in reader.sequence(index_config, "starTreeIndexConfigs")
        ),
        document=document,
        path=path,
    )


def _field_indexes(reader: _Reader, fields: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Map each index name, in capitals, to the columns whose field config turns it on."""
    found: dict[str, list[str]] = {}
    for entry in fields:
        column = reader.text(entry, "name")
        indexes = reader.mapping(entry, "indexes")
        names = [reader.text(entry, "indexType", ""), *reader.columns(entry, "indexTypes")]
        names += [name for name, options in indexes.items() if not _is_disabled(options)]
        for name in dict.fromkeys(name.upper() for name in names):
            found.setdefault(name, []).append(column)
    return found


def _is_disabled(options: Any) -> bool:
    return isinstance(options, dict) and options.get("disabled") is True


@dataclass(frozen=True, slots=True)
class _Reader:
    """Typed look-ups whose errors name file and key; null counts as absent, as in Pinot."""

    path: str

    def text(self, document: Mapping[str, Any], key: str, default: str | None = None) -> str:
        value = document.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or (not value and default is None):
            raise self._wrong(key, "a text")
        return value

    def mapping(self, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = document.get(key)
        return {} if value is None else self.as_mapping(value, key)

    def as_mapping(self, value: Any, key: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(key, "an object")
        return value

    def sequence(self, document: Mapping[str, Any], key: str) -> list[Any]:
        value = document.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def columns(self, document: Mapping[str, Any], key: str) -> list[str]:
        """Return column names: a list, one text, or the keys of an object."""
        value = document.get(key)
        names = [value] if isinstance(value, str) else list(value) if isinstance(value, dict | list) else []
        if (value is not None and not isinstance(value, str | dict | list)) or not all(
            isinstance(name, str) for name in names
        ):
            raise self._wrong(key, "a list of columns")
        return [name for name in names if name]

    def _wrong(self, key: str, wanted: str) -> ConfigError:
        return ConfigError(f"{self.path}: {key} is not {wanted}", setting=key)
