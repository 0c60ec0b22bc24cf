"""The table format of a folder, by the log or metadata that lies in it.

The folder of a table format holds files that count no longer: deleted and replaced rows stay in them until a
vacuum.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from starskip.errors import NotPlainFiles, SourceError, SourceOutage
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.object_url import local_path, object_url

_BY_FOLDER = {"_delta_log": ("Delta Lake", "delta"), ".hoodie": ("Hudi", "hudi")}
_ICEBERG_FOLDER, _ICEBERG_FILE = "metadata", ".metadata.json"


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format by its name and by Spark's name; ``sign``: the file or folder that shows it."""

    name: str
    spark_name: str
    folder: str
    sign: str


def format_of(
    folder: str,
    exists: Callable[[str], bool],
    names: Callable[[str], Iterable[str]],
    wanted: str | None = None,
) -> TableFormat | None:
    """Return the format that ``folder`` is kept in, None for plain files.

    ``exists`` returns whether a folder exists, ``names`` the names of the files in a folder. A folder may be
    a table of two formats (Delta's UniForm): ``wanted`` is Spark's name of the one that is meant.
    """
    for name, (title, spark_name) in _BY_FOLDER.items():
        if wanted in (None, spark_name) and exists(f"{folder}/{name}"):
            return TableFormat(title, spark_name, folder, f"{folder}/{name}")
    metadata = f"{folder}/{_ICEBERG_FOLDER}"
    if wanted in (None, "iceberg") and exists(metadata):
        for name in names(metadata):
            # Also v1.gz.metadata.json and, of old writers, v1.metadata.json.gz.
            if _ICEBERG_FILE in name:
                return TableFormat("Iceberg", "iceberg", folder, f"{metadata}/{name}")
    return None


def table_format(folder: str, folders: Collection[str], wanted: str | None = None) -> TableFormat | None:
    """Return the format of a folder that has the subfolders ``folders``; None for plain files.

    ``wanted``: as in ``format_of``. Raises SourceError for a store that cannot be asked.
    """
    return format_of(folder, lambda path: path.rpartition("/")[2] in folders, _file_names, wanted)


def format_above(path: str) -> TableFormat | None:
    """Return the format of the nearest folder above ``path`` that has one.

    A folder that may not be looked at counts as without. Raises SourceOutage for a store that does not
    answer.
    """
    for folder in _folders_above(path):
        try:
            found = format_of(folder, _is_folder, _file_names)
        except SourceOutage:
            raise
        except (SourceError, OSError):
            continue
        if found is not None:
            return found
    return None


def refuse_format(path: str, found: TableFormat | None) -> None:
    """Raise NotPlainFiles, with the ways out, if there is a format: plain files would count deleted rows."""
    if found is None:
        return
    is_read = found.spark_name in ("delta", "iceberg")
    itself = f"read the table itself ({found.folder}, as format {found.spark_name}), or " if is_read else ""
    raise NotPlainFiles(
        f"{found.sign}: belongs to a {found.name} table, whose files also hold rows that were deleted or "
        f"replaced, and cannot be read as plain files: {itself}write its current rows apart (in Spark: "
        f"spark.read.format('{found.spark_name}').load(…).write.parquet(FOLDER)) and name that FOLDER",
        source=path,
    )


def _file_names(folder: str) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        return [file.path.rpartition("/")[2] for file in list_folder(folder).files]
    return []


def _folders_above(path: str) -> Iterator[str]:
    url = object_url(path)
    if url is not None:
        key = url.key
        while key:
            key = key.rpartition("/")[0]
            yield str(url._replace(key=key))
        return
    named = local_path(path)
    found: dict[str, None] = {}
    # A link may lead into a table, and a table may hold a link to elsewhere.
    for place in (named.absolute(), named.resolve()):
        found.update(dict.fromkeys(str(parent).rstrip("/") for parent in place.parents))
    yield from found


def _is_folder(path: str) -> bool:
    if object_url(path) is None:
        return local_path(path).is_dir()
    try:
        list_folder(path)
    except SourceOutage:
        raise
    except (SourceError, OSError):
        return False
    return True
