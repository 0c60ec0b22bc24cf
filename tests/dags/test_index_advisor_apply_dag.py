"""The DAG that applies approved advice, without running it, and what it finds to do."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.ledger import add_entries
from starskip.advisor.run.night import Night
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

NOW = datetime(2026, 11, 19, tzinfo=UTC)


@pytest.fixture
def apply_dag(dag_bag: Any) -> Any:
    return dag_bag.dags["index_advisor_apply"]


def test_one_table_is_applied_at_a_time(apply_dag: Any) -> None:
    assert [task.task_id for task in apply_dag.topological_sort()] == ["approved_tables", "apply_table"]
    mapped = apply_dag.get_task("apply_table")
    assert mapped.is_mapped
    assert mapped.max_active_tis_per_dag == 1
    assert apply_dag.max_active_runs == 1
    assert mapped.pool == "index_advisor_apply"
    assert set(apply_dag.params) == {"tables", "realtime_tables"}


def test_a_dag_file_names_the_pool(dag_bag: Any) -> None:
    from starskip.airflow import index_advisor_apply_dag

    dag = index_advisor_apply_dag("night.yaml", dag_id="own", schedule=None)
    assert dag.get_task("apply_table").pool == "default_pool"


def test_only_tables_with_something_to_do_are_found(tmp_path: Path) -> None:
    from starskip.advisor.deployment.apply_approved import approved_tables

    store = ArtefactStore(LocalStorage(tmp_path))

    def say(table: str, event: Event) -> None:
        index = AdvisedIndex("inverted", ("city",), {"tableIndexConfig": {"invertedIndexColumns": ["city"]}})
        entry = LedgerEntry(table, NOW, "ann", event, index, "2026-11-18")
        add_entries(store, [entry], created_at=NOW, created_by="test")

    for table, event in (
        ("approved", Event.APPROVED),
        ("done", Event.APPROVED),
        ("done", Event.KEPT),
        ("rejected", Event.REJECTED),
        ("other", Event.APPROVED),
    ):
        say(table, event)
    night = Night(date(2026, 11, 18), store, Settings(), NOW, "test")
    assert approved_tables(night) == ["approved", "other"]
    asked = Night(date(2026, 11, 18), store, Settings(), NOW, "test", tables=frozenset({"other"}))
    assert approved_tables(asked) == ["other"]
