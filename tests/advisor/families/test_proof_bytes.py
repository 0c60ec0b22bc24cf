"""Bytes that a family's proof may read of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from settings_with import settings_with
from starskip.advisor.families.proof_bytes import proof_bytes
from starskip.lake.lake_table import LakeTable
from starskip.storage.manifest import Part


def publish(night: Any, artefact: str, *outcomes: str) -> None:
    schema = night.store.schemas[artefact]
    rows = [dict.fromkeys(schema.names) | {"table": "sales", "outcome": outcome} for outcome in outcomes]
    written = night.store.staged_write(artefact, night.date_text).write(
        "sales", pa.Table.from_pylist(rows, schema)
    )
    night.publish(artefact, {"sales": Part(written)})


@pytest.mark.parametrize(("tables", "expected"), [(1, 60), (2, 50), (4, 25), (200, 0)])
def test_the_nights_budget_is_shared_by_all_lake_tables_whichever_group_they_are_in(
    tree_house: Any, tables: int, expected: int
) -> None:
    night = replace(
        tree_house.night,
        settings=settings_with(proof_table_bytes=60, proof_night_bytes=100),
        lake_tables={f"t{number}": LakeTable("/lake") for number in range(tables)},
        tables=frozenset({"t0"}),
    )
    assert proof_bytes(night, "t0") == expected


def test_a_tables_budget_is_shared_by_the_families_that_have_indexes_on_it(tree_house: Any) -> None:
    night = replace(tree_house.night, settings=settings_with(proof_table_bytes=60))
    publish(night, "star_tree_builds", "failed", "built")
    assert proof_bytes(night, "sales") == 60
    publish(night, "skipping_builds", "by_hand")
    publish(night, "secondary_builds", "deleted", "not_built")
    assert proof_bytes(night, "sales") == 30
    publish(night, "secondary_builds", "unchanged")
    assert proof_bytes(night, "sales") == 20
    assert proof_bytes(night, "another") == 60
