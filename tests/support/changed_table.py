"""A real Pinot 0.11 with a small table, behind proxies that alter single answers, for planted faults."""

from __future__ import annotations

import copy
import csv
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from altering_proxy import AlteringProxy, altering_proxy
from pinot.running_pinot import RunningPinot, pinot_jars
from starskip.advisor.deployment.application import Outcome
from starskip.advisor.deployment.asked_application import Asked, apply_prepared, go_on, prepare
from starskip.advisor.deployment.journal import Journal
from starskip.advisor.deployment.replayed_workload import logged_workload
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.pinot.cluster.open_cluster import PinotCluster, open_cluster
from starskip.pinot.cluster.pinot_address import PinotAddress
from starskip.pinot.config_change import same_config
from starskip.settings import Settings
from starskip.settings.night_groups import DeploymentSettings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

TABLE = "events"
SEGMENTS, ROWS = 4, 5_000
CONFIG: dict[str, Any] = {
    "tableName": TABLE,
    "tableType": "OFFLINE",
    "segmentsConfig": {"replication": "1", "schemaName": TABLE},
    "tenants": {},
    "tableIndexConfig": {"loadMode": "MMAP", "invertedIndexColumns": ["device"]},
    "metadata": {},
}
SCHEMA: dict[str, Any] = {
    "schemaName": TABLE,
    "dimensionFieldSpecs": [
        *({"name": name, "dataType": "STRING"} for name in ("country", "city", "device")),
        *({"name": name, "dataType": "INT"} for name in ("ts", "id")),
    ],
    "metricFieldSpecs": [{"name": "price", "dataType": "DOUBLE"}],
}
QUERIES = (
    *(f"SELECT COUNT(*) FROM {TABLE} WHERE country = 'c{number}'" for number in range(4)),
    *(
        f"SELECT city, COUNT(*), SUM(price) FROM {TABLE} WHERE ts BETWEEN {low} AND {low + 40} GROUP BY city "
        "LIMIT 1000"
        for low in (100, 300, 700)
    ),
    f"SELECT country, device, SUM(price) FROM {TABLE} GROUP BY country, device LIMIT 1000",
    f"SELECT id, COUNT(*) FROM {TABLE} WHERE device = 'd3' GROUP BY id ORDER BY id LIMIT 20000",
    f"SELECT id FROM {TABLE} WHERE city = 'x7' LIMIT 3",
)


def _index(family: str, key: str, *columns: str, saving: float = 0.2) -> AdvisedIndex:
    return AdvisedIndex(family, columns, {"tableIndexConfig": {key: [*columns]}}, saving, None, 50_000)


def _tree(*dimensions: str, leaf: int = 10_000, pair: str = "SUM__price") -> AdvisedIndex:
    entry = {
        "dimensionsSplitOrder": [*dimensions],
        "functionColumnPairs": ["COUNT__*", pair],
        "maxLeafRecords": leaf,
    }
    return AdvisedIndex(
        "star_tree", dimensions, {"tableIndexConfig": {"starTreeIndexConfigs": [entry]}}, 0.3, None, 100_000
    )


COUNTRY = _index("inverted", "invertedIndexColumns", "country")
TS = _index("range", "rangeIndexColumns", "ts")
TREE = _tree("country", "device")
BAD_TREE = _tree("id", "device", leaf=1_000_000)
"""Its documents are as many as the rows, and a query that an inverted index answers reads them all."""
SETTINGS = DeploymentSettings(no_progress_minutes=0.15, queries_per_second=1_000, replayed_instances=2)


@dataclass
class Table:
    """The table in the real Pinot, its proxies, and a store of journal and ledger."""

    pinot: RunningPinot
    controller: AlteringProxy
    broker: AlteringProxy
    log: Path
    folder: Path
    said: list[str] = field(default_factory=list)
    at: dict[str, Callable[[], None]] = field(default_factory=dict)
    settings: DeploymentSettings = SETTINGS

    @property
    def store(self) -> ArtefactStore:
        return ArtefactStore(LocalStorage(self.folder / "store"))

    def config(self) -> dict[str, Any]:
        return self.pinot.cluster.controller.table_configs(TABLE)["OFFLINE"]

    def put(self, **keys: Any) -> None:
        """Change the config as somebody else does."""
        config = copy.deepcopy(self.config())
        config["tableIndexConfig"] |= keys.pop("tableIndexConfig", {})
        self.pinot.cluster.controller.put_table_config(TABLE, {**config, **keys})

    def say(self, words: str) -> None:
        self.said.append(words)
        for start in [each for each in self.at if each in words]:
            self.at.pop(start)()

    def asked(self, cluster: PinotCluster) -> Asked:
        return Asked(
            cluster,
            self.store,
            TABLE,
            self.settings,
            "test",
            self.say,
            shapes=lambda _advice: logged_workload([str(self.log)], TABLE, Settings()),
        )

    def apply(self, *indexes: AdvisedIndex) -> Outcome:
        """Go on with what was cut short, or apply these indexes."""
        advice = AdvisedChange(TABLE, "2026-11-18", indexes, 0.6, (0.5, 0.7))
        address = PinotAddress(self.controller.url, self.broker.url)
        with open_cluster(address) as cluster:
            asked = self.asked(cluster)
            return go_on(asked) or apply_prepared(asked, prepare(asked, lambda _config: advice))

    def state(self) -> str:
        application = Journal(self.store, "test").newest(f"{TABLE}_OFFLINE")
        return application.state.value if application else ""

    def events(self) -> list[str]:
        return [each.event.value for each in ledger_entries(self.store, TABLE)]

    def indexes(self) -> dict[str, set[str]]:
        """Return by segment the indexes that the server really has."""
        found: dict[str, set[str]] = {}
        controller = self.pinot.cluster.controller
        segments = controller.segments(f"{TABLE}_OFFLINE")
        columns = ("country", "device", "ts")
        for segment, metadata in controller.built_indexes(f"{TABLE}_OFFLINE", segments, columns).items():
            held = {
                f"{column}:{name}"
                for column, kinds in metadata["indexes"].items()
                for name in ("inverted-index", "range-index")
                if kinds.get(name) == "YES"
            }
            found[segment] = held | ({"tree"} if metadata.get("star-tree-index") else set())
        return found

    def require_as_before(self, base: dict[str, Any]) -> None:
        """Check that the config is equal as JSON to what it was, and that no segment has a new index."""
        assert same_config(self.config(), base)
        assert all(held == {"device:inverted-index"} for held in self.indexes().values())


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningPinot, Path]]:
    jars = pinot_jars(Path("~/.cache/starskip/pinot-0.11.0").expanduser())
    folder = tmp_path_factory.mktemp("pinot")
    with RunningPinot(jars, folder, "512m") as pinot:
        pinot.create_table(SCHEMA, CONFIG)
        for number in range(SEGMENTS):
            pinot.ingest_csv(TABLE, _rows(folder / f"events_{number}.csv", number))
            time.sleep(0.002)  # names of segments hold the time in milliseconds
        pinot.wait_for_rows(TABLE, SEGMENTS * ROWS)
        for query in QUERIES:
            pinot.ask(query)
        log = folder / "broker.log"
        log.write_bytes(pinot.query_log)
        yield pinot, log


def _rows(file: Path, number: int) -> Path:
    chosen = random.Random(number)
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["country", "city", "device", "ts", "id", "price"])
        for row in range(ROWS):
            names = (f"c{chosen.randrange(40)}", f"x{chosen.randrange(60)}", f"d{chosen.randrange(10)}")
            writer.writerow([*names, chosen.randrange(1_000), number * ROWS + row, chosen.random()])
    return file


@pytest.fixture
def table(running: tuple[RunningPinot, Path], tmp_path: Path) -> Iterator[Table]:
    pinot, log = running
    with altering_proxy(pinot.controller_url) as controller, altering_proxy(pinot.broker_url) as broker:
        found = Table(pinot, controller, broker, log, tmp_path)
        if not same_config(found.config(), _base(pinot)):
            # A reload removes trees only while this flag is on.
            with_flag = {**CONFIG["tableIndexConfig"], "enableDynamicStarTreeCreation": True}
            pinot.change_tables([{**CONFIG, "tableIndexConfig": with_flag}])
            pinot.cluster.controller.put_table_config(TABLE, CONFIG)
        yield found


_BASES: dict[str, dict[str, Any]] = {}


def _base(pinot: RunningPinot) -> dict[str, Any]:
    """Return the config as Pinot first answered with it."""
    url = pinot.controller_url
    return _BASES.setdefault(url, pinot.cluster.controller.table_configs(TABLE)["OFFLINE"])


@pytest.fixture
def base(table: Table) -> dict[str, Any]:
    """Return the config as it is before a test."""
    return copy.deepcopy(table.config())
