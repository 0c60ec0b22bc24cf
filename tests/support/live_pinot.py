"""A real Pinot with the sample's tables, one of all data types, one without rows, and three users."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pinot.running_pinot import RunningPinot, User, pinot_jars
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_segment_facts

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
JARS = Path("~/.cache/starskip/pinot-0.11.0")
ADMIN = User("admin", "admin-SECRET")
READER = User("reader", "reader-SECRET", tables="lineitem,lineitem_OFFLINE", permissions="read")
TYPES = {
    "INT": "1",
    "LONG": "5000000000",
    "FLOAT": "0.1",
    "DOUBLE": "-1.5e300",
    "BOOLEAN": "true",
    "TIMESTAMP": "1577836800123",
    "STRING": 'it\'s, "so"',
    "JSON": '{"a": 1}',
    "BYTES": "00ff",
    "BIG_DECIMAL": "12345678901234567890.25",
}
"""A value of each; the last type is one of metrics alone."""
WORDS = ("select", "a.b", 'quo"te')
"""Names of columns that SQL takes in quotes alone."""


@contextmanager
def sample_pinot(folder: Path) -> Iterator[RunningPinot]:
    """Run Pinot with these tables, until the end; its data lie in ``folder``."""
    jars = pinot_jars(JARS.expanduser())
    with RunningPinot(jars, folder, "768m", users=(ADMIN, READER)) as running:
        for table in ("lineitem", "airlineStats"):
            config = SAMPLE / "config" / f"{table}_table.json"
            running.create_table(_read(SAMPLE / "config" / f"{table}_schema.json"), _read(config))
            files = list_segments(SAMPLE / "segments", [table])
            for file in files:
                running.upload_segment(table, Path(file.path))
            running.wait_for_rows(table, sum(read_segment_facts(file).rows for file in files))
        _make_odd_tables(running, folder)
        yield running


def _read(file: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(file.read_text())
    return found


def _make_odd_tables(running: RunningPinot, folder: Path) -> None:
    *fields, exact = [{"name": f"of-{kind}", "dataType": kind} for kind in TYPES]
    several = [{"name": "several", "dataType": "INT", "singleValueField": False}]
    words = [{"name": name, "dataType": "STRING"} for name in WORDS]
    schema = {
        "schemaName": "types",
        "dimensionFieldSpecs": [*fields, *several, *words],
        "metricFieldSpecs": [exact],
    }
    config = {
        "tableName": "types",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1", "schemaName": "types"},
        "tenants": {},
        "tableIndexConfig": {
            "loadMode": "MMAP",
            "nullHandlingEnabled": True,
            "noDictionaryColumns": ["of-LONG"],
            "invertedIndexColumns": ["of-STRING"],
        },
        "metadata": {},
        "ingestionConfig": {"batchIngestionConfig": {"segmentIngestionType": "APPEND"}},
    }
    running.create_table(schema, config)
    rows = folder / "types.csv"
    names = [*(f"of-{kind}" for kind in TYPES), "several", *WORDS]
    full = [*TYPES.values(), "1;2;2", *"xyz"]
    missing = ["" for _ in names]
    rows.write_text("".join(_csv(each) for each in (names, *[full] * 3, missing)))
    running.ingest_csv("types", rows)
    running.wait_for_rows("types", 4)
    empty = {**config, "tableName": "empty", "segmentsConfig": {"replication": "1", "schemaName": "empty"}}
    empty["tableIndexConfig"] = {"loadMode": "MMAP"}
    running.create_table({**schema, "schemaName": "empty"}, empty)


def _csv(cells: list[str]) -> str:
    quoted = ('"' + cell.replace('"', '""') + '"' if cell else "" for cell in cells)
    return ",".join(quoted) + "\n"
