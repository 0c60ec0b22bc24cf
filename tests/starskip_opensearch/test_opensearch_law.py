"""Clauses judged by a real OpenSearch: each the same files as by the columns of the metadata.

STARSKIP_OPENSEARCH_CASES is how many predicates in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from opensearch_tables import fresh_storage, written
from running_opensearch import RunningOpenSearch
from skipping_law.files_metadata import Collected, Files, collected
from skipping_law.predicates import TYPES, comparisons, files_of, trees
from skipping_law.written import compared, is_not_null, is_null, negated
from starskip.errors import StorageError
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Call, Expression
from starskip.skipping.build_clause import build_clause
from starskip.skipping.registry import index_from_specification
from starskip.skipping.skipping_index import SkippingIndex
from starskip_opensearch import clause_query, evaluation, matching_rows

CASES = law_cases("STARSKIP_OPENSEARCH_CASES", 130)
OF_AN_EXAMPLE = 20
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900 + CASES)]
_OF_TEXTS = ("prefix:c:2", "suffix:c:2")
_NO_GAPS = ("string", "binary", "boolean")


def indexes_of(data_type: str) -> list[SkippingIndex]:
    kinds = ["minmax:c", "nulls:c", "valuelist:c", "bloom:c", "hybrid:c:2", "partition:c", "minmax:d"]
    kinds += [] if data_type in _NO_GAPS else ["gaplist:c:2"]
    kinds += _OF_TEXTS if data_type == "string" else ()
    return [index_from_specification(each) for each in kinds]


class Judged:
    """Judgements of predicates by OpenSearch, with those of each index alone and of all together."""

    def __init__(self, table: TableMetadata, metadata: Collected, live: Sequence[int]) -> None:
        self.table, self.metadata, self.live = table, metadata, list(live)
        self.judged = self.skipped = 0

    def require_same(self, predicate: Expression, indexes: Sequence[SkippingIndex]) -> None:
        clause = build_clause(indexes, [predicate], {})
        if clause is None:
            return
        expected = clause.may_match(self.metadata)[self.live]
        found = self.table.may_match(clause)
        assert found.tolist() == expected.tolist(), (predicate, [each.specification for each in indexes])
        self.judged += 1
        self.skipped += int(np.count_nonzero(~found))


def check_type(server: RunningOpenSearch, data_type: str, cases: int) -> tuple[int, int]:
    """Judge so many predicates over a column ``c`` of the type and a column ``d`` of integers."""
    counts = [0, 0]
    arrow_type, values = TYPES[data_type]
    leaves = st.one_of(comparisons(data_type), comparisons(data_type), comparisons("int", "d"))

    def holds(of_c: list[list[Any]], predicates: list[Expression], data: st.DataObject) -> None:
        rows = [
            [{"c": value, "d": at * number - 3} for at, value in enumerate(values)]
            for number, values in enumerate(of_c)
        ]
        indexes = indexes_of(data_type)
        metadata = collected(indexes, Files({"c": arrow_type, "d": pa.int32()}, rows))
        cut = data.draw(st.integers(0, len(rows)))
        alone = data.draw(st.sampled_from([(), ("nulls:c",), ("minmax:d", "valuelist:c")]))
        dead = data.draw(st.sampled_from([None, {"a": [0]}, {"b": [0]}]))
        dead = {name: at for name, at in (dead or {}).items() if {"a": cut, "b": len(rows) - cut}[name]}
        table = written(fresh_storage(server), indexes, metadata, alone=alone, dead=dead, cut=cut)
        for name in alone:  # what a segment lacks is null
            for column, found in list(metadata.tables[name].items()):
                mask = pa.array(np.arange(len(found)) < cut)
                of = pa.compute.if_else(mask, pa.scalar(None, found.type), found)
                metadata.tables[name] = {**metadata.tables[name], column: of}
        gone = {0 if "a" in dead else cut} if dead else set()
        judged = Judged(table, metadata, [at for at in range(len(rows)) if at not in gone])
        for at, predicate in enumerate(predicates):
            judged.require_same(predicate, indexes)
            judged.require_same(predicate, [indexes[at % len(indexes)]])
        counts[0] += judged.judged
        counts[1] += judged.skipped

    few = min(OF_AN_EXAMPLE, cases)
    drawn = given(files_of(values), st.lists(trees(leaves), min_size=few, max_size=few), st.data())
    examples = max(1, cases // few)
    settings(max_examples=examples, database=None, phases=(Phase.generate,))(drawn(holds))()
    return counts[0], counts[1]


@pytest.mark.parametrize("data_type", TYPES)
def test_queries_judge_as_columns_do(search_server: RunningOpenSearch, data_type: str) -> None:
    judged, skipped = check_type(search_server, data_type, CASES // len(TYPES))
    print(f"{data_type}: {judged} judgements, {skipped} files skipped")
    assert skipped > judged // 20


def flip_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    right = clause_query.bounds
    flipped = {"lte": "lt", "lt": "lt", "gte": "gt", "gt": "gt"}
    monkeypatch.setattr(
        clause_query,
        "bounds",
        lambda field, **limits: right(field, **{flipped[name]: key for name, key in limits.items()}),
    )


def forget_nulls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clause_query, "is_null", lambda field: clause_query.NONE)


def lose_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    right = evaluation.matching_rows

    def losing(documents: Any, query: Any, blocks: Any, mask: Any) -> None:
        right(documents, query, blocks, mask)
        mask[-1:] = False

    monkeypatch.setattr(evaluation, "matching_rows", losing)


@pytest.mark.parametrize("fault", [flip_bounds, forget_nulls, lose_a_row])
def test_a_fault_is_seen(
    opensearch: RunningOpenSearch,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[pytest.MonkeyPatch], None],
) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        # The first failure ends it; among 100 cases there was none now and then.
        check_type(opensearch, "int", 1_000)


LONG = "x" * 40_000
EDGES: dict[str, tuple[str, list[list[Any]]]] = {
    "longer than a keyword may be": ("string", [[LONG], [LONG + "a", "b"], ["a"], [None], []]),
    "signs of wildcards and of JSON": ("string", [["*"], ["?\\"], ["a\0b"], ['"\U0001f600'], ["*a"]]),
    "the empty text": ("string", [[""], ["", "a"], [None], [], ["a"]]),
    "beyond 2^53": ("bigint", [[2**53], [2**53 + 1], [-(2**63)], [2**63 - 1], [None]]),
    "zeros and NaN": ("double", [[0.0], [-0.0], [float("nan")], [5e-324, -1.5], [float("inf")]]),
    "wide decimals": ("decimal(38,6)", [[Decimal(10) ** 31], [-(Decimal(10) ** 31)], [Decimal("1e-6")], []]),
    "bytes": ("binary", [[b"\xff" * 40_000], [b""], [b"\0"], [b"\xff"], [None]]),
}


def questions(data_type: str, values: Sequence[Any]) -> Iterator[Expression]:
    for value in values:
        for operator in ("=", "<", "<=", ">", ">="):
            yield compared(operator, value, data_type)
        yield negated(compared("=", value, data_type))
    yield compared("in", list(values), data_type)
    yield negated(compared("in", list(values), data_type))
    yield compared("in", [], data_type)
    yield from (is_null(data_type), is_not_null(data_type))
    if data_type == "string":
        for text in ("", "%", "_", "*%", "%\\\\", "%a_b%", "\U0001f600%", "_?%", "?\\\\", "x" * 2_000 + "%"):
            yield compared("like", text)
            yield negated(compared("like", text))
        for operator in ("starts with", "ends with", "contains"):
            yield from (compared(operator, text) for text in ("", "*", "?\\", "a", '"', "\0"))


@pytest.mark.parametrize("edge", EDGES)
def test_edges_of_values(search_server: RunningOpenSearch, edge: str) -> None:
    data_type, files = EDGES[edge]
    indexes = indexes_of(data_type)[:-1] if data_type == "binary" else indexes_of(data_type)
    indexes = [each for each in indexes if each.columns == ("c",)]
    metadata = collected(indexes, Files.of(TYPES[data_type][0], *files))
    table = written(fresh_storage(search_server), indexes, metadata)
    judged = Judged(table, metadata, range(len(files)))
    values = [value for of in files for value in of if value is not None]
    for predicate in questions(data_type, values):
        for some in (indexes, *([each] for each in indexes)):
            judged.require_same(predicate, some)
    assert judged.skipped


def test_predicates_that_are_too_much_for_one_query(search_server: RunningOpenSearch) -> None:
    indexes = [index_from_specification(each) for each in ("minmax:c", "valuelist:c", "nulls:c")]
    files = Files.of(pa.int64(), *([number * 10, number * 10 + 3] for number in range(6)))
    judged = Judged(
        written(fresh_storage(search_server), indexes, metadata := collected(indexes, files)),
        metadata,
        range(6),
    )
    deep = compared("=", 3, "bigint")
    for level in range(40):
        name = ("And", "Or")[level % 2]
        deep = Call(name, (deep, compared("<=" if name == "And" else "=", 30 + level, "bigint")))
    of_one = [compared("=", number, "bigint") for number in (3, *range(1_000, 1_150))]
    while len(of_one) > 1:
        of_one = [Call("Or", tuple(of_one[at : at + 4])) for at in range(0, len(of_one), 4)]
    (wide,) = of_one
    many = compared("in", [3, *range(1_000, 2_000)], "bigint")
    some = compared("in", [3, *range(1_000, 1_045)], "bigint")
    for predicate in (deep, wide, many, some, negated(some), negated(many)):
        for of in (indexes, indexes[:1], indexes[1:2]):
            judged.require_same(predicate, of)
    assert judged.judged == 18 and judged.skipped


def test_answers_of_many_pages(search_server: RunningOpenSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 25_000
    numbers = pa.array(np.arange(rows))
    (index,) = (index_from_specification("minmax:c"),)
    bounds = {"min": numbers, "max": numbers, "values": pa.array(np.ones(rows, np.int64))}
    table = written(
        fresh_storage(search_server),
        [index],
        Collected(rows, {"minmax:c": bounds}),
        cut=100,
        dead={"a": [7], "b": [0, rows - 101]},
    )
    live = np.delete(np.arange(rows), [7, 100, rows - 1])
    for most in (matching_rows.MOST_ROWS, 11_000):  # with fewer, columns are fetched in between
        monkeypatch.setattr(matching_rows, "MOST_ROWS", most)
        for bound in (0, 1, 9_999, 10_000, 10_001, 12_500, 20_000, 24_999, 25_000):
            clause = build_clause([index], [compared("<", bound, "bigint")], {})
            assert clause is not None
            assert table.may_match(clause).tolist() == (live < bound).tolist()


def test_a_row_that_is_gone_is_an_error_and_not_a_file_that_is_skipped(
    search_server: RunningOpenSearch,
) -> None:
    storage = fresh_storage(search_server)
    index = index_from_specification("minmax:c")
    table = written(storage, [index], collected([index], Files.of(pa.int64(), [1], [2], [3])))
    clause = build_clause([index], [compared("=", 2, "bigint")], {})
    assert clause is not None and table.may_match(clause).tolist() == [False, True, False]
    documents = storage.documents
    found = documents.search(storage.url.rows, {"size": 10}, "hits.hits._id")
    assert found is not None
    documents.delete(storage.url.rows, [found["hits"]["hits"][0]["_id"]])
    documents.refresh(storage.url.rows)
    with pytest.raises(StorageError, match="rows of metadata are gone; refresh the metadata in full"):
        table.may_match(clause)
