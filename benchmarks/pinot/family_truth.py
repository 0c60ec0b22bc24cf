"""Measure FST indexes and bloom filters on a real Pinot 0.11: writes tests/data/truth/families.

    .venv/bin/python benchmarks/pinot/family_truth.py

A small table: ``id`` without a dictionary, other ids in each segment; ``page``, texts asked by patterns.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from pinot.running_pinot import RunningPinot, pinot_jars  # noqa: E402 - benchmarks are no package

TABLE = "visits"
SEGMENTS, ROWS, IDS = 5, 400, 60
WRITTEN = ROOT / "tests" / "data" / "truth" / "families"
SCHEMA = {
    "schemaName": TABLE,
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "STRING"},
        {"name": "page", "dataType": "STRING"},
        {"name": "city", "dataType": "INT"},
    ],
    "dateTimeFieldSpecs": [
        {"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}
    ],
}
FST = {"name": "page", "encodingType": "DICTIONARY", "indexTypes": ["FST"]}
SETS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "bloom:id": {"bloomFilterColumns": ["id"]},
    "inverted:page": {"invertedIndexColumns": ["page"]},
    "fst alone": {"fieldConfigList": [FST]},
    "fst:page": {"invertedIndexColumns": ["page"], "fieldConfigList": [FST]},
}


def config(indexes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table config with these indexes."""
    of_columns = {key: value for key, value in indexes.items() if key != "fieldConfigList"}
    return {
        "tableName": TABLE,
        "tableType": "OFFLINE",
        "segmentsConfig": {"timeColumnName": "day", "replication": "1", "schemaName": TABLE},
        "tenants": {},
        "metadata": {},
        "tableIndexConfig": {"loadMode": "MMAP", "noDictionaryColumns": ["id"], **of_columns},
        "fieldConfigList": indexes.get("fieldConfigList", []),
    }


def segment_rows(number: int) -> list[tuple[str, str, int, int]]:
    """Return the rows of a segment; all segments have ids between the same ends."""
    draw = random.Random(number)
    ids = ["u000000", "uffffff", *(f"u{draw.getrandbits(24):06x}" for _ in range(IDS))]
    return [
        (
            ids[row] if row < 2 else draw.choice(ids),
            f"/shop/{draw.choice('abcdefgh')}{draw.randrange(30)}/{draw.choice(('view', 'buy'))}",
            draw.randrange(8),
            19_000 + number,
        )
        for row in range(ROWS)
    ]


def queries(rows: Sequence[Sequence[tuple[str, str, int, int]]]) -> list[str]:
    """Return the filters that are asked, as whole queries."""
    ids = [of_segment[7][0] for of_segment in rows]
    eleven = [f"'u{number:06x}'" for number in range(1, 12)]
    filters = [
        *(f"id = '{each}'" for each in ids[:3]),
        "id = 'u123456'",
        f"id IN ('{ids[0]}', '{ids[3]}')",
        f"id IN ({', '.join(eleven)})",
        f"id = '{ids[1]}' AND city = 3",
        f"city = 3 AND id = '{ids[1]}'",
        f"id = '{ids[1]}' OR city = 3",
        f"id <> '{ids[1]}'",
        f"id IN ('{ids[0]}', '{ids[3]}') AND city < 4 AND page LIKE '/shop/a%'",
        "page LIKE '/shop/a1%'",
        "page LIKE '%/buy'",
        "REGEXP_LIKE(page, 'b[0-9]+/view')",
        "NOT page LIKE '%/buy'",
        "page LIKE '%/buy' AND city = 3",
        "page LIKE '/shop/a1%' OR city = 3",
        "page = '/shop/a1/buy'",
        "page = '/shop/a1/buy' OR page LIKE '/shop/c%'",
    ]
    return [f"SELECT COUNT(*) FROM {TABLE} WHERE {each}" for each in filters]


def main() -> None:
    """Load the table, ask each query under each set, and write what was read."""
    rows = [segment_rows(number) for number in range(SEGMENTS)]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with RunningPinot(pinot_jars(), folder, "1g") as pinot:
            pinot.create_table(SCHEMA, config({}))
            (WRITTEN / "segments" / TABLE).mkdir(parents=True, exist_ok=True)
            for number, of_segment in enumerate(rows):
                file = folder / f"{number}.csv"
                with file.open("w", newline="") as out:
                    csv.writer(out).writerows([("id", "page", "city", "day"), *of_segment])
                name = pinot.ingest_csv(TABLE, file)
                tar = WRITTEN / "segments" / TABLE / f"{TABLE}_{number}.tar.gz"
                tar.write_bytes(pinot.segment_tar(TABLE, name))
            pinot.wait_for_rows(TABLE, SEGMENTS * ROWS)
            asked = queries(rows)
            document: dict[str, Any] = {"queries": asked, "entries": {}, "bytes": {}, "rows": {}}
            for name, indexes in SETS.items():
                pinot.change_tables([config(indexes)])
                answers = [pinot.ask(sql) for sql in asked]
                document["entries"][name] = [each.entries_in_filter for each in answers]
                document["rows"][name] = [each.rows[0][0] for each in answers]
                document.setdefault("segments", {})[name] = [each.segments_processed for each in answers]
                document["bytes"][name] = index_bytes(pinot)
    (WRITTEN / "entries.json").write_text(json.dumps(document, indent=1) + "\n")


def index_bytes(pinot: RunningPinot) -> dict[str, int]:
    """Return the bytes of the indexes of the server's segments, summed."""
    found: dict[str, int] = {}
    for text in pinot.index_maps(TABLE).values():
        for line in text.decode().splitlines():
            key, _, value = line.partition(" = ")
            if key.endswith(".size"):
                found[key.removesuffix(".size")] = found.get(key.removesuffix(".size"), 0) + int(value)
    return found


if __name__ == "__main__":
    main()
