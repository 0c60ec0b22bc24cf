"""The trigger form for the configuration of the nights: its index families, and its tables to choose from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import Variable

from starskip.configuration.config_document import ConfigDocument, config_document
from starskip.errors import StarskipError
from starskip.indexes.family_settings import family_defaults
from starskip.orchestration.night_request import CONFIG_VARIABLE, night_config
from starskip.orchestration.trigger_form import TABLE_NAME_PATTERN, trigger_form

if TYPE_CHECKING:
    from airflow.sdk import Param

_MOST_TABLES = 1_000


def configured_form(checkout: Path) -> dict[str, Param]:
    """Return the params of the nightly DAG as the configuration of its nights has them.

    Of a configuration that is wrong, or that lies in an object store, the form knows nothing: Airflow reads
    the DAG file too often to wait for a network, and the first task says what is wrong.
    """
    config = night_config(_variable, checkout)
    try:
        document = None if "://" in config else config_document(config)
        defaults = family_defaults(document.names("families") if document else ())
        return trigger_form(defaults, known_tables(document) if document else ())
    except (StarskipError, OSError):
        return trigger_form(family_defaults())


def known_tables(document: ConfigDocument) -> list[str]:
    """Return the tables of the configuration in order of their names; none where these may not be all."""
    found: list[str] = document.texts("tables")
    if not found:
        segments = document.value("sources.segments_root")
        folder = document.beside(segments) if isinstance(segments, str) else ""
        if "://" in folder:
            return []
        found = [*document.mapping("sources.lake_tables"), *_folders(folder)]
    names = {name for name in found if name and re.fullmatch(TABLE_NAME_PATTERN, name)}
    return sorted(names) if len(names) <= _MOST_TABLES else []


def _folders(path: str) -> Iterator[str]:
    if path and Path(path).is_dir():
        with os.scandir(path) as entries:
            yield from islice((entry.name for entry in entries if entry.is_dir()), _MOST_TABLES + 1)


def _variable() -> str | None:
    try:
        value: str | None = Variable.get(CONFIG_VARIABLE, default=None)
    except Exception:
        # Whatever keeps Airflow from its variables must not cost the DAG; the first task reads it again.
        return None
    return value
