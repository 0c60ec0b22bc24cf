"""A store without a disk, which would be most of the time of laws, and with a clock of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
from starskip.storage.storage import PutVerdict, StoredObject


class _MemoryFiles(pafs.FileSystemHandler):
    """The part of an Arrow file system that readers of stored files use."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects

    def open_input_file(self, path: str) -> pa.NativeFile:
        if path not in self.objects:
            raise FileNotFoundError(path)
        return pa.BufferReader(self.objects[path])

    def _unused(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    get_type_name = get_file_info = get_file_info_selector = create_dir = _unused
    delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = move = copy_file = _unused
    open_input_stream = open_output_stream = open_append_stream = _unused

    def normalize_path(self, path: str) -> str:
        return path


@dataclass(eq=False)
class MemoryStorage:
    """An object store as far as the protocol goes; ``now_s`` is its clock."""

    objects: dict[str, bytes] = field(default_factory=dict)
    modified_ns: dict[str, int] = field(default_factory=dict)
    now_s: int = 1_000_000
    place: str = "memory"

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        if name in self.objects:
            return PutVerdict.ALREADY_EXISTS
        self.objects[name], self.modified_ns[name] = content, self.now_s * 1_000_000_000
        return PutVerdict.STORED

    def read(self, name: str) -> bytes | None:
        return self.objects.get(name)

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def objects_below(self, folder: str) -> Iterator[StoredObject]:
        start = f"{folder}/" if folder else ""
        for name, content in list(self.objects.items()):
            if name.startswith(start):
                yield StoredObject(name, len(content), self.modified_ns[name])

    def folders_in(self, folder: str) -> tuple[str, ...]:
        start = f"{folder}/" if folder else ""
        rest = [name.removeprefix(start) for name in self.objects if name.startswith(start)]
        return tuple(sorted({name.split("/")[0] for name in rest if "/" in name}))

    def arrow_filesystem(self) -> pafs.FileSystem:
        return pafs.PyFileSystem(_MemoryFiles(self.objects))
