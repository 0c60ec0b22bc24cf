"""Files that were rewritten or damaged: digests of contents, and checks of published trees' files.

Digests show that a file was rewritten even if its size and time are the same. They have 128 bits and no
secret key: whoever may write the files may write anything into them anyway. Computing them takes hardly
longer than reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import xxhash

from starskip.errors import SourceError
from starskip.star_tree.build.build_tree import RunTasks
from starskip.star_tree.build.tree_files import is_damaged
from starskip.star_tree.tree_artefact import TableTrees
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.open_file import open_file
from starskip.storage.manifest import DataFile, Part
from starskip.storage.storage import Storage

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


@dataclass(frozen=True, slots=True)
class _CheckFile:
    """Task: whether one file is damaged; page by page, since each has a checksum."""

    storage: Storage

    def __call__(self, item: tuple[DataFile, int | None]) -> bool:
        file, rows = item
        return is_damaged(self.storage, file, rows)


def damaged_files(run_tasks: RunTasks, storage: Storage, folder: str, part: Part) -> Sequence[DataFile]:
    """Return the files of a published part below ``folder`` that are gone or damaged, all read by tasks.

    Raises StorageError for a store that cannot be asked.
    """
    stored = {found.name: found.size_bytes for found in storage.objects_below(folder)}
    whole = [file for file in part.files if stored.get(file.name) == file.size_bytes]
    rows = _rows(part)
    items = [(file, rows.get(file.name, file.rows)) for file in whole]
    verdicts = run_tasks("checking the tree's files", items, _CheckFile(storage))
    sound = {file.name for file, is_bad in zip(whole, verdicts, strict=True) if not is_bad}
    return [file for file in part.files if file.name not in sound]


def _rows(part: Part) -> dict[str, int]:
    """Return the number of rows of each file of documents and nodes."""
    found: dict[str, int] = {}
    for tree in TableTrees.from_properties(part.properties).trees:
        for each in tree.layout.parts:
            checked = (
                (each.base_file, each.base_documents),
                (each.star_file, each.star_documents),
                (each.node_file, each.nodes),
            )
            found.update({name: rows for name, rows in checked if name is not None})
    return found
