"""Nights over a small deep store, whose parts a test can damage, and what they advised."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from charts_drawn_once import charts_drawn_once
from settings_with import settings_with
from starskip.advisor.run.night import Night, StageResult
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.execution.local_engine import LocalEngine
from starskip.night.quality.check_stage import check_stage
from starskip.night.stage_functions import stage_function
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
LOG = SAMPLE / "logs" / "broker-2026-11-20.log.gz"
WITH_TREES = settings_with(window_rows_per_table=2_048, max_simulations_per_table=300, max_sampled_segments=2)
QUICK = settings_with(WITH_TREES, index_kinds="inverted,range,sorted,skipping")
"""Without star-trees, whose search among layouts is half of a night's work."""
_LINE = (
    "2026/11/20 10:00:00.000 INFO [BaseBrokerRequestHandler] [executor-1] requestId=1,table={table},timeMs=5,"
    "docs=10/299814,entries={entries}/10,segments(queried/processed/matched/consumingQueried/"
    "consumingProcessed/consumingMatched/unavailable):4/4/4/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,"
    "groupLimitReached=false,brokerReduceTimeMs=0,exceptions={exceptions},serverStats=x,"
    "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,clientIp=unknown,query={query}\n"
)


@dataclass
class Lab:
    """A deep store of two tables, a log folder and an artefact store, all its own."""

    root: Path
    settings: Settings = QUICK
    results: dict[str, StageResult] = field(default_factory=dict)

    @property
    def segments(self) -> Path:
        return self.root / "segments"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def night(self, **changes: Any) -> Night:
        night = Night(
            run_date=date(2026, 11, 20),
            store=ArtefactStore(storage_for(str(self.root / "artefacts"))),
            settings=self.settings,
            started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
            run_id="test",
            log_paths=[str(self.logs)],
            segments_root=str(self.segments),
        )
        return replace(night, **changes)

    def run(self, night: Night | None = None, stages: Sequence[str] = STAGE_NAMES) -> Night:
        """Run the stages, keep their results, and return the night."""
        night = night or self.night()
        for name in stages:
            stage = stage_function(name)
            self.results[name] = stage(LocalEngine(), night)
        return night

    def run_with_gates(self, night: Night | None = None) -> dict[str, list[str]]:
        """Run the stages and the gate behind each; return the checks that failed, by table."""
        night = night or self.night()
        failed: dict[str, list[str]] = {}
        for stage in STAGE_NAMES:
            self.run(night, [stage])
            for verdict in check_stage(night, stage):
                checks = [check.check for check in verdict.checks if not check.success]
                if checks:
                    failed.setdefault(verdict.table, []).extend(checks)
        return failed

    @property
    def warnings(self) -> str:
        return "\n".join(text for result in self.results.values() for text in result.warnings)

    def published(self, artefact: str, night: Night | None = None) -> dict[str, bytes]:
        """Return what readers see of each table of an artefact, whatever its files are called."""
        night = night or self.night()
        snapshot = night.store.snapshot(artefact, night.date_text)
        assert snapshot is not None, artefact
        seen = {}
        for table, part in snapshot.parts().items():
            rows: Any = (
                [str(row) for row in snapshot.read_table([table]).to_pylist()] if snapshot.schema else []
            )
            files = [] if snapshot.schema else [snapshot.read_file(file).decode() for file in part.files]
            seen[table] = json.dumps([sorted(rows), files, part.properties], sort_keys=True).encode()
        return seen

    def report(self, table: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._report_file(table, "report.json"))
        return document

    def markdown(self, table: str) -> str:
        return self._report_file(table, "report.md").decode()

    def _report_file(self, table: str, name: str) -> bytes:
        snapshot = self.night().store.snapshot("reports", "2026-11-20")
        assert snapshot is not None
        named = {file.name.rpartition("-")[2]: file for file in snapshot.parts()[table].files}
        content: bytes = snapshot.read_file(named[name])
        return content

    def log(self, *lines: str, name: str = "more.log") -> Path:
        path = self.logs / name
        path.write_text("".join(lines), encoding="utf-8")
        return path


@pytest.fixture(scope="module", autouse=True)
def _charts() -> Iterator[None]:
    with charts_drawn_once():
        yield


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One segment of lineitem and three of airlineStats, with the log of 2026-11-20."""
    root = tmp_path_factory.mktemp("small")
    for table, count in (("lineitem", 1), ("airlineStats", 3)):
        (root / "segments" / table).mkdir(parents=True)
        for path in sorted((SAMPLE / "segments" / table).iterdir())[:count]:
            shutil.copy2(path, root / "segments" / table / path.name)
    (root / "logs").mkdir()
    shutil.copy2(LOG, root / "logs" / LOG.name)
    return root


@pytest.fixture(scope="session")
def make_lab() -> Callable[..., Lab]:
    return Lab


@pytest.fixture(scope="session")
def with_trees() -> Settings:
    """Settings of a lab that advises star-trees, too."""
    return WITH_TREES


@pytest.fixture
def lab(small_store: Path, tmp_path: Path) -> Lab:
    shutil.copytree(small_store, tmp_path / "lab")
    return Lab(tmp_path / "lab")


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Refuse to list a folder: the tests may run as root, who is refused nothing."""
    listed = os.scandir

    def forbidden(folder: Path) -> None:
        def scandir(path: Any) -> Any:
            if str(path) == str(folder):
                raise PermissionError(13, "Permission denied", str(path))
            return listed(path)

        monkeypatch.setattr("starskip.storage.files.list_folder.os.scandir", scandir)

    return forbidden


@pytest.fixture(scope="session")
def sound_before(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a lab in which all stages before a named one have run and passed their gates."""

    @cache
    def made(stage: str) -> Path:
        before = STAGE_NAMES[: STAGE_NAMES.index(stage)]
        root = tmp_path_factory.mktemp("before") / "lab"
        shutil.copytree(made(before[-1]) if before else small_store, root)
        if before:
            night = Lab(root).run(stages=before[-1:])
            assert all(verdict.passed for verdict in check_stage(night, before[-1]))
        return root

    return made


@pytest.fixture(scope="session")
def sound(small_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """Recommendations of the undamaged night, by table."""
    root = tmp_path_factory.mktemp("sound") / "lab"
    shutil.copytree(small_store, root)
    lab = Lab(root)
    lab.run(stages=STAGE_NAMES[:-1])
    return lab.published("recommendations")


@pytest.fixture(scope="session")
def log_line() -> Callable[..., str]:
    def line(table: str, query: str, entries: int = 1_000, exceptions: int = 0) -> str:
        return _LINE.format(table=table, query=query, entries=entries, exceptions=exceptions)

    return line


@pytest.fixture(scope="session")
def metadata() -> Callable[..., bytes]:
    """Return the metadata.properties of a segment with these columns."""

    def properties(columns: Sequence[str], version: str = "v1") -> bytes:
        lines = [
            "segment.name = s",
            f"segment.index.version = {version}",
            "segment.total.docs = 1000",
            f"segment.dimension.column.names = {','.join(columns)}",
        ]
        for name in columns:
            lines += [
                f"column.{name}.{key}"
                for key in (
                    "cardinality = 10",
                    "dataType = INT",
                    "columnType = DIMENSION",
                    "isSorted = false",
                    "hasDictionary = true",
                    "isSingleValues = true",
                )
            ]
        return ("\n".join(lines) + "\n").encode()

    return properties


@pytest.fixture(scope="session")
def write_tar() -> Callable[[Path, Mapping[str, bytes | tarfile.TarInfo]], None]:
    def write(path: Path, members: Mapping[str, bytes | tarfile.TarInfo]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w:gz") as tar:
            for name, content in members.items():
                info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
                data = b"" if isinstance(content, tarfile.TarInfo) else content
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))

    return write
