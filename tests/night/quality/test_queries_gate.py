"""Each expectation of the gate behind parse_query_logs stops what it is there for, and it alone does."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from starskip.night.quality.check_stage import check_stage

pytestmark = pytest.mark.quality
STAGE = "parse_query_logs"
COUNTERS = (
    "latency_ms",
    "rows_scanned",
    "rows_total",
    "entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "segments_queried",
    "segments_processed",
    "segments_matched",
    "exceptions",
)


def log_says(lab, **values):
    log = lab.properties("queries")["log"]
    lab.publish("queries", properties={"log": {**log, **values}})


def log_without_records(lab):
    log_says(lab, records=None)


def most_records_rejected(lab):
    log_says(lab, records=2000, rejected={"no_format": 150})


def most_records_not_understood(lab):
    log_says(lab, records=2000, not_understood={"not_a_query": 1001})


def most_records_without_counters(lab):
    log = lab.properties("queries")["log"]
    log_says(lab, other={"no_entries": 15 * log["queries"], "multi_stage": 5 * log["queries"]})


def more_queries_than_the_log_held(lab):
    log_says(lab, queries=10)


def query_twice(lab):
    lab.spoil("queries", lambda rows: rows.append(rows[0]))


def spoilt_field(name, value, lab):
    lab.spoil("queries", lambda rows: rows[0].update({name: value}))


def another_date(lab):
    lab.spoil("queries", lambda rows: rows[0].update(logged_at=rows[0]["logged_at"] + timedelta(days=1)))


def sum_beyond_64_bits(lab):
    lab.spoil("queries", lambda rows: [row.update(entries_scanned_in_filter=2**62) for row in rows[:2]])


CASES = {
    "log of {table}: number of records": log_without_records,
    "log of {table}: share of records that no format explains": most_records_rejected,
    "log of {table}: share of records that may be queries in a form that is not known": (
        most_records_not_understood
    ),
    "log of {table}: share of the records on queries that tell no counters": most_records_without_counters,
    "queries of the log that {table} is read from: lost, or kept twice": more_queries_than_the_log_held,
    "queries of {table}: taken twice from one place of the log": query_twice,
    "queries of {table}: rows of other tables": partial(spoilt_field, "table", "orders"),
    "query_text of {table}: missing values": partial(spoilt_field, "query_text", ""),
    "source_file of {table}: missing values": partial(spoilt_field, "source_file", None),
    "source_position of {table}: missing values": partial(spoilt_field, "source_position", None),
    "logged_at of {table}: queries of another date": another_date,
    **{f"{name} of {{table}}: minimum": partial(spoilt_field, name, -1) for name in COUNTERS},
    "counters of {table}: bits of the sum": sum_beyond_64_bits,
}


@pytest.mark.parametrize("check", CASES)
def test_spoilt_queries_are_stopped_by_one_expectation(lab, check):
    CASES[check](lab)
    lab.assert_stopped(STAGE, check)


def test_a_table_asked_for_by_name_that_has_no_segments(lab):
    lab.tables = ("ghost",)
    queries = [{**row, "table": "ghost"} for row in lab.rows("queries")]
    lab.publish("queries", queries, lab.properties("queries"), table="ghost")
    lab.assert_stopped(STAGE, "segments of {table}: whether known", table="ghost")


def test_every_expectation_has_a_case(assert_all_covered):
    assert_all_covered(STAGE, [*CASES, "segments of {table}: whether known"])


def test_a_query_lost_from_a_night_of_all_tables(lab):
    lab.tables = None
    lab.spoil("queries", lambda rows: rows.pop())
    assert lab.failed(STAGE) == ["queries of the log that {table} is read from: lost, or kept twice"]


def test_counters_and_time_that_the_format_does_not_carry(lab):
    unknown = dict.fromkeys([*COUNTERS, "logged_at"])
    lab.spoil("queries", lambda rows: [row.update(unknown) for row in rows])
    assert lab.failed(STAGE) == []


@pytest.mark.parametrize(("earlier", "is_noted"), [([], False), ([900, 200, 1], False), ([9, 12, 10], True)])
def test_another_number_of_queries_than_usual_is_noted_and_stops_nothing(lab, earlier, is_noted):
    lab.publish("queries", properties={**lab.properties("queries"), "earlier_queries": earlier})
    (check,) = (
        check
        for verdict in check_stage(lab.night, STAGE)
        for check in verdict.checks
        if check.check == "queries of lineitem: as a multiple of the median of the week before"
    )
    assert check.success
    assert check.observed == ("nothing" if not earlier else "4.615" if not is_noted else "92.3")
