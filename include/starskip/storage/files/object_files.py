"""List the objects that a URL names: one object, a folder, or the matches of a glob."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

import obstore

from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.list_folder import list_folder, object_identity
from starskip.storage.files.object_reader import read_failures
from starskip.storage.files.object_url import ObjectUrl
from starskip.storage.files.open_store import open_store

_MAGIC = re.compile(r"[*?[]")
_PAGE = 1_000
"""Objects held at a time when a store lists all objects below a folder."""


def object_files(url: ObjectUrl) -> list[FileIdentity]:
    """Return the objects that a URL names: one object, a folder's direct objects, or a glob's.

    Names that begin with ``.`` or ``_`` are left out of folders, as Spark does; ``*``, ``?`` and ``[…]``
    match within one component, ``**`` any number of them. Empty if nothing is there.
    """
    if (object_there := _looked_up(url)) is not None:
        return [object_there]
    if not _MAGIC.search(url.key):
        return _files_in(url)
    found: list[FileIdentity] = []
    for matched in _matches(url._replace(key=""), url.key.split("/")):
        found.extend([matched] if isinstance(matched, FileIdentity) else _files_in(matched))
    return found


def _looked_up(url: ObjectUrl) -> FileIdentity | None:
    if not url.key:
        return None
    try:
        with read_failures(url):
            return object_identity(url, obstore.head(open_store(url.scheme, url.bucket), url.key))
    except (FileNotFoundError, PermissionError):
        # S3 denies a look at a missing object to whoever may not list: the listing will say it better.
        return None


def _files_in(folder: ObjectUrl) -> list[FileIdentity]:
    try:
        files = list_folder(str(folder)).files
    except FileNotFoundError:
        return []
    return [file for file in files if file.path.rpartition("/")[2][0] not in "._"]


def _matches(folder: ObjectUrl, components: list[str]) -> Iterator[FileIdentity | ObjectUrl]:
    """Yield each match of the components below ``folder``: an object, or the URL of a folder.

    One listing a folder on the way, so that a bucket of a year's logs is not listed for one day's.
    """
    literal = []
    while components and not _MAGIC.search(components[0]):
        literal.append(components[0])
        components = components[1:]
    folder = folder.below("/".join(literal))
    if not components:
        yield _looked_up(folder) or folder
        return
    if components[0] == "**":
        yield from _deep_matches(folder, components)
        return
    try:
        listing = list_folder(str(folder))
    except FileNotFoundError:
        return
    for name in listing.folders:
        if _fits(name, components[0]):
            below = folder.below(name)
            yield from _matches(below, components[1:]) if components[1:] else [below]
    if not components[1:]:
        for file in listing.files:
            if _fits(file.path.rpartition("/")[2], components[0]):
                yield file


def _deep_matches(folder: ObjectUrl, components: list[str]) -> Iterator[FileIdentity]:
    store = open_store(folder.scheme, folder.bucket)
    start = f"{folder.key}/" if folder.key else ""
    with read_failures(folder):
        for page in obstore.list(store, folder.key or None, chunk_size=_PAGE):
            for meta in page:
                if _fits_deep(meta["path"].removeprefix(start).split("/"), components):
                    yield object_identity(folder, meta)


def _fits_deep(names: list[str], components: list[str]) -> bool:
    if not components:
        return not names
    if components[0] == "**":
        rest = components[1:] or ["*"]
        return any(
            _fits_deep(names[skipped:], rest)
            for skipped in range(len(names))
            if not any(name.startswith(".") for name in names[:skipped])
        )
    return bool(names) and _fits(names[0], components[0]) and _fits_deep(names[1:], components[1:])


def _fits(name: str, pattern: str) -> bool:
    """Return whether one component fits; a name that begins with a dot must be asked for, as in a shell."""
    return fnmatch.fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))
