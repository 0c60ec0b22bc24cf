"""A read-only Arrow file system over a store's objects, with our own credentials and errors.

Arrow has an S3 client of its own, which would want its settings a second time and in another form.
"""

from __future__ import annotations

from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.fs as pafs

from starskip.storage.files.object_reader import ObjectReader
from starskip.storage.files.object_url import ObjectUrl


class ObjectFilesystem(pafs.FileSystemHandler):  # type: ignore[misc]
    """Paths are keys below ``root``."""

    def __init__(self, root: ObjectUrl) -> None:
        """Keep the root; nothing is asked of the store."""
        self.root = root

    def __eq__(self, other: object) -> bool:
        """Equal roots are the same file system."""
        return isinstance(other, ObjectFilesystem) and other.root == self.root

    def __hash__(self) -> int:
        """Hash by the root."""
        return hash(self.root)

    def get_type_name(self) -> str:
        """Name the kind for Arrow's messages."""
        return "starskip objects"

    def normalize_path(self, path: str) -> str:
        """Keys are as they should be."""
        return path

    def open_input_file(self, path: str) -> pa.PythonFile:
        """Open for reading at any position; a range is exactly what Arrow asks for."""
        return pa.PythonFile(ObjectReader(self.root.below(path), read_ahead=False), mode="r")

    def open_input_stream(self, path: str) -> pa.PythonFile:
        """Open for reading forwards."""
        return pa.PythonFile(ObjectReader(self.root.below(path)), mode="r")

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """Return the sizes of objects; what is missing is said to be so."""
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> pafs.FileInfo:
        try:
            size_bytes = ObjectReader(self.root.below(path)).size_bytes
        except FileNotFoundError:
            return pafs.FileInfo(path, type=pafs.FileType.NotFound)
        return pafs.FileInfo(path, type=pafs.FileType.File, size=size_bytes)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            "Arrow only reads objects here; they are listed and written by ObjectStorage"
        )

    get_file_info_selector = _refuse
    create_dir = _refuse
    delete_dir = _refuse
    delete_dir_contents = _refuse
    delete_root_dir_contents = _refuse
    delete_file = _refuse
    move = _refuse
    copy_file = _refuse
    open_output_stream = _refuse
    open_append_stream = _refuse
