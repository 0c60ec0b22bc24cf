"""A table of ``starskip skipping`` or ``starskip secondary``: options, path, metadata, printed results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from starskip.cli.grace_option import grace_option
from starskip.cli.spark_defaults import default_metadata_root
from starskip.errors import SourceError, StorageError
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata, read_metadata
from starskip.file_metadata.refresh_metadata import Refreshed
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.lake.open_lake_table import FORMATS
from starskip.lake.table_folder import table_folder
from starskip.settings import Settings
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.storage import Storage
from starskip.storage.vacuum import VacuumReport

of_path = click.argument("path", metavar="PATH")
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
as_output = click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True
)


def output_or_table_format(*outputs: str, tables: Sequence[str] = FORMATS) -> Callable[[Any], Any]:
    """Return the option --format of a command whose output and whose table both have formats."""
    of_tables = [each for each in tables if each not in outputs]
    return click.option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice([*outputs, *of_tables]),
        callback=lambda _context, _option, given: (
            next((each for each in reversed(given) if each in outputs), outputs[0]),
            next((each for each in reversed(given) if each not in outputs), None),
        ),
        help=f"The output, {' or '.join(outputs)} ({outputs[0]} by default), or the table's format; "
        "repeatable.",
    )


of_grace = grace_option(
    float(Settings().retention.vacuum_grace_hours),
    "Keep files of the last hours: queries and writers may still use them.",
)


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


def echo_refreshed(done: Refreshed, end: str) -> None:
    """Print the version that a refresh has published and the files that it read; ``end`` ends the line."""
    counts = [f"{done.collected_files:,} files read", f"{done.unchanged_files:,} unchanged"]
    if done.gone_files:
        counts.append(f"{done.gone_files:,} gone")
    if done.changed_meanwhile:
        counts.append(f"{done.changed_meanwhile:,} changed meanwhile: refresh again for them")
    if done.damaged_files:
        counts.append(f"{len(done.damaged_files):,} damaged files left out")
    click.echo(f"version {done.version}: {', '.join(counts)}; {end}")


def echo_optimized(version: int | None) -> None:
    """Print the version that an optimize has published, None if there was nothing to do."""
    click.echo("nothing to optimize: it is one piece already" if version is None else f"version {version}")


def echo_changed(version: int, indexes: Sequence[str], change: str) -> None:
    """Print that ``indexes``, without any all of them, were "deleted" or "restored"."""
    click.echo(f"version {version}: {', '.join(indexes) or 'all indexes'} {change}")


def echo_vacuumed(report: VacuumReport) -> None:
    """Print the files that a vacuum has removed; raises StorageError for a file that it could not remove."""
    for place, reason in report.left_alone:
        raise StorageError(f"left alone: {reason}", location=place)
    click.echo(f"removed {len(report.removed):,} files, {report.removed_bytes:,} bytes")


def metadata_root(root: str | None) -> str | None:
    """Return the metadata root of the option, else that of spark-defaults."""
    return root or default_metadata_root(os.environ)


def metadata_of(path: str, root: str | None) -> Storage:
    """Return the storage of the metadata of the table at ``path``."""
    folder = table_folder(full_path(path))
    return metadata_storage(metadata_location(folder, metadata_root(root)))


def has_keys(path: str, root: str | None) -> bool:
    """Return whether a part of the table's metadata is encrypted, False if there is none."""
    metadata = read_metadata(metadata_of(path, root), keyring=Keyring())
    return metadata is not None and bool(metadata.state.keys.names)


def existing_table(path: str, root: str | None, keyring: Keyring | None = None) -> TableMetadata:
    """Return the metadata of the table at ``path``; raises SourceError if there is none."""
    storage = metadata_of(path, root)
    try:
        return existing_metadata(storage, keyring=keyring)
    except SourceError:
        require_table(path)
        raise
