"""Indexes with keys of their own, in Spark: who skips by what, and what commands say of missing keys."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.cli.main import main
from starskip.errors import ConfigError
from starskip.file_metadata.open_metadata import existing_metadata
from starskip.lake.lake_table import LakeTable
from starskip.skipping.registry import index_from_specification
from starskip.spark import skipping
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping
from starskip.storage.encryption.keyring import Keyring
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SECRET = "person-secret-77@example.org"


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Files of keys by name; ``other`` is never that of anything."""
    folder = tmp_path / "keys"
    folder.mkdir()
    (folder / "pii").write_bytes(b"p" * 32)
    (folder / "names").write_text(base64.b64encode(b"n" * 32).decode() + "\n")
    (folder / "other").write_bytes(b"o" * 32)
    return {path.name: str(path) for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def _disabled(spark: SparkSession) -> Iterator[None]:
    yield
    skipping.disable(spark)


@pytest.fixture
def people(spark: SparkSession, table_of: Callable[..., str]) -> str:
    frame = spark.range(0, 100, 1, 5).selectExpr(
        "id", "concat('person-secret-', id, '@example.org') AS email", "timestamp_seconds(id * 3600) AS ts"
    )
    return table_of(frame)


def read(spark: SparkSession, path: str, where: str) -> tuple[list[int], dict[str, Any]]:
    rows = sorted(row.id for row in spark.read.parquet(path).where(where).select("id").collect())
    (stats,) = skipping.last_query_stats(spark)
    return rows, stats


def test_whoever_lacks_a_key_skips_by_the_other_indexes(
    spark: SparkSession, people: str, keys: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    encrypt = {"bloom:email": "pii", "valuelist:email": "pii"}
    pii = {"pii": keys["pii"]}
    skipping.create(spark, people, ["minmax:ts", *encrypt], keys=pii, encrypt=encrypt)
    assert "spark.io.encryption.enabled is not true" in caplog.text
    by_email, by_both = f"email = '{SECRET}'", f"email = '{SECRET}' AND ts >= timestamp_seconds(200000)"
    skipping.enable(spark, keys=pii)
    rows, stats = read(spark, people, by_email)
    assert (rows, stats["files_read"], stats["not_skipped_because"]) == ([77], 1, [])
    assert stats["skipped_by"] == {"bloom:email": 4, "valuelist:email": 4}

    for given, why in (({}, "key pii is missing"), ({"pii": keys["other"]}, "key pii is not the key")):
        caplog.clear()
        skipping.enable(spark, keys=given)
        with caplog.at_level(logging.WARNING):
            rows, stats = read(spark, people, by_email)
            assert (rows, stats["files_read"]) == ([77], 5)
            told = [reason for reason in stats["not_skipped_because"] if why in reason]
            assert len(told) == 1 and "bloom:email, valuelist:email" in told[0]
            rows, stats = read(spark, people, by_both)
        assert (rows, stats["files_read"], stats["skipped_by"]) == ([77], 3, {"minmax:ts": 2})
        assert len([record for record in caplog.records if why in record.getMessage()]) == 1
    # A key file that is none is said, and counts as a missing one.
    caplog.clear()
    skipping.enable(spark, keys={"pii": keys["pii"] + ".not"})
    assert read(spark, people, by_both)[1]["files_read"] == 3
    assert "the key file cannot be read" in caplog.text


def command(*arguments: str) -> Result:
    found = CliRunner().invoke(main, ["skipping", *arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def explained(path: str, where: str, *options: str) -> dict[str, Any]:
    found = command("explain", path, where, "--format", "json", *options)
    assert found.exit_code == 0, found.output
    document: dict[str, Any] = json.loads(found.stdout)
    return document


def test_the_commands(
    spark: SparkSession,
    people: str,
    keys: dict[str, str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    where, key = f"WHERE email = '{SECRET}'", f"pii={keys['pii']}"
    create = ("create", people, "--index", "minmax:ts", "--index", "bloom:email")
    # Quiet, since the session of the tests writes plain files, of which a command warns.
    missing = command(*create, "--encrypt", "bloom:email=pii", "--quiet")
    assert (missing.exit_code, missing.stderr.count("\n")) == (3, 1)
    assert "key pii is missing: give --key pii=FILE" in missing.stderr
    gone = command(*create, "--encrypt", "bloom:email=pii", "--key", f"pii={tmp_path}/gone")
    assert gone.exit_code == 3 and f"{tmp_path}/gone: the key file cannot be read" in gone.stderr
    for wrong in (("--encrypt", "bloom:emial=pii"), ("--encrypt", "bloom:email"), ("--key", "pii")):
        assert command(*create, *wrong).exit_code == 2
    assert command(*create, "--encrypt", "bloom:email=pii", "--key", key).exit_code == 0
    assert explained(people, where, "--key", key)["files_read"] == 1
    without = explained(people, where)
    assert without["files_read"] == 5
    assert [reason for reason in without["not_skipped_because"] if "key pii is missing" in reason]
    wrong = explained(people, where, "--key", f"pii={keys['other']}")
    assert [reason for reason in wrong["not_skipped_because"] if "key pii is not the key" in reason]

    spark.range(100, 120, 1, 1).selectExpr(
        "id", "concat('person-secret-', id, '@example.org') AS email", "timestamp_seconds(id * 3600) AS ts"
    ).write.mode("append").parquet(people)
    aged(Path(people))
    assert command("refresh", people).exit_code == 0
    described = json.loads(command("describe", people, "--format", "json").stdout)
    known = {each["index"]: (each["key"], each["files_known"]) for each in described["indexes"]}
    assert known == {"minmax:ts": (None, 6), "bloom:email": ("pii", 5)}
    assert "active, key pii" in command("list", people).stdout
    assert explained(people, where, "--key", key)["files_read"] == 2
    assert command("optimize", people).exit_code == 0
    assert command("refresh", people, "--key", key).exit_code == 0
    assert explained(people, where, "--key", key)["files_read"] == 1

    rotated = command("rotate", people, "--from", key, "--to", f"pii={keys['other']}")
    assert rotated.exit_code == 0, rotated.output
    again = command("rotate", people, "--from", key, "--to", f"pii={keys['other']}")
    assert again.exit_code == 3 and "key pii is not the key" in again.stderr
    assert explained(people, where, "--key", f"pii={keys['other']}")["files_read"] == 1
    assert explained(people, where, "--key", key)["files_read"] == 6

    assert "shows values" not in caplog.text
    assert command("create", people, "--index", "prefix:email:3").exit_code == 0
    told = "prefix:email:3 is not encrypted and shows values of email, which bloom:email encrypts"
    assert told in caplog.text


def test_names_of_files_and_partitions_under_a_key(
    spark: SparkSession,
    table_of: Callable[..., str],
    keys: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    frame = spark.range(0, 40, 1, 4).selectExpr("id", "concat('station-', id div 10) AS ward")
    path = table_of(frame, by=("ward",))
    given = {name: keys[name] for name in ("pii", "names")}
    options: dict[str, Any] = {"keys": given, "encrypt_listing": "names"}
    skipping.create(
        spark, path, ["minmax:id", "partition:ward"], encrypt={"partition:ward": "pii"}, **options
    )
    written = b"".join(each.read_bytes() for each in Path(path, "_starskip").rglob("*") if each.is_file())
    assert b"station-" not in written and b"part-" not in written
    skipping.enable(spark, keys=given)
    assert read(spark, path, "id = 7")[1]["files_read"] == 1
    skipping.enable(spark, keys={"pii": keys["pii"]})
    rows, stats = read(spark, path, "id = 7")
    assert (rows, stats["files_read"]) == ([7], 4)
    assert [why for why in stats["not_skipped_because"] if "key names is missing" in why]
    # A folder of keys serves programs that know nothing of keys.
    monkeypatch.setenv("STARSKIP_KEYS_DIR", str(tmp_path / "keys"))
    skipping.enable(spark)
    assert read(spark, path, "id = 7")[1]["files_read"] == 1
    skipping.refresh(spark, path, full=True)
    assert read(spark, path, "id = 7")[1]["files_read"] == 1


def test_a_night_encrypts_what_is_of_an_encrypted_column(
    spark: SparkSession, people: str, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pii = {"pii": keys["pii"]}
    skipping.create(spark, people, ["bloom:email"], keys=pii, encrypt={"bloom:email": "pii"})
    wanted = [index_from_specification(each) for each in ("bloom:email", "minmax:email", "minmax:id")]
    table = LakeTable(people)
    done = SparkSkipping(spark).refresh(table, wanted, None)
    assert "key pii" in done.failed_indexes["minmax:email"] and "minmax:id" in done.indexes
    monkeypatch.setenv("STARSKIP_KEYS_DIR", str(tmp_path / "keys"))
    assert set(SparkSkipping(spark).refresh(table, wanted, None).indexes) == {
        each.specification for each in wanted
    }
    metadata = existing_metadata(storage_for(f"{people}/_starskip"), keyring=Keyring())
    assert metadata.state.keys.indexes == {"bloom:email": "pii", "minmax:email": "pii"}
    assert [each.specification for each in metadata.indexes] == ["minmax:id"]


def test_what_is_to_be_encrypted_must_be_created(
    spark: SparkSession, people: str, keys: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="bloom:email is to be encrypted, but is not among the indexes"):
        skipping.create(spark, people, ["minmax:id"], keys=keys, encrypt={"bloom:email": "pii"})
