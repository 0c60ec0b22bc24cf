"""The bytes of a table's files that the proof of a query reads."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.parquet as pq

from starskip.advisor.families.star_tree.proof.prove_query import scans_of_proof
from starskip.errors import UnsupportedQuery
from starskip.lake.parquet.parquet_footers import each_footer
from starskip.star_tree.build.source_files import RecordedFile
from starskip.star_tree.serving.answer_from_files import columns_read
from starskip.star_tree.serving.tree_set import TreeSet

_MOST_FOOTERS = 4


class ScanBytes:
    """Costs of queries of one table; a few footers tell what share of its files each column is."""

    def __init__(self, trees: TreeSet) -> None:
        """Read the footers."""
        self._types = {field.name: field.type for field in trees.published.schema}
        self._all_bytes = sum(file.identity.size_bytes for file in trees.recorded)
        self._shares = _column_shares(trees.recorded)

    def of(self, sql: str) -> int:
        """Return what the proof of ``sql`` reads of the files, without the documents of trees."""
        try:
            columns = columns_read(sql, "pinot", self._types)
            scans = scans_of_proof(sql)
        except UnsupportedQuery:
            # The proof reads nothing either, and says why.
            return 0
        # Files of a table format may know a column by another name: then all of them count.
        ratio = min(sum(self._shares.get(name, 1.0) for name in columns), 1.0)
        return round(scans * self._all_bytes * ratio)


def _column_shares(files: Sequence[RecordedFile]) -> dict[str, float]:
    """Return each column's share of the bytes of a few evenly spread Parquet files."""
    few = files[:: -(-len(files) // _MOST_FOOTERS)] if files else ()
    sizes: dict[str, int] = {}
    for footer in each_footer([file.identity.path for file in few]):
        if not isinstance(footer, pq.FileMetaData):
            return {}
        for group in map(footer.row_group, range(footer.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                name = column.path_in_schema.partition(".")[0]
                sizes[name] = sizes.get(name, 0) + column.total_compressed_size
    all_bytes = sum(file.identity.size_bytes for file in few)
    shares = {name: size_bytes / all_bytes for name, size_bytes in sizes.items()} if all_bytes else {}
    # Columns of partitions lie in no file.
    return {**{name: 0.0 for file in few for name in file.partition}, **shares}
