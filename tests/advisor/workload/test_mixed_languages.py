"""A log whose lines are half SQL and half the same queries in PQL, by brokers of several years."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from starskip.advisor.workload.count_shapes import QUERY_COLUMNS, count_shapes
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split

SAMPLE = Path(__file__).parents[3] / "include" / "sample" / "logs" / "broker-2026-11-18.log.gz"
NOT_IN_PQL = re.compile(r"--|/\*|\bLIKE\b|\bNOT\b|\"", re.IGNORECASE)
LIMIT = re.compile(r"(?P<clauses> GROUP BY .*?)? LIMIT (?P<limit>\d+)$")


def pql(sql: str) -> str:
    """Return the query with its texts in double quotes, TOP for LIMIT, and a clause out of place."""
    text = re.sub(r"'((?:[^']|'')*)'", lambda m: '"' + m[1].replace("''", "'") + '"', sql)
    return LIMIT.sub(r" TOP \g<limit>\g<clauses> option(timeoutMs=7)", text)


def old_line(number: int, row: dict[str, Any]) -> str:
    counters = (
        f"docs:{row['rows_scanned']}/{row['rows_total']}, "
        f"entries:{row['entries_scanned_in_filter']}/{row['entries_scanned_post_filter']}, "
    )
    begin = f"RequestId:{row['request_id']}, table:{row['table']}_OFFLINE, timeMs:{row['latency_ms']}, "
    end = f"exceptions:{row['exceptions']}, serverStats:h_O=0,0,0,7, query:{pql(row['query_text'])}"
    return (
        f"2026/11/18 08:00:00.{number % 1000:03} INFO [BaseBrokerRequestHandler] [jersey-{number}] "
        + (
            f"Request {row['request_id']}:{row['table']}_OFFLINE, time:{row['latency_ms']}ms, {counters}"
            f"servers:1/1, exceptions:{row['exceptions']}, query:{pql(row['query_text'])}",
            f"{begin}{counters}servers:1/1, {end}",
            f"{begin}{counters}servers:1/1, groupLimitReached:false, {end}",
            f"{begin}{counters}segments(queried/processed/matched):4/4/4 servers:1/1, "
            f"groupLimitReached:false, {end}",
        )[number % 4]
        + "\n"
    )


def queries(path: Path) -> pa.Table:
    table = pa.Table.from_batches(
        [b for split in log_splits([str(path)], 1 << 20) for b in parse_split(split)]
    )
    assert not pc.any(pc.equal(table["kind"], "rejected")).as_py()
    return table.filter(pc.equal(table["kind"], "query"))


def counted(table: pa.Table) -> dict[tuple[str, str], Any]:
    """Return what is counted by table and shape, but for segments, which lines of 2018 do not tell."""
    (batch,) = count_shapes(table.select(QUERY_COLUMNS).to_batches(), instances_per_shape=1_000)
    found = {}
    for row in batch.to_pylist():
        for instance in row["instances"]:
            del instance["segments_matched"]
        for name in ("segments_queried", "segments_processed", "segments_matched", "skeleton"):
            del row[name]
        found[row["table"], row["shape_id"]] = row
    return found


def test_a_log_of_both_languages_counts_as_the_one_in_sql(tmp_path):
    sql = queries(SAMPLE)
    lines = gzip.decompress(SAMPLE.read_bytes())
    mixed = [lines.decode()]
    wanted = [row for row in sql.to_pylist() if not NOT_IN_PQL.search(row["query_text"])]
    mixed += [old_line(number, row) for number, row in enumerate(wanted)]
    (tmp_path / "mixed.log").write_text("".join(mixed))
    both = queries(tmp_path / "mixed.log")
    assert both.num_rows == sql.num_rows + len(wanted) > 2_500
    assert pc.count_distinct(both["line_format"]).as_py() == 5
    told_twice = pa.Table.from_pylist(wanted, schema=sql.schema)
    assert counted(both) == counted(pa.concat_tables([sql, told_twice]))
