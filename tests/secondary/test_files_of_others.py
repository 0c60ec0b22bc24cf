"""Runs in the place of others, with as many rows: told by queries, named by checks, mended by a refresh."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from secondary_tables import CLOCK
from starskip.cli.main import main
from starskip.errors import StorageError
from starskip.secondary import open_table, run_reader
from starskip.secondary.check_indexes import check_indexes
from starskip.secondary.lifecycle import (
    create_indexes,
    existing_indexes,
    refresh_indexes,
)
from starskip.storage import checked_parquet

WHERE = {
    "btree:a": "a BETWEEN 5 AND 40",
    "btree:b": "b BETWEEN 5 AND 40",
    "rtree:x,y": "x BETWEEN 0.3 AND 0.5 AND y BETWEEN 0.2 AND 0.6",
    "rtree:y,x": "x BETWEEN 0.1 AND 0.5 AND y BETWEEN 0.4 AND 0.7",
    "ngram:s": "s LIKE '%word 7%'",
    "ngram:t": "t LIKE '%word 7%'",
}
ROWS = 600


def write(folder: Path, number: int) -> None:
    """Write a file of columns that are alike, so that their runs have as many rows."""
    draw = np.random.default_rng(number)
    values = {name: draw.permutation(ROWS).astype(np.int32) for name in ("a", "b")}
    points = {name: draw.random(ROWS) for name in ("x", "y")}
    texts = {name: [f"word {each}" for each in draw.permutation(ROWS)] for name in ("s", "t")}
    path = folder / f"{number}.parquet"
    pq.write_table(pa.table(values | points | texts), path)
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Index a table in two segments, whose files of an earlier version are still there."""
    folder = tmp_path / "t"
    folder.mkdir()
    write(folder, 0)
    create_indexes(str(folder), list(WHERE), clock=CLOCK)
    refresh_indexes(str(folder), in_full=True, clock=CLOCK)
    write(folder, 1)
    refresh_indexes(str(folder), clock=CLOCK)
    for path in folder.rglob("_starskip/**/*.parquet"):
        path.chmod(0o644)
    return folder


def current(folder: Path) -> dict[str, str]:
    """Return the index of each file that the newest version names."""
    segments = existing_indexes(str(folder)).segments.values()
    return {
        file.name: index
        for segment in segments
        for index, files in segment.groups.items()
        if index in WHERE
        for file in files
    }


def root(folder: Path) -> Path:
    return Path(existing_indexes(str(folder)).storage.place.removeprefix("file:"))


def swaps(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each file that counts with each other one of its kind, of an earlier version, too."""
    place = root(folder)
    every = [str(path.relative_to(place)) for path in place.rglob("*-rows.parquet")]
    every += [str(path.relative_to(place)) for path in place.rglob("*-blocks.parquet")]
    for name in current(folder):
        kind = name.rpartition("-")[2]
        yield from ((name, other) for other in every if other != name and other.endswith(kind))


def answer(folder: Path, index: str, *, path: str | None = None) -> list[tuple[int, ...]]:
    run_reader.BLOCKS.clear()
    rows = open_table(str(folder)).query(WHERE[index], ["a", "b"], path=[path or index])
    return sorted(zip(*rows.to_pydict().values(), strict=True))


def wrong_answers(folder: Path) -> tuple[int, int]:
    """Put each file in the place of each other one; return how often that was told, and how often not."""
    place, indexes = root(folder), current(folder)
    expected = {index: answer(folder, index, path="scan") for index in WHERE}
    assert all(0 < len(each) < 2 * ROWS for each in expected.values())
    assert {index: answer(folder, index) for index in WHERE} == expected
    told = wrong = 0
    for name, other in swaps(folder):
        kept = (place / name).read_bytes()
        (place / name).write_bytes((place / other).read_bytes())
        try:
            wrong += answer(folder, indexes[name]) != expected[indexes[name]]
        except StorageError as error:
            assert str(error) == f"{name}: is gone or damaged; refresh the metadata in full"
            told += 1
        (place / name).write_bytes(kept)
    return told, wrong


def test_each_file_in_the_place_of_each_other_is_told(table: Path) -> None:
    pairs = len(list(swaps(table)))
    assert pairs > 300
    assert wrong_answers(table) == (pairs, 0)


def test_readers_that_do_not_ask_whose_a_file_is_answer_wrongly(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = root(table)
    monkeypatch.setattr(checked_parquet, "require_own", lambda footer, name: None)
    monkeypatch.setattr(checked_parquet, "_checked_footer", lambda *given: None)
    (a, *_), (b, *_) = (
        [name for name, of in current(table).items() if of == index and name.endswith("rows.parquet")]
        for index in ("btree:a", "btree:b")
    )
    shutil.copy(place / b, place / a)
    assert answer(table, "btree:a") != answer(table, "btree:a", path="scan")


@pytest.mark.parametrize("damage", ["another's", "an earlier version's", "cut", "gone"])
@pytest.mark.parametrize("kind", ["rows", "blocks"])
def test_a_refresh_makes_what_is_damaged_anew(
    table: Path, caplog: pytest.LogCaptureFixture, damage: str, kind: str
) -> None:
    place, files = root(table), current(table)
    name = next(each for each, of in files.items() if of == "btree:a" and each.endswith(f"{kind}.parquet"))
    stored = [str(path.relative_to(place)) for path in place.rglob(f"*-{kind}.parquet")]
    if damage == "gone":
        (place / name).unlink()
    elif damage == "cut":
        (place / name).write_bytes((place / name).read_bytes()[:-20])
    else:
        column = "btree-b" if damage == "another's" else "btree-a"
        others = [each for each in stored if column in each and (each in files) == (damage == "another's")]
        shutil.copy(place / others[0], place / name)
    done = CliRunner().invoke(main, ["secondary", "query", str(table), WHERE["btree:a"]])
    assert done.exit_code == 3 and done.stderr.count("\n") == 1
    assert f"{name}: is gone or damaged; refresh" in done.stderr
    refreshed = refresh_indexes(str(table), clock=CLOCK)
    assert (refreshed.collected_files, refreshed.unchanged_files, refreshed.in_full) == (1, 2, False)
    assert caplog.messages == [f"{name}: is gone or damaged; what it held was collected anew"]
    assert {index: answer(table, index) for index in WHERE} == {
        index: answer(table, index, path="scan") for index in WHERE
    }
    assert {each for each in files if each not in current(table)} >= {name}
    assert refresh_indexes(str(table), clock=CLOCK).version == refreshed.version


def test_a_list_of_files_that_is_another_has_all_made_anew(table: Path) -> None:
    place = root(table)
    (first, second) = (segment.files[0].name for segment in existing_indexes(str(table)).segments.values())
    shutil.copy(place / first, place / second)
    with pytest.raises(StorageError, match=f"{second}: is gone or damaged; refresh"):
        open_table(str(table)).query(WHERE["btree:a"])
    refreshed = refresh_indexes(str(table), clock=CLOCK)
    assert (refreshed.collected_files, refreshed.in_full) == (2, True)
    assert answer(table, "btree:a") == answer(table, "btree:a", path="scan")


def test_a_check_names_a_run_of_another_index(table: Path) -> None:
    place, files = root(table), current(table)
    a, b = (
        next(each for each, of in files.items() if of == index and each.endswith("rows.parquet"))
        for index in ("btree:a", "btree:b")
    )
    shutil.copy(place / b, place / a)
    with pytest.raises(StorageError, match=f"btree:a: {a}: is gone or damaged; refresh the metadata in full"):
        check_indexes(str(table))
