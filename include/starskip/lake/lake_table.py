"""A table of the lake: where its files lie, how Spark reads them, and the types that its columns are read as.

A log's queries are written for the types of the Pinot table. Where the lake has another type, such as dates
for a column that Pinot keeps as text, the night's configuration names the type to read the column as.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LakeTable:
    """``path``: a file or a folder of files, or its URL; ``casts``: column to the Arrow type to read.

    ``path`` may also name an Iceberg table by a metadata file or ``iceberg://CATALOG/NAMESPACE/TABLE``.
    ``file_format`` and ``options`` are for ``spark.read``; with "parquet" the format is detected, and may be
    Delta or Iceberg. ``logged_as``: further locations by which event logs know the table.
    """

    path: str
    casts: Mapping[str, str] = field(default_factory=dict)
    file_format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    logged_as: tuple[str, ...] = ()

    @property
    def table_format(self) -> str | None:
        """The table format that is demanded, None to detect it at the path."""
        return self.file_format if self.file_format in ("delta", "iceberg") else None

    @property
    def listed_format(self) -> str | None:
        """The format that is demanded of a listing, None to detect it at the path."""
        return None if self.file_format == "parquet" else self.file_format
