"""Fixtures of all tests: Hypothesis' settings, and an S3 server on loopback, started when first asked for."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from files_in_memory import pytest_configure as pytest_configure
from hypothesis import HealthCheck, settings
from s3_server import S3Server, running_s3_server
from search_servers import elasticsearch as elasticsearch
from search_servers import opensearch as opensearch
from search_servers import search_server as search_server
from shards import pytest_addoption as pytest_addoption
from shards import tests_of_the_shard
from short_lived_java import pytest_sessionstart as pytest_sessionstart
from starskip.advisor.run.night import Night
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload, workload_table
from starskip.lake.lake_table import LakeTable
from starskip.settings import Settings
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.files import open_store
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for

# Deadlines would assert timing, and this machine is shared; print_blob lets a failure be run again.
settings.register_profile(
    "starskip", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("starskip")


_GROUPS = {
    "night": ("tests/dags/test_whole_night.py",),
    "spark": ("tests/spark/",),
    "airflow": ("tests/dags/", "tests/operation/"),
    "pages": ("tests/ui/",),
    "gates": ("tests/night/quality/",),
    "opensearch": ("tests/starskip_opensearch/",),
}
"""Tests that share what is slow to start, the longest first: a night, a Spark session, Airflow's own modules
with the home that they were first imported with, a browser, a judged night, a server of OpenSearch.

All others go file by file to whichever process is free.
"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Cut the tests in groups for ``make test``: each keeps its order, in one process, and its session."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = _file(nodeid)
            return next((group for group, of in _GROUPS.items() if file.startswith(of)), file)

    return ByGroup(config, log)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a shard; put the groups first, then files with slow tests: processes end together."""
    items[:] = tests_of_the_shard(config, items)
    groups = list(_GROUPS.values())
    slow = {_file(item.nodeid) for item in items if item.get_closest_marker("slow")}

    def place(item: pytest.Item) -> tuple[int, bool]:
        group = next((n for n, of in enumerate(groups) if item.nodeid.startswith(of)), len(groups))
        return group, group == len(groups) and _file(item.nodeid) not in slow

    items.sort(key=place)


os.environ.setdefault("STARSKIP_SECONDARY_SEED", str(random.SystemRandom().randrange(2**32)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell what random tables and conditions were drawn by, whether a test of them failed or not."""
    reports = [each for found in terminalreporter.stats.values() for each in found]
    if any("tests/secondary/" in str(getattr(each, "nodeid", "")) for each in reports):
        terminalreporter.write_line(f"STARSKIP_SECONDARY_SEED={os.environ['STARSKIP_SECONDARY_SEED']}")


def pytest_collection_finish() -> None:
    """Airflow takes its home from the environment when it is first imported: fixtures set that, later."""
    if "airflow" in sys.modules:
        raise pytest.UsageError("a test module imports Airflow, with the caller's home: import it in a test")


@pytest.fixture(scope="module", autouse=True)
def _great_expectations(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("quality"):
        from gate_checks import import_great_expectations

        import_great_expectations()


@pytest.fixture(scope="session")
def sample_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows of the sample's lineitem in one file, in the order of its segments."""
    folder = tmp_path_factory.mktemp("rows")
    program = Path(sys.executable).with_name("tpchgen-cli")
    options = ["-s", "0.05", "--tables=lineitem", "--quiet", f"--output-dir={folder}"]
    subprocess.run([program, "parquet", *options], check=True)
    return folder / "lineitem.parquet"


@pytest.fixture(scope="session")
def sample_lake(sample_rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's lineitem as a table of the lake, a folder of plain files."""
    folder = tmp_path_factory.mktemp("lake") / "lineitem"
    return _written(sample_rows, folder)


@pytest.fixture(scope="session")
def sample_delta(sample_rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same files as ``sample_lake``, as the Delta table that ``make night`` has."""
    return _written(sample_rows, tmp_path_factory.mktemp("delta") / "lineitem", "delta")


def _written(rows: Path, folder: Path, *options: str) -> Path:
    program = Path(__file__).parents[1] / "include" / "sample" / "lake_table.py"
    subprocess.run([sys.executable, program, rows, folder, *options], check=True)
    return folder


@pytest.fixture(scope="session")
def sample_casts() -> dict[str, str]:
    """The types that the sample's configuration reads columns of ``sample_lake`` as."""
    config = Path(__file__).parents[1] / "include" / "config" / "night.yaml"
    sources = yaml.safe_load(config.read_text())["sources"]
    casts: dict[str, str] = sources["lake_tables"]["lineitem"]["casts"]
    return casts


@dataclass
class TreeHouse:
    """A night whose table ``sales`` lies in a small lake: two files of 600 rows each."""

    root: Path
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def lake(self) -> Path:
        return self.root / "lake" / "sales"

    @property
    def night(self) -> Night:
        night = Night(
            run_date=date(2026, 11, 20),
            store=ArtefactStore(storage_for(str(self.root / "artefacts"))),
            settings=Settings(),
            started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
            run_id="test",
            lake_tables={"sales": LakeTable(str(self.lake), {"day": "string"})},
        )
        return replace(night, **self.changes)

    def add_file(self, name: str, rows: int = 600, first: int = 0) -> Path:
        """Write rows that follow from their numbers: countries, browsers, days, prices in cents."""
        numbers = range(first, first + rows)
        table = pa.table(
            {
                "country": [("CA", "MX", "USA", "", None)[i * i % 7] for i in numbers],
                "browser": [("Chrome", "Firefox", "Safari")[i % 11 % 3] for i in numbers],
                "day": [date(2026, 11, 1 + i % 5) for i in numbers],
                "user": [i * 7919 % 401 for i in numbers],
                "price": pa.array([Decimal(i * 37 % 1000) / 100 for i in numbers], pa.decimal128(8, 2)),
                "note": [f"x{i}" for i in numbers],
            }
        )
        self.lake.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, self.lake / name)
        return self.lake / name

    def choose(self, *trees: Any, table: str = "sales") -> None:
        """Publish a recommendation of these star-trees and of no skipping index.

        Each is its configuration in Pinot's terms, or what the advice tells of it.
        """
        unknown = {"documents": None, "size_bytes": None, "saving_ratio": None, "shapes": {}}
        told = [{"config": tree} if "dimensionsSplitOrder" in tree else tree for tree in trees]
        night = self.night
        arguments = {"replace": "tables", "created_at": night.started_at, "created_by": "test"}
        for artefact, properties in {
            "recommendations": {
                "star_trees": [unknown | tree if "config" in tree else tree for tree in told]
            },
            "skipping_advice": {"note": "a test has none"},
            "skipping_builds": {"note": "a test has none"},
        }.items():
            night.store.publish(artefact, night.date_text, {table: Part((), properties)}, **arguments)

    def ask(self, *queries: str, table: str = "sales") -> None:
        """Publish a workload in which each of the queries was logged once."""
        shapes: dict[str, ShapeWorkload] = {}
        for sql in queries:
            cut = normalize_sql(sql)
            shape = query_shape(cut.skeleton)
            found = shapes.setdefault(
                shape.shape_id, ShapeWorkload(table, shape.shape_id, shape.text, cut.skeleton)
            )
            found.queries += 1
            # Each shape scans more than the ones before it.
            instance = Instance(1, entries_scanned_in_filter=3 ** len(shapes))
            found.entries_scanned_in_filter += instance.entries_scanned_in_filter
            found.instances[cut.literals] = instance
        aside = self.night.store.staged_write("workload", self.night.date_text)
        part = Part(aside.write(table, workload_table(shapes.values())))
        self.night.publish("workload", {table: part})

    def rows(self, artefact: str, table: str = "sales") -> list[dict[str, Any]]:
        snapshot = self.night.store.snapshot(artefact, self.night.date_text)
        assert snapshot is not None
        found: list[dict[str, Any]] = snapshot.read_table([table]).to_pylist()
        return found


def star_tree(*dimensions: str, pairs: Sequence[str] = ("COUNT__*", "SUM__price")) -> dict[str, Any]:
    """Return a configuration in Pinot's terms."""
    return {
        "dimensionsSplitOrder": list(dimensions),
        "functionColumnPairs": list(pairs),
        "maxLeafRecords": 10,
    }


@pytest.fixture
def tree_house(tmp_path: Path) -> TreeHouse:
    house = TreeHouse(tmp_path / "house")
    house.add_file("a.parquet")
    house.add_file("b.parquet", first=600)
    return house


@pytest.fixture(scope="session")
def star_tree_config() -> Callable[..., dict[str, Any]]:
    return star_tree


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, and its keys in the environment."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Give a function after which clients are made anew and soon give up."""

    def shorten() -> None:
        monkeypatch.setitem(open_store._RETRIES, "max_retries", 1)
        open_store._opened.cache_clear()

    return shorten
