"""Nights over one small table of the lake, whose queries stand in a log of our own JSON events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from query_events import query_events
from skip_choice import Advised, advise_skipping_alone
from skipping_tables import aged
from starskip.advisor.families.skipping.refresh_skipping_indexes import refresh_skipping_indexes
from starskip.advisor.families.skipping.verify_skipping import publish_skipping_verdicts
from starskip.advisor.run.night import Night, StageResult
from starskip.lake.lake_table import LakeTable
from starskip.night.lake_logs import publish_lake_queries
from starskip.night.stage_functions import stage_function
from starskip.settings import Settings
from starskip.spark.spark_engine import SparkEngine
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for

DAY = date(2026, 11, 20)
FILES, ROWS = 12, 400
BIGINT = "bigint"


def call(name: str, *arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": list(arguments)}


def column(name: str, data_type: str = BIGINT) -> dict[str, Any]:
    return {"column": [name], "type": data_type}


def literal(value: Any, data_type: str = BIGINT) -> dict[str, Any]:
    return {"literal": value, "type": data_type}


def id_between(low: int, high: int) -> dict[str, Any]:
    bounds = (
        call("GreaterThanOrEqual", column("id"), literal(low)),
        call("LessThan", column("id"), literal(high)),
    )
    return call("And", *bounds)


def customer_is(value: int) -> dict[str, Any]:
    return call("EqualTo", column("customer"), literal(value))


@dataclass
class SkippingNights:
    """``events``: the predicates that are asked in a day, and how often."""

    root: Path
    spark: SparkSession
    settings: Settings = field(default_factory=Settings)

    @property
    def lake(self) -> Path:
        return self.root / "lake" / "sales"

    def write_files(self, first: int = 0, files: int = FILES) -> None:
        """Write files ``first`` and on: ids rise from file to file, customers are spread over all."""
        self.lake.mkdir(parents=True, exist_ok=True)
        for number in range(first, first + files):
            random = np.random.default_rng(number)
            rows = pa.table(
                {
                    "id": np.arange(number * ROWS, (number + 1) * ROWS),
                    "customer": random.integers(0, 20_000, ROWS),
                    "note": [f"n{value}" for value in random.integers(0, 9, ROWS)],
                }
            )
            pq.write_table(rows, self.lake / f"part-{number:03}.parquet")
        aged(self.lake)

    def log(self, predicates: Sequence[dict[str, Any]], day: date = DAY) -> None:
        """Write the log of a day, in which each predicate was asked of the whole table."""
        folder = self.root / "events"
        folder.mkdir(exist_ok=True)
        (folder / f"log-{day}").write_text(query_events(self.lake, predicates, day))

    def night(self, day: date = DAY, **changes: Any) -> Night:
        night = Night(
            run_date=day,
            store=ArtefactStore(storage_for(str(self.root / "artefacts"))),
            settings=self.settings,
            started_at=datetime.now(UTC),
            run_id="test",
            lake_tables={"sales": LakeTable(str(self.lake))},
            event_log_paths=[str(self.root / "events")],
        )
        return replace(night, **changes)

    @property
    def engine(self) -> SparkEngine:
        return SparkEngine(self.spark)

    def advise(self, night: Night, tables: Sequence[str] = ("sales",)) -> Advised:
        """Read the log and choose."""
        night.publish("table_facts", {table: Part(()) for table in tables})
        publish_lake_queries(
            self.engine, night, night.store.staged_write("rejected_records", night.date_text)
        )
        return advise_skipping_alone(self.engine, night, tables)

    def build(self, night: Night) -> StageResult:
        return refresh_skipping_indexes(self.engine, night)

    def verify(self, night: Night) -> StageResult:
        return publish_skipping_verdicts(self.engine, night)

    def stage(self, name: str, night: Night) -> StageResult:
        stage = stage_function(name)
        result: StageResult = stage(self.engine, night)
        return result

    def report(self, night: Night, table: str = "sales") -> dict[str, Any]:
        snapshot = night.store.snapshot("reports", night.date_text)
        assert snapshot is not None
        (file,) = [each for each in snapshot.parts()[table].files if each.file_name == "report.json"]
        found: dict[str, Any] = json.loads(snapshot.read_file(file))
        return found

    def run(self, night: Night | None = None) -> Night:
        """Advise and build."""
        night = night or self.night()
        self.advise(night)
        self.build(night)
        return night

    def rows(self, artefact: str, night: Night, table: str = "sales") -> list[dict[str, Any]]:
        snapshot = night.store.snapshot(artefact, night.date_text)
        assert snapshot is not None
        found: list[dict[str, Any]] = snapshot.read_table([table]).to_pylist()
        return found

    def properties(self, artefact: str, night: Night, table: str = "sales") -> dict[str, Any]:
        snapshot = night.store.snapshot(artefact, night.date_text)
        assert snapshot is not None
        return dict(snapshot.parts([table])[table].properties)

    def chosen(self, night: Night) -> list[str]:
        found = [row for row in self.rows("skipping_advice", night) if row["verdict"] == "chosen"]
        return [row["index"] for row in sorted(found, key=lambda row: row["rank"])]

    def outcomes(self, night: Night) -> dict[str, str]:
        return {row["index"]: row["outcome"] for row in self.rows("skipping_builds", night)}


def next_day(days: int = 1) -> date:
    return DAY + timedelta(days=days)
