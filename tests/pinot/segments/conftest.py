from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starskip.pinot.segments.segment_files import SegmentFile, list_segments

DATA = Path(__file__).parents[2] / "data" / "segments"

MakeSegment = Callable[..., SegmentFile]


@pytest.fixture(scope="session")
def deep_store() -> Path:
    return DATA / "deep_store"


@pytest.fixture(scope="session")
def segment_files(deep_store: Path) -> dict[str, SegmentFile]:
    return {file.segment: file for file in list_segments(deep_store)}


@pytest.fixture(scope="session")
def source_rows() -> Callable[[str], list[dict[str, Any]]]:
    def read(name: str) -> list[dict[str, Any]]:
        with gzip.open(DATA / "rows" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().split("\n") if line]

    return read


@pytest.fixture
def make_segment(tmp_path: Path) -> MakeSegment:
    """Write a tar of the given members (name to content, or a TarInfo) and return its SegmentFile."""

    def make(members: dict[str, bytes] | list[tarfile.TarInfo], name: str = "s_0.tar.gz") -> SegmentFile:
        folder = tmp_path / "t"
        folder.mkdir(exist_ok=True)
        path = folder / name
        with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as tar:
            if isinstance(members, list):
                for info in members:
                    tar.addfile(info, io.BytesIO(b"x" * info.size))
            else:
                for member, content in members.items():
                    info = tarfile.TarInfo(member)
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
        return file_of(path)

    return make


def file_of(path: Path) -> SegmentFile:
    status = path.stat()
    return SegmentFile("t", path.name.split(".")[0], str(path), status.st_size, status.st_mtime_ns)


@pytest.fixture
def raw_file(tmp_path: Path) -> Callable[[bytes], SegmentFile]:
    def write(content: bytes) -> SegmentFile:
        path = tmp_path / "s_0.tar.gz"
        path.write_bytes(content)
        return file_of(path)

    return write
