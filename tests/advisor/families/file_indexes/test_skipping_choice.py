"""The one choice among skipping indexes against plain enumeration of all sets, over files one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skip_choice import choose_indexes
from starskip.advisor.families.file_indexes.alternatives import Alternative, QuerySkips
from starskip.advisor.families.file_indexes.index_choice import FileIndexLimits, IndexChoice
from starskip.advisor.families.file_indexes.skip_patterns import skip_patterns
from starskip.advisor.families.verdict import Reason
from starskip.advisor.selection import choice as choice_module
from starskip.advisor.selection.programme import Solved

pytestmark = pytest.mark.slow

NAMES = tuple(f"minmax:{name}" for name in "abcdef")
FILES = 9


def mask(skipped: Sequence[int], files: int = FILES) -> np.ndarray:
    read = np.ones(files, np.bool_)
    read[list(skipped)] = False
    return read


def skips(
    name: str, weight: float, *alternatives: tuple[str, Sequence[int]], files: int = FILES
) -> QuerySkips:
    """Each alternative as ``a`` or ``ab`` with the files that it skips."""
    return QuerySkips(
        name,
        weight,
        tuple(
            Alternative(frozenset(f"minmax:{letter}" for letter in letters), mask(skipped, files))
            for letters, skipped in alternatives
        ),
    )


def read_bytes(queries: Sequence[QuerySkips], files: np.ndarray, chosen: frozenset[str]) -> float:
    """File by file, query by query: what is read with a set of indexes."""
    total = 0.0
    for query in queries:
        for number, size in enumerate(files):
            if all(item.read[number] for item in query.alternatives if item.indexes <= chosen):
                total += query.weight * size
    return total


def best_value(
    queries: Sequence[QuerySkips],
    files: np.ndarray,
    sizes: Mapping[str, int],
    budget: int | None,
    must: float = 0.0,
) -> float:
    before = read_bytes(queries, files, frozenset())
    best = 0.0
    for count in range(len(sizes) + 1):
        for names in itertools.combinations(sizes, count):
            if budget is None or sum(sizes[name] for name in names) <= budget:
                value = before - read_bytes(queries, files, frozenset(names)) - must * count
                best = max(best, value)
    return best


@st.composite
def workloads(draw: st.DrawFn, most: int = 3) -> list[QuerySkips]:
    queries = []
    for number in range(draw(st.integers(1, 6))):
        found = {}
        for _ in range(draw(st.integers(0, 5))):
            names = frozenset(draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=most)))
            found[names] = mask(draw(st.lists(st.integers(0, FILES - 1), max_size=FILES)))
        items = tuple(Alternative(names, read) for names, read in found.items())
        queries.append(QuerySkips(f"q{number}", float(draw(st.integers(1, 5))), items))
    return queries


all_sizes = st.lists(st.integers(0, 12), min_size=len(NAMES), max_size=len(NAMES)).map(
    lambda found: dict(zip(NAMES, found, strict=True))
)
file_sizes = st.lists(st.integers(0, 9), min_size=FILES, max_size=FILES).map(np.array)
budgets = st.none() | st.integers(0, 40)


@settings(max_examples=60, deadline=None)
@given(workloads(), file_sizes, all_sizes, budgets, st.sampled_from([0.0, 0.02, 0.1]))
def test_no_set_is_worth_more(
    queries: list[QuerySkips],
    files: np.ndarray,
    sizes: dict[str, int],
    budget: int | None,
    min_gain: float,
) -> None:
    patterns = skip_patterns(queries, files)
    choice = choose_indexes(patterns, sizes, FileIndexLimits(budget, min_gain))
    names = frozenset(item.index.column for item in choice.chosen)
    before = read_bytes(queries, files, frozenset())
    assert patterns.total == pytest.approx(before)
    assert choice.saving == pytest.approx(before - read_bytes(queries, files, names))
    assert budget is None or sum(sizes[name] for name in names) <= budget
    must = min_gain * before
    best = best_value(queries, files, sizes, budget, must)
    assert choice.saving - must * len(names) == pytest.approx(best, abs=1e-6)
    assert choice.gap_ratio == 0
    assert names | {item.index.column for item in choice.refused} == set(sizes)
    assert sum(item.progressive_saving_ratio for item in choice.chosen) == pytest.approx(choice.saving_ratio)


@pytest.fixture(scope="class")
def _without_solver() -> Iterator[None]:
    """The choice with nothing but its greedy floor, as where time ends before HiGHS has found a set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice_module, "solve", lambda *_: Solved(None, math.inf, is_proven=False))
        yield


@pytest.mark.usefixtures("_without_solver")
class TestGreedyFloor:
    """Khuller, Moss and Naor, "The budgeted maximum coverage problem"."""

    @settings(max_examples=60, deadline=None)
    @given(workloads(), file_sizes, all_sizes, budgets, st.sampled_from([0.0, 0.05]))
    def test_it_fits(
        self,
        queries: list[QuerySkips],
        files: np.ndarray,
        sizes: dict[str, int],
        budget: int | None,
        min_gain: float,
    ) -> None:
        patterns = skip_patterns(queries, files)
        choice = choose_indexes(patterns, sizes, FileIndexLimits(budget, min_gain))
        names = [item.index.column for item in choice.chosen]
        must = min_gain * patterns.total
        best = best_value(queries, files, sizes, budget, must)
        assert budget is None or sum(sizes[name] for name in names) <= budget
        assert choice.saving - must * len(names) <= best + 1e-6

    @settings(max_examples=60, deadline=None)
    @given(workloads(most=1), file_sizes, all_sizes, budgets)
    def test_of_single_indexes_it_keeps_its_guarantee(
        self, queries: list[QuerySkips], files: np.ndarray, sizes: dict[str, int], budget: int | None
    ) -> None:
        choice = choose_indexes(skip_patterns(queries, files), sizes, FileIndexLimits(budget))
        assert choice.saving >= 0.316 * best_value(queries, files, sizes, budget) - 1e-6


def chosen(choice: IndexChoice) -> list[str]:
    return [item.index.column for item in choice.chosen]


def refusals(choice: IndexChoice) -> dict[str, Reason]:
    return {item.index.column: item.reason for item in choice.refused}


def choose(queries: Sequence[QuerySkips], sizes: Mapping[str, int | None], **limits: float) -> IndexChoice:
    return choose_indexes(skip_patterns(queries, np.full(FILES, 100)), sizes, FileIndexLimits(**limits))


def test_perfect_index_makes_others_obsolete() -> None:
    """Extensible Data Skipping, remark 10."""
    queries = [skips("q", 1, ("a", range(8)), ("b", range(5)), ("c", range(3)))]
    choice = choose(queries, {"minmax:a": 10, "minmax:b": 5, "minmax:c": 5})
    assert chosen(choice) == ["minmax:a"]
    assert refusals(choice) == dict.fromkeys(["minmax:b", "minmax:c"], Reason.COVERED_BY_CHOSEN)
    assert "minmax:a skips mostly the same files" in choice.refused[0].detail
    assert "proved best" in choice.sentence


def test_pair_that_only_helps_together() -> None:
    queries = [skips("a or b", 1, ("ab", range(7))), skips("c", 1, ("c", range(3)))]
    sizes = {"minmax:a": 4, "minmax:b": 4, "minmax:c": 4}
    assert sorted(chosen(choose(queries, sizes, budget_bytes=8))) == ["minmax:a", "minmax:b"]
    poor = choose(queries, sizes, budget_bytes=7)
    assert chosen(poor) == ["minmax:c"]
    assert refusals(poor)["minmax:a"] is Reason.NEEDS_ANOTHER
    assert "minmax:b" in poor.refused[0].detail


def test_each_refusal_has_its_reason() -> None:
    queries = [
        skips("q1", 10, ("a", range(8)), ("b", range(8)), ("e", [])),
        skips("q2", 1, ("c", [0]), ("d", range(9))),
    ]
    sizes = {"minmax:a": 3, "minmax:b": 4, "minmax:c": 1, "minmax:d": 90, "minmax:e": 1, "minmax:f": 1}
    sizes["minmax:x"] = None
    choice = choose(queries, sizes, budget_bytes=8, min_gain_ratio=0.02)
    assert chosen(choice) == ["minmax:a"]
    assert refusals(choice) == {
        "minmax:b": Reason.COVERED_BY_CHOSEN,
        "minmax:c": Reason.BELOW_MIN_GAIN,
        "minmax:d": Reason.OVER_STORAGE_BUDGET,
        "minmax:e": Reason.SAVES_NOTHING,
        "minmax:f": Reason.NO_QUERY,
        "minmax:x": Reason.SIZE_UNKNOWN,
    }


def test_what_does_not_fit_beside_the_chosen_is_over_budget() -> None:
    queries = [skips("q", 1, ("a", range(8)), ("b", [8]))]
    choice = choose(queries, {"minmax:a": 6, "minmax:b": 5}, budget_bytes=10)
    assert refusals(choice) == {"minmax:b": Reason.OVER_STORAGE_BUDGET}


def test_layout_is_the_problem_where_all_files_hold_matching_rows() -> None:
    query = QuerySkips(
        "q", 1.0, (Alternative(frozenset(["minmax:a"]), mask([])),), relevant=np.ones(FILES, np.bool_)
    )
    choice = choose([query], {"minmax:a": 6})
    assert refusals(choice) == {"minmax:a": Reason.LAYOUT}
    assert "only another layout helps" in choice.refused[0].detail


def test_of_equal_indexes_the_smaller_one() -> None:
    queries = [skips("q", 1, ("a", range(5)), ("b", range(5)))]
    for sizes in ({"minmax:a": 2, "minmax:b": 1}, {"minmax:a": 1, "minmax:b": 2}):
        assert chosen(choose(queries, sizes)) == [min(sizes, key=lambda name: sizes[name])]


def test_last_choice_stays_until_another_saves_more() -> None:
    queries = [skips("q", 1, ("a", range(7)), ("b", range(1, 9)))]
    patterns = skip_patterns(queries, np.full(FILES, 100))
    sizes = {"minmax:a": 1, "minmax:b": 1}
    limits = FileIndexLimits(budget_bytes=1, min_gain_ratio=0.01)
    assert chosen(choose_indexes(patterns, sizes, limits, kept=["minmax:a"])) == ["minmax:b"]
    lazy = FileIndexLimits(budget_bytes=1, min_gain_ratio=0.01, switch_gain_ratio=0.2)
    assert chosen(choose_indexes(patterns, sizes, lazy, kept=["minmax:a"])) == ["minmax:a"]
    idle = choose_indexes(patterns, {"minmax:c": 1}, lazy, kept=["minmax:c"])
    assert chosen(idle) == []
    assert idle.gap_ratio == 0


def test_files_skipped_without_an_index_count_for_none() -> None:
    query = QuerySkips(
        "q", 1.0, (Alternative(frozenset(), mask([0, 1])), Alternative(frozenset(["minmax:a"]), mask([1, 2])))
    )
    choice = choose([query], {"minmax:a": 1})
    assert (choice.total, choice.saving) == (700.0, 100.0)


def test_budget_holds_to_the_byte() -> None:
    """A solver's tolerance of a millionth is a million bytes of a budget of a terabyte."""
    queries = [skips("q", 1, ("a", range(4)), ("b", range(4, 8)))]
    size = 500_000_000_000
    choice = choose(queries, {"minmax:a": size, "minmax:b": size + 1}, budget_bytes=2 * size)
    assert choice.size_bytes <= 2 * size
    assert len(choice.chosen) == 1


def test_no_queries_and_no_candidates() -> None:
    assert choose([], {"minmax:a": 1}).chosen == ()
    empty = choose([skips("q", 1, ("a", [1]))], {})
    assert (empty.chosen, empty.refused, empty.saving_ratio) == ((), (), 0.0)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weight_that_is_none_is_refused_by_name(weight: float) -> None:
    with pytest.raises(ValueError, match="query q0"):
        skip_patterns([skips("q0", weight, ("a", [1]))], np.ones(FILES))


def test_mask_of_another_table_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="query q0"):
        skip_patterns([skips("q0", 1, ("a", [1]), files=4)], np.ones(FILES))


def test_many_files_and_alternatives_become_few_patterns() -> None:
    rng = np.random.default_rng(7)
    files = 100_000
    size = rng.integers(1, 1000, files)
    names = [f"bloom:c{number}" for number in range(70)]
    groups = rng.integers(0, 5, files)
    # 70 alternatives are more than an integer has bits.
    query = QuerySkips(
        "q", 1.0, tuple(Alternative(frozenset([name]), groups != n % 5) for n, name in enumerate(names))
    )
    patterns = skip_patterns([query], size)
    assert len(patterns.weights) == 5
    assert sum(patterns.weights.values()) == size.sum() == patterns.total
    assert len(choose_indexes(patterns, dict.fromkeys(names, 1)).chosen) == 5


def test_files_that_a_part_of_a_set_skips_are_of_its_pattern() -> None:
    patterns = skip_patterns([skips("q", 1, ("a", [0, 1]), ("ab", [1, 2]))], np.ones(FILES))
    alone, pair = frozenset(["minmax:a"]), frozenset(["minmax:a", "minmax:b"])
    assert patterns.weights == {frozenset([alone]): 2.0, frozenset([pair]): 1.0}


def test_night_of_many_queries_is_solved_exactly() -> None:
    rng = np.random.default_rng(11)
    files, names = 2_000, [f"minmax:c{number}" for number in range(40)]
    sizes = {name: int(rng.integers(10, 200)) for name in names}
    queries = []
    for number in range(200):
        picked = rng.choice(len(names), 4, replace=False)
        items = [
            Alternative(frozenset([names[each]]), rng.random(files) > rng.random() * 0.9)
            for each in picked[:2]
        ]
        items.append(Alternative(frozenset(names[each] for each in picked[2:]), rng.random(files) > 0.5))
        queries.append(QuerySkips(f"q{number}", float(rng.integers(1, 9)), tuple(items)))
    patterns = skip_patterns(queries, rng.integers(1, 1000, files))
    exact = choose_indexes(patterns, sizes, FileIndexLimits(1200))
    assert exact.gap_ratio == 0
    assert exact.size_bytes <= 1200
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice_module, "solve", lambda *_: Solved(None, math.inf, is_proven=False))
        greedy = choose_indexes(patterns, sizes, FileIndexLimits(1200))
    print(exact.sentence, greedy.sentence, sep="\n")
    assert 0.95 * exact.saving <= greedy.saving <= exact.saving
