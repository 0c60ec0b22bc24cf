"""Decisions by page: what they leave in the ledger, whom they let decide, and what they refuse in words."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from advised_store import publish_advice
from report_cases import lineitem
from starskip.advisor.ledger.advised_index import form_key
from starskip.advisor.ledger.decisions import MAX_REASON
from starskip.advisor.ledger.entry import LedgerEntry
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.ledger.standing import approved_advice
from starskip.airflow.report_places import URL_PREFIX
from starskip.reports.advice_values import AdvisedAction
from starskip.reports.page_links import page_name
from starskip.reports.report_files import report_files
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]
NIGHT = "2026-11-18"
A, B, C, TREE = (form_key(name) for name in ("inverted:a", "inverted:b", "inverted:c", "star_tree:tree"))
ACTIONS = tuple(AdvisedAction(f"inverted:{name}", "inverted", (name,)) for name in ("a", "c"))
ODD = "<script>alert(1)</script>\x00"


@pytest.fixture(scope="module")
def made(logged_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports, advice and votes of one night, of two tables, and a DAG whose store lies beside them."""
    root = tmp_path_factory.mktemp("decisions")
    store = ArtefactStore(storage_for(str(root / "made")))
    aside = store.staged_write("reports", NIGHT)
    parts = {
        table: Part(
            tuple(
                aside.write_file(table, name, content)
                for name, content in report_files(replace(lineitem(), table=table, actions=ACTIONS)).items()
            )
        )
        for table in ("lineitem", ODD)
    }
    store.publish("reports", NIGHT, parts, replace="all", created_at=datetime.now(UTC), created_by="test")
    publish_advice(store, NIGHT, ("lineitem", ODD))
    config = root / "own.yaml"
    config.write_text(f"store: {{artefacts: {root / 'artefacts'}}}\nsources: {{segments_root: .}}\n")
    logged_in.parse(config)
    return root


@pytest.fixture
def own_store(made: Path) -> ArtefactStore:
    """The store of the DAG, as no test has changed it."""
    shutil.rmtree(made / "artefacts", ignore_errors=True)
    shutil.copytree(made / "made", made / "artefacts")
    return ArtefactStore(storage_for(str(made / "artefacts")))


@pytest.fixture
def pages(logged_in: Any, own_store: ArtefactStore) -> Any:
    del own_store
    return logged_in


def decide(
    pages: Any, form: Mapping[str, str | list[str]], user: str = "admin", table: str = "lineitem"
) -> Any:
    return pages.post(f"{pages.of_dag}/tables/{page_name(table)}/{NIGHT}/decide", form, user)


def entries(store: ArtefactStore, table: str = "lineitem") -> Sequence[LedgerEntry]:
    return ledger_entries(store, table)


def test_an_approval_is_in_the_ledger_in_the_audit_log_and_on_the_page(
    pages: Any, own_store: ArtefactStore
) -> None:
    answer = decide(pages, {"action": "approve", "index": [A, C]})
    assert answer.status_code == 303
    place = f"{URL_PREFIX}{pages.of_dag}/tables/lineitem/{NIGHT}?decided=approved"
    assert answer.headers["Location"] == place
    pages.check_headers(answer)
    assert pages.client.get(place, headers=pages.headers["admin"]).status_code == 200
    found = entries(own_store)
    assert [(each.who, each.event.value, each.index.name) for each in found] == [
        ("admin", "approved", "inverted:a"),
        ("admin", "approved", "inverted:c"),
    ]
    advice = approved_advice("lineitem", found)
    assert (advice.source, advice.saving_ratio, advice.interval) == (NIGHT, 0.74, (0.7, 0.78))
    from airflow.models.log import Log
    from airflow.utils.session import create_session

    with create_session() as session:
        logged = session.query(Log).filter(Log.event == "index_advice_approved").all()
        assert {(each.owner, each.dag_id) for each in logged} == {("admin", pages.dag_id)}
        assert "inverted:a" in logged[-1].extra


def test_one_index_is_rejected_and_another_one_deferred(pages: Any, own_store: ArtefactStore) -> None:
    until = (datetime.now(UTC) + timedelta(days=30)).date()
    reason = "no <b>room</b> \u202e on the servers"
    assert decide(pages, {"action": "reject", "index": A, "reason": reason}).status_code == 303
    assert decide(pages, {"action": "defer", "index": C, "until": until.isoformat()}).status_code == 303
    rejected, deferred = entries(own_store)
    assert (rejected.index.name, rejected.event.value) == ("inverted:a", "rejected")
    assert "no <b>room</b>" in rejected.reason and "\u202e" not in rejected.reason
    assert (deferred.index.name, deferred.until) == ("inverted:c", until)


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        ({"x": ""}, 422, "say whether"),
        ({"action": "drop table", "index": A}, 422, "say whether"),
        ({"action": ["approve", "reject"], "index": A}, 422, "say whether"),
        ({"action": "approve"}, 422, "choose at least one"),
        ({"action": "approve", "index": "x"}, 409, "the advice has changed"),
        ({"action": "approve", "index": [A, B]}, 409, "the advice has changed"),
        ({"action": "approve", "index": "<script>" * 1_000}, 409, "the advice has changed"),
        ({"action": "reject", "index": A}, 422, "say why"),
        ({"action": "reject", "index": A, "reason": "   "}, 422, "say why"),
        ({"action": "reject", "index": A, "reason": "x" * (MAX_REASON + 1)}, 422, "at most"),
        ({"action": "defer", "index": A}, 422, "name the day"),
        ({"action": "defer", "index": A, "until": "soon\x00"}, 422, "name the day"),
        ({"action": "defer", "index": A, "until": "2020-01-01"}, 422, "lies ahead"),
        ({"action": "defer", "index": A, "until": "9999-12-31"}, 422, "lies ahead"),
    ],
)
def test_a_wrong_form_is_refused_in_words_and_changes_nothing(
    pages: Any, own_store: ArtefactStore, form: Mapping[str, str | list[str]], status: int, words: str
) -> None:
    answer = decide(pages, form)
    assert (answer.status_code, words in answer.text) == (status, True)
    assert "Nothing was decided" in answer.text and "<script" not in pages.foreign_text(answer)
    pages.check_headers(answer)
    assert entries(own_store) == []


def test_a_reader_decides_nothing_and_sees_no_form(pages: Any, own_store: ArtefactStore) -> None:
    assert decide(pages, {"action": "approve", "index": A}, "viewer").status_code == 403
    place = f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if?ask=set&index={B}"
    assert pages.post(place.partition("?")[0], {"index": B}, "viewer").status_code == 403
    for user, has_form in (("viewer", False), ("admin", True)):
        answer = pages.get(place, user)
        assert answer.status_code == 200
        assert ('method="post"' in answer.text) is has_form
    assert entries(own_store) == []


def test_the_page_of_a_table_tells_who_decided_what_and_asks_only_who_may(
    pages: Any, own_store: ArtefactStore
) -> None:
    place = f"{pages.of_dag}/tables/lineitem/{NIGHT}"
    before = pages.get(place, "admin")
    assert before.text.count('<span class="state-of open">') == 2
    assert "Approve all of the advice" in before.text and "changes nothing in Pinot" in before.text
    until = (datetime.now(UTC) + timedelta(days=30)).date()
    assert decide(pages, {"action": "approve", "index": A}).status_code == 303
    assert decide(pages, {"action": "defer", "index": C, "until": f"{until}"}).status_code == 303
    found = pages.get(f"{place}?decided=deferred", "admin")
    today = datetime.now(UTC).date()
    assert f'approved</span><span class="by">by admin on {today}</span>' in found.text
    assert (
        f'deferred</span><span class="by">by admin on {today}; proposed again from {until} on' in found.text
    )
    assert "Deferred. It is not proposed again before the day that you named." in found.text
    assert "Approve all" not in found.text and "open</span>" not in found.text
    reader = pages.get(place)
    assert "by admin on" in reader.text and "<form" not in reader.text
    for page in (before.text, found.text):
        fields = set(re.findall(r'<input id="([^"]+)"', page))
        assert fields and fields == set(re.findall(r'<label for="([^"]+)"', page))
        hidden = re.findall(r"<input (?!id=)[^>]*>", page)
        assert all('type="hidden"' in each for each in hidden)
    assert pages.get(f"{place}?decided=%3Cscript%3E").status_code == 422
    assert 'class="notice"' not in pages.get(f"{place}?decided=hacked").text


def test_advice_that_a_newer_one_has_replaced_is_not_decided_on(pages: Any, own_store: ArtefactStore) -> None:
    publish_advice(own_store, "2026-11-19", ("another",))
    assert decide(pages, {"action": "approve", "index": A}).status_code == 303
    publish_advice(own_store, "2026-11-20")
    for path, form in (("decide", {"action": "approve", "index": A}), ("what-if", {"index": A})):
        answer = pages.post(f"{pages.of_dag}/tables/lineitem/{NIGHT}/{path}", form)
        assert answer.status_code == 409 and "the newer advice of 2026-11-20" in answer.text
    assert len(entries(own_store)) == 1
    old = pages.get(f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if?ask=set&index={B}", "admin")
    assert old.status_code == 200 and 'method="post"' not in old.text


def test_where_the_ledger_cannot_be_written_a_command_is_named(pages: Any, own_store: ArtefactStore) -> None:
    (Path(own_store.storage.place) / "ledger").write_text("in the way")
    for path, form in (("decide", {"action": "approve", "index": A}), ("what-if", {"index": A})):
        answer = pages.post(f"{pages.of_dag}/tables/lineitem/{NIGHT}/{path}", form)
        assert answer.status_code == 503 and "starskip decide lineitem --approve" in answer.text
        pages.check_headers(answer)


def percents(pages: Any, query: str, user: str = "viewer") -> list[str]:
    answer = pages.get(f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if{query}", user)
    assert answer.status_code == 200
    pages.check_headers(answer)
    return re.findall(r'<td class="number"><b>([^<]*)</b>', answer.text)


def test_what_if_answers_from_the_stored_votes(pages: Any) -> None:
    # Of 10,000 entries the advised a and c save 5,000 and 3,000.
    assert percents(pages, "") == ["80.0 %"]
    assert percents(pages, f"?ask=set&index={A}&index={C}") == ["80.0 %"]
    assert percents(pages, f"?ask=set&index={B}") == ["80.0 %", "75.0 %"]
    assert percents(pages, f"?ask=set&index={A}") == ["80.0 %", "50.0 %"]
    assert percents(pages, f"?ask=set&index={B}&index={TREE}") == ["80.0 %", "94.0 %"]
    assert percents(pages, "?ask=set") == ["80.0 %", "0.0 %"]
    assert percents(pages, "?ask=choose&k=1") == ["80.0 %", "75.0 %"]
    assert percents(pages, "?ask=choose&k=2") == ["80.0 %", "94.0 %"]
    assert percents(pages, "?ask=choose&k=2&budget=5%20kB") == ["80.0 %", "85.0 %"]  # b and c


def test_what_if_shows_which_queries_change_and_which_would_scan_more_than_today(pages: Any) -> None:
    answer = pages.get(f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if?ask=set&index={C}")
    assert "1 query shape scans otherwise" in answer.text
    assert '<b class="fail">1 would scan more than it does today.</b>' in answer.text
    assert "WHERE s1 = ?" in answer.text and "secret" not in answer.text
    assert "660, more than today" in answer.text
    assert "&lt;i&gt;c&lt;/i&gt;" in answer.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?ask=choose&k=-3", "K: -3 is not allowed: use a whole number of at least 1"),
        ("?ask=choose&k=many", "K: many is not allowed"),
        ("?ask=choose&budget=%3Cscript%3E", "&lt;script&gt; is not allowed: use a size"),
        ("?ask=set&index=x", "have changed since"),
        (f"?ask=set&index={'x' * 40}", "have changed since"),
    ],
)
def test_a_wrong_question_is_answered_in_place(pages: Any, query: str, words: str) -> None:
    answer = pages.get(f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if{query}")
    assert (answer.status_code, words in answer.text) == (422, True)
    assert "80.0 %" in answer.text and "<script" not in pages.foreign_text(answer)


@pytest.mark.parametrize(
    "query", ["?index=" + "x" * 100, "?" + "index=x&" * 300, "?k=" + "9" * 300, "?ask=set&index=%00%FF"]
)
def test_a_hostile_question_is_refused(pages: Any, query: str) -> None:
    answer = pages.get(f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if{query}")
    assert answer.status_code in (200, 422) and "Traceback" not in answer.text
    pages.check_headers(answer)


def test_a_set_is_approved_in_place_of_the_advised_one(pages: Any, own_store: ArtefactStore) -> None:
    assert decide(pages, {"action": "approve", "index": [A, C]}).status_code == 303
    answer = pages.post(f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if", {"index": [B, TREE]})
    assert answer.status_code == 303
    advice = approved_advice("lineitem", entries(own_store))
    assert [each.name for each in advice.indexes] == ["inverted:b", "star_tree:b,<i>c</i>"]
    assert advice.source.startswith(f"{NIGHT} what-if of admin, ")
    assert advice.saving_ratio == pytest.approx(0.94)
    of_b, tree = advice.indexes
    assert of_b.config == {"tableIndexConfig": {"invertedIndexColumns": ["b"]}}
    assert tree.config == {"tableIndexConfig": {"starTreeIndexConfigs": [{"x": 1}]}}
    # Each saves what the set would lack without it: the tree answers all of s2, of which b alone saves half.
    assert (of_b.saving_ratio, tree.saving_ratio) == (pytest.approx(0.55), pytest.approx(0.19))
    assert (of_b.alone_ratio, tree.alone_ratio) == (pytest.approx(7_500 / 9_000), pytest.approx(0.39))
    assert tree.shapes == ("s2",)


@pytest.mark.parametrize(
    ("form", "status"), [({"x": ""}, 422), ({"index": "x"}, 409), ({"index": [A, "\x00"]}, 409)]
)
def test_no_set_that_does_not_stand_on_the_page_is_approved(
    pages: Any, own_store: ArtefactStore, form: Mapping[str, str | list[str]], status: int
) -> None:
    answer = pages.post(f"{pages.of_dag}/tables/lineitem/{NIGHT}/what-if", form)
    assert answer.status_code == status and "Nothing was decided" in answer.text
    assert entries(own_store) == []


def test_a_hostile_table_is_decided_on_under_its_plain_name(pages: Any, own_store: ArtefactStore) -> None:
    assert decide(pages, {"action": "approve", "index": A}, table=ODD).status_code == 303
    assert [each.table for each in entries(own_store, ODD)] == [ODD]
    answer = pages.get(f"{pages.of_dag}/tables/{page_name(ODD)}/{NIGHT}/what-if", "admin")
    assert answer.status_code == 200 and "<script" not in pages.foreign_text(answer)
    (Path(own_store.storage.place) / "ledger").rename(Path(own_store.storage.place) / "moved")
    (Path(own_store.storage.place) / "ledger").write_text("in the way")
    refused = decide(pages, {"action": "approve", "index": A}, table=ODD)
    assert refused.status_code == 503 and "<script" not in pages.foreign_text(refused)
