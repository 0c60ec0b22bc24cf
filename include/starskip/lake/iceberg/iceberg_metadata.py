"""Finds and reads the metadata of an Iceberg table: a folder, a ``*.metadata.json``, or a table of a catalog.

Catalogs, SQL and REST among them, come from pyiceberg's configuration (``~/.pyiceberg.yaml``,
``PYICEBERG_CATALOG__NAME__URI``); a catalog's table is named ``iceberg://CATALOG/NAMESPACE/TABLE``.
"""

from __future__ import annotations

import gzip
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyiceberg.io import FileIO, InputFile, OutputFile

from starskip.errors import MissingSource, SourceError, StarskipError, first_line, printable
from starskip.lake.plain_paths import plain_path
from starskip.lake.table_name import CATALOG, METADATA_FILE, METADATA_FOLDER, is_metadata_file
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.open_file import file_size, open_file

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata


_HINT = "version-hint.text"
_GZIP = b"\x1f\x8b"
_OF_PYDANTIC = re.compile(r"\d+ validation errors? for \w+\n(?:\d+\.)?(\S*)\n? +(.*?) \[type=", re.DOTALL)
"""The first fault in pydantic's message: its place, and its text."""


@dataclass(frozen=True, slots=True)
class IcebergMetadata:
    """The metadata of a table, read from the file ``place``; ``files`` opens the files that it names."""

    place: str
    table: TableMetadata
    files: StoredFileIO


def iceberg_metadata(path: str) -> IcebergMetadata:
    """Return the newest metadata of the table that ``path`` names, or the metadata file that it names.

    Raises SourceError in one line for metadata that is missing or damaged, or where no single file is newest.
    """
    place = _of_catalog(path) if path.startswith(CATALOG) else path
    if not is_metadata_file(place):
        place = _newest(place.rstrip("/"))
    return IcebergMetadata(place, _parsed(place), StoredFileIO())


def iceberg_location(path: str) -> str:
    """Return the folder that a table's metadata names. Raises SourceError as ``iceberg_metadata`` does."""
    return plain_path(iceberg_metadata(path).table.location).rstrip("/")


def _newest(folder: str) -> str:
    """Return the metadata file of the greatest number; Hadoop tables have a hint where to begin."""
    metadata = f"{folder}/{METADATA_FOLDER}"
    try:
        names = [file.path.rpartition("/")[2] for file in list_folder(metadata).files]
    except OSError as error:
        raise SourceError(f"{metadata}: {error.strerror or error}", source=folder) from None
    numbered: dict[int, list[str]] = {}
    for name in names:
        found = METADATA_FILE.match(name)
        if found is not None:
            numbered.setdefault(int(found[1]), []).append(name)
    if not numbered:
        raise SourceError(
            f"{metadata}: the metadata of this Iceberg table is missing: there is no *.metadata.json in it",
            source=folder,
        )
    hint = _hinted(f"{metadata}/{_HINT}") if _HINT in names else None
    if hint is not None and hint not in numbered and hint > max(numbered):
        raise SourceError(
            f"{metadata}/{_HINT}: names version {hint} of this Iceberg table, whose metadata file is missing",
            source=folder,
        )
    newest = numbered[max(numbered)]
    if len(newest) > 1:
        several = printable(", ".join(sorted(newest)), 200)
        raise SourceError(
            f"{metadata}: has several newest metadata files ({several}), and only the table's catalog "
            f"knows the right one: name the file itself, or {CATALOG}CATALOG/NAMESPACE/TABLE",
            source=folder,
        )
    return f"{metadata}/{newest[0]}"


def _hinted(place: str) -> int | None:
    with suppress(OSError, ValueError), open_file(place) as file:
        return int(file.read(32))
    return None


def _of_catalog(path: str) -> str:
    name, *identifier = path.removeprefix(CATALOG).strip("/").split("/")
    if not (name and len(identifier) >= 2 and all(identifier)):
        raise SourceError(
            f"{path}: is no table of a catalog: write {CATALOG}CATALOG/NAMESPACE/TABLE", source=path
        )
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415 - it is slow to import, and rarely asked
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError  # noqa: PLC0415

    try:
        with load_catalog(name) as catalog:
            return plain_path(catalog.load_table(tuple(identifier)).metadata_location)
    except (NoSuchTableError, NoSuchNamespaceError):
        raise MissingSource(f"{path}: the catalog {name} has no such table", source=path) from None
    except StarskipError:
        raise
    except Exception as error:
        # Drivers of databases, HTTP clients and the settings of a catalog raise what they like.
        raise SourceError(
            f"{path}: the catalog {name} cannot be asked ({first_line(error)}); see docs/lake-tables.md",
            source=path,
        ) from None


def _parsed(place: str) -> Any:
    from pyiceberg.table.metadata import TableMetadataUtil  # noqa: PLC0415

    try:
        with open_file(place) as file:
            content = file.read()
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        return TableMetadataUtil.parse_raw(content.decode())
    except FileNotFoundError:
        raise MissingSource(f"{place}: there is no such metadata file", source=place) from None
    except StarskipError:
        raise
    except Exception as error:
        raise damaged(place, error, "metadata file") from None


def damaged(place: str, error: Exception, kind: str) -> SourceError:
    """Return the error for a file of an Iceberg table's metadata that cannot be read."""
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    if isinstance(error, EOFError):
        reason = "it ends too early"
    invalid = _OF_PYDANTIC.match(str(error))
    if invalid is not None:
        reason = f"{invalid[1] or 'content'}: {' '.join(invalid[2].split())}"
    return SourceError(
        f"{place}: this {kind} of an Iceberg table cannot be read ({printable(reason, 200)})", source=place
    )


class StoredFile(InputFile):
    """A file to be read by its location, as metadata files have it."""

    def __len__(self) -> int:
        """Return its size in bytes."""
        return file_size(plain_path(self.location))

    def exists(self) -> bool:
        """Return whether it can be opened."""
        try:
            file_size(plain_path(self.location))
        except FileNotFoundError:
            return False
        return True

    def open(self, seekable: bool = True) -> Any:
        """Open it; raises OSError, and SourceError for a store that cannot be asked."""
        del seekable
        return open_file(plain_path(self.location))


class StoredFileIO(FileIO):
    """Implements pyiceberg's FileIO for reading, with the clients and credentials of all other files."""

    def new_input(self, location: str) -> StoredFile:
        """Return a file to be read."""
        return StoredFile(location)

    def new_output(self, location: str) -> OutputFile:
        """Refuse: nothing is written here."""
        raise NotImplementedError(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Refuse: nothing is deleted here."""
        raise NotImplementedError(location)
