"""Libraries that only some users need: pip installs them as an extra, such as ``starskip[delta]``.

What needs one imports it within ``needing_extra``, so that the rest runs where it is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from starskip.errors import MissingExtra, first_line


@dataclass(frozen=True, slots=True)
class Extra:
    """Purpose of an extra, and its libraries: the module that is imported -> the name that pip knows."""

    purpose: str
    libraries: Mapping[str, str]


EXTRAS: Mapping[str, Extra] = {
    "airflow": Extra(
        "nights in Airflow",
        {
            "airflow": "apache-airflow",
            "airflow.providers.apache.spark": "apache-airflow-providers-apache-spark",
            "airflow.providers.standard": "apache-airflow-providers-standard",
            "great_expectations": "great-expectations",
            "pandas": "pandas",
        },
    ),
    "delta": Extra("Delta tables", {"deltalake": "deltalake"}),
    "geospatial": Extra("shapes such as those of ST_Contains", {"shapely": "shapely"}),
    "iceberg": Extra("Iceberg tables", {"pyiceberg": "pyiceberg"}),
    "opensearch": Extra("metadata in OpenSearch", {"opensearchpy": "opensearch-py", "tenacity": "tenacity"}),
    "reports": Extra("pictures in reports", {"vl_convert": "vl-convert-python"}),
    "spark": Extra("Spark sessions", {"pyspark": "pyspark", "pandas": "pandas"}),
    "star-trees": Extra(
        "star-trees and computed filters", {"datasketches": "datasketches", "duckdb": "duckdb"}
    ),
    "user-agents": Extra(
        "names of user agents",
        {
            "ua_parser": "ua-parser",
            "ua_parser_builtins": "ua-parser-builtins",
            "ua_parser_rs": "ua-parser-rs",
        },
    ),
}
"""All extras by name; a test compares them with pyproject.toml, which also has ``all``."""


@contextmanager
def needing_extra(name: str) -> Iterator[None]:
    """Raise MissingExtra, which names the extra, if an import in the block fails.

    An error in an import of Starskip's own modules stays as it is.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0].startswith("starskip"):
            raise
        raise _missing(name, error) from error


def _missing(name: str, error: ImportError) -> MissingExtra:
    extra = EXTRAS[name]
    asked = error.name or ""
    known = [module for module in extra.libraries if f"{asked}.".startswith(f"{module}.")]
    library = extra.libraries[max(known, key=len, default=next(iter(extra.libraries)))]
    if isinstance(error, ModuleNotFoundError) and known:
        state, command = "is not installed", "pip install"
    else:
        state, command = f"cannot be imported ({first_line(error)})", "pip install --upgrade"
    purpose = f"{extra.purpose[0].upper()}{extra.purpose[1:]}"
    return MissingExtra(f"{purpose} need {library}, which {state}: {command} 'starskip[{name}]'", extra=name)
