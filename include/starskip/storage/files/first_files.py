"""List some files of a folder, on a disk or in an object store, without listing all of it."""

from __future__ import annotations

import os
from itertools import islice

import obstore

from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.local_file import local_failures
from starskip.storage.files.object_reader import read_failures
from starskip.storage.files.object_url import ObjectUrl, local_path, object_url
from starskip.storage.files.open_store import open_store


def first_files(folder: str, most: int) -> tuple[FileIdentity, ...]:
    """Return at most ``most`` direct files of a folder: the first by name in a bucket, any of a disk.

    Raises OSError for a path that is no folder, and SourceError for a store or disk that cannot be asked.
    """
    url = object_url(folder)
    if url is not None:
        return _objects(url, most)
    with local_failures(folder), os.scandir(local_path(folder)) as entries:
        files = (entry for entry in entries if entry.is_file())
        return tuple(
            FileIdentity(entry.path, entry.stat().st_size, entry.stat().st_mtime_ns)
            for entry in islice(files, most)
        )


def _objects(url: ObjectUrl, most: int) -> tuple[FileIdentity, ...]:
    above = f"{url.key}/" if url.key else ""
    with read_failures(url):
        # One page: a table may have a hundred thousand objects.
        page = next(
            iter(obstore.list(open_store(url.scheme, url.bucket), url.key or None, chunk_size=most)), ()
        )
    return tuple(
        FileIdentity(str(url._replace(key=meta["path"])), meta["size"], None, meta["e_tag"])
        for meta in page
        if "/" not in meta["path"].removeprefix(above)
    )
