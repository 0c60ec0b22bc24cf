"""``starskip doctor`` over a small deployment, and over the same with one thing wrong."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import Result
from memory_storage import MemoryStorage
from starskip.night.doctor.check_libraries import is_within
from starskip.night.doctor.check_store import check_store
from starskip.night.doctor.finding import findings_of
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage import PutVerdict

Call = Callable[..., Result]
CONFIGS = Path(__file__).parents[2] / "include" / "sample" / "config"


@dataclass
class Deployment:
    """A folder with a configuration and what it names."""

    root: Path
    call: Call
    store: str = "artefacts"

    @property
    def config(self) -> Path:
        return self.root / "night.yaml"

    def configure(self, **changes: Any) -> None:
        """Write the configuration, with other sources."""
        sources = {
            "log_paths": ["logs/broker-{run_date}.log.gz"],
            "segments_root": "segments",
            "table_configs": ["lineitem.json", "airlineStats.json"],
        }
        document = {"store": {"artefacts": self.store}, "sources": {**sources, **changes}}
        self.config.write_text(yaml.safe_dump(document))

    def log(self, *lines: str) -> None:
        """Write the only log."""
        self.configure(log_paths=["logs"])
        shutil.rmtree(self.root / "logs")
        (self.root / "logs").mkdir()
        (self.root / "logs" / "broker.log").write_text("".join(lines))

    def checked(self, *options: str) -> tuple[int, dict[str, list[tuple[str, str]]]]:
        """Return the exit code, and verdicts with their words by check."""
        result = self.call("doctor", "--config", self.config, "--format", "json", *options)
        document = json.loads(result.stdout)
        found: dict[str, list[tuple[str, str]]] = {}
        for each in document["checks"]:
            found.setdefault(each["check"], []).append((each["verdict"], each["words"]))
        verdicts = [verdict for of in found.values() for verdict, _ in of]
        assert document["failed"] == verdicts.count("failed")
        assert document["warnings"] == verdicts.count("warning")
        assert result.exit_code == (3 if document["failed"] else 0)
        return result.exit_code, found

    def failures(self, *options: str) -> dict[str, str]:
        """Return the words of what failed, by check."""
        return {
            check: words
            for check, of in self.checked(*options)[1].items()
            for verdict, words in of
            if verdict == "failed"
        }


@pytest.fixture
def deployment(
    tmp_path: Path, call: Call, deep_store: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> Deployment:
    for name in [each for each in os.environ if each.startswith(("AIRFLOW_", "STARSKIP_PINOT_"))]:
        monkeypatch.delenv(name)
    shutil.copytree(deep_store, tmp_path / "segments")
    shutil.copytree(logs, tmp_path / "logs")
    for table in ("lineitem", "airlineStats"):
        shutil.copy(CONFIGS / f"{table}_table.json", tmp_path / f"{table}.json")
    made = Deployment(tmp_path, call)
    made.configure()
    return made


def test_all_is_well(deployment: Deployment) -> None:
    before = {path for path in deployment.root.rglob("*") if path.is_file()}
    code, found = deployment.checked()
    assert code == 0
    assert {verdict for of in found.values() for verdict, _ in of} == {"ok"}
    told = {check: "; ".join(words for _, words in of) for check, of in found.items()}
    assert (
        told["log day"]
        == "the sample is of 2026-11-18, 2026-11-19, 2026-11-20; the night of 2026-11-20 is checked"
    )
    assert told["log tables"] == "the log names airlineStats, lineitem, which have segments"
    assert "3 files; some records were read of broker-2026-11-18.log.gz" in told["logs"]
    assert "folders of 2 tables: airlineStats, lineitem" in told["segments"]
    assert "an object was written, refused a second time, read and listed" in told["store"]
    assert (
        told["target version"] == "advice is for Pinot 0.11; if yours is another, set scoring.pinot_version"
    )
    assert {path for path in deployment.root.rglob("*") if path.is_file()} == before


def test_the_text_has_a_line_for_each_check(deployment: Deployment) -> None:
    result = deployment.call("doctor", "--config", deployment.config, "--run-date", "2026-11-19")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.stdout
    assert all(line.startswith("ok       ") for line in lines)
    assert "there are records of 2026-11-19" in result.stdout


def test_a_night_without_a_log(deployment: Deployment) -> None:
    assert "no log file at" in deployment.failures("--run-date", "2026-10-01")["logs"]
    deployment.configure(log_paths=["logs"])
    failed = deployment.failures("--run-date", "2026-10-01")
    assert failed.keys() == {"log day"}
    assert failed["log day"].startswith("no log of 2026-10-01: 3 log files hold no record of that day")


def test_a_log_path_that_names_nothing(deployment: Deployment) -> None:
    deployment.configure(log_paths=["lags/broker-{run_date}.log.gz"])
    failed = deployment.failures()
    assert failed.keys() == {"logs"}
    assert failed["logs"].endswith("lags/broker-{run_date}.log.gz, of whatever day: check the path")


def test_a_log_of_a_format_that_nobody_knows(deployment: Deployment) -> None:
    deployment.log(*(f"<134>1 server[{n}]: GET /index.html 200\n" for n in range(50)))
    failed = deployment.failures()
    assert "records of the log are not understood" in failed["log records"]


def test_a_log_without_counters(deployment: Deployment) -> None:
    handler = "2026/11/20 10:00:00.000 INFO [BaseBrokerRequestHandler] [jersey-1]"
    lines = [f"{handler} Table not found for request {n}: SELECT COUNT(*) FROM lineitem\n" for n in range(9)]
    deployment.log(*lines)
    failed = deployment.failures()
    assert "no sampled record has counters of what a query scanned" in failed["log records"]


def test_the_end_of_a_long_file_tells_the_newest_day(
    deployment: Deployment, line: Callable[..., str]
) -> None:
    old = line("SELECT COUNT(*) FROM lineitem WHERE l_tax = 1", 5).replace("2026/11/18", "2026/11/01")
    new = line("SELECT COUNT(*) FROM lineitem WHERE l_tax = 2", 5).replace("2026/11/18", "2026/11/25")
    deployment.log(*[old] * 6_000, *[new] * 9)
    _, found = deployment.checked()
    assert "the night of 2026-11-25 is checked" in found["log day"][0][1]


def test_tables_of_the_log_without_segments(deployment: Deployment) -> None:
    shutil.rmtree(deployment.root / "segments" / "airlineStats")
    code, found = deployment.checked()
    assert code == 0
    assert ("ok", "the log names lineitem, which have segments") in found["log tables"]
    words = "the log names airlineStats, which have no segments and get no advice"
    assert ("warning", words) in found["log tables"]
    (deployment.root / "segments" / "lineitem").rename(deployment.root / "segments" / "orders")
    assert "no table of the log has segments" in deployment.failures()["log tables"]


def test_no_segments(deployment: Deployment) -> None:
    deployment.configure(segments_root="segmants")
    assert "segmants does not exist or is no folder" in deployment.failures()["segments"]
    (deployment.root / "segmants" / "lineitem").mkdir(parents=True)
    (deployment.root / "segmants" / "lineitem" / "readme.txt").write_text("nothing yet")
    assert "table lineitem: none of the first 50 files" in deployment.failures()["segments"]
    shutil.rmtree(deployment.root / "segmants" / "lineitem")
    assert "holds no table folders" in deployment.failures()["segments"]


def test_a_damaged_segment_is_named(deployment: Deployment) -> None:
    for path in (deployment.root / "segments" / "lineitem").iterdir():
        path.write_bytes(path.read_bytes()[:2_000])
    failed = deployment.failures()
    assert failed.keys() == {"segments"}
    assert failed["segments"].startswith("table lineitem: ")


def test_a_table_without_a_config(deployment: Deployment) -> None:
    deployment.configure(table_configs=["lineitem.json"])
    code, found = deployment.checked()
    assert code == 0
    assert found["table configs"][1][0] == "warning"
    assert found["table configs"][1][1].startswith("no config of airlineStats: ")
    deployment.configure(table_configs=[])
    assert deployment.checked()[1]["table configs"][0][0] == "warning"
    (deployment.root / "lineitem.json").write_text("{")
    deployment.configure(table_configs=["lineitem.json"])
    assert "is no JSON table configuration" in deployment.failures()["table configs"]


def test_a_key_that_is_not_known_leaves_the_other_checks(deployment: Deployment) -> None:
    deployment.configure(log_path="logs")
    code, found = deployment.checked()
    assert code == 3
    assert found.keys() == {"versions", "Airflow", "configuration"}
    assert "key 'sources.log_path' is not known" in found["configuration"][0][1]


def test_a_configuration_that_is_not_there(deployment: Deployment) -> None:
    deployment.config.unlink()
    assert "cannot read the configuration" in deployment.failures()["configuration"]


def test_a_store_that_cannot_be_written(deployment: Deployment) -> None:
    (deployment.root / "artefacts").write_text("a file stands here")
    failed = deployment.failures()
    assert failed.keys() == {"store"}
    assert str(deployment.root / "artefacts") in failed["store"]


@pytest.mark.slow
def test_all_of_it_in_a_bucket(deployment: Deployment, s3: Any) -> None:
    url = s3.upload(deployment.root, s3.fresh_url())
    deployment.store = f"{url}/artefacts"
    deployment.configure(
        log_paths=[f"{url}/logs/broker-{{run_date}}.log.gz"], segments_root=f"{url}/segments"
    )
    code, found = deployment.checked()
    assert code == 0, found
    assert {verdict for of in found.values() for verdict, _ in of} == {"ok"}
    assert "the night of 2026-11-20 is checked" in found["log day"][0][1]
    deployment.store = "s3://no-such-bucket-of-ours/artefacts"
    deployment.configure()
    assert deployment.failures().keys() == {"store"}


class Overwriting(MemoryStorage):
    """A store that knows no condition of a PUT."""

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        self.objects.pop(name, None)
        return super().put_if_absent(name, content)


class Forgetful(MemoryStorage):
    """A store that lists nothing."""

    def objects_below(self, _folder: str) -> Any:
        return iter(())


@pytest.mark.parametrize(
    ("storage", "verdict", "words"),
    [
        (Overwriting(), "failed", "memory: writes over an object although it was asked not to"),
        (Forgetful(), "failed", "memory: does not list an object that was just written"),
        (MemoryStorage(), "warning", "s ahead of the store's: let NTP set it"),
    ],
)
def test_a_store_that_breaks_a_promise(storage: Any, verdict: str, words: str) -> None:
    night: Any = SimpleNamespace(store=ArtefactStore(storage))
    found = list(findings_of("store", lambda: check_store(night)))
    assert [each.words for each in found if each.verdict == verdict and words in each.words]
    assert storage.objects == {}


def test_a_table_of_the_lake_that_is_missing(deployment: Deployment) -> None:
    deployment.configure(lake_tables={"lineitem": {"path": "lake/lineitem"}})
    failed = deployment.failures()
    assert failed.keys() == {"lake tables"}
    assert failed["lake tables"].startswith("lineitem: ")
    assert "there is no such file or folder" in failed["lake tables"]


def test_an_event_log_that_is_missing(deployment: Deployment) -> None:
    deployment.configure(spark_event_logs=["spark_events"])
    assert "spark_events" in deployment.failures()["event logs"]


def test_a_check_that_is_itself_wrong_shows_no_trace_and_no_secret() -> None:
    def faulty() -> Any:
        yield "ok", "first"
        raise RuntimeError("password=hunter2")

    found = list(findings_of("a check", faulty))
    assert [each.verdict for each in found] == ["ok", "failed"]
    assert found[1].words == "the check itself ended with RuntimeError: STARSKIP_TRACEBACKS=1 shows where"


@pytest.mark.parametrize(
    ("found", "bounds", "expected"),
    [
        ("3.3.2", ">=3.2,<4", True),
        ("4.0.0rc1", ">=3.2,<4", False),
        ("3.2", ">=3.2.0", True),
        ("1.15.10", "==1.15.1", False),
        ("30.12", "", True),
    ],
)
def test_versions_are_compared_as_numbers(found: str, bounds: str, expected: bool) -> None:
    assert is_within(found, bounds) is expected


ANSWERS = {
    "/version": {"pinot-broker": "1.4.0"},
    "/tables": {"tables": ["lineitem"]},
    "/tables/lineitem": {"OFFLINE": {"tableName": "lineitem_OFFLINE"}},
    "/segments/lineitem?type=OFFLINE": [{"OFFLINE": ["lineitem_0"]}],
}


class Controller(BaseHTTPRequestHandler):
    """A controller that lets anybody read and nobody check a config."""

    def do_GET(self) -> None:
        self._answer(200, ANSWERS[self.path])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(403, {"code": 403, "error": "Permission denied"})

    def _answer(self, status: int, document: Any) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


def test_a_live_pinot_of_another_version_with_rights_to_read(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HTTPServer(("127.0.0.1", 0), Controller) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("STARSKIP_PINOT_CONTROLLER", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("STARSKIP_PINOT_TOKEN", "hunter2")
        _, found = deployment.checked()
        server.shutdown()
        thread.join()
    words = "; ".join(words for _, words in found["live Pinot"])
    assert [verdict for verdict, _ in found["live Pinot"]] == ["ok", "warning", "ok", "warning"]
    assert "the controller answers, of Pinot 1.4.0" in words
    assert "the advice is for Pinot 0.11: set scoring.pinot_version to 1.4.0" in words
    assert "ValidateTableConfigs (CREATE)" in words
    assert "hunter2" not in str(found)
    assert found["extras"] == [("ok", "extras that the configuration needs are installed: pinot")]


@pytest.mark.parametrize("halves", [("lineitem_OFFLINE",), ("lineitem_OFFLINE", "lineitem_REALTIME")])
def test_halves_of_a_hybrid_table_have_folders_of_their_own(
    deployment: Deployment, halves: tuple[str, ...]
) -> None:
    for half in halves:
        shutil.copytree(deployment.root / "segments" / "lineitem", deployment.root / "segments" / half)
    shutil.rmtree(deployment.root / "segments" / "lineitem")
    code, found = deployment.checked()
    assert code == 0, found
    assert {verdict for of in found.values() for verdict, _ in of} == {"ok"}
    read = "lineitem" if len(halves) == 1 else "lineitem_OFFLINE, lineitem_REALTIME"
    assert found["segments"][1][1].startswith(f"one segment was read of airlineStats, {read}: ")
