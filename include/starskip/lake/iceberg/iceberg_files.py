"""Opens the files that an Iceberg table's metadata names, on disks and in object stores, for pyiceberg."""

from __future__ import annotations

from typing import Any

from pyiceberg.io import FileIO, InputFile, OutputFile

from starskip.lake.plain_paths import plain_path
from starskip.storage.files.open_file import open_file


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
