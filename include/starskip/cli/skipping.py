"""``starskip skipping``: indexes by which Spark skips files: create, refresh and inspect them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import click

from starskip.cli.key_options import (
    keyring,
    named_files,
    named_indexes,
    of_encrypted_listing,
    of_encryption,
    of_keys,
)
from starskip.cli.lake_table import (
    echo_changed,
    echo_optimized,
    echo_refreshed,
    echo_vacuumed,
    existing_table,
    full_path,
    has_keys,
    metadata_of,
    of_grace,
    of_metadata,
    of_modules,
    of_path,
    of_reader_options,
    reader_options,
    require_table,
)
from starskip.cli.skipping_check import check
from starskip.cli.skipping_contents import describe, explain, list_indexes
from starskip.cli.user_modules import user_modules
from starskip.errors import ConfigError, printable
from starskip.extras import needing_extra
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.commit_refresh import new_commit
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.rotate_keys import named_key, rotate_keys
from starskip.file_metadata.table_state import CREATED_BY
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.skipping.registry import index_from_specification
from starskip.storage.store_clock import store_clock

_some_indexes = click.option(
    "--index", "indexes", multiple=True, metavar="KIND:COLUMN…", help="Repeatable; all indexes by default."
)


@click.group(name="skipping")
def skipping() -> None:
    """Index the files of a table, so that Spark's queries skip irrelevant files.

    \b
    Examples:
      starskip skipping create /lake/events --index minmax:ts --index valuelist:country
      starskip skipping explain /lake/events "ts >= '2026-11-01' AND country = 'fr'"
      starskip skipping refresh /lake/events
      starskip skipping describe /lake/events
      starskip skipping rotate /lake/events --from pii=old.key --to pii=new.key

    PATH is the table's folder, or its URL; for an Iceberg table also its metadata file, or
    iceberg://CATALOG/NAMESPACE/TABLE. In a Spark program: from starskip.spark import skipping;
    skipping.enable(spark).
    """  # noqa: D301 - click reads the character \b as "keep these lines"


@skipping.command(name="create")
@of_path
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
    type=click.Choice(["parquet", "orc", "avro", "json", "csv", "delta", "iceberg"]),
    help="Format of the table; by default delta or iceberg if its log is found, else parquet.",
)
@of_reader_options
@of_metadata
@of_modules
@of_keys
@of_encryption
@of_encrypted_listing
def create(
    path: str,
    indexes: Sequence[str],
    file_format: str | None,
    options: Sequence[str],
    root: str | None,
    modules: Sequence[str],
    keys: Sequence[str],
    encrypt: Sequence[str],
    encrypt_listing: str | None,
) -> None:
    """Add indexes to the table's; one pass over the files collects all new indexes.

    \b
    Examples:
      starskip skipping create /lake/events --index minmax:ts --index bloom:user.id:0.01
      starskip skipping create s3://lake/logs --format json --index prefix:url:20
      starskip skipping create t.csv --format csv --option header=true --option inferSchema=true
                               --index minmax:price
      starskip skipping create /lake/orders --format delta --index bloom:customer
      starskip skipping create /lake/points --index mykind:lat,lng --module my_indexes
      starskip skipping create /lake/events --index minmax:ts --metadata opensearch://search:9200/starskip
      starskip skipping create /lake/people --index minmax:ts --index bloom:email
                               --encrypt bloom:email=pii --key pii=/etc/keys/pii
    """  # noqa: D301
    given, files, named = reader_options(options), named_files(keys), named_indexes(encrypt, indexes)
    keyring(keys)
    with user_modules(modules):
        # Typing errors are reported before Spark has started.
        _require_indexes(indexes)
        _require_one(indexes)
        require_table(path)
        with needing_extra("spark"):
            from starskip.spark.command_session import command_session
            from starskip.spark.skipping import lifecycle

        is_secret = bool(named or encrypt_listing) or has_keys(path, root)
        with command_session("collecting", encrypts=is_secret) as spark:
            done = lifecycle.create(
                spark,
                full_path(path),
                indexes,
                format=file_format,
                options=given,
                metadata_root=root,
                keys=files,
                encrypt=named,
                encrypt_listing=encrypt_listing,
            )
    echo_refreshed(done, f"in {printable(done.location)}")


@skipping.command(name="refresh")
@of_path
@click.option("--full", is_flag=True, help="Read all files again.")
@of_metadata
@of_modules
@of_keys
def refresh(path: str, full: bool, root: str | None, modules: Sequence[str], keys: Sequence[str]) -> None:
    """Bring the metadata up to date; only new and changed files are read.

    \b
    Examples:
      starskip skipping refresh /lake/events
      starskip skipping refresh /lake/events --full
      starskip skipping refresh /lake/people --key pii=/etc/keys/pii
    """  # noqa: D301
    with user_modules(modules):
        existing = existing_table(path, root, keyring(keys))
        _require_one(existing.state.active)
        with needing_extra("spark"):
            from starskip.spark.command_session import command_session
            from starskip.spark.skipping import lifecycle

        with command_session("collecting", encrypts=bool(existing.state.keys.names)) as spark:
            done = lifecycle.refresh(
                spark, full_path(path), full=full, metadata_root=root, keys=named_files(keys)
            )
    echo_refreshed(done, f"in {printable(done.location)}")


@skipping.command(name="optimize")
@of_path
@of_metadata
@of_keys
def optimize(path: str, root: str | None, keys: Sequence[str]) -> None:
    """Merge the metadata of many refreshes into one segment, without outdated rows, so that it is read fast.

    \b
    Example:
      starskip skipping optimize /lake/events
    """  # noqa: D301
    found = keyring(keys)
    storage = existing_table(path, root, found).storage
    echo_optimized(optimize_metadata(storage, new_commit(CREATED_BY), keyring=found))


@skipping.command(name="delete")
@of_path
@_some_indexes
@of_metadata
def delete(path: str, indexes: Sequence[str], root: str | None) -> None:
    """Stop using indexes; `restore` undoes it until a `vacuum`.

    \b
    Examples:
      starskip skipping delete /lake/events --index minmax:ts
      starskip skipping delete /lake/events
    """  # noqa: D301
    manifest = change_indexes(
        existing_table(path, root).storage, indexes or None, new_commit(CREATED_BY), active=False
    )
    echo_changed(manifest.version, indexes, "deleted")


@skipping.command(name="restore")
@of_path
@_some_indexes
@of_metadata
def restore(path: str, indexes: Sequence[str], root: str | None) -> None:
    """Use deleted indexes again; the next `refresh` adds newer files to them.

    \b
    Example:
      starskip skipping restore /lake/events --index minmax:ts
    """  # noqa: D301
    manifest = change_indexes(
        existing_table(path, root).storage, indexes or None, new_commit(CREATED_BY), active=True
    )
    echo_changed(manifest.version, indexes, "restored")


@skipping.command(name="vacuum")
@of_path
@of_grace
@of_metadata
def vacuum(path: str, grace_hours: float, root: str | None) -> None:
    """Remove deleted indexes for good, and metadata files that are no longer needed.

    \b
    Example:
      starskip skipping vacuum /lake/events --grace-hours 48
    """  # noqa: D301
    storage = metadata_of(path, root)
    # After a vacuum of the last index, its leftovers may still be vacuumed.
    if not any(storage.objects_below("")):
        existing_table(path, root)
    report = vacuum_metadata(
        storage, new_commit(CREATED_BY), now=store_clock(storage), grace=timedelta(hours=grace_hours)
    )
    echo_vacuumed(report)


@skipping.command(name="rotate")
@of_path
@click.option("--from", "former", required=True, metavar="NAME=FILE", help="The former key.")
@click.option("--to", "following", required=True, metavar="NAME=FILE", help="The new key.")
@of_metadata
def rotate(path: str, former: str, following: str, root: str | None) -> None:
    """Change a key: data keys are wrapped by another key, and no index is rebuilt.

    \b
    Examples:
      starskip skipping rotate /lake/people --from pii=old.key --to pii=new.key
      starskip skipping rotate /lake/people --from pii=pii.key --to pii-2027=pii-2027.key

    The former key can read former versions until a `vacuum`.
    """  # noqa: D301
    (before,), (after,) = named_files([former], "--from").items(), named_files([following], "--to").items()
    storage = existing_table(path, root).storage
    manifest = rotate_keys(storage, named_key(*before), named_key(*after), new_commit(CREATED_BY))
    click.echo(
        f"version {manifest.version}: {before[0]} is {after[0]} now"
        if before[0] != after[0]
        else f"version {manifest.version}: the key {before[0]} was changed"
    )


def _require_indexes(specifications: Sequence[str]) -> None:
    for each in specifications:
        try:
            index_from_specification(each)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--index") from error
        except Exception:  # noqa: S112 - of a type of a user's own, which is left out alone
            continue


def _require_one(specifications: Sequence[str]) -> None:
    """Raise the error of the index type if none of the indexes can be made."""
    failures = []
    for each in specifications:
        try:
            index_from_specification(each)
        except Exception as error:
            failures.append(error)
    if failures and len(failures) == len(specifications):
        raise failures[0]


skipping.add_command(describe)
skipping.add_command(list_indexes)
skipping.add_command(explain)
skipping.add_command(check)
