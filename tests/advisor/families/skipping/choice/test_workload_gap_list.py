"""A gap list made for a workload, through the index type's own collecting and clauses."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from skip_choice import choose_indexes
from starskip.advisor.families.file_indexes.alternatives import QuerySkips, alternatives
from starskip.advisor.families.file_indexes.index_choice import FileIndexLimits
from starskip.advisor.families.file_indexes.skip_patterns import skip_patterns
from starskip.advisor.families.skipping.choice.workload_gap_list import WorkloadGapList
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.build_clause import generate_clause
from starskip.skipping.index_types.gap_list import GapList
from starskip.skipping.index_types.min_max import MinMax
from starskip.skipping.skipping_index import SkippingIndex

C = Column(("c",), "bigint")
Range = tuple[int, int]


@dataclass(frozen=True)
class Metadata:
    """Metadata of files whose values are known."""

    columns: dict[tuple[str, str], pa.Array]
    files: int

    def column(self, index: str, name: str) -> pa.Array:
        return self.columns[index, name]


def of_files(files: list[list[int]], *indexes: SkippingIndex) -> Metadata:
    sets = pa.array([sorted(set(file)) for file in files], pa.list_(pa.int64()))
    aggregates = {
        "values": sets,
        "joined": pa.array([[False] * len(set(file)) for file in files], pa.list_(pa.bool_())),
        "min": pa.array([min(file, default=None) for file in files], pa.int64()),
        "max": pa.array([max(file, default=None) for file in files], pa.int64()),
    }
    columns: dict[tuple[str, str], pa.Array] = {}
    for index in indexes:
        of_index = dict(aggregates)
        if isinstance(index, MinMax):
            of_index["values"] = pa.array([len(file) for file in files], pa.int64())
        collected = pa.table(
            {name: of_index[name] for name in index.aggregates(["c"]) or ("values", "joined")}
        )
        found = index.finish(collected)
        columns |= {(index.specification, name): column for name, column in found.items()}
    return Metadata(columns, len(files))


def between(low: int, high: int) -> Expression:
    return Call(
        "And",
        (
            Call("GreaterThanOrEqual", (C, Literal(pa.scalar(low)))),
            Call("LessThanOrEqual", (C, Literal(pa.scalar(high)))),
        ),
    )


def read(
    files: list[list[int]], index: SkippingIndex, query: Expression, metadata: Metadata | None = None
) -> list[bool]:
    clause = generate_clause(query, [index.label])
    assert clause is not None
    return clause.may_match(metadata or of_files(files, index)).tolist()


values = st.lists(st.lists(st.integers(0, 40), max_size=8), min_size=1, max_size=4)
ranges = st.tuples(st.integers(0, 40), st.integers(0, 6)).map(lambda item: (item[0], item[0] + item[1]))


@settings(max_examples=60, deadline=None)
@given(values, st.lists(ranges, max_size=5), st.lists(ranges, max_size=3), st.integers(1, 4))
def test_no_matching_row_is_skipped_and_the_workload_reads_no_more(
    files: list[list[int]], workload: list[Range], others: list[Range], k: int
) -> None:
    predicates = [between(*item) for item in workload]
    made = WorkloadGapList(["c"], [str(k)], predicates=predicates, weights=[1.0] * len(predicates))
    made = pickle.loads(pickle.dumps(made))
    plain = GapList(["c"], [str(k)])
    assert made.specification == plain.specification
    found = {index: of_files(files, index) for index in (made, plain)}
    for low, high in [*workload, *others]:
        kept = read(files, made, between(low, high), found[made])
        assert all(
            keeps or not any(low <= value <= high for value in file)
            for keeps, file in zip(kept, files, strict=True)
        )
    for number in range(len(files)):
        by_made, by_plain = (
            sum(read(files, index, query, found[index])[number] for query in predicates)
            for index in (made, plain)
        )
        assert by_made <= by_plain


texts_of_files = st.lists(st.lists(st.text("abé\U0001f600", max_size=4), max_size=6), min_size=1, max_size=4)
prefixes = st.text("abé\U0001f600", min_size=1, max_size=2)


def starting(prefix: str, kind: pa.DataType) -> Expression:
    """Return that a text begins with a prefix, as a range of the bytes where the column is of these."""
    if pa.types.is_string(kind):
        return Call("StartsWith", (Column(("c",), "string"), Literal(pa.scalar(prefix))))
    column, first = Column(("c",), "binary"), prefix.encode()
    # No byte of UTF-8 is 0xff, so that the first one may be raised.
    after = first[:-1] + bytes([first[-1] + 1])
    return Call(
        "And",
        (
            Call("GreaterThanOrEqual", (column, Literal(pa.scalar(first)))),
            Call("LessThan", (column, Literal(pa.scalar(after)))),
        ),
    )


def test_gap_of_the_workload_is_kept_and_not_the_largest() -> None:
    files = [[0, 1, 2, 5, 100, 101]]
    narrow = between(3, 4)
    assert read(files, GapList(["c"], ["1"]), narrow) == [True]
    made = WorkloadGapList(["c"], ["1"], predicates=[narrow], weights=[1.0])
    assert read(files, made, narrow) == [False]
    # One gap serves the workload: the other one is the largest, for what else comes.
    made = WorkloadGapList(["c"], ["2"], predicates=[narrow], weights=[1.0])
    assert read(files, made, between(50, 60)) == [False]


@settings(max_examples=60, deadline=None)
@given(texts_of_files, st.lists(prefixes, max_size=4), st.lists(prefixes, max_size=3), st.integers(1, 3))
def test_prefixes_of_texts_and_binary_values(
    files: list[list[str]], workload: list[str], others: list[str], k: int
) -> None:
    for kind in (pa.string(), pa.binary()):
        sets = pa.array([sorted(set(file), key=str.encode) for file in files], pa.list_(kind))
        joined = pa.array([[False] * len(each) for each in sets.to_pylist()], pa.list_(pa.bool_()))
        predicates = [starting(prefix, kind) for prefix in workload]
        made = WorkloadGapList(["c"], [str(k)], predicates=predicates, weights=[1.0] * len(predicates))
        plain = GapList(["c"], [str(k)])
        found = {
            index: Metadata(
                {
                    (index.specification, name): column
                    for name, column in index.finish(pa.table({"values": sets, "joined": joined})).items()
                },
                len(files),
            )
            for index in (made, plain)
        }
        for prefix in [*workload, *others]:
            kept = read([], made, starting(prefix, kind), found[made])
            assert all(
                keeps or not any(text.startswith(prefix) for text in file)
                for keeps, file in zip(kept, files, strict=True)
            )
        for number in range(len(files)):
            by_made, by_plain = (
                sum(read([], index, query, found[index])[number] for query in predicates)
                for index in (made, plain)
            )
            assert by_made <= by_plain


def test_gaps_of_texts_are_those_behind_what_all_texts_of_a_file_begin_with() -> None:
    files = [[f"https://a.org/{each}" for each in "abz"], [f"user-{each}" for each in ("1", "5", "6")]]
    sets = pa.array(files, pa.list_(pa.string()))
    index = GapList(["c"], ["1"])
    finished = index.finish(pa.table({"values": sets, "joined": pa.array([[False] * 3] * 2)}))
    assert [
        [(each["least"][-1], each["greatest"][-1]) for each in of] for of in finished["ranges"].to_pylist()
    ] == [
        [("a", "b"), ("z", "z")],
        [("1", "1"), ("5", "6")],
    ]


def test_types_that_do_not_compare_leave_the_largest_gaps() -> None:
    text = Call("EqualTo", (C, Literal(pa.scalar("a"))))
    made = WorkloadGapList(["c"], ["1"], predicates=[text], weights=[1.0])
    assert read([[0, 1, 100]], made, between(50, 60)) == [False]


def test_choice_from_predicates_to_indexes() -> None:
    """Files with a hole in the middle: bounds alone skip none of them, gaps skip all but one."""
    files = [[10 * number, 1000 - 10 * number] for number in range(20)]
    files.append([500])
    queries = [between(498, 502), between(400, 600)]
    indexes: list[SkippingIndex] = [MinMax(["c"]), GapList(["c"], ["1"]), GapList(["c"], ["4"])]
    metadata = of_files(files, *indexes)
    skips = []
    for number, query in enumerate(queries):
        clause = generate_clause(query, [index.label for index in indexes])
        assert clause is not None
        skips.append(QuerySkips(f"q{number}", 1.0, alternatives(clause, metadata)))
    patterns = skip_patterns(skips, np.full(len(files), 100))
    sizes = {"minmax:c": 16, "gaplist:c:1": 32, "gaplist:c:4": 80}
    choice = choose_indexes(patterns, sizes, FileIndexLimits(min_gain_ratio=0.01))
    assert [item.index.column for item in choice.chosen] == ["gaplist:c:1"]
    assert choice.saving == 100 * 2 * 20
    assert {item.index.column: item.reason.value for item in choice.refused} == {
        "minmax:c": "saves_nothing",
        "gaplist:c:4": "covered_by_chosen",
    }
