"""The text of ``starskip --version``: all that a report of a fault needs; no library is imported."""

from __future__ import annotations

import platform

from starskip.extras import installed_version

_LIBRARIES = (
    "pyspark",
    "apache-airflow",
    "pyarrow",
    "duckdb",
    "sqlglot",
    "numpy",
    "scipy",
    "numba",
    "highspy",
    "deltalake",
    "pyiceberg",
    "click",
)
_ALWAYS = ("pyspark", "apache-airflow")
"""They are named also where they are not installed, since that matters."""


def version_text() -> str:
    """Return Starskip's version, then Python, the machine, and the libraries that decide what happens."""
    found = [(name, installed_version(name)) for name in _LIBRARIES]
    lines = [f"{name} {of or 'is not installed'}" for name, of in found if of or name in _ALWAYS]
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return "\n".join(
        [f"starskip {installed_version('starskip')}", f"Python {platform.python_version()}, {system}", *lines]
    )
