"""The SkippingEngine of the night on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from starskip.errors import ConfigError
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.commit_refresh import new_commit
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.inherited_keys import inherited_keys
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import read_metadata
from starskip.file_metadata.refresh_metadata import Refreshed
from starskip.file_metadata.skipping_engine import ColumnMeans, MatchingRows, Replaying
from starskip.file_metadata.table_state import CREATED_BY
from starskip.lake.lake_table import LakeTable
from starskip.lake.table_folder import table_folder
from starskip.predicates.expression import Expression
from starskip.settings import Settings
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.checked_indexes import checked_indexes, resolved_index
from starskip.spark.skipping.count_matching import count_matching
from starskip.spark.skipping.failures import spark_failures
from starskip.spark.skipping.lake_relation import LakeRelation, lake_relation
from starskip.spark.skipping.list_files import list_files
from starskip.spark.skipping.opened_table import lake_snapshot, opened_table
from starskip.spark.skipping.refresh_relation import (
    location_of,
    qualified,
    refresh_relation,
    require_one,
)
from starskip.spark.skipping.sample_columns import column_facts, sample_values
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.spark.skipping.table_relation import TableRelation, table_relation
from starskip.spark.skipping.table_replays import TableReplays


@dataclass(frozen=True, slots=True)
class SparkSkipping:
    """Implements SkippingEngine in ``session``, whose settings and functions are not changed.

    The root None stands for the session's ``starskip.metadata.root``, if it has one.
    """

    session: SparkSession

    def location(self, table: LakeTable, root: str | None) -> str:
        """See SkippingEngine.location."""
        with spark_failures(table.path):
            return location_of(self.session, table_folder(table.path), root)

    def file_bytes(self, table: LakeTable) -> float:
        """See SkippingEngine.file_bytes."""
        with spark_failures(table.path):
            sizes = list_files(self._relation(table), anew=False).files.sizes
            return float(sizes.mean()) if len(sizes) else 0.0

    def column_facts(self, table: LakeTable, columns: Sequence[str], files: int) -> Mapping[str, ColumnMeans]:
        """See SkippingEngine.column_facts."""
        with spark_failures(table.path):
            return column_facts(self._relation(table), columns, files)

    def refresh(self, table: LakeTable, wanted: Sequence[SkippingIndex], root: str | None) -> Refreshed:
        """See SkippingEngine.refresh; unwanted indexes are deleted first, by a commit of their own.

        A new index of a column that another index encrypts is encrypted by the same key, or left out.

        If no index is wanted, no file is read, and nothing is created.
        """
        with spark_failures(table.path):
            relation = opened_table(self.session, table.path, table.listed_format, table.options, root)
            indexes, failed = checked_indexes(wanted, relation)
            require_one((index.specification for index in indexes), failed)
            if indexes and _is_one_file(relation):
                raise ConfigError(_ONE_FILE.format(path=relation.path), setting="path")
            names = {*failed, *(index.specification for index in indexes)}
            location = location_of(self.session, relation.path, root)
            storage = metadata_storage(location)
            metadata = None if _is_one_file(relation) else read_metadata(storage)
            version = 0 if metadata is None else metadata.version
            unwanted = (
                [] if metadata is None else [each for each in metadata.state.active if each not in names]
            )
            if unwanted:
                version = change_indexes(storage, unwanted, new_commit(CREATED_BY), active=False).version
                metadata_changed()
            keys = inherited_keys(metadata, indexes)
            failed |= keys.why_not
            kept = [each for each in indexes if each.specification not in {*keys.locked, *keys.why_not}]
            if kept:
                encryption = Encryption(indexes=keys.encrypt)
                return refresh_relation(
                    self.session, relation, kept, root, failed=failed, encryption=encryption
                )
            files = len(list_files(relation, anew=False).files.paths)
            return Refreshed(storage.place, version, files, 0, 0, 0, 0, in_full=False, indexes=())

    def faults(self, table: LakeTable, indexes: Sequence[SkippingIndex]) -> Mapping[str, str]:
        """See SkippingEngine.faults; the table is opened once, and Spark may read a file's schema for it."""
        if not indexes:
            return {}
        with spark_failures(table.path):
            relation = self._relation(table)
            found = {index.specification: _fault(index, relation) for index in indexes}
        return {specification: fault for specification, fault in found.items() if fault is not None}

    def matching_rows(
        self, table: LakeTable, predicates: Sequence[Expression], paths: pa.Array | None
    ) -> MatchingRows:
        """See SkippingEngine.matching_rows."""
        with spark_failures(table.path):
            return count_matching(self._relation(table), predicates, paths)

    def sample_values(self, table: LakeTable, columns: Sequence[str], rows: int) -> Mapping[str, pa.Array]:
        """See SkippingEngine.sample_values."""
        with spark_failures(table.path):
            return sample_values(self._relation(table), columns, rows)

    @contextmanager
    def replaying(
        self, table: LakeTable, root: str | None, settings: Settings | None = None
    ) -> Iterator[Replaying]:
        """See SkippingEngine.replaying."""
        with spark_failures(table.path):
            queries = TableReplays(self.session, table, root, settings)
        with queries.enabled():
            yield queries

    def _relation(self, table: LakeTable) -> TableRelation:
        """Return the relation of the table's files, with the present names of its columns."""
        snapshot = lake_snapshot(self.session, table.path, table.listed_format, table.options)
        if snapshot is None:
            return table_relation(self.session, table.path, table.file_format, table.options)
        return lake_relation(self.session, snapshot, qualified(self.session, snapshot.location), None)


def _fault(index: SkippingIndex, relation: TableRelation) -> str | None:
    try:
        if isinstance(relation, LakeRelation):
            relation.named(index.specification)
        resolved_index(index, relation)
    except ConfigError as error:
        return str(error)
    return _ONE_FILE.format(path=relation.path) if _is_one_file(relation) else None


_ONE_FILE = "{path} is a single file, so no file can be skipped: indexes need a folder of files"


def _is_one_file(relation: TableRelation) -> bool:
    if isinstance(relation, LakeRelation):
        return False
    statuses = relation.relation.location().allFiles()
    return statuses.size() == 1 and str(statuses.apply(0).getPath().toString()) == relation.path
