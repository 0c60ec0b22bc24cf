"""Opens the files that an Iceberg table's metadata names, on disks and in object stores, for pyiceberg."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO, InputFile, OutputFile

from starskip.storage.files.object_url import local_path, object_url
from starskip.storage.files.open_file import open_file

_LOCAL, _S3 = r"^file:/+", r"^s3[an]://"


class StoredFile(InputFile):
    """A file to be read by its location, as metadata files have it."""

    def __len__(self) -> int:
        """Return its size in bytes."""
        with open_file(plain_path(self.location)) as file:
            return file.seek(0, 2)

    def exists(self) -> bool:
        """Return whether it can be opened."""
        try:
            open_file(plain_path(self.location)).close()
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


def plain_path(location: str) -> str:
    """Return a location as all other paths are written: local ones without a scheme, s3a:// as s3://."""
    if object_url(location) is None:
        return str(local_path(location))
    return re.sub(_S3, "s3://", location)


def plain_paths(locations: pa.Array) -> pa.Array:
    """Return whole columns of locations as ``plain_path`` writes each."""
    local = pc.replace_substring_regex(locations, _LOCAL, "/")
    return pc.replace_substring_regex(local, _S3, "s3://")
