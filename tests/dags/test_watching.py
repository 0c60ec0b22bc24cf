"""Metrics, datasets of OpenLineage and assets of Airflow that tasks of a night tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from noted_submit import DONE
from starskip.advisor.run.gate_verdicts import GateCheck, GateVerdict, publish_verdicts
from starskip.advisor.run.night import Night
from starskip.settings import Settings
from starskip.storage.artefact_store import SCHEMAS, ArtefactStore, Experiment
from starskip.storage.local_storage import LocalStorage
from starskip.storage.manifest import Part

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

BEGUN = datetime(2026, 11, 21, 2, tzinfo=UTC)


@pytest.fixture
def night(dag_bag: Any, tmp_path: Path) -> Night:
    """A night without artefacts; ``dag_bag`` has given Airflow a home of its own."""
    store = ArtefactStore(LocalStorage(tmp_path))
    return Night(
        date(2026, 11, 20), store, Settings(), BEGUN, "scheduled__1", segments_root="s3://b/segments"
    )


class Sent(list[tuple[Any, ...]]):
    """A backend of Airflow's stats that keeps what it is sent, and can be out of order."""

    is_broken = False

    def __getattr__(self, kind: str) -> Callable[..., None]:
        def send(name: str, *values: Any, tags: Any = None, **more: Any) -> None:
            if self.is_broken:
                raise OSError("the agent is gone")
            self.append((kind, name, *values, *more.values(), tags))

        return send


@pytest.fixture
def sent(dag_bag: Any) -> Any:
    from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
    from airflow.sdk.observability.stats import Stats

    backend = Sent()
    Stats.initialize(factory=lambda: backend, export_legacy_names=False)
    yield backend
    Stats.initialize(factory=NoStatsLogger, export_legacy_names=False)


def publish(night: Night, artefact: str, rows: dict[str, list[dict[str, Any]]]) -> int:
    """Publish rows by table; return the bytes of the first table's rows."""
    staged = night.store.staged_write(artefact, night.date_text)
    schema = SCHEMAS[artefact]
    parts = {
        table: Part(staged.write(table, pa.Table.from_pylist(of_table, schema=schema)))
        for table, of_table in rows.items()
    }
    night.publish(artefact, parts)
    return sum(file.size_bytes for file in next(iter(parts.values())).files)


def test_rows_and_bytes_of_a_group_are_those_that_its_stage_published(night: Night, sent: Sent) -> None:
    from starskip.airflow.watching import watched_stage

    size_bytes = publish(night, "votes", {"orders": [{}, {}], "nation": [{}]})
    receipt = replace(DONE, stage="score_votes", engine="spark", jvm_peak_memory_bytes=5)
    data = watched_stage(replace(night, tables=frozenset({"orders"})), receipt, "nightly")
    assert data is not None
    place = night.store.storage.place
    assert data.read == ["s3://b/segments", f"{place}/queries"]
    assert data.written == [(f"{place}/votes", 2, size_bytes)]
    tags = {"stage": "score_votes", "engine": "spark", "dag_id": "nightly"}
    assert sent == [
        ("timing", "starskip.stage.duration", timedelta(seconds=receipt.seconds), tags),
        ("gauge", "starskip.stage.peak_memory_bytes", receipt.peak_memory_bytes + 5, tags),
        ("incr", "starskip.stage.rows", 2, tags),
        ("incr", "starskip.stage.bytes", size_bytes, tags),
    ]


def test_metrics_that_cannot_be_sent_are_a_warning(
    night: Night, sent: Sent, capsys: pytest.CaptureFixture[str]
) -> None:
    from starskip.airflow.watching import watched_stage

    sent.is_broken = True
    assert watched_stage(night, replace(DONE, stage="write_report"), "nightly") is None
    said = capsys.readouterr().out
    assert "write_report: warning: no metrics and no lineage: the agent is gone" in said


def test_an_experiment_is_measured_and_stands_in_no_lineage(night: Night, sent: Sent) -> None:
    from starskip.airflow.watching import watched_stage

    aside = replace(night, store=replace(night.store, experiment=Experiment(night.date_text, "x")))
    assert watched_stage(aside, replace(DONE, stage="write_report"), "nightly") is None
    assert len(sent) == 4


@pytest.mark.parametrize(
    ("paths", "read"),
    [
        (["/logs/broker-{run_date}.log.gz", "/logs/older.log"], ["/logs", "/logs/older.log"]),
        (["s3://b/{run_date}/*.log", "/data/*/broker"], ["s3://b", "/data"]),
        (["/*.log"], ["/"]),
    ],
)
def test_logs_are_told_by_the_folder_that_does_not_change_by_day(
    night: Night, sent: Sent, paths: list[str], read: list[str]
) -> None:
    from starskip.airflow.watching import watched_stage

    receipt = replace(DONE, stage="parse_query_logs")
    data = watched_stage(replace(night, log_paths=paths), receipt, "nightly")
    assert data is not None
    assert data.read == read


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("/data/night/votes", ("file", "/data/night/votes")),
        ("file:///data/logs", ("file", "/data/logs")),
        ("s3://bucket/night/votes", ("s3://bucket", "night/votes")),
        ("s3://key:secret@bucket", ("s3://bucket", "/")),
    ],
)
def test_datasets_are_named_as_openlineage_names_them(
    dag_bag: Any, place: str, name: tuple[str, str]
) -> None:
    from starskip.airflow.watching import dataset_name

    assert dataset_name(place) == name


def advise(night: Night, **tables: dict[str, float]) -> None:
    """Publish advice whose every answer is an index of that name and saving."""
    combined = {"saving_ratio": 0.5, "interval": [0.4, 0.6]}
    parts = {}
    for table, indexes in tables.items():
        answers = [
            {"family": "star_tree", "columns": [name], "saving_ratio": r} for name, r in indexes.items()
        ]
        parts[table] = Part((), {"answers": answers, "queries": 1, "combined": combined})
    night.publish("recommendations", parts)


def told(night: Night, *tables: str, run_type: str = "scheduled") -> dict[str, Any]:
    """Return the assets of which Airflow is told, with what is told of each."""
    from airflow.sdk.execution_time.context import OutletEventAccessors
    from starskip.airflow.advice_assets import advice_alias, tell_assets

    run = SimpleNamespace(dag_id="nightly", run_type=run_type)
    events = OutletEventAccessors()
    found = tell_assets({"dag_run": run, "outlet_events": events}, night, tables)
    of_alias = events[advice_alias("nightly")].asset_alias_events
    assert len(of_alias) == found
    assert all(each.dest_asset_key.name == each.dest_asset_key.uri for each in of_alias)
    return {each.dest_asset_key.uri: each.extra for each in of_alias}


def test_advice_is_told_of_tables_that_passed_and_have_a_new_index(night: Night) -> None:
    advise(replace(night, run_date=date(2026, 11, 19)), known={"a": 0.3}, grown={"a": 0.3})
    advise(night, known={"a": 0.3}, grown={"a": 0.3, "b": 0.2}, stopped={"a": 0.9}, **{"a b/ü": {"a": 0.1}})
    found = told(night, "known", "grown", "a b/ü")
    assert list(found) == ["starskip://nightly/a%20b%2F%C3%BC/advice", "starskip://nightly/grown/advice"]
    assert json.loads(json.dumps(found["starskip://nightly/grown/advice"])) == {
        "run_date": "2026-11-20",
        "saving_ratio": 0.5,
        "low": 0.4,
        "high": 0.6,
        "chosen": 2,
        "new": 1,
        "new_saving_ratio": 0.2,
    }


def test_the_nights_before_are_asked_for_once_however_many_tables_there_are(night: Night) -> None:
    counting = CountingStorage(night.store.storage)
    night = replace(night, store=ArtefactStore(counting))
    requests = []
    for count in (2, 20):
        tables = {f"t{number}": {"a": 0.3} for number in range(count)}
        advise(replace(night, run_date=date(2026, 11, 17)), **tables)
        advise(night, **{table: {"a": 0.3, "b": 0.2} for table in tables})
        counting.calls.clear()
        assert len(told(night, *tables)) == count
        counting.calls.pop("arrow_filesystem")  # the rows of each table
        requests.append(counting.calls.copy())
    assert requests[0] == requests[1]


def test_nothing_is_told_of_an_experiment_a_backfill_and_an_older_night(night: Night) -> None:
    aside = replace(night, store=replace(night.store, experiment=Experiment(night.date_text, "x")))
    advise(aside, orders={"a": 0.3})
    assert told(aside, "orders") == {}
    advise(night, orders={"a": 0.3})
    assert told(night, "orders", run_type="backfill") == {}
    assert list(told(night, "orders")) == ["starskip://nightly/orders/advice"]
    advise(replace(night, run_date=date(2026, 11, 21)), orders={"a": 0.3})
    assert told(night, "orders") == {}


def test_an_index_is_told_that_was_built_or_refreshed_and_whose_table_passed_its_gates(night: Night) -> None:
    tree = json.dumps({"dimensionsSplitOrder": ["city", "day"]})
    publish(
        night,
        "star_tree_builds",
        {
            "orders": [{"table": "orders", "config": tree, "outcome": "built", "size_bytes": 7}],
            "failed": [{"table": "failed", "config": tree, "outcome": "built", "size_bytes": 7}],
        },
    )
    rows = {"minmax:day": "refreshed", "bloom:city": "unchanged", "valuelist:city": "failed"}
    skipping = [{"table": "orders", "index": index, "outcome": said} for index, said in rows.items()]
    publish(night, "skipping_builds", {"orders": skipping})
    checks = (GateCheck("verify_indexes", "equal", False, "1", "0"),)
    publish_verdicts(night, "verify_indexes", [GateVerdict("failed", "verify_indexes", checks)])
    assert told(night, "orders", "failed") == {
        "starskip://nightly/orders/star_tree/city,day": {
            "run_date": "2026-11-20",
            "outcome": "built",
            "size_bytes": 7,
        },
        "starskip://nightly/orders/skipping/minmax:day": {
            "run_date": "2026-11-20",
            "outcome": "refreshed",
            "size_bytes": None,
        },
    }


def test_the_last_gate_of_the_night_tells_the_assets(nightly: Any) -> None:
    outlets = {each.task_id: [outlet.name for outlet in each.outlets] for each in nightly.tasks}
    told = {task: names for task, names in outlets.items() if names}
    assert told == {"check_write_report": ["starskip://index_advisor_nightly"]}
