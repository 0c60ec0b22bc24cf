"""``starskip skipping``: indexes by which Spark skips files: create, refresh and inspect them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from starskip.cli.command_group import CommandGroup
from starskip.cli.format_option import format_option, output_or_table_format
from starskip.cli.key_options import (
    keyring,
    named_files,
    named_indexes,
    of_encrypted_listing,
    of_encryption,
    of_keys,
)
from starskip.cli.lake_table import (
    existing_table,
    full_path,
    has_keys,
    of_metadata,
    of_modules,
    of_path,
    of_reader_options,
    output_and_table_format,
    reader_options,
    require_table,
)
from starskip.cli.skipping_check import check
from starskip.cli.skipping_contents import describe, explain, list_indexes
from starskip.cli.skipping_upkeep import delete, optimize, restore, rotate, vacuum
from starskip.cli.spark_session import spark_session
from starskip.cli.table_results import echo_refreshed
from starskip.cli.user_modules import user_modules
from starskip.errors import ConfigError, printable
from starskip.extras import needing_extra
from starskip.lake.format_names import FORMATS


@click.group(name="skipping", cls=CommandGroup)
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
@output_or_table_format("text", "json", tables=FORMATS)
@of_reader_options
@of_metadata
@of_modules
@of_keys
@of_encryption
@of_encrypted_listing
def create(
    path: str,
    indexes: Sequence[str],
    formats: tuple[str, str | None],
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
        output, file_format = output_and_table_format(path, formats)
        with needing_extra("spark"):
            from starskip.spark.skipping import lifecycle

        is_secret = bool(named or encrypt_listing) or has_keys(path, root)
        with spark_session("collecting", encrypts=is_secret) as spark:
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
    echo_refreshed(done, output, f"in {printable(done.location)}")


@skipping.command(name="refresh")
@of_path
@click.option("--full", is_flag=True, help="Read all files again.")
@format_option()
@of_metadata
@of_modules
@of_keys
def refresh(
    path: str, full: bool, output: str, root: str | None, modules: Sequence[str], keys: Sequence[str]
) -> None:
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
            from starskip.spark.skipping import lifecycle

        with spark_session("collecting", encrypts=bool(existing.state.keys.names)) as spark:
            done = lifecycle.refresh(
                spark, full_path(path), full=full, metadata_root=root, keys=named_files(keys)
            )
    echo_refreshed(done, output, f"in {printable(done.location)}")


def _require_indexes(specifications: Sequence[str]) -> None:
    from starskip.skipping.registry import index_from_specification

    for each in specifications:
        try:
            index_from_specification(each)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--index") from error
        except Exception:  # noqa: S112 - of a type of a user's own, which is left out alone
            continue


def _require_one(specifications: Sequence[str]) -> None:
    """Raise the error of the index type if none of the indexes can be made."""
    from starskip.skipping.registry import index_from_specification

    failures = []
    for each in specifications:
        try:
            index_from_specification(each)
        except Exception as error:
            failures.append(error)
    if failures and len(failures) == len(specifications):
        raise failures[0]


for _each in (optimize, delete, restore, vacuum, rotate, describe, list_indexes, explain, check):
    skipping.add_command(_each)
