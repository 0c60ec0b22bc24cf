"""Report the decision on one relation of a query, and Spark's metrics of its scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from starskip.errors import StorageError
from starskip.file_metadata.format_bounds import is_of_format
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Expression
from starskip.skipping.build_clause import build_clause
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.relation_facts import OtherRelation
from starskip.spark.skipping.spark_listing import may_hold
from starskip.spark.skipping.why_not_skipped import EVERY_FILE


class ListedFiles(Protocol):
    """The files of a scan, as in SparkListing."""

    @property
    def files(self) -> int:
        """The number of files."""

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Their sizes in bytes."""


class JudgedFiles(Protocol):
    """Knowledge of indexes of one family about a relation's files."""

    @property
    def metadata(self) -> TableMetadata:
        """The metadata of the indexes."""

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """Each file's row in the metadata, as in SparkListing."""

    def skipped_by_each(self) -> dict[str, int]:
        """Return the number of files that each index alone would skip."""


@dataclass(frozen=True, slots=True)
class TableReport:
    """The judgement of files by indexes of one table; ``positions`` as in SparkListing."""

    metadata: TableMetadata
    indexes: Sequence[SkippingIndex]
    predicates: Sequence[Expression]
    listing: ListedFiles
    positions: npt.NDArray[np.int64]

    def skipped_by_each(self) -> dict[str, int]:
        """Return the number of files that each index alone would skip.

        If several indexes skip files that none of them skips alone, as in an OR of two columns, they have one
        entry, such as ``minmax:a ∪ minmax:b``.
        """
        found = {}
        alone = np.ones(self.listing.files, np.bool_)
        try:
            for index in self.indexes:
                kept = self._kept((index,))
                if kept is None:
                    continue
                count = int(np.count_nonzero(~kept))
                if count or not is_of_format(index):
                    # The format has already skipped the files that its bounds alone can rule out.
                    found[index.specification] = count
                alone &= kept
            return found | self._by_several(alone)
        except StorageError:
            # The query has run; a later failure to read its metadata is not its fault.
            return {}

    def _by_several(self, alone: Mask) -> dict[str, int]:
        """Return the files that only several indexes together skip, for the fewest such indexes."""
        together = self._kept(self.indexes)
        if together is None or np.array_equal(alone, together & alone):
            return {}
        fewest = tuple(self.indexes)
        for index in self.indexes:
            fewer = tuple(each for each in fewest if each is not index)
            kept = self._kept(fewer)
            if kept is not None and np.array_equal(kept & alone, together & alone):
                fewest = fewer
        kept = self._kept(fewest)
        name = " ∪ ".join(each.specification for each in fewest)
        return {} if kept is None else {name: int(np.count_nonzero(~kept))}

    def _kept(self, indexes: Sequence[SkippingIndex]) -> Mask | None:
        clause = build_clause(indexes, self.predicates, {})
        return (
            None
            if clause is None
            else may_hold(self.listing, self.positions, self.metadata.may_match(clause))
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """The predicates of a query as ``indexes`` of one table judge them: over the metadata's columns."""

    metadata: TableMetadata
    indexes: Sequence[SkippingIndex]
    predicates: Sequence[Expression]


@dataclass(slots=True)
class RelationReport:
    """One relation; ``mark`` is None if it is read whole, ``listing`` None if no file was judged.

    ``location`` is its FileIndex in the JVM, or the total of files and bytes, None if unknown. ``scanned``:
    files and bytes that a table format's own planning, named ``by_format``, has left; None for plain files.
    ``why_empty``: why a listing has no files.
    """

    roots: list[str]
    location: Any
    not_skipped_because: list[str] = field(default_factory=list)
    tables: list[JudgedFiles] = field(default_factory=list)
    mark: str | None = None
    metadata_ms: float = 0.0
    chosen: Mask | None = None
    listing: ListedFiles | None = None
    scanned: tuple[int, int] | None = None
    by_format: str = ""
    why_empty: str = "there are no files"
    asked: list[Asked] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The table's path, or the first of several."""
        return self.tables[0].metadata.source.path if self.tables else self.roots[0]

    @property
    def key(self) -> tuple[str, str]:
        """The key by which the scan in the physical plan is found."""
        return ("", "\n".join(self.roots)) if self.mark is None else (self.mark, "")

    def take_scan(
        self, totals: tuple[int | None, int | None], scanned: tuple[int, int], by_format: str
    ) -> None:
        """Record files and bytes of the table's version, and of its scan after the format's own planning."""
        self.location, self.scanned, self.by_format = totals, scanned, by_format

    def take_listing(self, listing: ListedFiles, chosen: Mask) -> None:
        """Record the chosen files of a listing, and the number of files unknown to the metadata."""
        self.listing, self.chosen = listing, chosen
        known = np.zeros(listing.files, np.bool_)
        for table in self.tables:
            known |= table.positions >= 0
        unknown = int(np.count_nonzero(~known))
        if unknown:
            self.not_skipped_because.append(
                f"{unknown} of {listing.files} files are new, changed, or too young to be trusted: refresh"
            )
        if not listing.files:
            self.not_skipped_because.append(self.why_empty)
        elif chosen.all() and unknown < listing.files:
            # The files that cannot match are not in the listing of this query.
            self.not_skipped_because.append(EVERY_FILE)

    def as_stats(self, files_read: int | None, bytes_read: int | None) -> dict[str, Any]:
        """Return the dict of ``last_query_stats``; the listing stands in for missing metrics of Spark."""
        files, size_bytes = self._totals()
        if files_read is None or bytes_read is None:
            files_read, bytes_read = self._left(files, size_bytes)
        skipped_by: dict[str, int] = {}
        if self.scanned is not None and files is not None and files > self.scanned[0]:
            skipped_by[self.by_format] = files - self.scanned[0]
        for table in self.tables:
            for index, count in table.skipped_by_each().items():
                skipped_by[index] = skipped_by.get(index, 0) + count
        return {
            "path": self.path,
            "files_total": files,
            "files_read": files_read,
            "bytes_total": size_bytes,
            "bytes_read": bytes_read,
            "rows_skipped": self._rows_skipped(),
            "skipped_by": skipped_by,
            "not_skipped_because": list(self.not_skipped_because),
            "metadata_ms": self.metadata_ms,
        }

    def _totals(self) -> tuple[int | None, int | None]:
        if isinstance(self.location, tuple):
            files, size_bytes = self.location
            return files, size_bytes
        if self.listing is not None:
            return self.listing.files, int(self.listing.sizes.sum())
        return int(self.location.inputFiles().__len__()), int(self.location.sizeInBytes())

    def _left(self, files: int | None, size_bytes: int | None) -> tuple[int | None, int | None]:
        if self.listing is None or self.chosen is None or self.mark is None:
            return (files, size_bytes) if self.scanned is None else self.scanned
        return int(np.count_nonzero(self.chosen)), int(self.listing.sizes[self.chosen].sum())

    def _rows_skipped(self) -> int | None:
        if self.chosen is None or self.mark is None:
            return 0
        rows, left = 0, ~self.chosen
        for table in self.tables:
            # Rows of a file that two families know count once.
            mine = left & (table.positions >= 0)
            counts = table.metadata.rows.take(table.positions[mine])
            if counts.null_count:
                return None
            rows, left = rows + sum(counts.to_pylist()), left & ~mine
        return rows


def other_report(relation: OtherRelation) -> RelationReport:
    """Return the report of a relation out of the reach of skipping."""
    return RelationReport([relation.name], (relation.files, relation.size_bytes), [relation.why_not])
