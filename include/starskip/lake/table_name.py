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
