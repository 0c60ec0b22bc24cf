"""Names of tables: a folder, a metadata file of Iceberg, or a table of a catalog."""

from __future__ import annotations

import re

CATALOG = "iceberg://"
METADATA_FOLDER = "metadata"
METADATA_FILE = re.compile(r"v?(\d+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?$")
"""Names of Iceberg's metadata files, with the number of the version."""


def is_metadata_file(path: str) -> bool:
    """Return whether a path names a metadata file of Iceberg, by its last name."""
    return path.endswith((".metadata.json", ".metadata.json.gz"))


def is_iceberg_name(path: str) -> bool:
    """Return whether a path is no folder, but names an Iceberg table by a metadata file or in a catalog."""
    return path.startswith(CATALOG) or is_metadata_file(path)


def table_folder(path: str) -> str:
    """Return the folder of the table that a path means: that above ``metadata/`` for a metadata file.

    A table of a catalog is asked for its place, which may raise SourceError.
    """
    if path.startswith(CATALOG):
        from starskip.lake.iceberg_metadata import catalog_location  # noqa: PLC0415 - slow to import

        return catalog_location(path)
    if is_metadata_file(path):
        folder = _above(path)
        return _above(folder) if folder.rpartition("/")[2] == METADATA_FOLDER else folder
    return path


def _above(path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    return folder or slash or "."
