"""The files of a relation that hold survivors of its secondary indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from starskip.indexes.secondary.surviving_files import Survivors, surviving_files
from starskip.indexes.secondary.whole_files import WholeFiles
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import Mask
from starskip.spark.skipping.indexed_relation import IndexedRelation
from starskip.spark.skipping.relation_report import ListedFiles
from starskip.spark.skipping.rule_warnings import RuleWarnings
from starskip.spark.skipping.secondary_settings import secondary_settings
from starskip.spark.skipping.spark_listing import may_hold


@dataclass(frozen=True, slots=True)
class SecondaryMatch:
    """The survivors of one table; ``mask``: its files that hold some, None where no index serves."""

    survivors: Survivors
    mask: Mask | None

    @property
    def table(self) -> TableMetadata:
        """The metadata of the indexes."""
        return self.survivors.metadata

    def report(self, listing: ListedFiles, positions: npt.NDArray[np.int64]) -> SecondaryReport:
        """Return the report on these files; ``positions`` as in SparkListing."""
        return SecondaryReport(self.table, self.survivors, listing, positions)


@dataclass(frozen=True, slots=True)
class SecondaryReport:
    """The judgement of files by secondary indexes of one table; ``positions`` as in SparkListing."""

    metadata: TableMetadata
    survivors: Survivors
    listing: ListedFiles
    positions: npt.NDArray[np.int64]

    def skipped_by_each(self) -> dict[str, int]:
        """Return the number of files without survivors of each index alone, and of all intersected."""
        return {
            name: int(np.count_nonzero(~may_hold(self.listing, self.positions, mask)))
            for name, mask in self.survivors.by_name().items()
        }


def secondary_matches(
    relation: IndexedRelation,
    expressions: Sequence[Expression],
    warnings: RuleWarnings,
    files: Callable[[TableMetadata], WholeFiles],
) -> Iterator[SecondaryMatch]:
    """Yield the survivors of each table of a relation with secondary indexes.

    ``files`` tells how Spark reads a table's files. What cannot be read costs the indexes, not the query; the
    reason goes into the relation's report.
    """
    reasons = relation.report.not_skipped_because
    left_out = relation.partition_columns | relation.unknown | relation.unlike_arrow
    for table in relation.secondary:
        try:
            settings = secondary_settings(relation.facts.settings)
            survivors = surviving_files(table, expressions, settings, left_out, partial(files, table))
            mask = survivors.together()
        except Exception as error:
            reasons.append(warnings.read_whole(error, relation.report.path))
            continue
        reasons += survivors.why_not
        yield SecondaryMatch(survivors, mask)
