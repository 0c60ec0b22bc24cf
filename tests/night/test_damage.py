"""Damaged and hostile input: each is named with its reason, and the other table's advice stays as it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.advisor.run.table_by_table import FAILED
from starskip.errors import SourceError

ADVICE_STAGES = STAGE_NAMES[:-1]
Write = Callable[..., None]
Line = Callable[..., str]


def assert_other_table_is_unchanged(lab: Any, sound: Mapping[str, bytes]) -> None:
    """The hurt table is lineitem; airlineStats is advised as if nothing had happened."""
    assert lab.published("recommendations")["airlineStats"] == sound["airlineStats"]


def test_beside_a_damaged_segment_the_rest_goes_on_and_the_report_names_it(
    lab: Any, sound: Mapping[str, bytes]
) -> None:
    (lab.segments / "lineitem" / "lineitem_9.tar.gz").write_bytes(b"no segment at all" * 99)
    lab.run()
    assert re.fullmatch("damaged segment .*/lineitem_9.tar.gz: not_a_tar .*", lab.warnings)
    assert lab.results["collect_segment_metadata"].counts["damaged_segments"] == 1
    assert_other_table_is_unchanged(lab, sound)
    (found,) = lab.report("lineitem")["data_quality"]["damaged_segments"]
    assert found["source_file"].endswith("lineitem_9.tar.gz")
    assert found["reason"] == "not_a_tar"
    assert lab.report("airlineStats")["data_quality"]["damaged_segments"] == []


@pytest.mark.slow
def test_all_segments_of_a_table_damaged(lab: Any, sound: Mapping[str, bytes]) -> None:
    (lab.segments / "lineitem" / "lineitem_0.tar.gz").write_bytes(b"\x1f\x8b" + bytes(600))
    lab.run()
    assert re.search("damaged segment .*lineitem_0.tar.gz: ", lab.warnings)
    assert b'"chosen"' not in lab.published("recommendations")["lineitem"]
    assert b"no_segments" in lab.published("recommendations")["lineitem"]
    assert_other_table_is_unchanged(lab, sound)


@pytest.mark.slow
def test_a_table_folder_without_segments(lab: Any, log_line: Line, sound: Mapping[str, bytes]) -> None:
    (lab.segments / "lineitem" / "lineitem_0.tar.gz").unlink()
    (lab.segments / "lineitem" / "notes.txt").write_text("moved")
    lab.run(stages=ADVICE_STAGES)
    assert re.search("table lineitem has no segments: .*/lineitem holds no .tar.gz", lab.warnings)
    assert "896 queries of tables without segments are left out, such as lineitem" in lab.warnings
    assert lab.results["parse_query_logs"].counts["queries"] == 585
    assert_other_table_is_unchanged(lab, sound)


@pytest.mark.slow
def test_a_table_folder_that_may_not_be_read(
    lab: Any, sound: Mapping[str, bytes], forbid: Callable[[Path], None]
) -> None:
    forbid(lab.segments / "lineitem")
    night = lab.run(stages=ADVICE_STAGES)
    problem = f"table lineitem: cannot read {lab.segments}/lineitem: Permission denied"
    assert problem in lab.warnings
    facts = night.store.snapshot("table_facts", night.date_text).parts()
    assert facts["lineitem"].properties == {FAILED: problem}
    assert_other_table_is_unchanged(lab, sound)


def test_no_table_has_segments(lab: Any) -> None:
    for path in lab.segments.rglob("*.tar.gz"):
        path.unlink()
    with pytest.raises(SourceError, match=r"no table below .*segments has segments"):
        lab.run()


@pytest.mark.slow
def test_segments_of_ten_thousand_columns(
    lab: Any, sound: Mapping[str, bytes], write_tar: Write, metadata: Callable[..., bytes], log_line: Line
) -> None:
    columns = [f"c{number}" for number in range(10_000)]
    index_map = "".join(
        f"{name}.dictionary.startOffset = {8 * number}\n{name}.dictionary.size = 8\n"
        for number, name in enumerate(columns)
    )
    of_v3 = {
        "s/v3/metadata.properties": metadata(columns, "v3"),
        "s/v3/index_map": index_map.encode(),
        "s/v3/columns.psf": bytes.fromhex("deadbeefdeafbead") * 10_000,
    }
    tables = {"wide_v1": {"s/metadata.properties": metadata(columns, "v1")}, "wide_v3": of_v3}
    for table, members in tables.items():
        write_tar(lab.segments / table / "wide_0.tar.gz", members)
        asked = [f"SELECT COUNT(*) FROM {table} WHERE {name} = 1" for name in columns[:50]]
        lab.log(*[log_line(table, query) for query in asked], name=f"{table}.log")
    night = lab.run(stages=ADVICE_STAGES)
    lab.run(lab.night(tables=frozenset({"wide_v3"})), STAGE_NAMES[-1:])
    for table in tables:
        assert len(night.store.snapshot("table_facts", night.date_text).read_table([table])) == 10_000, table
        advice = night.store.snapshot("recommendations", night.date_text).parts()[table].properties
        assert (advice["queries"], advice["unparsed"]) == (50, 0), table
    assert_other_table_is_unchanged(lab, sound)


@pytest.mark.slow
def test_a_column_name_of_a_megabyte(
    lab: Any, sound: Mapping[str, bytes], write_tar: Write, metadata: Callable[..., bytes], log_line: Line
) -> None:
    name = "c" * 1_000_000
    write_tar(lab.segments / "wide" / "wide_0.tar.gz", {"s/metadata.properties": metadata([name, "d"])})
    lab.log(
        log_line("wide", "SELECT COUNT(*) FROM wide WHERE d = 1"),
        log_line("wide", f"SELECT COUNT(*) FROM wide WHERE {name} = 1"),
        log_line("lineitem" + "x" * 1_000_000, "SELECT COUNT(*) FROM t WHERE a = 1"),
    )
    lab.run()
    assert lab.report("wide")["summary"]["queries"] == 2
    assert "1 queries of tables without segments are left out, such as lineitemxxx" in lab.warnings
    assert all(len(line) < 600 for line in lab.warnings.splitlines())
    assert all(len(content) < 1_000_000 for content in lab.published("reports").values())
    assert_other_table_is_unchanged(lab, sound)


def test_a_truncated_gzip_log_keeps_what_came_before(lab: Any) -> None:
    (path,) = lab.logs.iterdir()
    path.write_bytes(path.read_bytes()[:30_000])
    lab.run()
    assert "1 log records rejected: truncated_file" in lab.warnings
    counts = lab.results["parse_query_logs"].counts
    assert 500 < counts["queries"] < 1_481
    (example,) = lab.report("lineitem")["data_quality"]["rejected_examples"]
    assert example["source_file"] == str(path)
    assert lab.results["write_report"].counts["reports"] == 2


@pytest.mark.slow
def test_an_empty_log_file_beside_a_good_one(lab: Any, sound: Mapping[str, bytes]) -> None:
    (lab.logs / "empty.log").touch()
    lab.run(stages=ADVICE_STAGES)
    assert lab.warnings == ""
    assert lab.published("recommendations") == sound


def test_a_log_path_that_names_nothing_ends_the_night_and_keeps_what_was_published(lab: Any) -> None:
    lab.run()
    before = {name: lab.published(name) for name in ("queries", "recommendations", "reports")}
    with pytest.raises(SourceError, match=r"no log file at /nowhere/x\.log: check the path"):
        lab.run(lab.night(log_paths=["/nowhere/x.log"]))
    assert {name: lab.published(name) for name in before} == before


HOSTILE_QUERIES = {
    "deep brackets": "SELECT COUNT(*) FROM lineitem WHERE " + "(" * 5_000 + "l_suppkey = 1" + ")" * 5_000,
    "chained NOT": "SELECT COUNT(*) FROM lineitem WHERE " + "NOT " * 2_000 + "l_suppkey = 1",
    "10,000 ORs": "SELECT COUNT(*) FROM lineitem WHERE "
    + " OR ".join(f"l_suppkey + {number} = 1" for number in range(10_000)),
    "100,000 literals": "SELECT COUNT(*) FROM lineitem WHERE l_tax IN (0" + ", 1" * 100_000 + ")",
    "unterminated string": "SELECT COUNT(*) FROM lineitem WHERE l_comment = 'unterminated",
    "unterminated name": 'SELECT COUNT(*) FROM lineitem WHERE "unterminated = 1',
    "NUL in a literal": "SELECT COUNT(*) FROM lineitem WHERE l_comment = 'a\x00b'",
    "NUL in a name": "SELECT COUNT(*) FROM line\x00item WHERE \x00 = 1",
    "nested quantifiers": "SELECT COUNT(*) FROM lineitem WHERE REGEXP_LIKE(l_comment, '((([a-z ]*)*)*)*X')",
    "counted quantifiers": "SELECT 1 FROM lineitem WHERE REGEXP_LIKE(l_comment, '((a{1000}){1000}){1000}')",
    "broken pattern": "SELECT COUNT(*) FROM lineitem WHERE REGEXP_LIKE(l_comment, '[')",
    "wildcards": "SELECT COUNT(*) FROM lineitem WHERE l_comment LIKE '" + "%a" * 2_000 + "'",
    "huge number": f"SELECT COUNT(*) FROM lineitem WHERE l_suppkey = {'9' * 5_000} AND l_tax > 1e999",
    "mixed types": "SELECT COUNT(*) FROM lineitem WHERE l_suppkey BETWEEN 'a' AND 'b' AND l_shipdate > 5",
    "odd limits": "SELECT * FROM lineitem WHERE l_suppkey = 5 LIMIT -5",
    "no query": "DROP TABLE lineitem; --",
    "comments": "/* " * 1_000,
    "nothing": "",
    "script": "<script>alert(1)</script>",
    "long column": f"SELECT COUNT(*) FROM lineitem WHERE {'c' * 1_000_000} = 1",
    "long quoted column": f'SELECT COUNT(*) FROM lineitem WHERE "{"c" * 1_000_000}" = 1',
}


@pytest.mark.slow
def test_hostile_queries_are_set_aside_one_by_one(
    lab: Any, log_line: Line, sound: Mapping[str, bytes]
) -> None:
    lab.log(*[log_line("lineitem", query, entries=10_000_000) for query in HOSTILE_QUERIES.values()])
    lab.run()
    report = lab.report("lineitem")
    assert report["summary"]["queries"] == 896 + len(HOSTILE_QUERIES)
    assert 5 <= report["summary"]["unparsed"] <= len(HOSTILE_QUERIES)
    html = lab.published("reports")["lineitem"]
    assert b"<script>alert" not in html
    assert len(html) < 3_000_000
    assert_other_table_is_unchanged(lab, sound)


@pytest.mark.slow
def test_counters_that_nothing_can_have_counted_are_set_aside(
    lab: Any, log_line: Line, sound: Mapping[str, bytes]
) -> None:
    query = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 1"
    for entries in (-(10**6), 2**53 + 1, 9 * 10**18):
        lab.log(*[log_line("lineitem", query, entries=entries)] * 3, name=f"{entries}.log")
    night = lab.run()
    report = lab.report("lineitem")
    assert report["summary"]["queries"] == 896
    assert report["data_quality"]["rejected"] == {"bad_counter": 9}
    kept = night.store.snapshot("rejected_records", night.date_text).read_table().to_pylist()
    of_file = Counter(Path(row["source_file"]).stem for row in kept if row["kind"] == "rejected")
    assert of_file == {"-1000000": 3, f"{2**53 + 1}": 3, f"{9 * 10**18}": 3}
    assert_other_table_is_unchanged(lab, sound)


@pytest.mark.slow
def test_thousands_of_table_names_in_a_log_cost_no_file_each(
    lab: Any, log_line: Line, sound: Mapping[str, bytes]
) -> None:
    lab.log(*[log_line(f"table_{number}", "SELECT 1 FROM t WHERE a = 1") for number in range(5_000)])
    lab.run(stages=ADVICE_STAGES)
    assert "5000 queries of tables without segments are left out, such as table_0, " in lab.warnings
    assert len(lab.warnings.splitlines()) == 1
    snapshot = lab.night().store.snapshot("queries", "2026-11-20")
    assert snapshot.tables == ("airlineStats", "lineitem")
    log = snapshot.parts()["lineitem"].properties["log"]
    assert log["queries"] == 1_481
    assert log["other"] == {"table_without_segments": 5_000, "unknown_column": 6}
    assert log["records"] == 1_487 + 5_000
    assert lab.published("recommendations") == sound


@pytest.mark.slow
def test_thousands_of_shapes_in_a_log(lab: Any, log_line: Line, sound: Mapping[str, bytes]) -> None:
    """Each costs a parse; a hundred thousand pass as well, in two minutes and under 800 MB."""
    query = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 1 AND c{} = 2"
    lab.log(*[log_line("lineitem", query.format(number)) for number in range(2_500)])
    lab.run()
    workload = lab.night().store.snapshot("workload", "2026-11-20").read_table(["lineitem"])
    assert len(workload) == lab.settings.workload.max_shapes_per_table + 1
    assert lab.report("lineitem")["summary"]["queries"] == 896 + 2_500
    assert_other_table_is_unchanged(lab, sound)
