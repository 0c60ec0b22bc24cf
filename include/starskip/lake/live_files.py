"""Which files a table of the lake consists of now, as Spark lists them."""

from __future__ import annotations

from collections.abc import Iterator

from starskip.errors import MissingSource, SourceError
from starskip.storage.files.list_folder import list_folder

_MAX_DEPTH = 30


def live_files(path: str) -> list[str]:
    """Return the paths or URLs of a table's files, that of a single file itself.

    Names that begin with ``.`` are left out, and those with ``_`` but for folders of a partition, ``_a=1``.
    Raises SourceError naming what cannot be listed.
    """
    try:
        return sorted(_below(path.rstrip("/") or "/", 0))
    except NotADirectoryError:
        return [path]
    except FileNotFoundError:
        raise MissingSource(f"{path}: there is no such file or folder", source=path) from None
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}", source=path) from error


def _below(folder: str, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        raise SourceError(f"{folder}: lies more than {_MAX_DEPTH} folders deep", source=folder)
    listing = list_folder(folder)
    yield from (file.path for file in listing.files if _is_shown(file.path.rpartition("/")[2]))
    for name in listing.folders:
        if _is_shown(name):
            yield from _below(f"{folder}/{name}", depth + 1)


def _is_shown(name: str) -> bool:
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)
