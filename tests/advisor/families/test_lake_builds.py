"""The indexes that earlier nights made: found by the last night that tells, not by all that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from memory_storage import MemoryStorage
from starskip.advisor.families.lake_builds import ChosenIndexes, LakeBuilds, TableBuild, publish_builds
from starskip.advisor.run.night import Night
from starskip.errors import MissingExtra, SourceError
from starskip.lake.lake_table import LakeTable
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part

STAGE, ADVICE, BUILDS = "refresh_secondary_indexes", "secondary_advice", "secondary_builds"
FIRST = date(2026, 1, 1)


@dataclass
class House:
    """Nights of lake tables whose indexes are names in ``present``; the day of the next night is ``day``."""

    storage: CountingStorage = field(default_factory=lambda: CountingStorage(MemoryStorage()))
    day: date = FIRST
    present: dict[str, list[str]] = field(default_factory=dict)
    error: Exception | None = None

    @property
    def store(self) -> ArtefactStore:
        return ArtefactStore(self.storage)

    def run(self, chosen: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
        """Build what a night has chosen; return the outcomes by table and index."""
        at = datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC) + timedelta(days=1)
        lake = {table: LakeTable(f"/lake/{table}") for table in chosen}
        night = Night(self.day, self.store, Settings(), at, "test", lake_tables=lake).read_once()
        schema, aside = night.store.schemas[ADVICE], night.store.staged_write(ADVICE, night.date_text)
        parts = {}
        for table, names in chosen.items():
            rows = [
                dict.fromkeys(schema.names)
                | {"table": table, "verdict": "chosen", "rank": rank, "index": each}
                for rank, each in enumerate(names)
            ]
            parts[table] = Part(aside.write(table, pa.Table.from_pylist(rows, schema)), {"note": None})
        night.publish("table_facts", {table: Part(()) for table in chosen})
        night.publish(ADVICE, parts)
        self.storage.calls.clear()
        publish_builds(
            night, LakeBuilds("refresh_secondary_indexes", ADVICE, BUILDS, "indexes", str, self.build)
        )
        self.day += timedelta(days=1)
        snapshot = night.store.snapshot(BUILDS, night.date_text)
        assert snapshot is not None
        return {
            table: {row["index"]: row["outcome"] for row in snapshot.read_table([table]).to_pylist()}
            for table in chosen
        }

    def build(self, of: ChosenIndexes) -> TableBuild:
        if self.error is not None:
            raise self.error
        active = self.present.get(of.table, [])
        self.present[of.table] = of.wanted(active)
        return TableBuild(of.rows(active, is_changed=False, facts=lambda _: {}), {"note": of.note})


@pytest.fixture
def house() -> House:
    return House()


def test_an_index_stays_the_nights_own_while_builds_fail_and_runs_are_killed(house: House) -> None:
    house.present = {"sales": ["btree:by_hand"]}
    assert house.run({"sales": ["btree:a"]})["sales"] == {"btree:a": "created", "btree:by_hand": "by_hand"}
    for error, outcome in [
        (SourceError("the files are gone", source="sales"), "failed"),
        (MissingExtra("a library is missing", extra="lake"), "not_built"),
    ]:
        house.error = error
        assert house.run({"sales": ["btree:b"]})["sales"] == {"btree:b": outcome}
    house.error = None
    house.store.staged_write(BUILDS, house.day.isoformat()).write_file("sales", "f", b"killed")
    house.day += timedelta(days=1)
    house.run({"orders": []})
    expected = {"btree:a": "deleted", "btree:b": "created", "btree:by_hand": "by_hand"}
    assert house.run({"sales": ["btree:b"]})["sales"] == expected
    # What a person makes again under the name of an index that the night has deleted is the person's.
    house.present["sales"].append("btree:a")
    assert house.run({"sales": []})["sales"] == {
        "btree:a": "by_hand",
        "btree:b": "deleted",
        "btree:by_hand": "by_hand",
    }


@pytest.mark.parametrize("error", [None, SourceError("the files are gone", source="t")])
def test_tables_without_an_index_of_the_nights_cost_no_more_after_many_nights(
    house: House, error: Exception | None
) -> None:
    chosen = {f"t{number}": ["btree:a"] if error else [] for number in range(5)}
    house.error = error
    house.run(chosen)
    house.run(chosen)
    second = house.storage.calls.copy()
    for _ in range(20):
        house.run(chosen)
    assert house.storage.calls == second
    assert second["folders_in"] == 2 and second["objects_below"] <= 20
