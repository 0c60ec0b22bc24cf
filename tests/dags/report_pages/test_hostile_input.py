"""Hostile addresses, questions and names: refused in words, and never more than text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from sqlalchemy import event
from starskip.airflow.report_places import URL_PREFIX
from starskip.reports.page_links import page_name

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]
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


@pytest.fixture
def no_nul(server: Any) -> Iterator[None]:
    """Have the database refuse texts with a NUL as PostgreSQL does; SQLite takes them."""
    del server
    from airflow import settings

    def refuse(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        if r"\x00" in repr(parameters):
            raise ValueError(f"a NUL in {statement}")

    event.listen(settings.engine, "before_cursor_execute", refuse)
    yield
    event.remove(settings.engine, "before_cursor_execute", refuse)


@pytest.mark.usefixtures("no_nul")
def test_hostile_addresses_are_refused_in_words(server: Any) -> None:
    for path in server.paths():
        for name in re.findall(r"{(\w+)", path):
            for value in HOSTILE:
                answer = server.ask_literally(server.filled(path, **{name: value}))
                assert answer.status_code == 404, (path, value)
                server.check_headers(answer)
                assert "<script" not in server.foreign_text(answer) and "Traceback" not in answer.text
                assert "root:" not in answer.text


def test_a_line_break_in_an_address_leads_out_of_our_place_and_nowhere(server: Any) -> None:
    # Starlette's routes end at one: it is Airflow that answers, and has nothing there.
    answer = server.ask_literally(f"{server.of_dag}/tables/lineitem%0a")
    assert answer.status_code == 404
    assert "lineitem" not in answer.text


@pytest.mark.parametrize(
    "query",
    ["?before=yesterday", "?until=2026-11-18&after=..%2Fx", "?like=%3Cscript%3E", "?like=" + "x" * 201,
     "?page=1", "?after=%00", "?before=2026-11-18%00", "?until=9999-99-99",
     "?until=0001-01-01&before=0001-01-01", "?like=%FF%ED%A0%80", "?like=a&like=b", "?like[]=a",
     "?state=%3Cscript%3E&kind=%00", "?kind=%E2%80%AE", "?state=open&state=kept", "?page=0", "?page=-1",
     "?page=1e3", "?page=99999999999999999999", "?page=10000", "?like==1%2B1",
     "?" + "a=b&" * 2_000],
)  # fmt: skip
def test_hostile_questions_change_nothing(server: Any, query: str) -> None:
    of_dag = [f"{server.of_dag}/{name}" for name in ("overview.csv", "overview.json", "tables/lineitem")]
    for path in ("/", *of_dag, f"{server.of_dag}/nights/{server.night}"):
        answer = server.get(path + query)
        assert answer.status_code in (200, 404, 422)
        assert "<script" not in server.foreign_text(answer) and "Traceback" not in answer.text
        server.check_headers(answer)


def names_in_tags(page: str) -> set[str]:
    found = set()

    class Names(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.update([tag, *(name for name, _ in attrs)])

    Names().feed(page)
    return found


@pytest.mark.parametrize("number", range(5))
def test_odd_names_are_short_plain_text_everywhere(server: Any, number: int) -> None:
    assert len(server.odd_tables) == 5
    name = page_name(server.odd_tables[number])
    for path in (
        "/",
        f"{server.of_dag}/tables/{name}",
        f"{server.of_dag}/tables/{name}/{server.night}",
        f"{server.of_dag}/tables/{name}/{server.night}/report.html",
        f"{server.of_dag}/tables/{name}/{server.night}/what-if",
    ):
        answer = server.get(path)
        assert answer.status_code == 200
        server.check_headers(answer)
        assert not re.search("[\u202e\u2066\x00\x1b]", answer.text)
        assert "<" * 3 not in answer.text and "&lt;" * 200 not in answer.text
        assert not names_in_tags(answer.text) & {"onmouseover", "onerror"}


def test_behind_a_proxy_every_link_stays_below_its_path(server: Any) -> None:
    answer = server.ask_literally("/", root="/airflow")
    assert answer.status_code == 200
    links = re.findall(r'(?:href|action|src)="([^"]*)"', answer.text)
    assert links and all(link.startswith(f"/airflow{URL_PREFIX}/") for link in links)


def test_a_hostile_table_has_pages_and_files_under_a_plain_name(server: Any) -> None:
    name = page_name(server.odd_tables[0])
    index = server.get("/").text
    assert f'href="{URL_PREFIX}{server.of_dag}/tables/{name}"' in index
    assert "&lt;script&gt;alert(1)" in index and "<script" not in server.foreign_text(server.get("/"))
    for path in (
        f"{server.of_dag}/tables/{name}",
        f"{server.of_dag}/tables/{name}/{server.night}",
        f"{server.of_dag}/tables/{name}/{server.night}/report.html",
    ):
        answer = server.get(path)
        assert answer.status_code == 200
        assert "<script" not in server.foreign_text(answer)
    disposition = server.get(f"{server.of_dag}/tables/{name}/{server.night}/report.md").headers[
        "Content-Disposition"
    ]
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9_.-]+-report\.md"', disposition)
