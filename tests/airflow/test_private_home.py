from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from starskip.airflow.airflow_environment import private_home


@pytest.fixture(autouse=True)
def _mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_home_that_all_could_read_is_ours_alone_from_now_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    assert private_home(home) == home / "logs"
    assert mode(home) == 0o700
    assert (home / "logs").is_dir()
    private_home(home)


@pytest.mark.parametrize(("mask", "of_folder", "of_file"), [(0o022, 0o750, 0o640), (0o002, 0o770, 0o660),
                                                            (0o077, 0o700, 0o600)])  # fmt: skip
def test_what_is_written_elsewhere_is_kept_from_others_and_not_from_a_group_that_shares_it(
    tmp_path: Path, mask: int, of_folder: int, of_file: int
) -> None:
    os.umask(mask)
    private_home(tmp_path / "home")
    (tmp_path / "artefacts").mkdir()
    (tmp_path / "artefacts" / "file").touch()
    assert mode(tmp_path / "artefacts") == of_folder
    assert mode(tmp_path / "artefacts" / "file") == of_file
