"""Sums by skeleton key: bounded, the same in any order of the log, and what they keep is the busiest.

The key of a text, held against its fingerprint and its shape.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.workload import busy_keys as of_busy
from starskip.advisor.workload.busy_keys import busy_keys, left_out_words
from starskip.advisor.workload.key_sums import (
    KEY_BITS,
    KEY_SUMS,
    BusyKeys,
    busiest_keys,
    keys_of,
    skeleton_key,
    sum_keys,
    with_keys,
)
from starskip.errors import UnsupportedQuery
from starskip.execution.local_engine import LocalRows
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

Record = dict[str, Any]
Batch = Callable[[list[Record]], pa.RecordBatch]

logs = st.lists(
    st.tuples(
        st.integers(0, 60), st.integers(0, 50), st.sampled_from(["t", "u"]), st.sampled_from([1.0, 4.0])
    ),
    min_size=1,
    max_size=150,
)


TRUTH = Path(__file__).parents[2] / "data" / "truth"
PIECES = [
    *("select", "SELECT ", " from ", "Where", " AND ", "or", " in ", "a1", "b_2", "_c", "$d", "é", "\u2003"),
    *(
        "'",
        "''",
        "'x'",
        "X'FF'",
        "u&'n'",
        "N'",
        "'it''s (1, 2)'",
        '"',
        '"q 1"',
        "`",
        "`b`",
        "--",
        "-- c 1\n",
        "/*",
        "*/",
        "/* '1' */",
    ),
    *("1", "23", "4.5", ".5", "1e9", "-7", "+1", "(", ")", ",", ";", " ", "\n", "\t", "\x1c", "\x00"),
    *("=", "<>", "!=", "<=", "set a = 1;", "option(t=9)", " OPTION ( a = 'b' )"),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=25).map("".join)


def records_of(record: Callable[..., Record], log: list[tuple[int, int, str, float]]) -> list[Record]:
    return [
        record(f"select a from t where c{n} = {e}", table=table, entries_scanned_in_filter=e, weight=w)
        for n, e, table, w in log
    ]


def scanned(records: list[Record], table: str) -> Counter[int]:
    """Entries that each key scanned, without any bound."""
    found: Counter[int] = Counter()
    for row in records:
        if row["table"] == table:
            found[skeleton_key(row["query_text"])] += int(row["weight"] * row["entries_scanned_in_filter"])
    return found


def same(one: dict[str, BusyKeys], other: dict[str, BusyKeys]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[table].prefixes, other[table].prefixes)
        and (one[table].bits, one[table].keys) == (other[table].bits, other[table].keys)
        and one[table].left_out_entries == other[table].left_out_entries
        for table in one
    )


@settings(max_examples=150)
@given(log=logs, data=st.data(), max_keys=st.integers(1, 80), most=st.integers(1, 20))
def test_order_and_cuts_of_the_log_change_nothing(
    record: Callable[..., Record],
    batch: Batch,
    log: list[tuple[int, int, str, float]],
    data: st.DataObject,
    max_keys: int,
    most: int,
) -> None:
    whole = list(sum_keys([batch(records_of(record, log))], max_keys=max_keys))
    expected = dict(busiest_keys(whole, most=most, max_keys=max_keys))
    shuffled = records_of(record, data.draw(st.permutations(log)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4)))
    parts = [batch(shuffled[a:b]) for a, b in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    assert pa.Table.from_batches(sum_keys(parts, max_keys=max_keys), KEY_SUMS) == pa.Table.from_batches(
        whole, KEY_SUMS
    )
    tasks = [rows for part in parts for rows in sum_keys([part], max_keys=max_keys)]
    assert same(dict(busiest_keys(tasks, most=most, max_keys=max_keys)), expected)


@settings(max_examples=150)
@given(log=logs, max_keys=st.integers(1, 80))
def test_rows_are_bounded_and_tell_all_entries(
    record: Callable[..., Record], batch: Batch, log: list[tuple[int, int, str, float]], max_keys: int
) -> None:
    records = records_of(record, log)
    rows = pa.Table.from_batches(sum_keys([batch(records)], max_keys=max_keys), KEY_SUMS).to_pylist()
    for table in ("t", "u"):
        of_table = [row for row in rows if row["table"] == table]
        assert len(of_table) <= max_keys
        assert sum(row["entries"] for row in of_table) == scanned(records, table).total()


@settings(max_examples=200)
def held_keys(queries: LocalRows, max_shapes: int, max_keys: int) -> dict[str, BusyKeys]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_busy, "MAX_KEYS", max_keys)
        return busy_keys(queries, max_shapes)


@given(log=logs, max_keys=st.integers(1, 80), max_shapes=st.integers(1, 8))
def test_the_busiest_keys_stay_whatever_can_be_held(
    record: Callable[..., Record],
    batch: Batch,
    log: list[tuple[int, int, str, float]],
    max_keys: int,
    max_shapes: int,
) -> None:
    records = records_of(record, log)
    queries = batch(records)
    rows = LocalRows(lambda: iter([queries]), queries.schema)
    found = held_keys(rows, max_shapes, max_keys)
    for table in ("t", "u"):
        truth = scanned(records, table)
        if table not in found:
            assert len(truth) <= max(max_keys, 2 * max_shapes)
            continue
        busy = found[table]
        kept = set(busy.prefixes.tolist())
        assert busy.is_exact
        assert kept <= truth.keys()
        assert len(kept) <= 2 * max_shapes
        assert all(entries <= busy.left_out_entries for key, entries in truth.items() if key not in kept)
        assert {key for key, entries in truth.items() if entries > busy.left_out_entries} <= kept
        if max_keys >= len(truth):
            ranked = sorted(truth, key=lambda key: (-truth[key], key))
            assert kept == set(ranked[: 2 * max_shapes]), "of keys that can all be held the busiest stay"


def test_many_more_keys_than_can_be_held_are_read_again(record: Callable[..., Record], batch: Batch) -> None:
    records = [
        record(
            f"select a from t where c{n} = 1", entries_scanned_in_filter=1_000_000 if n % 500 == 7 else n % 50
        )
        for n in range(2_000)
    ]
    queries = with_keys(batch(records))
    read: list[int] = []

    def batches() -> Any:
        read.append(1)
        return iter([queries])

    found = held_keys(LocalRows(batches, queries.schema), 4, 64)["lineitem"]
    assert len(read) > 1
    heavy = [skeleton_key(row["query_text"]) for row in records if row["entries_scanned_in_filter"] > 50]
    assert found.includes(np.array(heavy)).all()
    assert len(found.prefixes) == 8
    assert found.left_out_entries < 1_000_000
    (words,) = left_out_words({"lineitem": found})
    assert words.startswith("lineitem: its queries have more than ")


@pytest.mark.parametrize("seed", range(6))
def test_no_key_left_out_at_any_reading_scanned_more_than_is_told(
    record: Callable[..., Record], batch: Batch, seed: int
) -> None:
    draw = Random(seed)
    records = [
        record(
            f"select a{seed} from t where c{n} = 1", entries_scanned_in_filter=int(draw.paretovariate(0.8))
        )
        for n in range(500)
    ]
    queries = with_keys(batch(records))
    found = held_keys(LocalRows(lambda: iter([queries]), queries.schema), 1, 32)["lineitem"]
    left_out = Counter(scanned(records, "lineitem"))
    for key in found.prefixes.tolist():
        del left_out[key]
    assert max(left_out.values()) <= found.left_out_entries


def test_a_table_with_few_keys_is_left_alone(record: Callable[..., Record], batch: Batch) -> None:
    records = [record(f"select a from t where c{n % 4} = {n}") for n in range(40)]
    queries = batch(records)
    assert busy_keys(LocalRows(lambda: iter([queries]), queries.schema), 2) == {}
    assert len(busy_keys(LocalRows(lambda: iter([queries]), queries.schema), 1)["lineitem"].prefixes) == 2


@pytest.mark.parametrize("text", [None, ""])
def test_a_record_without_text_or_counters_has_a_key(
    record: Callable[..., Record], batch: Batch, text: str | None
) -> None:
    queries = batch([record(text, entries_scanned_in_filter=None)])
    assert keys_of(queries).tolist() == keys_of(with_keys(queries)).tolist() == [skeleton_key("")]
    (rows,) = sum_keys([queries])
    assert rows.column("entries").to_pylist() == [0.0]


def key_of_fingerprint(sql: str) -> int:
    """The same from the fingerprint: without slots, white space, signs, underscores and quotes."""
    skeleton = normalize_sql(sql).skeleton.encode("utf-8", "surrogatepass").lower()
    bare = re.sub(rb"[\x00\s\x1c-\x1f(),;+_\"`-]", b"", skeleton).replace(b"!=", b"<>")
    return int.from_bytes(blake2b(bare, digest_size=8).digest(), "big") >> (64 - KEY_BITS)


@settings(max_examples=1_000)
@given(sql=texts)
def test_the_quick_way_and_the_fingerprint_agree(sql: str) -> None:
    assert skeleton_key(sql) == key_of_fingerprint(sql)
    assert 0 <= skeleton_key(sql) < 1 << KEY_BITS


@pytest.mark.parametrize(
    "spelling",
    [
        "SELECT COUNT(*) FROM t WHERE a=7 AND b IN ('x','y','z') LIMIT 99",
        "select count( * ) from T where A = -7 and b in ('x') limit 5 -- by app 17",
        "/* request 9 */ select count(*) from t where a = 1 and b in ('it''s', 'y') limit 10;",
        "SET timeoutMs = 5; select count(*) from t where a = 1.5 and b in ('x') limit 10",
        "select count(*) from t where a = 1 and b in ('x') limit 10 option(timeoutMs=9000)",
    ],
)
def test_spellings_of_a_shape_have_its_key(spelling: str) -> None:
    assert skeleton_key(spelling) == skeleton_key(
        "select count(*) from t where a = 1 and b in ('x', 'y') limit 10"
    )


def test_shapes_of_the_samples_have_keys_of_their_own() -> None:
    keys: dict[str, set[int]] = {}
    for table in ("lineitem", "airlineStats"):
        for query in json.loads((TRUTH / f"{table}.json").read_text())["queries"]:
            try:
                shape = query_shape(normalize_sql(query["sql"]).skeleton)
            except UnsupportedQuery:
                continue
            keys.setdefault(shape.shape_id, set()).add(skeleton_key(query["sql"]))
    assert len(keys) > 30
    assert all(len(found) == 1 for found in keys.values()), "texts of a shape share their key"
    assert len({key for found in keys.values() for key in found}) == len(keys)


@pytest.mark.parametrize(
    "other", ["a = 1 OR b = 2", "a = 1 AND c = 2", "a <> 1 AND b = 2", 'a = 1 AND "b.c" = 2']
)
def test_other_filters_have_other_keys(other: str) -> None:
    assert skeleton_key(f"select x from t where {other}") != skeleton_key(
        "select x from t where a = 1 and b = 2"
    )
