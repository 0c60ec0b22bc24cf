"""The report pages as Airflow mounts them, in one process: who may read, what leaves, what errors say."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.manifest import Part
from starskip.artefacts.storage_for import storage_for
from starskip.orchestration.report_places import DAG_ID, RUN_ROUTE, URL_PREFIX, run_reports
from starskip.reports.page_links import page_name
from starskip.reports.report_files import report_files

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CHECKOUT = Path(__file__).parents[2]
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
SOUND = {
    "name": "lineitem",
    "run_date": NIGHT,
    "document": "report.html",
    "dag_id": DAG_ID,
    "run_id": "a+run",
}
HOSTILE = (
    "..%2F..%2Fetc%2Fpasswd",
    "..",
    "%2e%2e",
    "%2E%2E%2F%2E%2E%2Freports",
    "%252e%252e%252f",
    "..;",
    "..%5C..%5Cx",
    "lineitem%00",
    "%E2%80%AEmetienil",
    "%F0%9F%A6%86" * 20,
    "t-" + "a" * 60 + "-" + "0" * 32,
    "x" * 60_000,
    "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "%00",
    "%FF%FE",
    "2026-13-40",
    "-1",
    "x" * 3_000,
    "report.html%0dSet-Cookie:evil=1",
    "{{7*7}}",
    "%27%20OR%201=1--",
)
READERS = ("viewer", "admin")


@dataclass
class Server:
    """Airflow's API server with the pages in it; ``headers`` are those of a user who has logged in."""

    client: Any
    headers: Mapping[str, Mapping[str, str]]

    def get(self, path: str, user: str | None = "viewer", **more: Any) -> Any:
        return self.ask("GET", path, user, **more)

    def ask(self, method: str, path: str, user: str | None = "viewer", **more: Any) -> Any:
        headers = self.headers[user] if user else {}
        return self.client.request(method, f"{URL_PREFIX}{path}", headers=headers, **more)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ArtefactStore:
    store = ArtefactStore(storage_for(str(tmp_path_factory.mktemp("artefacts"))))
    case = runpy.run_path(str(CHECKOUT / "tests" / "reports" / "report_cases.py"))["CASES"]["lineitem"]()
    aside = store.write_aside("reports", NIGHT)
    parts = {
        table: Part(
            tuple(
                aside.write_file(table, name, content)
                for name, content in report_files(replace(case, table=table)).items()
            )
        )
        for table in ("lineitem", *ODD_TABLES)
    }
    now = datetime.now(UTC)
    store.publish("reports", NIGHT, parts, replace="all", created_at=now, created_by="test")
    files = dict(report_files(case))
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
    aside = store.write_aside("reports", DAMAGED_NIGHT)
    parts = {
        table: Part(tuple(aside.write_file(table, name, text) for name, text in each.items()))
        for table, each in damaged.items()
    }
    store.publish("reports", DAMAGED_NIGHT, parts, replace="all", created_at=now, created_by="test")
    for file in parts["gone"].files:
        store.storage.delete(file.name)
    return store


@pytest.fixture(scope="module")
def server(dag_bag: Any, store: ArtefactStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``dag_bag`` has given Airflow a home of its own, in which its database is made here."""
    from airflow.api_fastapi.app import create_app, purge_cached_app
    from airflow.configuration import conf
    from airflow.utils.db import initdb
    from fastapi.testclient import TestClient

    config = tmp_path_factory.mktemp("config") / "night.yaml"
    config.write_text(f"artefacts: {store.storage.place}\nsegments_root: .\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STARSKIP_CONFIG", str(config))
        patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", "admin:admin,viewer:viewer")
        initdb()
        add_run("a+run", {"run_date": NIGHT})
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


def add_run(run_id: str, conf: dict[str, Any], state: str = "success") -> None:
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from airflow.utils.types import DagRunType

    day = datetime(2026, 11, 19, 2, tzinfo=UTC)
    logical_date = day + timedelta(seconds=len(run_id))  # of which no two runs may have the same
    with create_session() as session:
        session.merge(DagBundleModel(name="dags-folder"))
        session.flush()
        session.merge(DagModel(dag_id=DAG_ID, bundle_name="dags-folder", fileloc="x"))
        run = DagRun(
            dag_id=DAG_ID,
            run_id=run_id,
            run_type=DagRunType.MANUAL,
            conf=conf,
            state=state,
            logical_date=logical_date,
            run_after=day,
            data_interval=(day, day),
        )
        session.add(run)


def paths() -> list[str]:
    """Every route that there is, by its own list: a new one is asked for here without a line of test."""
    from starskip.orchestration.report_pages.pages import pages_app

    app = pages_app(CHECKOUT)
    assert not app.user_middleware
    return [route.path for route in app.routes]


def addresses() -> list[str]:
    """Every route, filled in, and what stands beside them: other cases, slashes, files, nothing."""
    routes = [filled(path) for path in paths()]
    beside = ["/no/such/page", "/static/x.css", "/favicon.ico", "/.git/config", "//", "/tables/", "/nights"]
    return [
        *routes,
        *(f"{path}/" for path in routes if path != "/"),
        *(path.upper() for path in routes),
        *beside,
    ]


def filled(path: str, **values: str) -> str:
    return re.sub(r"{(\w+)(?::\w+)?}", lambda found: {**SOUND, **values}.get(found[1], "x"), path)


def ask_literally(server: Server, path: str, *, root: str = "") -> Any:
    """Ask for an address as it stands, which a client would shorten where it climbs."""
    import anyio
    import httpx

    sent: list[dict[str, Any]] = []
    headers = [(name.lower().encode(), value.encode()) for name, value in server.headers["viewer"].items()]
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

        await server.client.app(scope, receive, send)

    anyio.run(ask)
    body = b"".join(message.get("body", b"") for message in sent)
    return httpx.Response(sent[0]["status"], headers=sent[0]["headers"], content=body)


def check_headers(answer: Any) -> None:
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'self'" in policy and "base-uri 'none'" in policy
    assert not re.search(r"unsafe|https?:|\*|connect-src|object-src", policy)
    # A script runs by its hash alone, and in a report none does.
    scripts = re.findall(r"script-src ([^;]*)", policy)
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", each) for each in scripts)
    assert "<script" not in (answer.text.replace(OUR_SCRIPT, "") if scripts else answer.text)
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "evil" not in answer.headers.get("Set-Cookie", "")


def test_there_are_routes_and_none_describes_the_others(server: Server) -> None:
    found = paths()
    assert len(found) == len(set(found)) >= 7
    for name in ("/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"):
        assert name not in found
        assert server.get(name).status_code == 404


WRITING = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def test_no_route_takes_anything_but_reading(server: Server) -> None:
    for path in addresses():
        for method in WRITING:
            for user, status in ((None, 401), ("viewer", 405), ("admin", 405)):
                answer = server.ask(method, path, user)
                assert answer.status_code == status, (method, path)
                check_headers(answer)
    assert server.ask("BREW", "/", None).status_code == 405


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_route_answers_someone_who_has_not_logged_in(server: Server, method: str) -> None:
    texts = set()
    for path in [*addresses(), "/tables/%3Cscript%3E", "/tables/lineitem/2020-01-01"]:
        for headers in ({}, {"Authorization": "Bearer forged"}, {"Cookie": "_token=forged"}):
            answer = server.client.request(method, f"{URL_PREFIX}{path}", headers=headers)
            assert answer.status_code in ((401, 403) if headers else (401,)), path
            assert "lineitem" not in answer.text
            check_headers(answer)
            if not headers:
                texts.add(answer.text)
    # What is there and what is not look the same.
    assert len(texts) == 1


def test_every_route_answers_those_who_may_read_the_dag(server: Server) -> None:
    for user in READERS:
        statuses = {}
        for path in paths():
            answer = server.get(filled(path), user)
            check_headers(answer)
            statuses[path] = answer.status_code
            head = server.ask("HEAD", filled(path), user)
            assert (head.status_code, head.headers["Content-Type"]) == (
                answer.status_code,
                answer.headers["Content-Type"],
            )
        assert set(statuses.values()) <= {200, 404}
        assert [path for path, status in statuses.items() if status == 404] == ["/{anything:path}"]


def test_what_stands_beside_the_routes_is_not_found(server: Server) -> None:
    known = {filled(path) for path in paths()}
    for path in addresses():
        answer = server.get(path)
        if path not in known:
            assert answer.status_code == 404, path
        check_headers(answer)
    # Without the slash it is not ours any more, but the page of Airflow itself, which shows no report.
    outside = server.client.get(URL_PREFIX, headers=server.headers["viewer"])
    assert "lineitem" not in outside.text


def test_no_route_answers_someone_who_may_not_read_the_dag(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    asked = []

    def refuse(self: Any, *, method: str, details: Any, **rest: Any) -> bool:
        asked.append((method, details.id))
        return False

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", refuse)
    for path in addresses():
        for method in ("GET", "HEAD", *WRITING):
            answer = server.ask(method, path, "admin")
            assert answer.status_code == 403
            assert "lineitem" not in answer.text
            check_headers(answer)
    assert set(asked) == {("GET", DAG_ID)}


def test_the_runs_of_the_dag_ask_for_runs_too(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    monkeypatch.setattr(
        SimpleAuthManager,
        "is_authorized_dag",
        lambda self, *, access_entity=None, **rest: access_entity is None,
    )
    assert server.get("/").status_code == 200
    assert server.get(f"/runs/{DAG_ID}/a+run").status_code == 403


def test_hostile_addresses_are_refused_in_words(server: Server) -> None:
    for path in paths():
        for name in re.findall(r"{(\w+)", path):
            for value in HOSTILE:
                answer = ask_literally(server, filled(path, **{name: value}))
                assert answer.status_code == 404, (path, value)
                check_headers(answer)
                assert "<script" not in answer.text.replace(OUR_SCRIPT, "") and "Traceback" not in answer.text
                assert "root:" not in answer.text


def test_a_line_break_in_an_address_leads_out_of_our_place_and_nowhere(server: Server) -> None:
    # Starlette's routes end at one: it is Airflow that answers, and has nothing there.
    answer = ask_literally(server, "/tables/lineitem%0a")
    assert answer.status_code == 404
    assert "lineitem" not in answer.text


@pytest.mark.parametrize(
    "query",
    ["?before=yesterday", "?until=2026-11-18&after=..%2Fx", "?like=%3Cscript%3E", "?like=" + "x" * 201,
     "?page=1", "?after=%00", "?before=2026-11-18%00", "?until=9999-99-99",
     "?until=0001-01-01&before=0001-01-01", "?like=%FF%ED%A0%80", "?like=a&like=b", "?like[]=a",
     "?" + "a=b&" * 2_000],
)  # fmt: skip
def test_hostile_questions_change_nothing(server: Server, query: str) -> None:
    for path in ("/", "/tables/lineitem", f"/nights/{NIGHT}"):
        answer = server.get(path + query)
        assert answer.status_code in (200, 404, 422)
        assert "<script" not in answer.text.replace(OUR_SCRIPT, "") and "Traceback" not in answer.text
        check_headers(answer)


def test_the_report_is_the_published_page_under_its_own_policy(server: Server, store: ArtefactStore) -> None:
    from starskip.reports.render_html import content_security_policy

    snapshot = store.snapshot("reports", NIGHT)
    assert snapshot is not None
    published = {f.name[-11:]: snapshot.read_file(f) for f in snapshot.parts()["lineitem"].files}
    answer = server.get(f"/tables/lineitem/{NIGHT}/report.html")
    assert answer.content == published["report.html"]
    policy = answer.headers["Content-Security-Policy"]
    assert policy == f"{content_security_policy()}; frame-ancestors 'self'"

    download = server.get(f"/tables/lineitem/{NIGHT}/report.json")
    assert download.content == published["report.json"]
    assert download.headers["Content-Type"] == "application/json"
    assert download.headers["Content-Disposition"] == f'attachment; filename="lineitem-{NIGHT}-report.json"'


@pytest.mark.parametrize(
    ("table", "status", "says"),
    [
        ("sound", 200, ""),
        ("older_page", 200, ""),
        ("torn", 503, "not the JSON of a report"),
        ("newer", 503, "update it"),
        ("without_fields", 503, "is missing"),
        ("empty", 404, "there is no report.html"),
        ("gone", 503, "of that night again"),
    ],
)
def test_a_damaged_report_is_told_with_a_status_and_takes_no_other_with_it(
    server: Server, table: str, status: int, says: str
) -> None:
    for path in (f"/tables/{table}/{DAMAGED_NIGHT}", f"/tables/{table}/{DAMAGED_NIGHT}/report.html"):
        answer = server.get(path)
        assert answer.status_code == status
        assert says.lower() in answer.text.lower()
        check_headers(answer)
    for path in ("/", f"/nights/{DAMAGED_NIGHT}", f"/tables/{table}"):
        answer = server.get(path)
        assert answer.status_code == 200
        assert table in answer.text
    assert f"/tables/sound/{DAMAGED_NIGHT}" in server.get(f"/nights/{DAMAGED_NIGHT}").text


def names_in_tags(page: str) -> set[str]:
    found = set()

    class Names(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.update([tag, *(name for name, _ in attrs)])

    Names().feed(page)
    return found


@pytest.mark.parametrize("table", ODD_TABLES, ids=range(len(ODD_TABLES)))
def test_odd_names_are_short_plain_text_everywhere(server: Server, table: str) -> None:
    name = page_name(table)
    for path in ("/", f"/tables/{name}", f"/tables/{name}/{NIGHT}", f"/tables/{name}/{NIGHT}/report.html"):
        answer = server.get(path)
        assert answer.status_code == 200
        check_headers(answer)
        assert not re.search("[\u202e\u2066\x00\x1b]", answer.text)
        assert "<" * 3 not in answer.text and "&lt;" * 200 not in answer.text
        assert not names_in_tags(answer.text) & {"onmouseover", "onerror"}


def test_behind_a_proxy_every_link_stays_below_its_path(server: Server) -> None:
    answer = ask_literally(server, "/", root="/airflow")
    assert answer.status_code == 200
    links = re.findall(r'(?:href|action|src)="([^"]*)"', answer.text)
    assert links and all(link.startswith(f"/airflow{URL_PREFIX}/") for link in links)


def test_the_keys_of_a_connection_stay_out_of_the_server(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.models.connection import Connection
    from airflow.utils.session import create_session

    with create_session() as session:
        session.add(Connection("starskip_store", "aws", login="KEY", password="SECRET"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    assert server.get(f"/runs/{DAG_ID}/a+run").status_code == 200
    assert "AWS_ACCESS_KEY_ID" not in os.environ


def test_a_hostile_table_has_pages_and_files_under_a_plain_name(server: Server) -> None:
    name = page_name(ODD)
    index = server.get("/").text
    assert f'href="{URL_PREFIX}/tables/{name}/{NIGHT}"' in index
    assert "&lt;script&gt;alert(1)" in index and "<script" not in index.replace(OUR_SCRIPT, "")
    for path in (f"/tables/{name}", f"/tables/{name}/{NIGHT}", f"/tables/{name}/{NIGHT}/report.html"):
        answer = server.get(path)
        assert answer.status_code == 200
        assert "<script" not in answer.text.replace(OUR_SCRIPT, "")
    disposition = server.get(f"/tables/{name}/{NIGHT}/report.md").headers["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9_.-]+-report\.md"', disposition)


def test_a_run_shows_the_night_that_it_is_about_and_its_tables(server: Server) -> None:
    add_run("by-interval", {})
    add_run("one-table", {"run_date": NIGHT, "tables": ["lineitem"]}, state="running")
    add_run("one-without-any", {"run_date": "2026-11-01"})
    whole = server.get(f"/runs/{DAG_ID}/a+run").text
    assert f'Night of <time datetime="{NIGHT}"' in whole and "lineitem" in whole and "alert(1)" in whole
    part = server.get(f"/runs/{DAG_ID}/one-table").text
    assert "lineitem" in part and "alert(1)" not in part
    assert "This run is not over" in part and "not over" not in whole
    # Its interval starts on the 19th, of which nothing is published.
    assert "Night of 2026-11-19" in server.get(f"/runs/{DAG_ID}/by-interval").text
    assert "has left no report" in server.get(f"/runs/{DAG_ID}/one-without-any").text
    assert server.get("/runs/another_dag/a+run").status_code == 404
    assert server.get(f"/runs/{DAG_ID}/unknown").status_code == 404


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def write(text: str) -> None:
        (tmp_path / "night.yaml").write_text(text)
        monkeypatch.setenv("STARSKIP_CONFIG", str(tmp_path / "night.yaml"))

    return write


def test_without_a_night_the_page_says_what_to_run(server: Server, configured: Callable[[str], None]) -> None:
    configured("artefacts: nothing\nsegments_root: .\n")
    answer = server.get("/")
    assert answer.status_code == 200
    assert "No night yet" in answer.text
    assert "<pre>make night</pre>" in answer.text
    assert "night.yaml" in answer.text


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("artefacts: night.yaml\nsegments_root: .\n", "night.yaml"),
        ("artefacts: unknown://x\nsegments_root: .\n", "s3://"),
        ("segments_root: .\n", "artefacts is missing"),
        ("[", "is not YAML"),
    ],
)
def test_what_cannot_be_read_is_told_and_not_shown(
    server: Server, configured: Callable[[str], None], config: str, says: str
) -> None:
    configured(config)
    for path in ("/", f"/nights/{NIGHT}", f"/tables/lineitem/{NIGHT}", f"/runs/{DAG_ID}/a+run"):
        answer = server.get(path)
        # What is about one night shows it as a night that cannot be read.
        assert answer.status_code == 503
        assert says in answer.text and ("cannot be read" in answer.text or "Unreadable" in answer.text)
        assert "Traceback" not in answer.text and 'File "' not in answer.text
        check_headers(answer)


def test_a_fault_of_ours_is_one_sentence(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from starskip.orchestration.report_pages import pages

    def fault(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret of the server")

    monkeypatch.setattr(pages, "recent_nights", fault)
    answer = server.get("/")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "secret" not in answer.text and "Traceback" not in answer.text
    check_headers(answer)


def test_the_variable_names_the_configuration_where_the_environment_does_not(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow.models.variable import Variable

    monkeypatch.delenv("STARSKIP_CONFIG")
    (tmp_path / "of-the-variable.yaml").write_text("artefacts: nothing\nsegments_root: .\n")
    Variable.set("starskip_config", str(tmp_path / "of-the-variable.yaml"))
    try:
        assert "of-the-variable.yaml" in server.get("/").text
    finally:
        Variable.delete("starskip_config")


def test_the_plugin_brings_one_entry_one_tab_and_nothing_heavy() -> None:
    plugin = str(CHECKOUT / "plugins" / "starskip_reports.py")
    script = "\n".join(
        [
            "import importlib.util, json, sys",
            "import airflow.plugins_manager",
            "before = set(sys.modules)",
            f"spec = importlib.util.spec_from_file_location('p', {plugin!r})",
            "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)",
            "print(json.dumps([sorted(set(sys.modules) - before), module.StarskipReports.external_views]))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    imported, views = json.loads(done.stdout.splitlines()[-1])
    assert set(imported) <= {"starskip", "starskip.orchestration", "starskip.orchestration.report_places"}
    assert [(view["destination"], view["href"]) for view in views] == [
        ("nav", "starskip/"),
        ("dag_run", "starskip/runs/{DAG_ID}/{RUN_ID}"),
    ]


def test_the_task_that_writes_reports_leads_to_them_and_no_other_does(nightly: Any) -> None:
    from types import SimpleNamespace

    linked = {task.task_id: task.operator_extra_links for task in nightly.tasks if task.operator_extra_links}
    assert list(linked) == ["write_report"]
    (link,) = linked["write_report"]
    run = SimpleNamespace(dag_id=DAG_ID, run_id="manual__2026-11-20T00:00:00+00:00")
    assert link.get_link(nightly.get_task("write_report"), ti_key=run) == (
        f"/dags/{DAG_ID}/runs/manual__2026-11-20T00%3A00%3A00%2B00%3A00/plugin/{RUN_ROUTE}"
    )
    assert nightly.dag_id == DAG_ID


def test_a_link_stays_within_its_path_whatever_the_run_is_called() -> None:
    assert (
        run_reports("/airflow/", "d", "../x?y#z") == f"/airflow/dags/d/runs/..%2Fx%3Fy%23z/plugin/{RUN_ROUTE}"
    )
