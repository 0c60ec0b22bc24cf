"""Choose the skipping indexes that save most under a budget for metadata.

See "Extensible Data Skipping", IV-B, problem 8. The paper adds up the benefits of indexes as if they were
independent, and remarks that they are not (remark 10). Here the saving of a set is the bytes that it skips
together, each file of a query once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from starskip.indexes.skipping.choice.coverage import Coverage, Solution, coverage
from starskip.indexes.skipping.choice.exact_choice import exact_choice
from starskip.indexes.skipping.choice.greedy_choice import greedy_choice
from starskip.indexes.skipping.choice.index_choice import ChoiceLimits, ChosenIndex, IndexChoice, Method
from starskip.indexes.skipping.choice.refused_indexes import refused_indexes
from starskip.indexes.skipping.choice.skip_patterns import SkipPatterns

_EQUAL_RATIO = 1e-9


def choose_indexes(
    patterns: SkipPatterns,
    sizes: Mapping[str, int | None],
    limits: ChoiceLimits | None = None,
    *,
    kept: Collection[str] = (),
) -> IndexChoice:
    """Return the best of the candidates, the keys of ``sizes`` (bytes, None if unknown).

    An index of unknown size fits no budget. ``kept``: the last choice. Of sets with equal savings a smaller
    one is chosen, and every chosen index adds more than the least gain.
    """
    task = _task(patterns, sizes, limits or ChoiceLimits(), kept)
    solution, method = _solved(task.coverage, task.limits)
    chosen = _settled(task.coverage, solution.chosen)
    # An index of the last choice may be idle now; it is dropped with its bonus.
    value = max(task.coverage.value(chosen), task.coverage.value(solution.chosen))
    bound = max(solution.bound, value)
    gap = (bound - value) / bound if bound - value > _EQUAL_RATIO * abs(bound) else 0.0
    return IndexChoice(
        chosen=_ranked(task, chosen),
        refused=refused_indexes(task.coverage, chosen, patterns, sizes),
        total=patterns.total,
        saving=task.coverage.saving(chosen),
        size_bytes=task.coverage.size_bytes(chosen),
        method=method,
        gap_ratio=gap,
        patterns=len(patterns.weights),
    )


@dataclass(frozen=True, slots=True)
class _Task:
    coverage: Coverage
    limits: ChoiceLimits
    total: float
    sizes: Mapping[str, int | None]


def _task(
    patterns: SkipPatterns, sizes: Mapping[str, int | None], limits: ChoiceLimits, kept: Collection[str]
) -> _Task:
    known = {index: size for index, size in sizes.items() if size is not None}
    if any(size < 0 for size in known.values()):
        raise ValueError("sizes of indexes are 0 or more")
    budget = limits.budget_bytes
    able = sizes if budget is None else [index for index, size in known.items() if size <= budget]
    must = {
        index: patterns.total * (limits.min_gain_ratio - limits.switch_gain_ratio * (index in kept))
        for index in able
    }
    return _Task(coverage(patterns, must, known, budget), limits, patterns.total, sizes)


def _solved(task: Coverage, limits: ChoiceLimits) -> tuple[Solution, Method]:
    if not task.bundles:
        return Solution(frozenset(), 0.0), Method.EXACT
    if len(task.weights) <= limits.max_patterns:
        exact = exact_choice(task, limits.node_limit)
        if exact is not None:
            return exact, Method.EXACT
    return greedy_choice(task), Method.GREEDY


def _settled(task: Coverage, chosen: frozenset[int]) -> frozenset[int]:
    """Replace indexes by smaller ones of equal value, since solvers take any, and drop idle ones."""
    for number in sorted(chosen, key=lambda each: -task.sizes[each]):
        value = task.value(chosen)
        rest = chosen - {number}
        for twin in sorted(range(len(task.indexes)), key=lambda each: (task.sizes[each], each)):
            if task.sizes[twin] >= task.sizes[number]:
                break
            if twin not in chosen and task.value(rest | {twin}) >= value - _EQUAL_RATIO * abs(value):
                chosen = rest | {twin}
                break
    return _without_idle(task, chosen)


def _without_idle(task: Coverage, chosen: frozenset[int]) -> frozenset[int]:
    for number in sorted(chosen, key=lambda each: (-task.sizes[each], each)):
        saving = task.saving(chosen)
        lost = saving - task.saving(chosen - {number})
        if lost <= max(float(task.must[number]), 0.0) + _EQUAL_RATIO * saving:
            return _without_idle(task, chosen - {number})
    return chosen


def _ranked(task: _Task, chosen: frozenset[int]) -> tuple[ChosenIndex, ...]:
    total = task.total or 1.0
    ranked: list[ChosenIndex] = []
    before: frozenset[int] = frozenset()
    while left := chosen - before:
        saved = task.coverage.saving(before)
        best = max(sorted(left), key=lambda each: task.coverage.saving(before | {each}))
        index = task.coverage.indexes[best]
        ranked.append(
            ChosenIndex(
                specification=index,
                individual_saving_ratio=task.coverage.saving([best]) / total,
                progressive_saving_ratio=(task.coverage.saving(before | {best}) - saved) / total,
                size_bytes=task.sizes[index],
            )
        )
        before |= {best}
    return tuple(ranked)
