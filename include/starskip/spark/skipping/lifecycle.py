"""Create, refresh, optimize, delete, restore, vacuum and describe a table's indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from starskip.errors import ConfigError
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.commit_refresh import new_commit
from starskip.file_metadata.describe_metadata import describe_metadata
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.file_metadata.optimize import optimize_metadata
from starskip.file_metadata.refresh_metadata import Refreshed
from starskip.file_metadata.rotate_keys import named_key, rotate_keys
from starskip.file_metadata.table_state import CREATED_BY
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.lake.table_folder import table_folder
from starskip.spark.skipping.checked_indexes import resolved_indexes, resolved_names
from starskip.spark.skipping.lake_relation import LakeRelation, named_in_metadata
from starskip.spark.skipping.lake_scan import TITLES
from starskip.spark.skipping.on_spark_connect import classic_only
from starskip.spark.skipping.opened_table import opened_table
from starskip.spark.skipping.refresh_relation import (
    location_of,
    refresh_relation,
    require_one,
)
from starskip.spark.skipping.session import keep_overwritten, keyring_of
from starskip.storage.encryption.keyring import KeySource
from starskip.storage.storage import Storage
from starskip.storage.store_clock import store_clock
from starskip.storage.vacuum import VacuumReport

GRACE = timedelta(hours=24)


@classic_only
def create(
    spark: SparkSession,
    table: str | DataFrame,
    indexes: Sequence[str],
    *,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    metadata_root: str | None = None,
    keys: Mapping[str, KeySource] = MappingProxyType({}),
    encrypt: Mapping[str, str] = MappingProxyType({}),
    encrypt_listing: str | None = None,
) -> Refreshed:
    """Create indexes of a table's files, by specification such as ``minmax:ts``, beside the existing ones.

    ``table``: a path, or a DataFrame as ``spark.read`` or ``spark.table`` returns it. ``format`` and
    ``options`` as for ``spark.read``, for a path; by default the table format at the path, else Parquet. A
    deleted index is restored. ``encrypt``: key names by specification; ``encrypt_listing``: key name for file
    names and partition values; ``keys``: see ``enable``. Raises ConfigError for an index that the table
    cannot have, SourceError for a table that cannot be read, for a Hudi table, and for a Delta or Iceberg
    table that is asked for as plain files, and StarskipError.
    """
    if isinstance(indexes, str) or not indexes:
        raise ConfigError("name the indexes to create in a list, such as ['minmax:ts']", setting="index")
    keyring = keyring_of(spark, keys)
    relation = opened_table(spark, table, format, options, metadata_root, keyring)
    keep_overwritten(spark)
    if isinstance(relation, LakeRelation):
        indexes, encrypt = named_in_metadata(relation, indexes, encrypt)
    wanted, failed = resolved_indexes(indexes, relation)
    require_one((each.specification for each in wanted), failed)
    named = resolved_names(encrypt, relation, indexes)
    encryption = Encryption(keyring, named, encrypt_listing)
    return refresh_relation(spark, relation, wanted, metadata_root, failed=failed, encryption=encryption)


@classic_only
def refresh(
    spark: SparkSession,
    table: str | DataFrame,
    *,
    full: bool = False,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    metadata_root: str | None = None,
    keys: Mapping[str, KeySource] = MappingProxyType({}),
) -> Refreshed:
    """Bring a table's metadata up to date, by reading new and changed files only.

    ``full`` reads all files, which is needed after the schema or the reader's options have changed. A path is
    read as when its metadata was created, unless ``format`` or ``options`` are given. ``keys``: see
    ``enable``; an index without its key stays as it is, with a warning. Raises ConfigError for an index that
    the table can no longer have, which must be deleted; otherwise as ``create``.
    """
    keep_overwritten(spark)
    if isinstance(table, str) and format is None:
        folder = table_folder(table)
        known = existing_metadata(metadata_storage(location_of(spark, folder, metadata_root))).source
        if known.file_format not in TITLES:
            format, options = known.file_format, known.options if options is None else options
    keyring = keyring_of(spark, keys)
    relation = opened_table(spark, table, format, options, metadata_root, keyring)
    existing_metadata(metadata_storage(location_of(spark, relation.path, metadata_root)))
    encryption = Encryption(keyring)
    return refresh_relation(spark, relation, [], metadata_root, in_full=full, encryption=encryption)


@classic_only
def optimize(
    spark: SparkSession,
    table: str | DataFrame,
    *,
    metadata_root: str | None = None,
    keys: Mapping[str, KeySource] = MappingProxyType({}),
) -> int | None:
    """Compact the metadata into one segment; return the version, None if there is nothing to compact.

    Segments with a locked part stay as they are. ``keys``: see ``enable``.
    """
    storage = _storage(spark, table, metadata_root)
    return optimize_metadata(storage, new_commit(CREATED_BY), keyring=keyring_of(spark, keys))


@classic_only
def rotate(
    spark: SparkSession,
    table: str | DataFrame,
    former: tuple[str, KeySource],
    following: tuple[str, KeySource],
    *,
    metadata_root: str | None = None,
) -> int:
    """Wrap the metadata's data keys by the key ``following`` instead of ``former``; return the version.

    Each is a name and a file. No index is made anew. Raises ConfigError for a key that the metadata does not
    use.
    """
    storage = _storage(spark, table, metadata_root)
    return rotate_keys(storage, named_key(*former), named_key(*following), new_commit(CREATED_BY)).version


@classic_only
def delete(
    spark: SparkSession,
    table: str | DataFrame,
    indexes: Sequence[str] | None = None,
    *,
    metadata_root: str | None = None,
) -> int:
    """Deactivate indexes, by default all; return the version. ``restore`` undoes it."""
    storage = _storage(spark, table, metadata_root)
    return change_indexes(storage, indexes, new_commit(CREATED_BY), active=False).version


@classic_only
def restore(
    spark: SparkSession,
    table: str | DataFrame,
    indexes: Sequence[str] | None = None,
    *,
    metadata_root: str | None = None,
) -> int:
    """Activate deleted indexes, unless a vacuum has removed them; return the version.

    The next refresh covers files that were added meanwhile.
    """
    storage = _storage(spark, table, metadata_root)
    return change_indexes(storage, indexes, new_commit(CREATED_BY), active=True).version


@classic_only
def vacuum(
    spark: SparkSession,
    table: str | DataFrame,
    *,
    grace: timedelta = GRACE,
    metadata_root: str | None = None,
) -> VacuumReport:
    """Remove deleted indexes for good, and files that no query or writer of the last ``grace`` needs."""
    storage = _storage(spark, table, metadata_root)
    return vacuum_metadata(storage, new_commit(CREATED_BY), now=store_clock(storage), grace=grace)


@classic_only
def describe(
    spark: SparkSession, table: str | DataFrame, *, metadata_root: str | None = None
) -> dict[str, Any]:
    """Return files, rows, version, bytes and indexes of the metadata."""
    storage = _storage(spark, table, metadata_root)
    return describe_metadata(existing_metadata(storage, keyring=keyring_of(spark, {})), storage.place)


@classic_only
def list_indexes(
    spark: SparkSession, table: str | DataFrame, *, metadata_root: str | None = None
) -> list[str]:
    """Return the specifications of the active indexes."""
    return list(existing_metadata(_storage(spark, table, metadata_root)).state.active)


def _storage(spark: SparkSession, table: str | DataFrame, metadata_root: str | None) -> Storage:
    keep_overwritten(spark)
    if isinstance(table, str):
        return metadata_storage(location_of(spark, table_folder(table), metadata_root))
    path = opened_table(spark, table, None, None, metadata_root).path
    return metadata_storage(location_of(spark, path, metadata_root))
