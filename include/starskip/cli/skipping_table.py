"""The table that a command of ``starskip skipping`` is about: its options, its path, its metadata."""

from __future__ import annotations

import os
from pathlib import Path

import click

from starskip.cli.spark_defaults import default_metadata_root
from starskip.errors import SourceError
from starskip.indexes.skipping.metadata.metadata_location import metadata_location
from starskip.indexes.skipping.metadata.open_metadata import existing_metadata
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for

of_path = click.argument("path", metavar="PATH")
of_metadata = click.option(
    "--metadata",
    "root",
    metavar="URL",
    help="Root of the metadata of all tables, if it lies not in PATH/_starskip.",
)
of_modules = click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="NAME",
    help="A module of index types of yours, here or on PYTHONPATH; repeatable.",
)
as_output = click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True
)


def full_path(path: str) -> str:
    """Return a URL as it is, and a folder from the root."""
    return path if "://" in path or path.startswith("file:") else os.path.normpath(Path(path).absolute())


def require_table(path: str) -> None:
    """Raise SourceError where there is no such folder."""
    if "://" not in path and not path.startswith("file:") and not Path(path).exists():
        raise SourceError(f"{path}: there is no such folder", source=path)


def metadata_storage(path: str, root: str | None) -> Storage:
    """Return the storage of the metadata of the table at ``path``."""
    return storage_for(metadata_location(full_path(path), root or default_metadata_root(os.environ)))


def existing_table(path: str, root: str | None) -> TableMetadata:
    """Return the metadata of the table at ``path``; raises SourceError where there is none."""
    storage = metadata_storage(path, root)
    try:
        return existing_metadata(storage)
    except SourceError:
        require_table(path)
        raise
