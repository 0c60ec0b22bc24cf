"""Digests of files' contents, which show that a file was rewritten even if its size and time are the same.

They have 128 bits and no secret key: whoever may write the files may write anything into them anyway.
Computing them takes hardly longer than reading.
"""

from __future__ import annotations

from collections.abc import Sequence

import xxhash

from starskip.errors import SourceError
from starskip.star_tree.build.build_tree import RunTasks
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.open_file import open_file

_READ_BYTES = 1 << 20
_BYTES_PER_TASK = 256 << 20


def file_digests(files: Sequence[FileIdentity]) -> list[str]:
    """Return the digest of each file, read as a whole; SourceError for a file that cannot be read."""
    return [_digest(file.path) for file in files]


def digests_by_tasks(run_tasks: RunTasks, files: Sequence[FileIdentity]) -> list[str]:
    """Return ``file_digests``, computed by tasks of some hundred megabytes each."""
    pieces: list[list[FileIdentity]] = []
    held_bytes = _BYTES_PER_TASK
    for file in files:
        if held_bytes >= _BYTES_PER_TASK:
            pieces.append([])
            held_bytes = 0
        pieces[-1].append(file)
        held_bytes += file.size_bytes
    found = run_tasks("comparing files", pieces, file_digests) if pieces else []
    return [digest for of_piece in found for digest in of_piece]


def _digest(path: str) -> str:
    digest = xxhash.xxh3_128()
    try:
        with open_file(path) as opened:
            while piece := opened.read(_READ_BYTES):
                digest.update(piece)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error})", source=path) from error
    return f"xxh3:{digest.hexdigest()}"
