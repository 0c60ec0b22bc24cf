"""A night as a configuration file, the environment and arguments describe it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.run.night import CONFIGS, Night
from starskip.errors import ConfigError, SourceError, SourceOutage, printable
from starskip.lake.format_names import FORMATS
from starskip.lake.lake_table import LakeTable
from starskip.night.configuration.checked_overrides import checked_overrides
from starskip.night.configuration.config_document import ConfigDocument, config_document
from starskip.pinot.hybrid_tables import hybrid_tables, with_halves, without_type
from starskip.pinot.logs.log_formats import log_formats, module_names
from starskip.pinot.segments.segment_files import segment_tables
from starskip.pinot.table_config import readable_table_configs, table_config_files
from starskip.predicates.column_types import named_type
from starskip.settings import Settings
from starskip.settings.environment import environment_overrides
from starskip.settings.setting_value import shown_value
from starskip.storage.artefact_store import ArtefactStore, Experiment
from starskip.storage.file_access import READABLE_BY, FileAccess
from starskip.storage.manifest_log import Seen
from starskip.storage.staged_write import file_safe
from starskip.storage.storage_for import storage_for

_TABLE_KEYS = frozenset({"path", "casts", "format", "options", "logged_as"})
_OF_THE_CONNECTION = ("spark.master", "spark.submit.deployMode")
_FIRST_YEAR, _LAST_YEAR = 1980, 2999


@dataclass(frozen=True, slots=True)
class NightArguments:
    """Arguments of the caller of a stage; ``settings`` override file and environment.

    ``families``: further modules of index families. ``changed``: the places of settings that the caller knows
    to differ from the configuration's. ``is_experiment``: whether the artefacts are kept beside the night's
    own, below the name of the run.
    """

    run_date: date
    run_id: str
    started_at: datetime
    tables: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    families: Sequence[str] = ()
    changed: Sequence[str] = ()
    is_experiment: bool = False


def night_from_config(path: str | Path, arguments: NightArguments, environment: Mapping[str, str]) -> Night:
    """Return the night; paths in the file are relative to its folder, which may be in an object store.

    Raises ConfigError naming the file and the key that is missing, unknown or wrong.
    """
    if not _FIRST_YEAR <= arguments.run_date.year <= _LAST_YEAR:
        raise ConfigError(
            f"run date {arguments.run_date} is no night of a log: use one from {_FIRST_YEAR} to {_LAST_YEAR}",
            setting="run_date",
        )
    document = config_document(str(path))
    families = document.modules("families", arguments.families)
    settings = _settings(document, families, arguments, environment)
    if formats := module_names(settings.log.formats):
        document.find_modules()
        log_formats(formats)
    _spark_conf(document)
    configured = document.names("tables")
    asked = arguments.tables or configured
    given_configs = [document.beside(item) for item in document.texts("sources.table_configs")]
    table_configs = [file for each in given_configs for file in table_config_files(each)]
    seen = Seen({CONFIGS: readable_table_configs(table_configs)} if asked else {})
    configs, problems = seen.get(CONFIGS, ({}, {}))
    hybrids = hybrid_tables(configs)
    storage = storage_for(document.beside(document.text("store.artefacts")), _access(document))
    log_paths = [document.beside(item) for item in document.texts("sources.log_paths")]
    segments_root, lake_tables = _segments_root(document), _lake_tables(document)

    def logged(names: Sequence[str]) -> tuple[str, ...]:
        named = with_halves(names, hybrids)
        # Where a config is missing, which the first stage says, it is not known which tables are hybrid.
        return named if problems else _as_logged(named, hybrids, lake_tables, segments_root)

    tables = logged(asked)
    aside = Experiment(arguments.run_date.isoformat(), file_safe(arguments.run_id))
    return Night(
        run_date=arguments.run_date,
        store=ArtefactStore(storage, experiment=aside if arguments.is_experiment else None),
        settings=settings,
        started_at=arguments.started_at,
        run_id=arguments.run_id,
        tables=frozenset(tables) or None,
        log_paths=log_paths,
        segments_root=segments_root,
        table_config_paths=table_configs,
        lake_tables=lake_tables,
        event_log_paths=[document.beside(item) for item in document.texts("sources.spark_event_logs")],
        skipping_root=document.beside(document.text("skipping.metadata_root"))
        if document.value("skipping.metadata_root") is not None
        else None,
        skipping_modules=document.modules("skipping.modules"),
        family_modules=families,
        changed=_in_words(settings, arguments.changed),
        is_of_some=bool(arguments.tables) and not (configured and set(tables) >= set(logged(configured))),
        seen=seen,
    )


def log_zone(path: str | Path, given: Mapping[str, Any], environment: Mapping[str, str]) -> tzinfo:
    """Return the zone of the log, whose days the nights are; ``given``: settings over those of the file.

    Raises ConfigError as ``night_from_config`` does.
    """
    document = config_document(str(path))
    configured = _configured(document, document.modules("families"), environment)
    return ZoneInfo(checked_overrides(configured, given, origin="arguments").log.time_zone)


def changed_settings(
    path: str | Path,
    given: Mapping[str, Any],
    environment: Mapping[str, str],
    families: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the places of the ``given`` settings that differ from file and environment.

    ``families``: modules of index families beside those of the file.
    Raises ConfigError as ``night_from_config`` does.
    """
    if not given:
        return ()
    document = config_document(str(path))
    configured = _configured(document, [*document.modules("families"), *families], environment)
    values = checked_overrides(configured, given, origin="arguments").items()
    return tuple(
        each.place
        for (each, value), (_, before) in zip(values, configured.items(), strict=True)
        if value != before
    )


def _in_words(settings: Settings, places: Sequence[str]) -> dict[str, str]:
    """Return the values of some settings as people write them; one that may hold literals is not quoted."""
    return {
        each.place: "given" if each.facts.json_values else printable(shown_value(each, value), 80)
        for each, value in settings.items()
        if each.place in places
    }


def _as_logged(
    tables: Sequence[str], hybrids: Collection[str], lake_tables: Collection[str], segments_root: str
) -> tuple[str, ...]:
    """Return the names as the log has them: a type stays only behind the halves of hybrid tables.

    Pinot's own tools put it behind each name, of a table of one half, too.
    """
    wholes = {name: without_type(name)[0] for name in tables if name not in lake_tables}
    typed = {name for name, whole in wholes.items() if whole != name and whole not in hybrids}
    if not typed or not segments_root:
        return tuple(tables)
    try:
        # Halves of a hybrid table without a config show by their folders.
        typed -= set(segment_tables(segments_root))
    except SourceOutage:
        raise
    except SourceError:
        return tuple(tables)  # the first stage says why
    return tuple(dict.fromkeys(wholes[name] if name in typed else name for name in tables))


def spark_settings(path: str | Path) -> dict[str, str]:
    """Return the Spark settings (``spark.conf``) that the configuration file gives the night's jobs.

    Raises ConfigError, which quotes no value, for a name or value that is no setting of Spark.
    """
    return _spark_conf(config_document(str(path)))


def _settings(
    document: ConfigDocument,
    families: Sequence[str],
    arguments: NightArguments,
    environment: Mapping[str, str],
) -> Settings:
    configured = _configured(document, families, environment)
    return checked_overrides(configured, arguments.settings, origin="arguments")


def _configured(
    document: ConfigDocument, families: Sequence[str], environment: Mapping[str, str]
) -> Settings:
    settings = family_defaults(families)
    settings = checked_overrides(settings, document.mapping("settings"), origin=document.path)
    of_environment = environment_overrides(environment, settings)
    return checked_overrides(settings, of_environment, origin="environment")


def _spark_conf(document: ConfigDocument) -> dict[str, str]:
    found = {}
    for name, value in document.mapping("spark.conf").items():
        if not isinstance(name, str) or not re.fullmatch(r"spark\.[\w.-]+", name):
            problem = f"{name!r} is no setting of Spark such as spark.driver.memory"
        elif name in _OF_THE_CONNECTION:
            problem = f"{name} is given by the Airflow connection spark_default, not here"
        elif not isinstance(value, str | int | float):
            problem = f"{name} takes a text, a number or a boolean"
        else:
            found[name] = _option(value)
            continue
        raise document.error("spark.conf", f"spark.conf: {problem}")
    return found


def _access(document: ConfigDocument) -> FileAccess:
    # Artefacts hold queries with their literals: nobody else may read them unless a setting allows it.
    readable_by = document.value("store.readable_by")
    if readable_by is None:
        readable_by = "owner"
    if not isinstance(readable_by, str) or readable_by not in READABLE_BY:
        key = "store.readable_by"
        raise document.error(key, f"{key} must be one of {', '.join(READABLE_BY)}")
    return READABLE_BY[readable_by]


def _segments_root(document: ConfigDocument) -> str:
    key = "sources.segments_root"
    of_pinot = [each for each in ("sources.log_paths", "sources.table_configs") if document.value(each)]
    if document.value(key) is None and document.value("sources.lake_tables"):
        if of_pinot:
            others = " and ".join(of_pinot)
            raise document.error(
                key,
                f"{key} is missing: give a path, or, where all tables lie in the lake alone, "
                f"leave out {others}",
            )
        return ""
    return document.beside(document.text(key))


def _lake_tables(document: ConfigDocument) -> Mapping[str, LakeTable]:
    key = "sources.lake_tables"
    return {
        table: _lake_table(document, f"{key}: {table}", table, entry)
        for table, entry in document.mapping(key).items()
    }


def _lake_table(document: ConfigDocument, place: str, table: object, values: Any) -> LakeTable:
    key = "sources.lake_tables"
    if not isinstance(table, str) or not isinstance(values, Mapping) or set(values) - _TABLE_KEYS:
        raise document.error(
            key, f"{place} must have a path, and may have casts, format, options and logged_as"
        )
    entry = ConfigDocument(document.path, values)
    casts = entry.mapping("casts")
    for name in casts.values():
        if not _is_type(str(name)):
            raise document.error(
                key, f"{place}: casts: {name!r} is no type such as string, int32, int64, double or date32"
            )
    file_format = str(values.get("format", "parquet")).lower()
    if file_format not in FORMATS:
        raise document.error(key, f"{place}: format {file_format!r} is none of {', '.join(FORMATS)}")
    return LakeTable(
        document.beside(entry.text("path")),
        {str(column): str(name) for column, name in casts.items()},
        file_format,
        {str(name): _option(value) for name, value in entry.mapping("options").items()},
        tuple(entry.texts("logged_as")),
    )


def _is_type(name: str) -> bool:
    try:
        named_type(name)
    except ValueError:
        return False
    return True


def _option(value: Any) -> str:
    """Return an option as Spark takes it; YAML's booleans become texts."""
    return str(value).lower() if isinstance(value, bool) else str(value)
