"""``starskip skipping check``: index types held against a plain scan, on random predicates of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.format_option import echo_result, output_or_table_format
from starskip.cli.key_options import keyring, named_files, of_keys
from starskip.cli.lake_table import (
    existing_table,
    full_path,
    metadata_of,
    of_metadata,
    of_modules,
    of_path,
    of_reader_options,
    reader_options,
    require_table,
)
from starskip.cli.shared_options import of_seed, seed_or_any
from starskip.cli.spark_session import spark_session
from starskip.cli.to_stderr import note
from starskip.cli.user_modules import user_modules
from starskip.errors import ConfigError, StarskipError
from starskip.extras import needing_extra

if TYPE_CHECKING:
    from starskip.file_metadata.table_metadata import TableMetadata

FORMATS = ("parquet", "orc", "avro", "csv", "delta", "iceberg")
PREDICATES, _OF_AN_INDEX = 400, 300


@click.command(name="check")
@of_path
@click.option(
    "--index",
    "indexes",
    multiple=True,
    metavar="KIND:COLUMN[:ARG…]",
    help="An index to check; repeatable; those that the table has by default.",
)
@click.option(
    "--predicates",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help=f"How many predicates are asked; by default {PREDICATES}, or {_OF_AN_INDEX} an index.",
)
@of_seed
@output_or_table_format("json", "text", tables=FORMATS)
@of_reader_options
@of_metadata
@of_modules
@of_keys
def check(
    path: str,
    indexes: Sequence[str],
    predicates: int | None,
    seed: int | None,
    formats: tuple[str, str | None],
    options: Sequence[str],
    root: str | None,
    modules: Sequence[str],
    keys: Sequence[str],
) -> None:
    """Hold index types against a plain scan: no file that has a matching row may be skipped.

    Random predicates of the table's own columns are asked. The indexes are built aside, and the table's
    metadata is left alone. Exit code 3 if an index skips a file that holds a matching row.

    \b
    Examples:
      starskip skipping check /lake/events --index minmax:ts --index bloom:user.id
      starskip skipping check /lake/events --index length:body --types length_range
      starskip skipping check /lake/events --index length:body --types length_range --seed 7 --predicates 2000
      starskip skipping check /lake/people --key pii=/etc/keys/pii
    """  # noqa: D301
    from starskip.file_metadata.open_metadata import read_metadata

    output, table_format = formats
    given, chosen = reader_options(options), seed_or_any(seed)
    with user_modules(modules):
        _require_indexes(indexes)
        require_table(path)
        existing = read_metadata(metadata_of(path, root), keyring=keyring(keys))
        if existing is None and not indexes:
            existing_table(path, root)
        wanted = tuple(dict.fromkeys(indexes)) or (() if existing is None else existing.state.active)
        asked = predicates or max(PREDICATES, _OF_AN_INDEX * len(wanted))
        with needing_extra("spark"):
            from starskip.spark.skipping.check_indexes import check_indexes

        encrypt, listing = ({}, None) if existing is None else _encryption(existing, wanted)
        with spark_session("checking", encrypts=bool(encrypt or listing)) as spark:
            found = check_indexes(
                spark,
                full_path(path),
                wanted,
                predicates=asked,
                seed=chosen,
                source=None if existing is None else existing.source,
                table_format=table_format,
                options=given,
                modules=modules,
                keys=named_files(keys),
                encrypt=encrypt,
                encrypt_listing=listing,
            )
    document: dict[str, Any] = {
        "predicates": found.predicates,
        "entries": 0,
        "wrong": found.wrong,
        "seed": found.seed,
        "files": found.files,
        "files_skipped": found.skipped,
        "never_skipped": found.never_skipped,
    }
    words = f"{found.predicates:,} predicates, {found.wrong:,} wrong; seed {found.seed}"
    echo_result(output, document, lambda: words)
    for index in found.never_skipped:
        note(f"{index}: never skipped a file: no predicate was its, or the files hold the same values")
    for fault in found.faults.values():
        raise StarskipError(f"{fault} (--seed {found.seed} --predicates {asked})")


def _require_indexes(specifications: Sequence[str]) -> None:
    from starskip.skipping.registry import index_from_specification

    for each in specifications:
        try:
            index_from_specification(each)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--index") from error


def _encryption(existing: TableMetadata, wanted: Sequence[str]) -> tuple[dict[str, str], str | None]:
    """Return the keys of indexes that are built aside: what one hides, no other may show."""
    from starskip.file_metadata.inherited_keys import inherited_keys
    from starskip.skipping.registry import index_from_specification

    of_table = existing.state.keys
    inherited = inherited_keys(existing, [index_from_specification(each) for each in wanted])
    for specification, why in inherited.why_not.items():
        raise ConfigError(f"{specification}: {why}", setting="key")
    own = {index: name for index, name in of_table.indexes.items() if index in wanted}
    return {**inherited.encrypt, **own}, of_table.listing
