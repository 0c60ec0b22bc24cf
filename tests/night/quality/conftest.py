"""One good night over the sample, made once, and copies of it in which one thing is spoilt."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from charts_drawn_once import charts_drawn_once
from gate_checks import failed_checks, import_great_expectations, remove_check
from settings_with import settings_with
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGES, stage_named
from starskip.execution.local_engine import LocalEngine
from starskip.night.quality.check_stage import gates_after
from starskip.night.stage_functions import stage_function
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for

SAMPLE = Path(__file__).parents[3] / "include" / "sample"
TABLE = "lineitem"

# Whole nights of Airflow's pass the same gates with the settings that people have.
_SETTINGS = settings_with(window_rows_per_table=2_048, max_simulations_per_table=300, max_sampled_segments=2)

Rows = list[dict[str, Any]]


def sample_night(root: Path, run_date: date, tables: Iterable[str] | None = None) -> Night:
    return Night(
        run_date=run_date,
        store=ArtefactStore(storage_for(str(root))),
        settings=_SETTINGS,
        started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_id="test",
        tables=None if tables is None else frozenset(tables),
        log_paths=[str(SAMPLE / "logs")],
        segments_root=str(SAMPLE / "segments"),
        table_config_paths=[str(path) for path in sorted((SAMPLE / "config").glob("*_table.json"))],
    )


@pytest.fixture(scope="module", autouse=True)
def _charts() -> Iterator[None]:
    with charts_drawn_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _great_expectations() -> None:
    import_great_expectations()


@pytest.fixture(scope="session")
def good_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("good")
    for stage in STAGES:
        stage_function(stage.name)(LocalEngine(), sample_night(root, date(2026, 11, 19)))
    return root


@dataclass
class Lab:
    """A copy of the good night; ``night`` works on one table of it, to be quick."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    run_date: date = date(2026, 11, 19)
    tables: tuple[str, ...] | None = (TABLE,)
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def night(self) -> Night:
        return replace(sample_night(self.root, self.run_date, self.tables), **self.changes)

    def settings(self, **values: Any) -> None:
        self.changes["settings"] = settings_with(**values)

    def rows(self, artefact: str, table: str = TABLE) -> Rows:
        return self.night.store.snapshot(artefact, self.night.date_text).read_table([table]).to_pylist()

    def properties(self, artefact: str, table: str = TABLE) -> dict[str, Any]:
        snapshot = self.night.store.snapshot(artefact, self.night.date_text)
        return dict(snapshot.parts()[table].properties)

    def publish(
        self,
        artefact: str,
        rows: Rows | None = None,
        properties: Mapping[str, Any] | None = None,
        table: str = TABLE,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Publish the part of one table again, with other rows, properties or files."""
        store, night = self.night.store, self.night.date_text
        old = store.snapshot(artefact, night).parts().get(table, Part(()))
        kept, aside = old.files, store.staged_write(artefact, night)
        if rows is not None:
            kept = aside.write(table, pa.Table.from_pylist(rows, schema=store.schemas[artefact]))
        if files is not None:
            kept = tuple(aside.write_file(table, name, content) for name, content in files.items())
        part = Part(kept, old.properties if properties is None else properties)
        store.publish(
            artefact,
            night,
            {table: part},
            replace="tables",
            created_at=self.night.started_at,
            created_by="spoiler",
        )

    def spoil(self, artefact: str, spoiler: Callable[[Rows], Any]) -> None:
        """Publish the artefact with rows that ``spoiler`` has changed in place."""
        rows = self.rows(artefact)
        spoiler(rows)
        self.publish(artefact, rows)

    def report(self) -> dict[str, bytes]:
        snapshot = self.night.store.snapshot("reports", self.night.date_text)
        files = snapshot.parts()[TABLE].files
        return {file.name.rpartition("-")[2]: snapshot.read_file(file) for file in files}

    def failed(self, stage: str, table: str = TABLE) -> list[str]:
        """Run the gate and return the checks that failed, ``{table}`` for the name of the table."""
        return failed_checks(self.night, stage, table)

    def assert_stopped(self, stage: str, check: str, table: str = TABLE) -> None:
        """Assert that this one expectation stops the table."""
        assert self.failed(stage, table) == [check]

    def assert_passes_without(self, stage: str, check: str) -> None:
        """Assert that nothing stops the table if the gate lacks the expectation: its test would fail."""
        remove_check(self.monkeypatch, self.night, stage, check)
        assert self.failed(stage) == []


@pytest.fixture
def lab(good_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    root = tmp_path / "store"
    shutil.copytree(good_root, root)
    return Lab(root, monkeypatch)


@pytest.fixture
def assert_all_covered(tmp_path: Path) -> Callable[[str, Iterable[str]], None]:
    """Return an assertion that the expectations behind a stage are all in_set the given ones."""

    def check(stage: str, covered: Iterable[str]) -> None:
        gates = gates_after(stage_named(stage), sample_night(tmp_path, date(2026, 11, 19)))
        asked = [each for gate in gates for each in gate.expectations(Settings())]
        assert {e.check for e in asked if not e.is_note} == set(covered)
        assert len({e.check for e in asked}) == len(asked)

    return check
