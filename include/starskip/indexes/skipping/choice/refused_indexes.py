"""Explain why each candidate is not chosen, with figures."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.indexes.index import Index
from starskip.indexes.skipping.choice.coverage import Coverage
from starskip.indexes.skipping.choice.skip_patterns import SkipPatterns
from starskip.indexes.verdict import Reason, Verdict, refused
from starskip.number_text import saves, share, size


def refused_indexes(
    task: Coverage,
    chosen: frozenset[int],
    patterns: SkipPatterns,
    sizes: Mapping[str, int | None],
    family: str,
) -> tuple[Verdict, ...]:
    """Return a refusal for each candidate (a key of ``sizes``) that is not chosen, in their order."""
    rank = {index: number for number, index in enumerate(task.indexes)}
    found = []
    for index in sorted(sizes):
        number = rank.get(index)
        if number is not None and number in chosen:
            continue
        if number is None:
            alone = _alone(patterns, index)
            reason, detail = _cannot_fit(sizes[index], task.budget_bytes)
        else:
            alone = task.saving([number])
            reason, detail = _reason(task, chosen, number, patterns)
        ratio = alone / (patterns.total or 1.0)
        found.append(refused(Index(family, index), reason, detail, ratio, sizes[index]))
    return tuple(found)


def _alone(patterns: SkipPatterns, index: str) -> float:
    return sum(weight for pattern, weight in patterns.weights.items() if frozenset([index]) in pattern)


def _cannot_fit(size_bytes: int | None, budget: int | None) -> tuple[Reason, str]:
    if size_bytes is None:
        return Reason.SIZE_UNKNOWN, "its size is not known, so that it may not fit the budget"
    return Reason.OVER_STORAGE_BUDGET, f"takes {size(size_bytes)} by itself, the budget is {size(budget)}"


def _reason(
    task: Coverage, chosen: frozenset[int], number: int, patterns: SkipPatterns
) -> tuple[Reason, str]:
    index = task.indexes[number]
    total = patterns.total or 1.0
    must = max(float(task.must[number]), 0.0)
    alone = task.saving([number])
    added = task.saving(chosen | {number}) - task.saving(chosen)
    figures = (
        f"by itself it {saves(alone / total)} of what is read, "
        f"beside what is chosen it {saves(added / total)}"
    )
    reachable = patterns.reachable.get(index, 0.0)
    partners = _partners(task, number)
    if index not in patterns.reachable:
        return Reason.NO_QUERY, "no query has a predicate that it could skip by"
    if added > must and not task.fits(chosen | {number}):
        return Reason.OVER_STORAGE_BUDGET, f"{figures}, which is more a byte: it does not fit any more"
    if alone > must and added < alone:
        return (
            Reason.COVERED_BY_CHOSEN,
            f"{figures}: {_covering(task, chosen, number)} skips mostly the same files",
        )
    if reachable is not None and reachable <= must:
        return Reason.LAYOUT, (
            "matching rows lie in nearly all files: perfect metadata would save"
            f" {share(reachable / total)} of what is read, so that only another layout helps"
        )
    if alone <= 0 and partners:
        return Reason.NEEDS_ANOTHER, f"skips only together with {partners}, and not enough for both"
    if alone <= 0:
        return Reason.SAVES_NOTHING, "no file can be skipped by it"
    return Reason.BELOW_MIN_GAIN, f"{figures}; the least gain is {share(must / total)}"


def _covering(task: Coverage, chosen: frozenset[int], number: int) -> str:
    """Return the chosen index that skips most of the same files."""
    alone = task.saving([number])
    shared = {each: alone + task.saving([each]) - task.saving([each, number]) for each in sorted(chosen)}
    best = max(shared, key=lambda each: shared[each], default=None)
    return task.indexes[best] if best is not None else "what is chosen"


def _partners(task: Coverage, number: int) -> str:
    others = [bundle - {number} for bundle in task.bundles if number in bundle and len(bundle) > 1]
    return " and ".join(task.indexes[each] for each in sorted(sorted(others, key=len)[0])) if others else ""
