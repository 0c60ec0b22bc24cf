"""A real Apache Pinot 0.11.0 for benchmarks: ZooKeeper, controller, broker and server in one process.

Pinot's QuickStart with no sample data; its ports are fixed. The jars come from Maven, once, into a folder
that stays; everything else lies in a folder that the caller throws away.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

HERE = Path(__file__).parent
CONTROLLER = "http://127.0.0.1:9000"
BROKER = "http://127.0.0.1:8000"
SERVER = "http://127.0.0.1:7500"
PORTS = (2123, 9000, 8000, 7000, 7500)
START_SECONDS = 240
STOP_SECONDS = 60
LOAD_SECONDS = 600
COPY_ENDINGS = (".segment.bak", ".segment.tmp")
# What Pinot's off-heap buffers reach into since Java 9 closed it.
OPENED = ("java.nio", "sun.nio.ch", "java.lang", "java.util", "java.lang.reflect", "jdk.internal.misc")


class PinotFailed(Exception):
    """Pinot, or what it needs, did not do what it was asked for."""


@dataclass(frozen=True, slots=True)
class PinotAnswer:
    """Rows of one query, how many documents passed its filter, what was read, and the broker's time."""

    rows: list[list[Any]]
    documents_scanned: int
    entries_in_filter: int
    entries_post_filter: int
    segments_queried: int
    segments_processed: int
    segments_matched: int
    time_ms: int


class RunningPinot:
    """Pinot as a context: it is started on entering and ended on leaving, whatever happens in between."""

    def __init__(self, jars: Path, folder: Path, heap: str, processors: int | None = None) -> None:
        """Take the jars, a folder for data and log, Java's heap, such as "2g", and the processors it sees."""
        self._jars = jars
        self._folder = folder
        self._heap = heap
        self._pinned = [f"-XX:ActiveProcessorCount={processors}"] if processors else []
        self._log = folder / "pinot.log"
        self._output: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it and wait until all parts are healthy."""
        busy = [port for port in PORTS if _is_taken(port)]
        if busy:
            raise PinotFailed(f"port {busy[0]} is taken, and Pinot's QuickStart cannot use another one")
        self._output = (self._folder / "output.txt").open("wb")
        opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
        command = [
            *(_java(), f"-Xmx{self._heap}", *self._pinned, *opens),
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            *(f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}", f"-Dpinot.log.file={self._log}"),
            *("-cp", f"{self._jars}/*", "org.apache.pinot.tools.admin.PinotAdministrator"),
            *("QuickStart", "-type", "EMPTY", "-dataDir", str(self._folder / "data")),
        ]
        self._process = subprocess.Popen(
            command, stdout=self._output, stderr=subprocess.STDOUT, cwd=self._folder
        )
        try:
            self._wait_until_healthy()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self._stop()

    @property
    def query_log(self) -> bytes:
        """Return the queries that the broker has logged until now, a record each."""
        return self._log.with_name(f"{self._log.name}.queries").read_bytes()

    def create_table(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """Create a table and its schema, in Pinot's own JSON."""
        self._controller("/schemas", json.dumps(schema).encode(), "application/json")
        self._controller("/tables", json.dumps(config).encode(), "application/json")

    def ingest_csv(self, table: str, file: Path) -> str:
        """Let the controller make one segment of a file with a header, and return the segment's name."""
        asked = urllib.parse.urlencode(
            {
                "tableNameWithType": f"{table}_OFFLINE",
                "batchConfigMapStr": json.dumps({"inputFormat": "csv"}),
                "sourceURIStr": file.resolve().as_uri(),
            }
        )
        told = self._controller(f"/ingestFromURI?{asked}", b"--x--\r\n", "multipart/form-data; boundary=x")
        return str(json.loads(told)["status"]).rpartition(" ")[2]

    def upload_segment(self, table: str, file: Path) -> None:
        """Give a table a tarred segment as it is."""
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'
        body = head.encode() + file.read_bytes() + b"\r\n--x--\r\n"
        asked = urllib.parse.urlencode({"tableName": table, "tableType": "OFFLINE"})
        self._controller(f"/v2/segments?{asked}", body, "multipart/form-data; boundary=x")

    def wait_for_rows(self, table: str, rows: int) -> None:
        """Wait until the server answers with that many rows."""
        waited_until = time.monotonic() + LOAD_SECONDS
        found = -1
        while time.monotonic() < waited_until:
            try:
                answered = self.ask(f"SELECT COUNT(*) FROM {table}").rows
                found = int(answered[0][0]) if answered else 0
            except PinotFailed:
                found = -1  # the broker does not know the table yet
            if found == rows:
                return
            time.sleep(0.5)
        raise PinotFailed(f"{table}: {found} rows instead of {rows} after {LOAD_SECONDS} s{self._log_end()}")

    def segment_tar(self, table: str, segment: str) -> bytes:
        """Return the tarred segment as the controller keeps it."""
        with urllib.request.urlopen(f"{CONTROLLER}/segments/{table}/{segment}") as response:
            found: bytes = response.read()
        return found

    def table_config(self, table: str) -> bytes:
        """Return what GET /tables/T answers."""
        with urllib.request.urlopen(f"{CONTROLLER}/tables/{table}") as response:
            found: bytes = response.read()
        return found

    def change_tables(self, configs: Sequence[Mapping[str, Any]]) -> None:
        """Give tables another configuration, and wait until all of their segments are as it says."""
        jobs = {}
        for config in configs:
            table = config["tableName"]
            self._controller(f"/tables/{table}", json.dumps(config).encode(), "application/json", "PUT")
            told = self._controller(f"/segments/{table}_OFFLINE/reload", b"", "application/json")
            job = re.search(r"reloadJobId\W+([0-9a-f-]+)", told)
            if job is None:
                raise PinotFailed(f"{table}: no reload job in {told[:500]}")
            jobs[table] = job[1]
        waited_until = time.monotonic() + LOAD_SECONDS
        for table, job_id in jobs.items():
            while not self._is_reloaded(job_id):
                if time.monotonic() > waited_until:
                    raise PinotFailed(f"{table}: not reloaded after {LOAD_SECONDS} s{self._log_end()}")
                time.sleep(0.1)

    def index_maps(self, table: str) -> dict[str, bytes]:
        """Return the server's own tables of contents of its v3 segments, by segment."""
        (folder,) = (self._folder / "data").glob(f"*/quickstart/PinotServerDataDir0/{table}_OFFLINE")
        # While a segment is loaded anew, copies of it lie beside it for a moment, and go.
        settled = [each for each in folder.iterdir() if not each.name.endswith(COPY_ENDINGS)]
        maps = {each.name: each / "v3" / "index_map" for each in settled}
        return {name: file.read_bytes() for name, file in maps.items() if file.exists()}

    def ask(self, sql: str, *, use_star_tree: bool = True) -> PinotAnswer:
        """Ask the broker; raises PinotFailed for an answer with exceptions or of only some segments."""
        asked = {"sql": sql, "queryOptions": f"useStarTree={str(use_star_tree).lower()};timeoutMs=60000"}
        told = json.loads(_post(f"{BROKER}/query/sql", json.dumps(asked).encode(), "application/json"))
        if told.get("exceptions"):
            raise PinotFailed(f"{sql}: {str(told['exceptions'])[:500]}")
        if told.get("numGroupsLimitReached"):
            raise PinotFailed(f"{sql}: too many groups for Pinot")
        rows = told.get("resultTable", {}).get("rows", [])
        return PinotAnswer(
            rows,
            documents_scanned=told["numDocsScanned"],
            entries_in_filter=told["numEntriesScannedInFilter"],
            entries_post_filter=told["numEntriesScannedPostFilter"],
            segments_queried=told["numSegmentsQueried"],
            segments_processed=told["numSegmentsProcessed"],
            segments_matched=told["numSegmentsMatched"],
            time_ms=told["timeUsedMs"],
        )

    def _is_reloaded(self, job: str) -> bool:
        with urllib.request.urlopen(f"{CONTROLLER}/segments/segmentReloadStatus/{job}") as response:
            status = json.load(response)
        return 0 < status["totalSegmentCount"] == status["successCount"]

    def _controller(self, path: str, body: bytes, content_type: str, method: str = "POST") -> str:
        try:
            return _post(f"{CONTROLLER}{path}", body, content_type, method)
        except urllib.error.HTTPError as error:
            detail = error.read().decode(errors="replace")[:1000]
            raise PinotFailed(
                f"{method} {path.partition('?')[0]}: {error.code} {detail}{self._log_end()}"
            ) from error

    def _wait_until_healthy(self) -> None:
        waited_until = time.monotonic() + START_SECONDS
        while time.monotonic() < waited_until:
            if self._process is None or self._process.poll() is not None:
                raise PinotFailed(f"Pinot ended while starting{self._log_end()}")
            if all(_is_healthy(each) for each in (CONTROLLER, BROKER, SERVER)):
                return
            time.sleep(0.5)
        raise PinotFailed(f"Pinot is not ready after {START_SECONDS} s{self._log_end()}")

    def _stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._output is not None:
            self._output.close()

    def _log_end(self) -> str:
        for file in (self._log, self._folder / "output.txt"):
            if file.exists() and (text := file.read_text(errors="replace").strip()):
                return f"\nThe end of {file.name}:\n{text[-2000:]}"
        return ""


def pinot_jars(folder: Path) -> Path:
    """Return the folder with Pinot's jars (151 MB), which Maven fetches if they are not there yet."""
    about = "Pinot 0.11.0 (151 MB, one to two minutes)"
    return fetched_jars(folder / "jars", about, HERE / "pom.xml", lambda to: ["package", f"-Dfolder={to}"])


def fetched_jars(jars: Path, about: str, pom: Path, goals: Callable[[Path], Sequence[str]]) -> Path:
    """Return ``jars``, a folder that Maven fills in one step if it is not there yet.

    ``goals``: what Maven is asked to do so that it copies the jars that ``pom`` names to a folder.
    """
    if jars.exists():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise PinotFailed("Maven is needed to fetch Pinot. Debian and Ubuntu: sudo apt-get install maven")
    jars.parent.mkdir(parents=True, exist_ok=True)
    print(f"Fetching {about} with Maven, once", file=sys.stderr)
    unfinished = jars.with_name(f"{jars.name}.{os.getpid()}")
    command = [maven, "-B", "-q", "-f", str(pom), *goals(unfinished)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise PinotFailed(f"Maven could not fetch {about}:\n{told.stdout[-2000:]}{told.stderr[-2000:]}")
    unfinished.rename(jars)
    return jars


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _is_taken(port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(1)
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _is_healthy(place: str) -> bool:
    try:
        with urllib.request.urlopen(f"{place}/health", timeout=2) as response:
            return bool(response.read() == b"OK")
    except OSError:
        return False


def _post(url: str, body: bytes, content_type: str, method: str = "POST") -> str:
    asked = urllib.request.Request(url, body, {"Content-Type": content_type}, method=method)
    with urllib.request.urlopen(asked, timeout=600) as response:
        found: str = response.read().decode()
    return found
