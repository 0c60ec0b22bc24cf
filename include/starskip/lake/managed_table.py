"""Tables of Delta, Iceberg and Hudi: folders whose files are not their rows, told by metadata beside them.

Files of such a table may have been deleted or superseded, in whole or row by row, which its metadata alone
tells. Read as plain files they give rows that the table does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from starskip.errors import SourceError, printable

_ICEBERG = ".metadata.json"
_ICEBERG_PACKED = ".metadata.json.gz"
_READERS = {"Delta": 'format("delta")', "Iceberg": 'format("iceberg")', "Hudi": 'format("hudi")'}


@dataclass(frozen=True, slots=True)
class ManagedTable:
    """``folder`` is the table's; ``table_format`` is "Delta", "Iceberg" or "Hudi"."""

    folder: str
    table_format: str

    def refusal(self, path: str, *, is_itself: bool = True) -> SourceError:
        """Return the error for ``path``, which was asked for as plain files, with both ways out.

        ``is_itself``: the path is the table's folder, and not one of a folder in it or above it.
        """
        name = self.table_format
        table = f"{'an' if name == 'Iceberg' else 'a'} {name} table"
        where = f"holds {table}" if is_itself else f"has files of {table}, {printable(self.folder)}"
        return SourceError(
            f"{printable(path)}: {where}, and such files also hold rows that were deleted or superseded. "
            f"Either query it as {name} (spark.read.{_READERS[name]}), which skips files by its own "
            "statistics; or write the rows that it has now to a folder of plain files, and give that folder",
            source=path,
        )


def managed_table(
    folders: Iterable[str], exists: Callable[[str], bool], names: Callable[[str], Iterable[str]]
) -> ManagedTable | None:
    """Return the first of ``folders`` that is the folder of a managed table, None if none is.

    ``exists`` tells whether a file or folder is there, ``names`` the names of what is in a folder.
    """
    for folder in folders:
        if exists(f"{folder}/_delta_log"):
            return ManagedTable(folder, "Delta")
        if exists(f"{folder}/.hoodie"):
            return ManagedTable(folder, "Hudi")
        metadata = f"{folder}/metadata"
        if exists(metadata) and any(name.endswith((_ICEBERG, _ICEBERG_PACKED)) for name in names(metadata)):
            return ManagedTable(folder, "Iceberg")
    return None


def with_folders_above(path: str) -> Iterator[str]:
    """Yield a path, or URL, and all folders above it, without slashes at their ends; not the root itself."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        scheme, rest = "", path
    rest = rest.rstrip("/")
    while rest.strip("/"):
        yield f"{scheme}{separator}{rest}" if separator else rest
        rest = rest.rpartition("/")[0].rstrip("/")
