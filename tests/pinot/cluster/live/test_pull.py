"""``starskip pinot pull`` from a real Pinot 0.11: advice from what was pulled is that from the tars."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from live_pinot import ADMIN, READER, SAMPLE, TYPES, WORDS
from pinot.running_pinot import RunningPinot, User
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts

pytestmark = pytest.mark.slow

STARSKIP = str(Path(sys.executable).with_name("starskip"))
LOG = SAMPLE / "logs" / "broker-2026-11-18.log.gz"
SAVING_TOLERANCE = 0.005
"""Share by which a saving may differ: of 300,000 rows of lineitem 131,072 are pulled, in runs of 16."""


def starskip(*arguments: object, user: User = ADMIN) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "STARSKIP_PINOT_USER": user.name,
        "STARSKIP_PINOT_PASSWORD": user.password,
    }
    command = [STARSKIP, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def pull(pinot: RunningPinot, out: Path, *more: object, user: User = ADMIN) -> Any:
    told = starskip(
        *("pinot", "pull", "--controller", pinot.controller_url, "--out", out, "--format", "json", *more),
        user=user,
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def tuned(segments: Path, configs: Sequence[Path], *more: str) -> Mapping[str, Any]:
    told = starskip(
        *("tune", "--log", LOG, "--segments", segments, "--tables", "lineitem,airlineStats"),
        *("--table-config", *configs, "--index", "all", "--min-gain", "5%", "--format", "json", *more),
    )
    assert told.returncode == 0, told.stderr
    found: Mapping[str, Any] = json.loads(told.stdout)["tables"]
    return found


@pytest.fixture(scope="module")
def pulled(pinot: RunningPinot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pulled") / "out"
    pull(pinot, out, "--broker", pinot.broker_url)
    return out


def test_the_advice_is_that_from_the_tars(pulled: Path) -> None:
    configs = [SAMPLE / "config" / f"{table}_table.json" for table in ("lineitem", "airlineStats")]
    of_tars = tuned(SAMPLE / "segments", configs)
    of_pinot = tuned(
        pulled / "segments", [pulled / "configs" / each.name.replace("_table", "") for each in configs]
    )
    for table, advice in of_tars.items():
        found = of_pinot[table]
        assert [_index(each) for each in found["indexes"]] == [_index(each) for each in advice["indexes"]]
        saving = advice["predicted_saving_ratio"]
        assert found["predicted_saving_ratio"] == pytest.approx(saving, abs=SAVING_TOLERANCE)
        together = advice["combined"]["saving_ratio"]
        assert found["combined"]["saving_ratio"] == pytest.approx(together, abs=SAVING_TOLERANCE)


def _index(advised: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    return advised["family"], tuple(advised["columns"])


def test_facts_are_those_of_the_tars(pulled: Path) -> None:
    for table in ("lineitem", "airlineStats"):
        tars = {
            each.segment: read_segment_facts(each) for each in list_segments(SAMPLE / "segments", [table])
        }
        found = {
            each.segment: read_segment_facts(each) for each in list_segments(pulled / "segments", [table])
        }
        assert found.keys() == tars.keys()
        for segment, facts in tars.items():
            ours = {each.name: each for each in found[segment].columns}
            assert (found[segment].rows, ours.keys()) == (facts.rows, {each.name for each in facts.columns})
            for each in facts.columns:
                one = ours[each.name]
                assert (one.cardinality, one.entries, one.is_sorted, one.has_dictionary, one.data_type) == (
                    *(each.cardinality, each.entries, each.is_sorted, each.has_dictionary, each.data_type),
                )
                stored = sum(each.index_bytes.get(name, 0) for name in ("dictionary", "forward_index"))
                assert one.index_bytes["forward_index"] + one.index_bytes.get(
                    "dictionary", 0
                ) == pytest.approx(stored, rel=0.1, abs=64)


def test_all_types_nulls_and_names(pulled: Path) -> None:
    (file,) = list_segments(pulled / "segments", ["types"])
    names = [f"of-{kind}" for kind in TYPES]
    window = read_row_window(file, [*names, "several", *WORDS], max_rows=100)
    assert window.unreadable == {}
    rows = {
        name: (column.dictionary if column.dictionary is not None else column.values).take(column.codes)  # type: ignore[union-attr]
        for name, column in window.columns.items()
    }
    first = {name: values[0].as_py() for name, values in rows.items()}
    assert [first[name] for name in names if name not in ("of-FLOAT", "of-TIMESTAMP")] == [
        *(1, 5_000_000_000, -1.5e300, True, TYPES["STRING"], '{"a":1}', b"\x00\xff"),
        Decimal(TYPES["BIG_DECIMAL"]),
    ]
    assert first["of-FLOAT"] == pytest.approx(0.1)
    assert rows["of-TIMESTAMP"].cast("int64")[0].as_py() == 1_577_836_800_123
    assert [first[name] for name in WORDS] == ["x", "y", "z"]
    several = window.columns["several"]
    assert several.offsets is not None
    assert rows["several"].to_pylist()[: several.offsets[1]] == [1, 2, 2]
    for name, column in window.columns.items():
        assert column.nulls is not None, name
        assert column.nulls.tolist() == [False, False, False, True], name
    assert window.columns["of-LONG"].dictionary is None
    assert window.columns["of-INT"].dictionary is not None


def test_a_table_without_segments_and_one_that_is_missing(pinot: RunningPinot, tmp_path: Path) -> None:
    told = starskip(
        *("pinot", "pull", "--controller", pinot.controller_url, "--out", tmp_path / "out"),
        *("--tables", "nope,empty", "--format", "json"),
    )
    assert told.returncode == 3
    assert "table nope: Pinot has no table nope" in told.stderr
    assert "table empty_OFFLINE has no segments yet" in told.stderr
    found = json.loads(told.stdout)
    assert found["failures"].keys() == {"nope"}
    assert found["tables"]["empty"][0]["segments"] == 0
    assert (tmp_path / "out" / "configs" / "empty.json").stat().st_mode & 0o777 == 0o600


def test_a_pull_through_the_controller_samples_as_it_is_told(pinot: RunningPinot, tmp_path: Path) -> None:
    found = pull(
        pinot, tmp_path / "out", "--tables", "airlineStats", "--sampled-segments", "3", "--window-rows", "900"
    )
    (note,) = found["tables"]["airlineStats"]
    assert (note["segments"], note["all_segments"], note["sampled_segments"]) == (31, 31, 3)
    assert 600 < note["pulled_rows"] <= 900
    told = starskip(
        *("tune", "--log", LOG, "--segments", tmp_path / "out" / "segments", "--tables", "airlineStats"),
        *("--index", "inverted"),
    )
    assert "airlineStats_OFFLINE was pulled from a live Pinot: 31 segments, and" in told.stderr
    again = pull(pinot, tmp_path / "out", "--tables", "airlineStats", "--sampled-segments", "4")
    assert again["tables"]["airlineStats"][0]["sampled_segments"] == 4


def test_what_may_not_be_read_is_named_and_the_rest_pulled(pinot: RunningPinot, tmp_path: Path) -> None:
    told = starskip(
        *("pinot", "pull", "--controller", pinot.controller_url, "--out", tmp_path / "out"),
        *("--tables", "lineitem,airlineStats"),
        user=READER,
    )
    assert told.returncode == 3
    assert "table airlineStats: Pinot's controller" in told.stderr
    assert "have not the right GetTableConfig (READ)" in told.stderr
    assert "lineitem_OFFLINE was pulled" in told.stdout
    wrong = starskip(
        *("pinot", "pull", "--controller", pinot.controller_url, "--out", tmp_path / "none"),
        user=User("admin", "wrong-SECRET"),
    )
    assert wrong.returncode == 3
    assert len(wrong.stderr.splitlines()) == 1
    assert "the credentials are wrong" in wrong.stderr
    assert not (tmp_path / "none").exists()
    assert "SECRET" not in told.stderr + told.stdout + wrong.stderr


def test_a_folder_of_somebody_else_is_left_alone(pinot: RunningPinot, tmp_path: Path) -> None:
    kept = tmp_path / "segments" / "lineitem" / "mine.tar.gz"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"mine")
    told = starskip(
        *("pinot", "pull", "--controller", pinot.controller_url, "--out", tmp_path, "--tables", "lineitem")
    )
    assert told.returncode == 3
    assert "holds files that no pull has written" in told.stderr
    assert kept.read_bytes() == b"mine"


def test_a_pull_that_is_killed_leaves_the_last_one(pinot: RunningPinot, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pull(pinot, out, "--tables", "airlineStats")
    began = time.monotonic()
    pull(pinot, out, "--tables", "airlineStats")
    whole = time.monotonic() - began
    before = _contents(out)
    environment = {**os.environ, "STARSKIP_PINOT_USER": ADMIN.name, "STARSKIP_PINOT_PASSWORD": ADMIN.password}
    command = [STARSKIP, "pinot", "pull", "--controller", pinot.controller_url, "--out", str(out)]
    for part in (0.5, 0.7, 0.9):
        with subprocess.Popen([*command, "--tables", "airlineStats"], env=environment) as running:
            time.sleep(part * whole)
            running.send_signal(signal.SIGKILL)
        assert _contents(out) == before
        assert len(list_segments(out / "segments", ["airlineStats"])) == 31
    pull(pinot, out, "--tables", "airlineStats")
    assert [each.name for each in (out / "segments").iterdir()] == ["airlineStats"]


def _contents(out: Path) -> Mapping[str, int]:
    return {each.name: len(each.read_bytes()) for each in (out / "segments" / "airlineStats").iterdir()}


def test_our_queries_are_marked_in_the_brokers_log(pinot: RunningPinot, pulled: Path) -> None:
    lines = [line for line in pinot.query_log.decode().splitlines() if "segmentName" in line]
    assert len(lines) > 35, pulled
    assert all("/* starskip: replay */" in line for line in lines)


def test_a_dead_broker_leaves_what_was_pulled(pinot: RunningPinot, pulled: Path) -> None:
    before = [each.name for each in (pulled / "segments" / "lineitem").iterdir()]
    broker = pinot.processes["broker"]
    broker.kill()
    try:
        told = starskip(
            *("pinot", "pull", "--controller", pinot.controller_url, "--broker", pinot.broker_url),
            *("--out", pulled, "--tables", "lineitem,airlineStats"),
        )
    finally:
        broker.start()
        broker.wait()
    assert told.returncode == 1
    assert [line.partition(": POST")[0] for line in told.stderr.splitlines()] == [
        f"starskip: table {table}: Pinot's broker {pinot.broker_url}"
        for table in ("lineitem", "airlineStats")
    ]
    assert sorted(before) == sorted(each.name for each in (pulled / "segments" / "lineitem").iterdir())
