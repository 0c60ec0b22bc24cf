"""A real Apache Pinot 0.11.0: ZooKeeper, controller, broker and servers, each a process on ports of its own.

The jars come from Maven, once, into a folder that stays; everything else lies in a folder that the caller
throws away.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from pinot.pinot_process import HERE, PinotFailed, PinotProcess, free_ports
from starskip.errors import StarskipError
from starskip.pinot.cluster.broker import QueryAnswer as PinotAnswer
from starskip.pinot.cluster.open_cluster import PinotCluster, open_cluster
from starskip.pinot.cluster.pinot_address import PinotAddress

CACHE = "~/.cache/starskip/pinot-0.11.0"
"""Folder of the jars."""
CLUSTER = "starskip"
LOAD_SECONDS = 600
QUERY_MS = 60_000
COPY_ENDINGS = (".segment.bak", ".segment.tmp")
_ACCESS = "BasicAuthAccessControlFactory"


@dataclass(frozen=True, slots=True)
class User:
    """One who may ask Pinot; ``tables`` and ``permissions`` are all if they are empty."""

    name: str
    password: str
    tables: str = ""
    permissions: str = ""

    @property
    def header(self) -> str:
        """Return the header by which the user asks."""
        return f"Basic {b64encode(f'{self.name}:{self.password}'.encode()).decode()}"


class RunningPinot:
    """Pinot as a context: it is started on entering and ended on leaving, whatever happens in between.

    ``processes``: its components by name: zookeeper, controller, broker, server, server2 and so on.
    """

    def __init__(
        self,
        jars: Path,
        folder: Path,
        heap: str,
        processors: int | None = None,
        *,
        servers: int = 1,
        users: Sequence[User] = (),
    ) -> None:
        """Take the jars, a folder for data and logs, Java's heap, such as "2g", and the processors it sees.

        ``users``: those who may ask, the first of them everything; without them everybody may.
        """
        self._folder = folder
        self._opened = open_cluster(self._plan(jars, heap, processors, servers, users))
        self._cluster: PinotCluster | None = None

    def __enter__(self) -> Self:
        """Start it and wait until all parts are healthy."""
        try:
            for names in (["zookeeper"], ["controller"], list(self.processes)[2:]):
                for name in names:
                    self.processes[name].start()
                for name in names:
                    self.processes[name].wait()
        except BaseException:
            self._stop()
            raise
        self._cluster = self._opened.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self._opened.__exit__(kind, error, trace)
        self._stop()

    @property
    def cluster(self) -> PinotCluster:
        """Return the client of it, with the rights of the first user."""
        assert self._cluster is not None, "it is not running"
        return self._cluster

    @property
    def query_log(self) -> bytes:
        """Return the queries that the broker has logged until now, a record each."""
        log = self.processes["broker"].log
        return log.with_name(f"{log.name}.queries").read_bytes()

    def create_table(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """Create a table and its schema, in Pinot's own JSON."""
        with self._told():
            for path, body in (("/schemas", schema), ("/tables", config)):
                self.cluster.controller.session.request("POST", path, "CreateTable (CREATE)", body=body)

    def ingest_csv(self, table: str, file: Path) -> str:
        """Let the controller make one segment of a file with a header, and return the segment's name."""
        asked = urllib.parse.urlencode(
            {
                "tableNameWithType": f"{table}_OFFLINE",
                "batchConfigMapStr": json.dumps({"inputFormat": "csv"}),
                "sourceURIStr": file.resolve().as_uri(),
            }
        )
        told = self._upload(f"/ingestFromURI?{asked}", b"--x--\r\n")
        return str(json.loads(told)["status"]).rpartition(" ")[2]

    def upload_segment(self, table: str, file: Path) -> None:
        """Give a table a tarred segment as it is."""
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'
        body = head.encode() + file.read_bytes() + b"\r\n--x--\r\n"
        asked = urllib.parse.urlencode({"tableName": table, "tableType": "OFFLINE"})
        self._upload(f"/v2/segments?{asked}", body)

    def wait_for_rows(self, table: str, rows: int) -> None:
        """Wait until the server answers with that many rows."""
        waited_until = time.monotonic() + LOAD_SECONDS
        found = -1
        while time.monotonic() < waited_until:
            try:
                answered = self.ask(f'SELECT COUNT(*) FROM "{table}"').rows
                found = int(answered[0][0]) if answered else 0
            except PinotFailed:
                found = -1  # the broker does not know the table yet
            if found == rows:
                return
            time.sleep(0.5)
        raise PinotFailed(f"{table}: {found} rows instead of {rows} after {LOAD_SECONDS} s{self._log_ends()}")

    def segment_tar(self, table: str, segment: str) -> bytes:
        """Return the tarred segment as the controller keeps it."""
        return self._content(f"/segments/{table}/{segment}")

    def table_config(self, table: str) -> bytes:
        """Return what GET /tables/T answers."""
        return self._content(f"/tables/{table}")

    def change_tables(self, configs: Sequence[Mapping[str, Any]]) -> None:
        """Give tables another configuration, and wait until all of their segments are as it says."""
        controller = self.cluster.controller
        with self._told():
            jobs: dict[str, str] = {}
            for config in configs:
                table = config["tableName"]
                controller.put_table_config(table, config)
                jobs |= dict.fromkeys(controller.reload(f"{table}_OFFLINE"), table)
            waited_until = time.monotonic() + LOAD_SECONDS
            for job, table in jobs.items():
                while not 0 < (status := controller.reload_status(job)).total == status.succeeded:
                    if time.monotonic() > waited_until:
                        raise PinotFailed(f"{table}: not reloaded after {LOAD_SECONDS} s{self._log_ends()}")
                    time.sleep(0.1)

    def recommend(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what Pinot's own recommender says to its input."""
        with self._told():
            path, right = "/tables/recommender", "Recommender (READ)"
            found: dict[str, Any] = self.cluster.controller.session.request("PUT", path, right, body=asked)
        return found

    def index_maps(self, table: str) -> dict[str, bytes]:
        """Return the server's own tables of contents of its v3 segments, by segment."""
        folder = self.processes["server"].folder / "data" / f"{table}_OFFLINE"
        # While a segment is loaded anew, copies of it lie beside it for a moment, and go.
        settled = [each for each in folder.iterdir() if not each.name.endswith(COPY_ENDINGS)]
        maps = {each.name: each / "v3" / "index_map" for each in settled}
        return {name: file.read_bytes() for name, file in maps.items() if file.exists()}

    def ask(self, sql: str, *, use_star_tree: bool = True) -> PinotAnswer:
        """Ask the broker; raises PinotFailed for an answer with exceptions or of only some segments."""
        with self._told():
            answer = self.cluster.broker.ask(sql, {"useStarTree": use_star_tree}, timeout_ms=QUERY_MS)
        if answer.flaw:
            raise PinotFailed(f"{sql}: {answer.flaw}")
        return answer

    def _plan(
        self, jars: Path, heap: str, processors: int | None, servers: int, users: Sequence[User]
    ) -> PinotAddress:
        """Settle ports and settings of all processes, and return where they will be."""
        zookeeper, controller, broker, *of_servers = free_ports(3 + 3 * servers)
        admin = users[0].header if users else ""
        self.controller_url = f"http://127.0.0.1:{controller}"
        self.broker_url = f"http://127.0.0.1:{broker}"
        pinned = [f"-XX:ActiveProcessorCount={processors}"] if processors else []
        place, self.processes = f"127.0.0.1:{zookeeper}", {}

        def add(
            name: str, command: Sequence[str], heap: str, health: str | int, settings: Mapping[str, str]
        ) -> None:
            folder = self._folder / name
            given = {each: value.format(folder=folder) for each, value in settings.items() if value}
            options = [f"-Xmx{heap}", *pinned]
            self.processes[name] = PinotProcess(jars, folder, command, options, health, given)

        data = str(self._folder / "zookeeper" / "data")
        command = ["StartZookeeper", "-zkPort", str(zookeeper), "-dataDir", data]
        add("zookeeper", command, "256m", zookeeper, {})
        settings = {
            "controller.zk.str": place,
            "controller.helix.cluster.name": CLUSTER,
            "controller.host": "127.0.0.1",
            "controller.port": str(controller),
            "controller.data.dir": "{folder}/data",
            "pinot.controller.segment.fetcher.auth.token": admin,
            **_access("controller.admin.access.control", "factory.class", "controller.api.access", users),
        }
        add("controller", ["StartController"], heap, self.controller_url, settings)
        settings = {
            **_joins(place),
            "pinot.broker.hostname": "127.0.0.1",
            "pinot.broker.client.queryPort": str(broker),
            **_access("pinot.broker.access.control", "class", "broker.broker", users),
        }
        add("broker", ["StartBroker"], heap, self.broker_url, settings)
        for number in range(servers):
            netty, api, grpc = of_servers[3 * number : 3 * number + 3]
            settings = {
                **_joins(place),
                "pinot.server.netty.host": "127.0.0.1",
                "pinot.server.netty.port": str(netty),
                "pinot.server.adminapi.port": str(api),
                "pinot.server.grpc.port": str(grpc),
                "pinot.server.instance.dataDir": "{folder}/data",
                "pinot.server.instance.segmentTarDir": "{folder}/tars",
                "pinot.server.segment.fetcher.auth.token": admin,
                "pinot.server.instance.auth.token": admin,
            }
            name = f"server{number + 1 if number else ''}"
            add(name, ["StartServer"], heap, f"http://127.0.0.1:{api}", settings)
        return PinotAddress(self.controller_url, self.broker_url, admin, admin)

    def _upload(self, path: str, body: bytes) -> str:
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        return self._asked("POST", path, content=body, headers=kind).text

    def _content(self, path: str) -> bytes:
        return self._asked("GET", path).content

    def _asked(self, method: str, path: str, **more: Any) -> httpx.Response:
        session = self.cluster.controller.session
        headers = {**session.headers, **more.pop("headers", {})}
        answer = session.client.request(
            method, f"{self.controller_url}{path}", timeout=600, headers=headers, **more
        )
        if answer.is_error:
            words = f"{answer.status_code} {answer.text[:1000]}{self._log_ends()}"
            raise PinotFailed(f"{method} {path.partition('?')[0]}: {words}")
        return answer

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except StarskipError as error:
            raise PinotFailed(f"{error}{self._log_ends()}") from error

    def _stop(self) -> None:
        for each in reversed(self.processes.values()):
            if each is not self.processes["zookeeper"]:
                each.terminate()
        for each in reversed(self.processes.values()):
            each.stop()

    def _log_ends(self) -> str:
        return "".join(each.log_end() for each in self.processes.values())


def _joins(zookeeper: str) -> dict[str, str]:
    return {
        "pinot.zk.server": zookeeper,
        "pinot.cluster.name": CLUSTER,
        "pinot.set.instance.id.to.hostname": "true",
    }


def _access(prefix: str, key: str, package: str, users: Sequence[User]) -> dict[str, str]:
    """Return the settings by which a component asks for a user and password."""
    if not users:
        return {}
    found = {
        f"{prefix}.{key}": f"org.apache.pinot.{package}.{_ACCESS}",
        f"{prefix}.principals": ",".join(each.name for each in users),
    }
    for each in users:
        given = {"password": each.password, "tables": each.tables, "permissions": each.permissions}
        found |= {f"{prefix}.principals.{each.name}.{name}": text for name, text in given.items() if text}
    return found


def pinot_jars(folder: str | Path = CACHE) -> Path:
    """Return the folder with Pinot's jars (151 MB), which Maven fetches if they are not there yet."""
    about = "Pinot 0.11.0 (151 MB, one to two minutes)"
    return fetched_jars(
        Path(folder).expanduser().resolve() / "jars",
        about,
        HERE / "pom.xml",
        lambda to: ["package", f"-Dfolder={to}"],
    )


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
