"""An Iceberg table as a snapshot: its names, its versions, what its manifests tell, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from starskip.errors import MissingSource, NotPlainFiles, SourceError
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.table_folder import table_folder

ROWS = pa.table(
    {
        "a": pa.array([1, 2, None], pa.int64()),
        "s": ["x" * 30, "é" * 20, None],
        "d": [dt.date(2026, 1, 1), None, dt.date(1969, 1, 1)],
        "m": pa.array([Decimal("1.50"), None, Decimal("-3.00")], pa.decimal128(9, 2)),
        "t": pa.array([dt.datetime(2026, 1, 1), None, None], pa.timestamp("us", "UTC")),
        "b": [True, False, None],
        "n": [{"x": 1, "y": "q"}, None, {"x": 3, "y": None}],
        "p": ["k", "k", "l/ é%41"],
    }
)


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlCatalog]:
    folder = tmp_path / "lake"
    folder.mkdir()
    uri, warehouse = f"sqlite:///{folder}/catalog.db", f"file://{folder}"
    monkeypatch.setenv("PYICEBERG_HOME", str(folder))
    (folder / ".pyiceberg.yaml").write_text(
        f"catalog:\n  lake:\n    uri: {uri}\n    warehouse: {warehouse}\n"
    )
    made = SqlCatalog("lake", uri=uri, warehouse=warehouse)
    made.create_namespace("n")
    yield made
    made.close()


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    made = catalog.create_table("n.t", ROWS.schema)
    made.append(ROWS)
    made.append(ROWS.slice(0, 1))
    return made


def folder_of(table: Table) -> str:
    return table.location().removeprefix("file://")


def refusal(call: Callable[[], Any], kind: type[SourceError] = SourceError) -> str:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and len(text) < 900
    return text


def test_a_table_has_several_names(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    place = table.metadata_location.removeprefix("file://")
    names = [folder_of(table), place, table.metadata_location]
    found = [open_lake_table(name) for name in names]
    for each in found:
        assert each.files.equals(found[0].files) and each.snapshot_id == found[0].snapshot_id
        assert each.location == folder_of(table)
        assert (each.table_format, each.file_format, each.has_deletes) == ("iceberg", "parquet", False)
    assert {table_folder(name).removeprefix("file://") for name in names} == {folder_of(table)}
    assert open_lake_table(names[0], "iceberg").files.equals(found[0].files)
    assert open_lake_table(names[0], look_above=False).files["rows"].to_pylist() in ([3, 1], [1, 3])


def test_what_manifests_tell(table: Table) -> None:
    for file in Path(folder_of(table), "data").iterdir():
        file.unlink()  # nobody asks for it
    found = open_lake_table(folder_of(table))
    assert found.bounds is not None
    row = next(each for each in found.bounds.to_pylist() if each["null_count.a"])
    assert (row["min.a"], row["max.a"], row["null_count.a"]) == (1, 2, 1)
    assert (row["min.s"], row["max.s"]) == ("x" * 16, "é" * 15 + "ê")
    assert (row["min.d"], row["max.d"]) == (dt.date(1969, 1, 1), dt.date(2026, 1, 1))
    assert (row["min.m"], row["max.m"]) == (Decimal("-3.00"), Decimal("1.50"))
    assert (row["min.b"], row["max.b"]) == (False, True)
    assert found.schema is not None and found.schema.equals(ROWS.schema)
    assert [(each.name, each.field_id) for each in found.columns][6:9] == [("n", 7), ("n.x", 9), ("n.y", 10)]


def test_bounds_are_read_for_those_who_ask(table: Table) -> None:
    found = open_lake_table(folder_of(table))
    kept = found.with_files(pa.array([1]))
    assert found.bounds is found.bounds and found.bounds is not None and kept.bounds is not None
    assert kept.bounds.to_pylist() == found.bounds.to_pylist()[1:] and kept.partitions is None
    fresh = open_lake_table(folder_of(table))
    manifest = sorted(Path(folder_of(table), "metadata").glob("*-m0.avro"))[0]
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert fresh.files["rows"].to_pylist() == found.files["rows"].to_pylist()
    assert manifest.name in refusal(lambda: fresh.bounds)


def test_partitions_and_specs_that_evolve(table: Table) -> None:
    with table.update_spec() as update:
        update.add_identity("p")
    table.append(ROWS)
    found = open_lake_table(folder_of(table))
    # Files of the former spec may have any value.
    assert found.partition_columns == () and not any(found.files["partition"].to_pylist())
    (field,) = found.partition_fields
    assert (field.name, field.source, field.transform, field.spec_ids) == ("p", ("p",), "identity", (1,))
    assert found.partitions is not None
    assert sorted(map(str, found.partitions["p"].to_pylist())) == ["None", "None", "k", "l/ é%41"]
    table.overwrite(ROWS)
    found = open_lake_table(folder_of(table))
    assert found.partition_columns == ("p",)
    assert sorted(found.files["partition"].to_pylist()) == [[("p", "k")], [("p", "l/ é%41")]]


def test_versions(table: Table) -> None:
    first, second = (each.snapshot_id for each in table.metadata.snapshots)
    with table.update_schema() as update:
        update.rename_column("a", "aa")
    table.overwrite(ROWS.rename_columns(["aa", *ROWS.column_names[1:]]))
    path = folder_of(table)
    assert open_lake_table(path, version=first).files.num_rows == 1
    assert open_lake_table(path, version=second).files.num_rows == 2
    assert open_lake_table(path, version=second).schema == ROWS.schema
    assert open_lake_table(path).columns[0].path == ("aa",)
    assert f"there is no snapshot 7 of this Iceberg table; the newest are {second}, " in refusal(
        lambda: open_lake_table(path, version=7)
    )


def test_a_rename_alone_is_another_snapshot(table: Table) -> None:
    before = open_lake_table(folder_of(table))
    with table.update_schema() as update:
        update.rename_column("a", "aa")
    after = open_lake_table(folder_of(table))
    assert before.version == after.version and before.snapshot_id != after.snapshot_id
    assert before.columns[0].identity == after.columns[0].identity


def test_a_table_of_a_catalog(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg import catalog as module
    from pyiceberg.utils.config import Config

    monkeypatch.setattr(module, "_ENV_CONFIG", Config())
    name = "iceberg://lake/n/t"
    assert open_lake_table(name).files.equals(open_lake_table(folder_of(table)).files)
    assert table_folder(name) == folder_of(table)
    assert "the catalog lake has no such table" in refusal(
        lambda: open_lake_table("iceberg://lake/n/u"), MissingSource
    )
    assert "the catalog other cannot be asked (" in refusal(lambda: open_lake_table("iceberg://other/n/t"))
    assert "write iceberg://CATALOG/NAMESPACE/TABLE" in refusal(lambda: open_lake_table("iceberg://lake"))
    assert "is not read as parquet" in refusal(lambda: open_lake_table(name, "parquet"))


def test_both_ways_out_where_plain_files_are_asked_for(table: Table) -> None:
    path = folder_of(table)
    for asked, file_format in ((path, "parquet"), (f"{path}/data", None), (str(Path(path).parent), None)):
        text = refusal(lambda a=asked, f=file_format: open_lake_table(a, f), NotPlainFiles)  # type: ignore[misc]
        assert f"read the table itself ({path}, as format iceberg), or write its current rows apart" in text
    assert "holds no Delta table" in refusal(lambda: open_lake_table(path, "delta"))


def test_a_folder_of_two_formats_is_what_is_asked_for(table: Table) -> None:
    log = Path(folder_of(table), "_delta_log")
    log.mkdir()
    assert open_lake_table(folder_of(table), "iceberg").table_format == "iceberg"
    assert "Delta table is missing" in refusal(lambda: open_lake_table(folder_of(table)))


def test_hadoop_tables_and_compressed_metadata(table: Table) -> None:
    metadata = Path(folder_of(table), "metadata")
    newest = Path(table.metadata_location.removeprefix("file://"))
    wanted = open_lake_table(str(newest))
    content = newest.read_bytes()
    for file in metadata.glob("*.metadata.json"):
        file.unlink()
    (metadata / "v9.metadata.json").write_bytes(content)
    (metadata / "version-hint.text").write_text("8")  # written after the metadata, and here never
    assert open_lake_table(folder_of(table)).files.equals(wanted.files)
    (metadata / "v10.gz.metadata.json").write_bytes(gzip.compress(content))
    assert open_lake_table(folder_of(table)).files.equals(wanted.files)
    (metadata / "version-hint.text").write_text("11")
    assert "names version 11 of this Iceberg table, whose metadata file is missing" in refusal(
        lambda: open_lake_table(folder_of(table))
    )
    (metadata / "00010-abc.metadata.json").write_bytes(content)
    (metadata / "version-hint.text").unlink()
    assert "has several newest metadata files (00010-abc.metadata.json, v10.gz.metadata.json)" in refusal(
        lambda: open_lake_table(folder_of(table))
    )


def test_a_table_without_a_snapshot(catalog: SqlCatalog) -> None:
    made = catalog.create_table("n.empty", ROWS.schema)
    found = open_lake_table(folder_of(made))
    assert (found.files.num_rows, found.version, found.is_versioned) == (0, -1, True)
    assert found.schema == ROWS.schema


def manifests(table: Table) -> list[Path]:
    return sorted(Path(folder_of(table), "metadata").glob("*-m0.avro"))


def newest_list(table: Table) -> Path:
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    return Path(snapshot.manifest_list.removeprefix("file://"))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def swap_bytes(file: Path) -> None:
    content = file.read_bytes()
    middle = len(content) * 3 // 4
    file.write_bytes(
        content[:middle]
        + bytes(255 - each for each in content[middle : middle + 20])
        + content[middle + 20 :]
    )


def without_blocks(file: Path) -> None:
    """Leave the header alone, which reads as a file without entries."""
    content = file.read_bytes()
    file.write_bytes(content[: content.index(content[-16:]) + 16])


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            lambda table: manifests(table)[0].unlink(),
            "this manifest of an Iceberg table cannot be read (No such",
        ),
        (lambda table: cut(manifests(table)[0]), "manifest of an Iceberg table"),
        (lambda table: swap_bytes(manifests(table)[0]), "manifest of an Iceberg table"),
        (
            lambda table: without_blocks(manifests(table)[0]),
            "it names 0 files, and the manifest list counts 1",
        ),
        (lambda table: manifests(table)[0].write_text("{}"), "manifest of an Iceberg table cannot be read ("),
        (lambda table: newest_list(table).unlink(), "this manifest list of an Iceberg table cannot be read"),
        (
            lambda table: newest_list(table).write_bytes(b"Obj\x01"),
            "manifest list of an Iceberg table cannot",
        ),
    ],
)
def test_damage_is_one_line(table: Table, damage: Callable[[Table], Any], told: str) -> None:
    damage(table)
    assert told in refusal(lambda: open_lake_table(folder_of(table)))


@pytest.mark.slow
def test_a_file_that_is_cut_anywhere_is_named(table: Table) -> None:
    """pyiceberg's own decoder reads past the end, by chance into a whole copy that memory still holds."""
    folder = folder_of(table)
    for file in (newest_list(table), manifests(table)[0]):
        whole = file.read_bytes()
        header = whole.index(whole[-16:]) + 16
        for size in {*range(0, len(whole), 97), *range(header - 20, header + 20), *range(len(whole))[-40:]}:
            assert open_lake_table(folder).files.num_rows == 2
            file.write_bytes(whole[:size])
            assert str(file) in refusal(lambda: open_lake_table(folder))
            file.write_bytes(whole)


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b'{"format-version": 9}', b"\x1f\x8bgarbage"])
def test_damaged_metadata_is_one_line(table: Table, content: bytes) -> None:
    place = table.metadata_location.removeprefix("file://")
    Path(place).write_bytes(content)
    for name in (place, folder_of(table)):
        text = refusal(lambda n=name: open_lake_table(n))  # type: ignore[misc]
        assert f"{place}: this metadata file of an Iceberg table cannot be read (" in text


def test_missing_metadata_is_one_line(table: Table, tmp_path: Path) -> None:
    assert "there is no such metadata file" in refusal(
        lambda: open_lake_table(f"{folder_of(table)}/metadata/v3.metadata.json"), MissingSource
    )
    document = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    document["snapshots"][-1]["manifest-list"] = "hdfs://name:8020/lake/list.avro"
    (tmp_path / "v1.metadata.json").write_text(json.dumps(document))
    assert "hdfs://… is not known here" in refusal(
        lambda: open_lake_table(str(tmp_path / "v1.metadata.json"))
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        # Read on, it would be an empty table.
        ({"current-snapshot-id": 5}, "no snapshot 5 of this Iceberg table; {place} names it as the newest"),
        (
            {"properties": {"schema.name-mapping.default": "no JSON"}},
            "{place}: this name mapping of an Iceberg table cannot be read (content: Invalid JSON: ",
        ),
        ({"location": 5}, "{place}: this metadata file of an Iceberg table cannot be read (location: Input "),
    ],
)
def test_metadata_that_contradicts_itself_is_one_line(
    table: Table, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    place = tmp_path / "v1.metadata.json"
    document = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    place.write_text(json.dumps(document | change))
    text = refusal(lambda: open_lake_table(str(place)))
    assert told.format(place=place) in text and "\n" not in text and "pydantic" not in text


def test_the_folder_of_a_copied_table_is_the_one_that_its_metadata_names(
    table: Table, tmp_path: Path
) -> None:
    copied = tmp_path / "copy of t"
    shutil.copytree(folder_of(table), copied)
    newest = sorted((copied / "metadata").glob("*.metadata.json"))[-1]
    for name in (str(copied), str(newest), f"file://{newest}"):
        assert table_folder(name) == open_lake_table(name).location == folder_of(table)
    # Of what is no Iceberg table, or none at all, the path is the folder.
    assert table_folder(str(tmp_path)) == str(tmp_path)
    assert table_folder("/no/such/table") == "/no/such/table"
    assert "there is no such metadata file" in refusal(lambda: table_folder("/lake/v1.metadata.json"))


def test_files_of_an_older_type_and_without_ids(catalog: SqlCatalog, tmp_path: Path) -> None:
    """Bounds of int of a column that is long now; files that were added by reference have names alone."""
    from pyiceberg.types import LongType

    made = catalog.create_table("n.old", pa.schema([("a", pa.int32()), ("f", pa.float32())]))
    made.append(pa.table({"a": pa.array([-5, 7], pa.int32()), "f": pa.array([0.5, 2.5], pa.float32())}))
    with made.update_schema() as update:
        update.update_column("a", LongType())
    pq.write_table(pa.table({"a": [10**12], "f": pa.array([1.0], pa.float32())}), tmp_path / "x.parquet")
    made.add_files([f"file://{tmp_path}/x.parquet"])
    found = open_lake_table(folder_of(made))
    assert found.bounds is not None
    told = {(row["min.a"], row["max.a"], row["min.f"], row["max.f"]) for row in found.bounds.to_pylist()}
    # Who writes no numbers of NaN leaves open what is greatest.
    assert told == {(-5, 7, 0.5, None), (10**12, 10**12, 1.0, None)}
    assert found.columns[0].names == ("a",)
    shutil.rmtree(tmp_path / "lake")


def test_a_table_of_the_first_format_version(catalog: SqlCatalog) -> None:
    made = catalog.create_table("n.first", ROWS.schema, properties={"format-version": "1"})
    made.append(ROWS)
    made.append(ROWS)
    made.delete("a = 1")
    found = open_lake_table(folder_of(made))
    assert {*found.files["path"].to_pylist()} == {
        task.file.file_path.removeprefix("file://") for task in made.scan().plan_files()
    }
    assert sum(found.files["rows"].to_pylist()) == 4 and not found.has_deletes
