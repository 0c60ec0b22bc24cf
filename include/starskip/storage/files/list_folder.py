"""List the direct children of a folder, on a disk or in an object store."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import obstore

from starskip.errors import SourceError
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.local_file import local_failures
from starskip.storage.files.object_reader import read_failures
from starskip.storage.files.object_url import ObjectUrl, local_path, object_url
from starskip.storage.files.open_store import open_store

if TYPE_CHECKING:
    from obstore import ObjectMeta


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The names of the folders, and the files with their identities, of one folder; both sorted."""

    folders: tuple[str, ...]
    files: tuple[FileIdentity, ...]


def list_folder(path: str) -> FolderListing:
    """Return the direct children of a folder; symbolic links are followed, as opening does.

    In an object store a folder exists as long as it holds an object. Raises OSError for a path that is no
    folder or may not be listed, and SourceError for a store or disk that cannot be asked.
    """
    url = object_url(path)
    return _local_listing(path) if url is None else _object_listing(url)


def _local_listing(path: str) -> FolderListing:
    folders, files = [], []
    with local_failures(path), os.scandir(local_path(path)) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # removed since the listing
                if entry.is_dir():
                    folders.append(entry.name)
                elif entry.is_file():
                    found = entry.stat()
                    files.append(
                        FileIdentity(
                            entry.path, found.st_size, found.st_mtime_ns, changed_ns=found.st_ctime_ns
                        )
                    )
    return FolderListing(tuple(sorted(folders)), tuple(sorted(files, key=lambda file: file.path)))


def _object_listing(url: ObjectUrl) -> FolderListing:
    store = open_store(url.scheme, url.bucket)
    try:
        with read_failures(url):
            listed = obstore.list_with_delimiter(store, url.key or None)
    except PermissionError as error:  # the listing is denied, not one object
        raise SourceError(f"{url}: {error.strerror}", source=str(url)) from None
    folders = tuple(sorted({prefix.rpartition("/")[2] for prefix in listed["common_prefixes"]}))
    files = sorted(
        (object_identity(url, meta) for meta in listed["objects"] if meta["path"] != url.key),
        key=lambda file: file.path,
    )
    if not folders and not files and url.key:
        raise FileNotFoundError(2, "there is no such folder in the bucket")
    return FolderListing(folders, tuple(files))


def object_identity(url: ObjectUrl, meta: ObjectMeta) -> FileIdentity:
    """Return the identity of an object in the bucket of ``url``."""
    written_ns = int(meta["last_modified"].timestamp() * 1e9)
    return FileIdentity(
        str(url._replace(key=meta["path"])),
        meta["size"],
        None if meta["e_tag"] else written_ns,
        meta["e_tag"],
        changed_ns=written_ns,
    )
