"""Libraries that only some users need: pip installs them as an extra, such as ``starskip[delta]``.

What needs one imports it within ``needing_extra``, so that the rest runs where it is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

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
    "pinot": Extra("requests to a live Pinot", {"httpx": "httpx", "tenacity": "tenacity"}),
    "reports": Extra("pictures in reports", {"vl_convert": "vl-convert-python"}),
    "spark": Extra("Spark sessions", {"pyspark": "pyspark", "pandas": "pandas"}),
    "star-trees": Extra(
        "star-trees and computed filters", {"duckdb": "duckdb", "datasketches": "datasketches"}
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
"""Extras by name. pyproject.toml has the same ones, and ``all``."""


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
        absent = _absent(name)
        known = (error.name or "").partition(".")[0]
        if absent:
            words = _line(name, known if known in absent else absent[0])
        else:
            library = next(iter(EXTRAS[name].libraries.values()))
            reason = first_line(error)
            words = f"{library} cannot be imported ({reason}): pip install --upgrade 'starskip[{name}]'"
        raise MissingExtra(words, extra=name) from error


def missing_extra(name: str) -> str:
    """Return the line that says which library of an extra is not installed, empty if all are."""
    absent = _absent(name)
    return _line(name, absent[0]) if absent else ""


def installed_version(package: str) -> str:
    """Return the version of a package by the name that pip knows, empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _absent(name: str) -> list[str]:
    return [module for module in EXTRAS[name].libraries if not _is_there(module)]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package that it lies in is missing.
        return False


def _line(name: str, module: str) -> str:
    extra = EXTRAS[name]
    purpose = f"{extra.purpose[0].upper()}{extra.purpose[1:]}"
    library = extra.libraries[module]
    return f"{purpose} need {library}, which is not installed: pip install 'starskip[{name}]'"
