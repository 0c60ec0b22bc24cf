"""Retention of a night's artefacts: which are kept by days, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from starskip.advisor.run.stages import STAGES
from starskip.night.expire_snapshots import kept_days
from starskip.settings import Settings
from starskip.storage.artefact_store import SCHEMAS

ALL = {name for stage in STAGES for name in (stage.artefact, *stage.beside)}
HOLD_QUERIES = {"queries", "rejected_records", "workload", "lake_queries"}


def names_in(fields: Any) -> Iterator[str]:
    """Yield the names of columns and of the fields in them."""
    for field in fields:
        yield field.name
        kind = field.type
        while pa.types.is_list(kind):
            kind = kind.value_type
        if pa.types.is_struct(kind):
            yield from names_in(kind)


def test_all_that_hold_queries_are_kept_by_days() -> None:
    kept = kept_days(Settings())
    assert kept.keys() <= ALL
    assert kept.keys() >= HOLD_QUERIES
    texts = {"query_text", "text", "description", "predicate"}
    assert {name for name in ALL & SCHEMAS.keys() if texts & set(names_in(SCHEMAS[name]))} == HOLD_QUERIES


@pytest.mark.parametrize(("workload_days", "expected"), [(3, 7), (90, 90)])
def test_nights_that_are_looked_back_at_stay(workload_days: int, expected: int) -> None:
    settings = Settings().changed({"retention.workload_days": workload_days, "retention.query_days": 2})
    assert settings.workload.look_back_nights == 7
    kept = kept_days(settings)
    assert {kept[name] for name in ("workload", "votes", "lake_queries")} == {expected}
    assert {kept[name] for name in ("queries", "rejected_records", "table_facts")} == {2}
