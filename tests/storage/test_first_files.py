"""Some files of a folder, on a disk and in a bucket, without a listing of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starskip.storage.files.first_files import first_files
from starskip.storage.files.list_folder import list_folder


def test_at_most_so_many_are_listed_and_as_a_whole_listing_has_them(s3: Any, tmp_path: Path) -> None:
    (tmp_path / "segments" / "inner").mkdir(parents=True)
    for name in ("a", "b", "c", "d", "inner/e"):
        (tmp_path / "segments" / name).write_text(name)
    for root in (str(tmp_path), s3.upload(tmp_path, s3.fresh_url())):
        folder = f"{root}/segments"
        whole = {file.path: file for file in list_folder(folder).files}
        some = first_files(folder, 3)
        assert len(some) == 3
        for file in some:
            known = whole[file.path]
            assert (file.size_bytes, file.modified_ns, file.etag) == (
                known.size_bytes,
                known.modified_ns,
                known.etag,
            )
        assert {file.path for file in first_files(folder, 50)} == whole.keys()


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        first_files(str(tmp_path / "nothing"), 3)
