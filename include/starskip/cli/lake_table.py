"""A table of ``starskip skipping`` or ``starskip secondary``: its options, its path, and its metadata.

Settings of Spark are read from its own configuration file where no Spark is needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.format_option import format_option
from starskip.errors import SourceError

if TYPE_CHECKING:
    from starskip.file_metadata.table_metadata import TableMetadata
    from starskip.storage.encryption.keyring import Keyring
    from starskip.storage.storage import Storage


of_path = click.argument("path", metavar="PATH", type=click.Path())
of_condition = click.argument("condition", metavar='"WHERE …"')
of_version = click.option(
    "--version",
    type=click.IntRange(0),
    metavar="N|SNAPSHOT_ID",
    help="Version or snapshot of a Delta or Iceberg table; the newest if left out.",
)
of_some_indexes = click.option(
    "--index", "indexes", multiple=True, metavar="KIND:COLUMN…", help="Repeatable; all indexes by default."
)
of_metadata = click.option(
    "--metadata",
    "root",
    metavar="URL",
    help="Root of the metadata of all tables, if it is not in PATH/_starskip: a folder, s3://…, or "
    "opensearch://HOST:PORT/PREFIX (docs/metadata-stores.md).",
)
of_modules = click.option(
    "--types",
    "--module",
    "modules",
    multiple=True,
    metavar="NAME",
    help="A module of your own index types, in this folder or on PYTHONPATH; repeatable.",
)
of_reader_options = click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of Spark's reader; repeatable."
)


_ROOT = re.compile(r"^\s*spark\.starskip\.metadata\.root(?:\s*[=:]\s*|\s+)(\S.*?)\s*$", re.MULTILINE)


def table_command(name: str, *options: Callable[..., Any]) -> Callable[[Callable[..., None]], click.Command]:
    """Return the decorator of a command that takes PATH, ``options``, ``--format`` and ``--metadata``."""

    def command_of(function: Callable[..., None]) -> click.Command:
        for option in (of_metadata, format_option(), *reversed(options), of_path):
            function = option(function)
        return click.command(name=name)(function)

    return command_of


def output_and_table_format(path: str, formats: tuple[str, str | None]) -> tuple[str, str | None]:
    """Return how to print and what the table is kept as; ``formats``: of ``output_or_table_format``.

    ``json`` alone names the output. Where no other kind of table is found it also names the table's format.
    """
    output, file_format = formats
    if output != "json" or file_format is not None:
        return formats
    from starskip.lake.open_lake_table import open_lake_table

    try:
        open_lake_table(path, look_above=False)
    except SourceError:
        return output, "json"
    return output, None


def full_path(path: str) -> str:
    """Return a URL as it is, and a folder from the root."""
    return path if "://" in path or path.startswith("file:") else os.path.normpath(Path(path).absolute())


def reader_options(given: Sequence[str]) -> dict[str, str]:
    """Return options of the reader by their names. Raises BadParameter for a text that is not KEY=VALUE."""
    found = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not (key and separator):
            raise click.BadParameter(f"{text!r} is not KEY=VALUE, such as header=true", param_hint="--option")
        found[key] = value
    return found


def require_table(path: str) -> None:
    """Raise SourceError if there is no such folder."""
    if "://" not in path and not Path(path.removeprefix("file:")).exists():
        raise SourceError(f"{path}: there is no such folder", source=path)


def metadata_root(root: str | None) -> str | None:
    """Return the metadata root of the option, else that of spark-defaults."""
    return root or default_metadata_root(os.environ)


def metadata_of(path: str, root: str | None) -> Storage:
    """Return the storage of the metadata of the table at ``path``."""
    from starskip.file_metadata.metadata_location import metadata_location
    from starskip.file_metadata.metadata_storage import metadata_storage
    from starskip.lake.table_folder import table_folder

    folder = table_folder(full_path(path))
    return metadata_storage(metadata_location(folder, metadata_root(root)))


def has_keys(path: str, root: str | None) -> bool:
    """Return whether a part of the table's metadata is encrypted, False if there is none."""
    from starskip.file_metadata.open_metadata import read_metadata
    from starskip.storage.encryption.keyring import Keyring

    metadata = read_metadata(metadata_of(path, root), keyring=Keyring())
    return metadata is not None and bool(metadata.state.keys.names)


def existing_table(path: str, root: str | None, keyring: Keyring | None = None) -> TableMetadata:
    """Return the metadata of the table at ``path``; raises SourceError if there is none."""
    from starskip.file_metadata.open_metadata import existing_metadata

    storage = metadata_of(path, root)
    try:
        return existing_metadata(storage, keyring=keyring)
    except SourceError:
        require_table(path)
        raise


def default_metadata_root(environment: Mapping[str, str]) -> str | None:
    """Return ``spark.starskip.metadata.root`` of ``spark-defaults.conf``, None if that does not say.

    It lies in ``SPARK_CONF_DIR``, else in ``conf`` of ``SPARK_HOME``, as Spark looks for it.
    """
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    if folder is None:
        return None
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found: list[str] = _ROOT.findall(text)
    return found[-1] if found else None
