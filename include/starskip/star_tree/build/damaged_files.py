"""Files of published trees that are gone or damaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starskip.star_tree.build.build_tree import RunTasks
from starskip.star_tree.build.tree_files import is_damaged
from starskip.star_tree.tree_artefact import TableTrees
from starskip.storage.manifest import DataFile, Part
from starskip.storage.storage import Storage


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
