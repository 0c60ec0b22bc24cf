"""A Delta table as a snapshot: what its log tells, its versions, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
import string
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from starskip.errors import NotPlainFiles, SourceError
from starskip.lake.format_names import FORMATS
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.table_snapshot import DELETES, FILES, TableSnapshot

ROWS = pa.table({"a": [1, 2, 3], "p": ["x", "y", "x"]})


def rows_of(snapshot: TableSnapshot) -> list[Any]:
    """Return the rows of the files that a snapshot lists, without the columns of partitions."""
    assert snapshot.files.schema == FILES
    paths = snapshot.files.column("path").to_pylist()
    assert paths == sorted(paths)
    found = [pq.ParquetFile(path).read() for path in paths]
    if snapshot.version is not None:
        assert [each.num_rows for each in found] == snapshot.files.column("rows").to_pylist()
        sizes = snapshot.files.column("size_bytes").to_pylist()
        assert sizes == [Path(path).stat().st_size for path in paths]
    return sorted(value for each in found for value in each.column("a").to_pylist())


def refusal(call: Callable[[], Any], kind: type[SourceError] = SourceError) -> str:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_files_of_each_version_and_no_others(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, ROWS)
    write_deltalake(path, pa.table({"a": [4], "p": ["z"]}), mode="append")
    DeltaTable(path).delete("a = 2")
    write_deltalake(path, pa.table({"a": [9], "p": ["z"]}), mode="overwrite")
    wanted = [[1, 2, 3], [1, 2, 3, 4], [1, 3, 4], [9]]
    for version, values in enumerate(wanted):
        snapshot = open_lake_table(path, version=version)
        assert (snapshot.version, snapshot.snapshot_id, snapshot.table_format) == (
            version,
            str(version),
            "delta",
        )
        assert rows_of(snapshot) == values
    assert rows_of(open_lake_table(path)) == rows_of(open_lake_table(path, "delta")) == [9]
    first, second = ({*open_lake_table(path, version=number).identities()} for number in (0, 1))
    assert first < second  # a file is the same one in all versions


def test_a_checkpoint_and_a_vacuum_change_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in range(5):
        write_deltalake(path, pa.table({"a": [number]}), mode="append")
    DeltaTable(path).optimize.compact()
    before = open_lake_table(path)
    table = DeltaTable(path)
    table.create_checkpoint()
    table.cleanup_metadata()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    after = open_lake_table(path, version=before.version)
    assert after.files.equals(before.files)
    assert rows_of(after) == [0, 1, 2, 3, 4]


def test_partition_values_of_all_kinds(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = pa.table(
        {
            "a": [1, 2, 3, 4],
            "s": ["x=/ é%41", "__x", None, "007"],
            "n": pa.array([7, -1, None, 0], pa.int32()),
            "d": pa.array([dt.date(2026, 1, 2), None, dt.date(1900, 1, 1), dt.date(2026, 1, 2)]),
            "m": pa.array([Decimal("1.50"), None, Decimal("-2.00"), Decimal("0.00")], pa.decimal128(9, 2)),
            "b": [True, False, None, True],
        }
    )
    write_deltalake(path, rows, partition_by=["s", "n", "d", "m", "b"])
    snapshot = open_lake_table(path)
    assert snapshot.partition_columns == ("s", "n", "d", "m", "b")
    assert rows_of(snapshot) == [1, 2, 3, 4]
    told = {
        pq.ParquetFile(path).read().column("a")[0].as_py(): dict(partition)
        for path, partition in zip(
            snapshot.files.column("path").to_pylist(),
            snapshot.files.column("partition").to_pylist(),
            strict=True,
        )
    }
    assert told[1] == {"s": "x=/ é%41", "n": "7", "d": "2026-01-02", "m": "1.50", "b": "true"}
    assert told[2] == {"s": "__x", "n": "-1", "d": None, "m": None, "b": "false"}
    assert told[3] == {"s": None, "n": None, "d": "1900-01-01", "m": "-2.00", "b": None}


def test_bounds_come_from_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"a": [1, None, 3]}))
    for file in Path(path).glob("*.parquet"):
        file.unlink()  # nobody asks for it
    snapshot = open_lake_table(path)
    assert snapshot.bounds is not None
    (row,) = snapshot.bounds.to_pylist()
    assert (row["min.a"], row["max.a"], row["null_count.a"]) == (1, 3, 1)
    assert snapshot.files.column("rows").to_pylist() == [3]
    assert snapshot.schema == pa.schema([("a", pa.int64())])


def changed_log(path: str, change: Callable[[str, dict[str, Any]], None]) -> None:
    """Write the first commit anew, each action changed in place."""
    log = Path(path) / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        for name, content in action.items():
            change(name, content)
    log.write_text("\n".join(map(json.dumps, actions)))


def test_a_reader_feature_that_is_not_carried_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, ROWS)

    def change(name: str, content: dict[str, Any]) -> None:
        if name == "protocol":
            features = {"readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}
            content.update({"minReaderVersion": 3, "minWriterVersion": 7, **features})

    changed_log(path, change)
    assert "has the reader feature typeWidening, which is not read yet" in refusal(
        lambda: open_lake_table(path), NotPlainFiles
    )


@pytest.mark.parametrize("feature", ["someday", "catalogManaged"])
def test_a_feature_that_nobody_here_knows_is_one_line(tmp_path: Path, feature: str) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, ROWS)

    def change(name: str, content: dict[str, Any]) -> None:
        if name == "protocol":
            features = {"readerFeatures": [feature], "writerFeatures": [feature]}
            content.update({"minReaderVersion": 3, "minWriterVersion": 7, **features})

    changed_log(path, change)
    assert "_delta_log: the log of this Delta table cannot be read (" in refusal(
        lambda: open_lake_table(path)
    )


def gap(log: Path) -> None:
    (log / f"{1:020}.json").unlink()


def no_commit(log: Path) -> None:
    for file in log.iterdir():
        file.unlink()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (no_commit, "_delta_log: the log of this Delta table is missing"),
        (gap, "cannot be read ("),
        (lambda log: (log / f"{0:020}.json").unlink(), "cannot be read ("),
        (lambda log: (log / f"{1:020}.json").write_text("{garbage"), "cannot be read ("),
        (lambda log: (log / f"{1:020}.json").write_text('{"add": {"pa'), "cannot be read ("),
        (lambda log: (log / f"{2:020}.json").write_text(""), "is damaged: the file is empty"),
        (lambda log: (log / "_last_checkpoint").write_text("{") and gap(log), "cannot be read ("),
    ],
)
def test_a_damaged_log_is_one_line(tmp_path: Path, damage: Callable[[Path], Any], told: str) -> None:
    path = str(tmp_path / "t")
    for number in range(3):
        write_deltalake(path, pa.table({"a": [number]}), mode="append")
    damage(tmp_path / "t" / "_delta_log")
    text = refusal(lambda: open_lake_table(path))
    assert told in text and path in text


def test_a_version_that_is_not_there_is_told_with_the_newest(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, ROWS)
    assert "version 7 cannot be read; the newest is 0" in refusal(lambda: open_lake_table(path, version=7))


def test_ways_out_where_plain_files_are_asked_for(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, ROWS, partition_by=["p"])
    for asked, file_format in ((path, "parquet"), (f"{path}/p=x", None), (str(tmp_path), None)):
        text = refusal(lambda a=asked, f=file_format: open_lake_table(a, f), NotPlainFiles)  # type: ignore[misc]
        assert f"read the table itself ({path}, as format delta), or write its current rows apart" in text


def test_formats_that_are_not_there(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    path = str(tmp_path)
    assert "holds no Delta table: there is no _delta_log" in refusal(lambda: open_lake_table(path, "delta"))
    assert "holds no Iceberg table: there is no metadata/*.metadata.json" in refusal(
        lambda: open_lake_table(path, "iceberg")
    )
    assert "plain files have no version 3" in refusal(lambda: open_lake_table(path, version=3))


@pytest.mark.parametrize(
    ("name", "taken_for", "what"),
    [
        ("a%20b", "a b", "% and two digits of base 16"),
        ("a\\b", "a/b", "a backslash"),
        ("a\\..\\b", "b", "a backslash"),
    ],
)
def test_a_folder_whose_name_the_library_takes_for_another(
    tmp_path: Path, name: str, taken_for: str, what: str
) -> None:
    write_deltalake(str(tmp_path / "t"), ROWS)
    (tmp_path / "t").rename(tmp_path / name)
    # What it is taken for is there, too, and has other rows.
    write_deltalake(str(tmp_path / taken_for), ROWS.slice(0, 1))
    (tmp_path / "link").symlink_to(tmp_path / name)
    for given in (name, "link", f"{name}/"):
        assert f"its path holds {what}" in refusal(lambda n=given: open_lake_table(f"{tmp_path}/{n}"))  # type: ignore[misc]


ODD_NAMES = (
    *(each for each in string.punctuation if each not in "/\\"),
    "50% é",
    "a b ",
    "日本",
    "%",
    "%zz",
    "s3:x",
    "..a",
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_folder_with_an_odd_name(tmp_path: Path, name: str) -> None:
    write_deltalake(str(tmp_path / "t"), ROWS)
    for made in (f"p{name}q", name):
        if made == ".":
            continue
        (tmp_path / "t").rename(tmp_path / made)
        assert rows_of(open_lake_table(str(tmp_path / made))) == [1, 2, 3]
        (tmp_path / made).rename(tmp_path / "t")


@pytest.mark.parametrize("name", ["a", "col-1"])
def test_columns_by_ids_of_files_of_another_format_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t"
    write_deltalake(str(path), pa.table({"a": [1]}))
    log = path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            told = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": name}
            schema["fields"][0]["metadata"] = told
            action["metaData"]["schemaString"] = json.dumps(schema)
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": "id"}
    log.write_text("\n".join(map(json.dumps, actions)))
    if name == "a":
        assert "matches columns by id under names" in refusal(
            lambda: open_lake_table(str(path)), NotPlainFiles
        )
    else:
        assert open_lake_table(str(path)).columns[0].stored == ("col-1",)


def test_a_folder_is_a_snapshot_too(tmp_path: Path) -> None:
    for name in (
        "day=1/_hour=2/a.parquet",
        "day=__HIVE_DEFAULT_PARTITION__/_hour=3/b.parquet",
        "_x/c.parquet",
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        pq.write_table(pa.table({"a": [1]}), tmp_path / name)
    snapshot = open_lake_table(str(tmp_path))
    assert rows_of(snapshot) == [1, 1]
    assert snapshot.files.column("partition").to_pylist() == [
        [("day", "1"), ("_hour", "2")],
        [("day", None), ("_hour", "3")],
    ]
    assert (snapshot.version, snapshot.file_format, snapshot.bounds) == (None, "parquet", None)
    before = snapshot.snapshot_id
    assert open_lake_table(str(tmp_path)).snapshot_id == before
    (tmp_path / "day=1/_hour=2/notes").write_text("")
    assert open_lake_table(str(tmp_path)).snapshot_id == before  # no Parquet file by its name
    assert open_lake_table(str(tmp_path), "parquet").files.num_rows == 3  # as Spark reads it
    assert FORMATS == ("parquet", "orc", "avro", "json", "csv", "delta", "iceberg")


def test_deleted_rows_that_are_not_read_are_refused(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    snapshot = open_lake_table(str(tmp_path))
    snapshot.require_rows_of_spark()
    place = FILES.get_field_index("deletes")
    files = snapshot.files.set_column(place, FILES.field(place), pa.array([[0]], FILES.field(place).type))
    deletes = pa.Table.from_pylist([{"kind": "vector", "path": "d.bin"}], DELETES)
    deleted = TableSnapshot("t", "iceberg", "parquet", files, delete_files=deletes)
    text = refusal(deleted.require_rows_of_spark)
    assert text.startswith("t: rows of its file") and "a.parquet were deleted by a deletion vector" in text
