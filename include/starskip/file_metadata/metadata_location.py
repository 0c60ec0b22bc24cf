"""The location of a table's metadata: beside its files, or below a configured root."""

from __future__ import annotations

import re

from starskip.errors import ConfigError
from starskip.storage.staged_write import file_safe

FOLDER = "_starskip"
"""Spark and other engines ignore names that begin with an underscore."""
_LOCAL = re.compile(r"file:/+")
_S3 = re.compile(r"s3[an]?://")


def metadata_location(table_path: str, root: str | None = None) -> str:
    """Return the folder or URL of a table's metadata, the same for every spelling of the table's path.

    ``table_path`` is a path or URL as Hadoop writes it. Below ``root`` the name ends in a hash of the path,
    which distinguishes tables of the same name.
    """
    path = _S3.sub("s3://", _LOCAL.sub("/", table_path)).rstrip("/")
    if not path:
        raise ConfigError(f"{table_path!r} is no table's path", setting="path")
    if not root:
        return f"{path}/{FOLDER}"
    name = path.rpartition("/")[2]
    return f"{_S3.sub('s3://', root).rstrip('/')}/{file_safe(f'{name}-{path}')}"
