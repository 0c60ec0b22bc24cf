"""A store on a local (or mounted) disk; put-if-absent is a hard link."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow.fs as pafs

from starskip.errors import StorageError
from starskip.storage.file_access import FileAccess
from starskip.storage.files.full_disk import full_disk, is_full_disk
from starskip.storage.storage import PutVerdict, StoredObject, name_components

# Linux answers EPERM for a file system without links (vfat, exfat, some mounts).
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_FOLDER_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """Objects as files below ``root``, an absolute folder that need not exist yet.

    ``put_if_absent`` writes a file aside, syncs it, and links it to its final name: the link
    fails if the name is taken, and whoever sees the name sees all of the bytes. ``open(…, "x")``
    would claim the name first and fill it later, so that a kill in between leaves a torn object
    that nobody may ever replace; a rename would replace another writer's object without a word.
    A file system without hard links is refused by name. A file that a kill leaves aside ends in ``.partial``;
    to a vacuum it is an ordinary unnamed object.
    """

    root: Path
    access: FileAccess | None = None
    """Modes of written files and folders; None leaves them to the mask of the process."""

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        """See ``Storage``."""
        path = self._path(name)
        partial = path.with_name(f"{path.name}.{uuid4().hex}.partial")
        with _failures_named(path):
            try:
                self._write_aside(partial, content)
                verdict = self._link(partial, path)
            finally:
                partial.unlink(missing_ok=True)
            _sync_folder(path.parent)
        return verdict

    def shield(self, folder: str) -> None:
        """Give ``folder`` the mode of this store's folders, for a writer below it with another mask."""
        path = self._path(folder)
        with _failures_named(path):
            self._make_folder(path)
            if self.access is not None:
                path.chmod(self.access.folder_mode)

    def read(self, name: str) -> bytes | None:
        """See ``Storage``."""
        path = self._path(name)
        with _failures_named(path):
            try:
                return path.read_bytes()
            except OSError as error:
                self._unless_missing(error)
                return None

    def delete(self, name: str) -> None:
        """See ``Storage``; folders that this leaves empty go too, since keys have no folders."""
        path = self._path(name)
        with _failures_named(path):
            path.unlink(missing_ok=True)
        folder = path.parent
        with suppress(OSError):  # the first folder that still holds something ends it
            while folder != self.root:
                folder.rmdir()
                folder = folder.parent

    def objects_below(self, folder: str) -> Iterator[StoredObject]:
        """See ``Storage``; symbolic links are not ours and not followed."""
        top = self._path(folder)
        with _failures_named(top):
            for place, _, files in os.walk(top, onerror=self._unless_missing):
                for file in files:
                    path = Path(place, file)
                    try:
                        found = path.lstat()
                    except FileNotFoundError:
                        continue
                    name = path.relative_to(self.root).as_posix()
                    yield StoredObject(name, found.st_size, found.st_mtime_ns)

    def folders_in(self, folder: str) -> tuple[str, ...]:
        """See ``Storage``."""
        top = self._path(folder)
        with _failures_named(top):
            _, folders, _ = next(os.walk(top, onerror=self._unless_missing), ("", [], []))
        return tuple(sorted(folders))

    @property
    def place(self) -> str:
        """See ``Storage``."""
        return str(self.root)

    def arrow_filesystem(self) -> pafs.FileSystem:
        """See ``Storage``."""
        return pafs.SubTreeFileSystem(str(self.root), pafs.LocalFileSystem())

    def _path(self, name: str) -> Path:
        return self.root.joinpath(*name_components(name))

    def _unless_missing(self, error: OSError) -> None:
        # By default os.walk leaves out folders that it cannot read, and an artefact would seem to be gone.
        # Below a file, such as a table that is one, there is no store; a root that is a file itself is a
        # mistake.
        is_below_a_file = isinstance(error, NotADirectoryError) and not os.path.lexists(self.root)
        if not isinstance(error, FileNotFoundError) and not is_below_a_file:
            raise error

    def _write_aside(self, partial: Path, content: bytes) -> None:
        for attempts_left in reversed(range(_FOLDER_ATTEMPTS)):
            self._make_folder(partial.parent)
            try:
                with partial.open("xb") as file:
                    if self.access is not None:
                        os.fchmod(file.fileno(), self.access.file_mode)  # before there is anything to read
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            except FileNotFoundError:  # a delete next door took the folder away while it was empty
                if not attempts_left:
                    raise
            else:
                return

    def _make_folder(self, folder: Path) -> None:
        missing = []
        while not folder.is_dir() and folder != folder.parent:
            missing.append(folder)
            folder = folder.parent
        for each in reversed(missing):
            with suppress(FileExistsError):
                each.mkdir()
                # Folders above the root are not the store's.
                if self.access is not None and each.is_relative_to(self.root):
                    each.chmod(self.access.folder_mode)
            _sync_folder(each.parent)

    def _link(self, partial: Path, path: Path) -> PutVerdict:
        try:
            path.hardlink_to(partial)
        except FileExistsError:
            return PutVerdict.ALREADY_EXISTS
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            raise StorageError(
                f"{self.root}: this file system has no hard links, without which artefacts cannot be "
                f"published safely ({error.strerror}); keep the artefacts on another one",
                location=str(self.root),
            ) from error
        return PutVerdict.STORED


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_full_disk(error):
            raise full_disk(error, path.parent) from error
        raise StorageError(f"{path}: {error.strerror or error}", location=str(path)) from error


def _sync_folder(folder: Path) -> None:
    # A name is durable only when its folder is: after a power cut a synced file may else be nameless.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
