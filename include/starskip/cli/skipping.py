"""``starskip skipping``: indexes by which Spark leaves files alone: make them, keep them, look at them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from starskip.cli.skipping_text import description_text, explained_text, indexes_text
from starskip.cli.spark_defaults import default_metadata_root
from starskip.cli.user_modules import user_modules
from starskip.errors import ConfigError, SourceError, StorageError, printable
from starskip.indexes.skipping.metadata.change_indexes import change_indexes
from starskip.indexes.skipping.metadata.commit_refresh import Commit
from starskip.indexes.skipping.metadata.describe_metadata import describe_metadata
from starskip.indexes.skipping.metadata.metadata_location import metadata_location
from starskip.indexes.skipping.metadata.open_metadata import existing_metadata
from starskip.indexes.skipping.metadata.optimize import optimize_metadata
from starskip.indexes.skipping.metadata.refresh_metadata import Refreshed
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.metadata.vacuum_metadata import vacuum_metadata
from starskip.indexes.skipping.registry import index_from_specification
from starskip.settings import Settings
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for
from starskip.storage.store_clock import store_clock

_path = click.argument("path", metavar="PATH")
_metadata = click.option(
    "--metadata",
    "root",
    metavar="URL",
    help="Root of the metadata of all tables, if it lies not in PATH/_starskip.",
)
_modules = click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="NAME",
    help="A module of index types of yours, here or on PYTHONPATH; repeatable.",
)
_output = click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True
)
_some_indexes = click.option(
    "--index", "indexes", multiple=True, metavar="KIND:COLUMN…", help="Repeatable; all indexes by default."
)


@click.group(name="skipping")
def skipping() -> None:
    """Index the files of a table, so that Spark's queries leave irrelevant ones alone.

    \b
    Examples:
      starskip skipping create /lake/events --index minmax:ts --index valuelist:country
      starskip skipping explain /lake/events "ts >= '2026-11-01' AND country = 'fr'"
      starskip skipping refresh /lake/events
      starskip skipping describe /lake/events

    PATH is the table's folder, or its URL. In a Spark program: from starskip.spark import skipping;
    skipping.enable(spark).
    """  # noqa: D301 - click reads the character \b as "keep these lines"


@skipping.command(name="create")
@_path
@click.option(
    "--index",
    "indexes",
    multiple=True,
    required=True,
    metavar="KIND:COLUMN[:ARG…]",
    help="minmax:c, nulls:c, valuelist:c, bloom:c[:fpp], prefix:c:n, …; repeatable.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["parquet", "orc", "avro", "json", "csv"]),
    default="parquet",
    show_default=True,
    help="Of the table's files.",
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the reader; repeatable.")
@_metadata
@_modules
def create(
    path: str,
    indexes: Sequence[str],
    file_format: str,
    options: Sequence[str],
    root: str | None,
    modules: Sequence[str],
) -> None:
    """Create indexes beside those that are there; one pass over the files collects all of them.

    \b
    Examples:
      starskip skipping create /lake/events --index minmax:ts --index bloom:user.id:0.01
      starskip skipping create s3://lake/logs --format json --index prefix:url:20
      starskip skipping create t.csv --format csv --option header=true --option inferSchema=true
                               --index minmax:price
      starskip skipping create /lake/points --index mykind:lat,lng --module my_indexes
    """  # noqa: D301
    given = dict(map(_option, options))
    with user_modules(modules):
        # What is mistyped is told before Spark has started.
        _require_indexes(indexes)
        _require_one(indexes)
        _require_table(path)
        from starskip.spark.command_session import command_session
        from starskip.spark.skipping import lifecycle

        with command_session("collecting") as spark:
            done = lifecycle.create(
                spark, _full(path), indexes, format=file_format, options=given, metadata_root=root
            )
    _say(done)


@skipping.command(name="refresh")
@_path
@click.option("--full", is_flag=True, help="Read all files again.")
@_metadata
@_modules
def refresh(path: str, full: bool, root: str | None, modules: Sequence[str]) -> None:
    """Bring the metadata up to date; only files that are new or changed are read.

    \b
    Examples:
      starskip skipping refresh /lake/events
      starskip skipping refresh /lake/events --full
    """  # noqa: D301
    with user_modules(modules):
        _require_one(_existing(path, root).state.active)
        from starskip.spark.command_session import command_session
        from starskip.spark.skipping import lifecycle

        with command_session("collecting") as spark:
            done = lifecycle.refresh(spark, _full(path), full=full, metadata_root=root)
    _say(done)


@skipping.command(name="optimize")
@_path
@_metadata
def optimize(path: str, root: str | None) -> None:
    """Bring into one piece what many refreshes have written, without what is dead, so that it is read fast.

    \b
    Example:
      starskip skipping optimize /lake/events
    """  # noqa: D301
    version = optimize_metadata(_existing(path, root).storage, _commit())
    click.echo("nothing to optimize: it is one piece already" if version is None else f"version {version}")


@skipping.command(name="delete")
@_path
@_some_indexes
@_metadata
def delete(path: str, indexes: Sequence[str], root: str | None) -> None:
    """Have indexes be used no more; `restore` undoes it until a `vacuum`.

    \b
    Examples:
      starskip skipping delete /lake/events --index minmax:ts
      starskip skipping delete /lake/events
    """  # noqa: D301
    manifest = change_indexes(_existing(path, root).storage, indexes or None, _commit(), active=False)
    click.echo(f"version {manifest.version}: {', '.join(indexes) or 'all indexes'} deleted")


@skipping.command(name="restore")
@_path
@_some_indexes
@_metadata
def restore(path: str, indexes: Sequence[str], root: str | None) -> None:
    """Have deleted indexes be used again; of newer files they know after the next `refresh`.

    \b
    Example:
      starskip skipping restore /lake/events --index minmax:ts
    """  # noqa: D301
    manifest = change_indexes(_existing(path, root).storage, indexes or None, _commit(), active=True)
    click.echo(f"version {manifest.version}: {', '.join(indexes) or 'all indexes'} restored")


@skipping.command(name="vacuum")
@_path
@click.option(
    "--grace-hours",
    type=click.FloatRange(min=0),
    default=float(Settings().retention.vacuum_grace_hours),
    show_default=True,
    help="Leave what queries and writers of the last hours may use.",
)
@_metadata
def vacuum(path: str, grace_hours: float, root: str | None) -> None:
    """Remove deleted indexes for good, and files of metadata that nobody needs any more.

    \b
    Example:
      starskip skipping vacuum /lake/events --grace-hours 48
    """  # noqa: D301
    storage = _storage(path, root)
    # What a vacuum has left of the last index may still be vacuumed.
    if not any(storage.objects_below("")):
        _existing(path, root)
    report = vacuum_metadata(storage, _commit(), now=store_clock(storage), grace=timedelta(hours=grace_hours))
    for place, reason in report.left_alone:
        raise StorageError(f"left alone: {reason}", location=place)
    click.echo(f"removed {len(report.removed):,} files, {report.removed_bytes:,} bytes")


@skipping.command(name="describe")
@_path
@_output
@_metadata
@_modules
def describe(path: str, output: str, root: str | None, modules: Sequence[str]) -> None:
    """Tell what there is of metadata: files, rows, bytes, and each index.

    \b
    Example:
      starskip skipping describe /lake/events --format json
    """  # noqa: D301
    with user_modules(modules):
        document = _description(path, root)
    click.echo(json.dumps(document) if output == "json" else description_text(document))


@skipping.command(name="list")
@_path
@_output
@_metadata
def list_indexes(path: str, output: str, root: str | None) -> None:
    """List the indexes, deleted ones too until a vacuum.

    \b
    Example:
      starskip skipping list /lake/events
    """  # noqa: D301
    indexes = _description(path, root)["indexes"]
    click.echo(json.dumps(indexes) if output == "json" else indexes_text(indexes))


@skipping.command(name="explain")
@_path
@click.argument("condition", metavar='"WHERE …"')
@_output
@_metadata
@_modules
def explain(path: str, condition: str, output: str, root: str | None, modules: Sequence[str]) -> None:
    """Tell which files Spark would read for a condition, and what each index does for it.

    \b
    Examples:
      starskip skipping explain /lake/events "ts >= '2026-11-01' AND country = 'fr'" --format json
      starskip skipping explain /lake/logs "getAgentName(user_agent) = 'Firefox'"
    """  # noqa: D301
    with user_modules(modules):
        source = _existing(path, root).source
        from starskip.spark.command_session import command_session
        from starskip.spark.skipping.explain_condition import explain_condition

        with command_session("planning") as spark:
            document = explain_condition(
                spark, _full(path), source, condition, metadata_root=root, modules=modules
            )
    click.echo(json.dumps(document) if output == "json" else explained_text(document))


def _say(done: Refreshed) -> None:
    told = [f"{done.collected_files:,} files read", f"{done.unchanged_files:,} unchanged"]
    if done.gone_files:
        told.append(f"{done.gone_files:,} gone")
    if done.changed_meanwhile:
        told.append(f"{done.changed_meanwhile:,} changed meanwhile: refresh again for them")
    if done.damaged_files:
        told.append(f"{len(done.damaged_files):,} damaged files left out")
    click.echo(f"version {done.version}: {', '.join(told)}; in {printable(done.location)}")


def _full(path: str) -> str:
    return path if "://" in path or path.startswith("file:") else os.path.normpath(Path(path).absolute())


def _require_indexes(specifications: Sequence[str]) -> None:
    for each in specifications:
        try:
            index_from_specification(each)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--index") from error
        except Exception:  # noqa: S112 - of a type of a user's own, which is left out alone
            continue


def _require_one(specifications: Sequence[str]) -> None:
    """Raise what the type of an index raises if none of the indexes can be made."""
    failures = []
    for each in specifications:
        try:
            index_from_specification(each)
        except Exception as error:
            failures.append(error)
    if failures and len(failures) == len(specifications):
        raise failures[0]


def _require_table(path: str) -> None:
    if "://" not in path and not path.startswith("file:") and not Path(path).exists():
        raise SourceError(f"{path}: there is no such folder", source=path)


def _storage(path: str, root: str | None) -> Storage:
    return storage_for(metadata_location(_full(path), root or default_metadata_root(os.environ)))


def _existing(path: str, root: str | None) -> TableMetadata:
    storage = _storage(path, root)
    try:
        return existing_metadata(storage)
    except SourceError:
        _require_table(path)
        raise


def _description(path: str, root: str | None) -> dict[str, Any]:
    metadata = _existing(path, root)
    return describe_metadata(metadata, metadata.storage.place)


def _commit() -> Commit:
    return Commit(uuid4().hex, datetime.now(UTC), "starskip skipping")


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE, such as header=true", param_hint="--option")
    return name, value
