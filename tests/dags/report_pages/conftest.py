"""Airflow's API server with the report pages in it, in one process, and the reports that they show."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest
from advised_store import publish_advice
from published_parts import report_part
from report_cases import lineitem
from starskip.advisor.run.night import Night
from starskip.airflow.report_places import DAG_ID, URL_PREFIX
from starskip.night.experiments import note_experiment, run_note
from starskip.reports.report_files import report_files
from starskip.reports.report_summary import report_summary
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore, Experiment
from starskip.storage.storage_for import storage_for

NIGHT = "2026-11-18"
DAMAGED_NIGHT = "2026-11-10"
ODD = "<script>alert(1)</script>/../x"
ODD_TABLES = (
    ODD,
    "\"' onmouseover=alert(2) x='",
    "\u202emetienil\u2066",
    "<" * 10_000,
    "lineitem\x00\x1b[2J",
)
OUR_SCRIPT = "<script>// Airflow lets its reader choose"
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
READERS = ("viewer", "admin")
SOUND = {
    "name": "lineitem",
    "run_date": NIGHT,
    "document": "report.html",
    "dag_id": DAG_ID,
    "run_id": "a+run",
    "experiment": "trial",
}


@dataclass
class Server:
    """Airflow's API server with the pages in it; ``headers`` are those of a user who has logged in."""

    dag_id: ClassVar[str] = DAG_ID
    of_dag: ClassVar[str] = f"/dags/{DAG_ID}"
    night: ClassVar[str] = NIGHT
    damaged_night: ClassVar[str] = DAMAGED_NIGHT
    odd_tables: ClassVar[tuple[str, ...]] = ODD_TABLES
    readers: ClassVar[tuple[str, ...]] = READERS

    client: Any
    headers: Mapping[str, Mapping[str, str]]

    def get(self, path: str, user: str | None = "viewer", **more: Any) -> Any:
        return self.ask("GET", path, user, **more)

    def ask(self, method: str, path: str, user: str | None = "viewer", **more: Any) -> Any:
        headers = self.headers[user] if user else {}
        return self.client.request(method, f"{URL_PREFIX}{path}", headers=headers, **more)

    @staticmethod
    def paths() -> list[str]:
        """Every page that there is, by its own list: a new one is asked for here without a line of test."""
        return [route.path for route in Server._routes() if "GET" in route.methods]

    @staticmethod
    def changing_paths() -> list[str]:
        """Every route that changes something, by the same list."""
        return [route.path for route in Server._routes() if "GET" not in route.methods]

    @staticmethod
    def _routes() -> list[Any]:
        from starskip.airflow.report_pages.pages import pages_app

        app = pages_app()
        assert not app.user_middleware
        return list(app.routes)

    def post(
        self,
        path: str,
        form: Mapping[str, str | list[str]],
        user: str | None = "admin",
        headers: Mapping[str, str] = OWN_PAGE,
    ) -> Any:
        """Send a form as a page of the server's own does."""
        sent = {**(self.headers[user] if user else {}), **headers}
        return self.client.post(f"{URL_PREFIX}{path}", data=form, headers=sent, follow_redirects=False)

    @classmethod
    def addresses(cls) -> list[str]:
        """Every route, filled in, and what stands beside them: other cases, slashes, files, nothing."""
        routes = [cls.filled(path) for path in (*cls.paths(), *cls.changing_paths())]
        beside = [
            "/no/such/page",
            "/static/x.css",
            "/favicon.ico",
            "/.git/config",
            "//",
            "/dags",
            "/dags/",
            f"{cls.of_dag}/tables/",
            f"{cls.of_dag}/nights",
            "/dags/another_dag/",
        ]
        return [
            *routes,
            *(f"{path}/" for path in routes if path != "/"),
            *(path.upper() for path in routes),
            *beside,
        ]

    @staticmethod
    def filled(path: str, **values: str) -> str:
        return re.sub(r"{(\w+)(?::\w+)?}", lambda found: {**SOUND, **values}.get(found[1], "x"), path)

    def ask_literally(self, path: str, *, root: str = "") -> Any:
        """Ask for an address as it stands, which a client would shorten where it climbs."""
        import anyio
        import httpx

        sent: list[dict[str, Any]] = []
        headers = [(name.lower().encode(), value.encode()) for name, value in self.headers["viewer"].items()]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": unquote(f"{root}{URL_PREFIX}{path}"),
            "raw_path": f"{root}{URL_PREFIX}{path}".encode(),
            "root_path": root,
            "query_string": b"",
            "headers": [(b"host", b"testserver"), *headers],
            "client": ("127.0.0.1", 1),
            "server": ("testserver", 80),
        }

        async def ask() -> None:
            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message: dict[str, Any]) -> None:
                sent.append(message)

            await self.client.app(scope, receive, send)

        anyio.run(ask)
        body = b"".join(message.get("body", b"") for message in sent)
        return httpx.Response(sent[0]["status"], headers=sent[0]["headers"], content=body)

    @classmethod
    def check_headers(cls, answer: Any) -> None:
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "frame-ancestors 'self'" in policy and "base-uri 'none'" in policy
        assert not re.search(r"unsafe|https?:|\*|connect-src|object-src", policy)
        # A script runs by its hash alone, and in a report none does.
        scripts = re.findall(r"script-src ([^;]*)", policy)
        assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", each) for each in scripts)
        assert "<script" not in cls.foreign_text(answer)
        assert scripts or OUR_SCRIPT not in answer.text
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert "evil" not in answer.headers.get("Set-Cookie", "")

    @staticmethod
    def foreign_text(answer: Any) -> str:
        """Return the page but for the one script that is ours; nothing of a file that is only downloaded."""
        if answer.headers.get("Content-Type", "").startswith("text/csv"):
            assert answer.headers["Content-Disposition"].startswith("attachment; ")
            return ""
        text: str = answer.text.replace(OUR_SCRIPT, "")
        return text

    @classmethod
    def parse(cls, config: Path | str, dag_id: str = DAG_ID) -> None:
        """Store the DAG whose nights a configuration describes."""
        from starskip.airflow import index_advisor_dag

        cls.store_dag(index_advisor_dag(config, dag_id=dag_id))

    @staticmethod
    def store_dag(dag: Any) -> None:
        """Store a DAG as Airflow's DAG processor does after it has read the file of the DAG."""
        from airflow.models.dagbundle import DagBundleModel
        from airflow.models.serialized_dag import SerializedDagModel
        from airflow.serialization.definitions.dag import SerializedDAG
        from airflow.serialization.serialized_objects import LazyDeserializedDAG
        from airflow.utils.session import create_session

        read = LazyDeserializedDAG.from_dag(dag)
        with create_session() as session:
            session.merge(DagBundleModel(name="dags-folder"))
            session.flush()
            SerializedDAG.bulk_write_to_db("dags-folder", None, [read], session=session)
            SerializedDagModel.write_dag(read, bundle_name="dags-folder", session=session)

    @staticmethod
    def add_run(run_id: str, conf: dict[str, Any], state: str = "success", dag_id: str = DAG_ID) -> None:
        from airflow.models.dagrun import DagRun
        from airflow.utils.session import create_session
        from airflow.utils.types import DagRunType

        day = datetime(2026, 11, 19, 2, tzinfo=UTC)
        # No two runs may have the same logical date.
        logical_date = day + timedelta(seconds=zlib.crc32(run_id.encode()) % 80_000)
        with create_session() as session:
            run = DagRun(
                dag_id=dag_id,
                run_id=run_id,
                run_type=DagRunType.MANUAL,
                conf=conf,
                state=state,
                logical_date=logical_date,
                run_after=day,
                data_interval=(day, day + timedelta(days=1)),
            )
            session.add(run)

    @staticmethod
    def add_tasks(run_id: str, dag_id: str = DAG_ID) -> None:
        """Make the tasks of a run as the scheduler does that begins it."""
        from airflow.models.dag_version import DagVersion
        from airflow.models.dagbag import DBDagBag
        from airflow.models.dagrun import DagRun
        from airflow.utils.session import create_session

        with create_session() as session:
            run = session.query(DagRun).filter(DagRun.dag_id == dag_id, DagRun.run_id == run_id).one()
            run.dag = DBDagBag().get_latest_version_of_dag(dag_id, session=session)
            version = DagVersion.get_latest_version(dag_id, session=session)
            run.verify_integrity(session=session, dag_version_id=version.id)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> ArtefactStore:
    store = ArtefactStore(storage_for(str(tmp_path_factory.mktemp("artefacts"))))
    case = lineitem()
    aside = store.staged_write("reports", NIGHT)
    parts = {}
    for table in ("lineitem", *ODD_TABLES):
        of_table = replace(case, table=table)
        parts[table] = report_part(aside, table, report_files(of_table), report_summary(of_table))
    now = datetime.now(UTC)
    store.publish("reports", NIGHT, parts, replace="all", created_at=now, created_by="test")
    files = dict(report_files(case))
    publish_advice(store, NIGHT, ("lineitem", *ODD_TABLES))
    older = {name: text.replace(b"sha256-", b"sha256-0") for name, text in files.items()}
    damaged = {
        "sound": files,
        "torn": {**older, "report.json": b"{"},
        "newer": {**older, "report.json": b'{"schema_version": 99}'},
        "without_fields": {**older, "report.json": b'{"schema_version": 1, "table": "x"}'},
        "older_page": older,
        "empty": {},
        "gone": files,
    }
    aside = store.staged_write("reports", DAMAGED_NIGHT)
    parts = {
        table: report_part(aside, table, each, report_summary(case) if table != "empty" else None)
        for table, each in damaged.items()
    }
    store.publish("reports", DAMAGED_NIGHT, parts, replace="all", created_at=now, created_by="test")
    for file in parts["gone"].files:
        store.storage.delete(file.name)
    tried = Night(
        date.fromisoformat(NIGHT), store, Settings(), now, "a trial", changed={"advice.max_indexes": "3"}
    )
    tried = replace(tried, store=replace(store, experiment=Experiment(NIGHT, SOUND["experiment"])))
    aside = tried.store.staged_write("reports", NIGHT)
    files = report_files(replace(case, run_note=run_note(tried)))
    part = report_part(aside, "lineitem", files, report_summary(case))
    tried.publish("reports", {"lineitem": part})
    note_experiment(tried, ["lineitem"])
    return store


@pytest.fixture(scope="session")
def logged_in(dag_bag: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``dag_bag`` has given Airflow a home of its own, in which its database is made here."""
    from airflow.api_fastapi.app import create_app, purge_cached_app
    from airflow.configuration import conf
    from airflow.utils.db import initdb
    from fastapi.testclient import TestClient

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", "admin:admin,viewer:viewer")
        initdb()
        Server.parse("no-such-configuration.yaml")
        Server.add_run("a+run", {"run_date": NIGHT})
        app = create_app(apps="core")
        client = TestClient(app, raise_server_exceptions=False, follow_redirects=False)
        passwords = json.loads(Path(conf.get("core", "simple_auth_manager_passwords_file")).read_text())
        headers = {}
        for user in READERS:
            login = client.post("/auth/token", json={"username": user, "password": passwords[user]})
            headers[user] = {"Authorization": f"Bearer {login.json()['access_token']}"}
        client.cookies.clear()
    yield Server(client, headers)
    purge_cached_app()


@pytest.fixture
def server(logged_in: Server, store: ArtefactStore, tmp_path: Path) -> Server:
    """The one server, with the configuration of each test: what one test sets, no other finds."""
    config = tmp_path / "of-the-server.yaml"
    config.write_text(f"store: {{artefacts: {store.storage.place}}}\nsources: {{segments_root: .}}\n")
    logged_in.parse(config)
    return logged_in
