"""Permissions of the pages: every route asks Airflow's permission, whatever the method."""

from __future__ import annotations

from typing import Any

import pytest
from starskip.airflow.report_places import DAG_ID, URL_PREFIX

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]


def test_there_are_routes_and_none_describes_the_others(server: Any) -> None:
    found = server.paths()
    assert len(found) == len(set(found)) >= 7
    for name in ("/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect"):
        assert name not in found
        assert server.get(name).status_code == 404


WRITING = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def test_no_route_takes_anything_but_reading(server: Any) -> None:
    changing = {server.filled(path) for path in server.changing_paths()}
    for path in server.addresses():
        for method in WRITING:
            if path in changing and method == "POST":
                continue
            for user, status in ((None, 401), ("viewer", 405), ("admin", 405)):
                answer = server.ask(method, path, user)
                assert answer.status_code == status, (method, path)
                server.check_headers(answer)
    assert server.ask("BREW", "/", None).status_code == 405


OTHERS = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://testserver.evil.example"},
    {"Origin": "http://testserver@evil.example"},
    {"Origin": "ftp://testserver"},
    {"Origin": "http://[testserver"},
    {"Origin": "null"},
    {},
)


def test_every_change_asks_for_more_than_reading_and_for_a_page_of_our_own(server: Any) -> None:
    assert len(server.changing_paths()) >= 2
    for path in map(server.filled, server.changing_paths()):
        for user, status in ((None, 401), ("viewer", 403)):
            answer = server.post(path, {}, user)
            assert answer.status_code == status, path
            server.check_headers(answer)
        for headers in OTHERS:
            answer = server.post(path, {}, headers=headers)
            assert answer.status_code == 403 and "Not from these pages" in answer.text, (path, headers)
            server.check_headers(answer)
        for headers in ({"Origin": "http://testserver"}, {"Origin": "https://testserver"}):
            assert server.post(path, {}, headers=headers).status_code != 403, (path, headers)
        behind = {"Origin": "https://airflow.example", "X-Forwarded-Host": "airflow.example"}
        assert server.post(path, {}, headers=behind).status_code != 403, path


def test_behind_a_proxy_that_hides_its_host_the_configured_address_is_our_own(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://airflow.example:81/airflow")
    for path in map(server.filled, server.changing_paths()):
        for origin, is_ours in (
            ("http://airflow.example:81", True),
            ("https://airflow.example:81", False),
            ("http://airflow.example", False),
            ("null", False),
        ):
            answer = server.post(path, {}, headers={"Origin": origin})
            assert (answer.status_code != 403) is is_ours, (path, origin)
        there = {"Origin": "http://airflow.example:81", "Sec-Fetch-Site": "cross-site"}
        assert server.post(path, {}, headers=there).status_code == 403, path
    for unset in ("", "http://[airflow"):
        monkeypatch.setenv("AIRFLOW__API__BASE_URL", unset)
        for origin in ("", "null", "http://evil.example"):
            assert server.post(path, {}, headers={"Origin": origin}).status_code == 403, (unset, origin)


def test_every_change_takes_forms_within_bounds(server: Any) -> None:
    for path in map(server.filled, server.changing_paths()):
        for form, status in (
            ({"x": "x" * 100_000}, 413),
            ({"x": ["y"] * 2_000}, 422),
            ({"x": "\xff"}, None),
        ):
            answer = server.post(path, form)
            assert answer.status_code == status or (status is None and 400 <= answer.status_code < 500), path
            server.check_headers(answer)
        sent = {**server.headers["admin"], "Sec-Fetch-Site": "same-origin"}
        for kind, body, status in (
            ("application/json", b"{}", 415),
            ("multipart/form-data; boundary=x", b"--x--", 415),
            ("application/x-www-form-urlencoded", b"x=%FF", 422),
            ("application/x-www-form-urlencoded", b"\xff=1", 422),
        ):
            answer = server.client.post(
                f"{URL_PREFIX}{path}", content=body, headers={**sent, "Content-Type": kind}
            )
            assert answer.status_code == status, (path, kind)
            server.check_headers(answer)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_route_answers_someone_who_has_not_logged_in(server: Any, method: str) -> None:
    texts = set()
    for path in [
        *server.addresses(),
        f"{server.of_dag}/tables/%3Cscript%3E",
        f"{server.of_dag}/tables/lineitem/2020-01-01",
    ]:
        for headers in ({}, {"Authorization": "Bearer forged"}, {"Cookie": "_token=forged"}):
            answer = server.client.request(method, f"{URL_PREFIX}{path}", headers=headers)
            assert answer.status_code in ((401, 403) if headers else (401,)), path
            assert "lineitem" not in answer.text
            server.check_headers(answer)
            if not headers:
                texts.add(answer.text)
    # What is there and what is not look the same.
    assert len(texts) == 1


def test_every_route_answers_those_who_may_read_the_dag(server: Any) -> None:
    for user in server.readers:
        statuses = {}
        for path in server.paths():
            answer = server.get(server.filled(path), user)
            server.check_headers(answer)
            statuses[path] = answer.status_code
            head = server.ask("HEAD", server.filled(path), user)
            assert (head.status_code, head.headers["Content-Type"]) == (
                answer.status_code,
                answer.headers["Content-Type"],
            )
        assert set(statuses.values()) <= {200, 404}
        # There is one night to compare, and the experiment has kept no question.
        assert {path for path, status in statuses.items() if status == 404} == {
            "/{anything:path}",
            "/dags/{dag_id}/tables/{name}/compare",
            "/dags/{dag_id}/experiments/{experiment}/tables/{name}/{run_date}/what-if",
        }


def test_what_stands_beside_the_routes_is_not_found(server: Any) -> None:
    known = {server.filled(path) for path in server.paths()}
    for path in server.addresses():
        answer = server.get(path)
        if path not in known:
            assert answer.status_code == 404, path
        server.check_headers(answer)
    # Without the slash it is not ours any more, but the page of Airflow itself, which shows no report.
    outside = server.client.get(URL_PREFIX, headers=server.headers["viewer"])
    assert "lineitem" not in outside.text


def test_no_route_answers_someone_who_may_not_read_the_dag(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    asked = []

    def refuse(self: Any, *, method: str, details: Any, **rest: Any) -> bool:
        asked.append((method, details.id))
        return False

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", refuse)
    for path in server.addresses():
        for method in ("GET", "HEAD", *WRITING):
            answer = server.ask(method, path, "admin")
            assert answer.status_code == 403
            assert "lineitem" not in answer.text
            server.check_headers(answer)
    assert set(asked) == {("GET", DAG_ID)}


def test_the_runs_of_the_dag_ask_for_runs_too(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    monkeypatch.setattr(
        SimpleAuthManager,
        "is_authorized_dag",
        lambda self, *, access_entity=None, **rest: access_entity is None,
    )
    assert server.get("/").status_code == 200
    assert server.get(f"/runs/{DAG_ID}/a+run").status_code == 403
