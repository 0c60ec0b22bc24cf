"""A table of the lake: where its files lie, how Spark reads them, and the types that its columns are read as.

A log's queries are written for the types of the Pinot table. Where the lake has others, dates for what Pinot
keeps as text, say, the configuration of the night names the type to read a column as.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LakeTable:
    """``path``: a file or a folder of files, or its URL; ``casts``: column to the Arrow type to read.

    ``path`` may also name an Iceberg table by a metadata file or ``iceberg://CATALOG/NAMESPACE/TABLE``.
    ``file_format`` and ``options`` are those of ``spark.read``; "parquet" stands for what is found, which may
    be a Delta or Iceberg table. ``logged_as``: further locations that event
    logs know the table by.
    """

    path: str
    casts: Mapping[str, str] = field(default_factory=dict)
    file_format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    logged_as: tuple[str, ...] = ()

    @property
    def table_format(self) -> str | None:
        """The table format that is demanded, None for what is found at the path."""
        return self.file_format if self.file_format in ("delta", "iceberg") else None

    @property
    def listed_format(self) -> str | None:
        """The format that is demanded of a listing; None for the one that is found at the path."""
        return None if self.file_format == "parquet" else self.file_format
