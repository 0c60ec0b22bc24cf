"""Each expectation of the gate behind write_report stops what it is there for, and it alone does."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial

import pytest
from starskip.reports.evidence_json import evidence_from_json, evidence_to_json

pytestmark = pytest.mark.quality
STAGE = "write_report"


def files_say(changes, lab):
    files = {**lab.report(), **changes}
    lab.publish("reports", files={name: content for name, content in files.items() if content is not None})


def evidence_says(change, lab):
    evidence = evidence_from_json(lab.report()["report.json"], "report.json")
    changed = replace(evidence, **change(evidence))
    files_say({"report.json": evidence_to_json(changed).encode()}, lab)


def page_ends_with(text, lab):
    files_say({"report.html": lab.report()["report.html"].replace(b"</body>", text + b"</body>")}, lab)


HTML = "report.html of {table}"
JSON = "report.json of {table}"
CASES = {
    "report of {table}: files": partial(files_say, {"more.txt": b"more"}),
    "report of {table}: JSON, Markdown and HTML": partial(
        files_say, {"report.md": None, "more.txt": b"more"}
    ),
    "files of the report of {table}: bytes": partial(files_say, {"report.md": b""}),
    f"{JSON}: whether it reads back as evidence": partial(
        files_say, {"report.json": b'{"table": "lineitem"}'}
    ),
    f"{JSON}: its table": partial(evidence_says, lambda _: {"table": "orders"}),
    f"{JSON}: its date": partial(evidence_says, lambda _: {"run_date": date(2026, 11, 18)}),
    f"{JSON}: chosen columns, and advised columns": partial(
        evidence_says, lambda evidence: {"chosen": evidence.chosen[1:]}
    ),
    f"{JSON}: whether it shows literals": partial(evidence_says, lambda _: {"show_literals": True}),
    f"{HTML}: elements": partial(files_say, {"report.html": b"empty"}),
    f"{HTML}: scripts": partial(page_ends_with, b"<script>1</script>"),
    f"{HTML}: handlers of events": partial(page_ends_with, b"<p onclick='go()'>go</p>"),
    f"{HTML}: links loaded from elsewhere": partial(page_ends_with, b"<img src='https://example.org/a.png'>"),
}


@pytest.mark.parametrize("check", CASES)
def test_spoilt_report_is_stopped_by_one_expectation(lab, check):
    CASES[check](lab)
    lab.assert_stopped(STAGE, check)


def test_every_expectation_has_a_case(assert_all_covered):
    assert_all_covered(STAGE, CASES)


def test_literals_that_the_settings_ask_for(lab):
    lab.settings(show_literals=True)
    evidence_says(lambda _: {"show_literals": True}, lab)
    assert lab.failed(STAGE) == []
