"""Indexes that exist and help no query."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from starskip.advisor.families.index import Index, drop_of
from starskip.advisor.families.verdict import Outcome, Reason, Verdict
from starskip.advisor.selection.vote_list import IndexSet, VoteList
from starskip.number_text import share


def unneeded_indexes(
    lists: Sequence[VoteList],
    chosen: IndexSet,
    entries: float,
    in_force: Collection[Index],
    asked: Collection[Index],
    max_loss_ratio: float,
    evidence: str,
) -> tuple[Verdict, ...]:
    """Return the indexes of ``in_force`` without which queries scan at most ``max_loss_ratio`` more.

    ``asked``: the indexes that answer some query; if nothing votes on dropping such an index, it stays. The
    loss is computed beside ``chosen`` and beside the drops that were found before, the least loss first.
    ``evidence``: the number of queries, as "500 queries in 2 nights"; the text of a drop states it.
    """
    voted = frozenset().union(*(votes.indexes for votes in lists)) if lists else frozenset()
    drops: list[Verdict] = []
    candidates = [item for item in sorted(in_force) if drop_of(item) in voted or item not in asked]
    while candidates:
        without = chosen | {drop_of(drop.index) for drop in drops}
        losses = {item: _loss(lists, without, drop_of(item)) / max(entries, 1.0) for item in candidates}
        least = min(candidates, key=lambda item: (losses[item], item))
        if losses[least] > max_loss_ratio:
            break
        detail = _detail(losses[least], evidence, is_asked=least in asked)
        drops.append(Verdict(least, Outcome.DROP, Reason.UNUSED, detail))
        candidates.remove(least)
    return tuple(sorted(drops, key=lambda drop: drop.index))


def _loss(lists: Sequence[VoteList], beside: IndexSet, dropping: Index) -> float:
    loss = 0.0
    for votes in lists:
        if dropping not in votes.indexes:
            continue
        if votes.is_complete:
            loss += votes.saving(beside).entries - votes.saving(beside | {dropping}).entries
        else:
            # Only some sets with the drop are listed. The drop by itself is listed, and loses the most.
            loss += max(-votes.saving(frozenset({dropping})).entries, 0.0)
    return loss


def _detail(loss_ratio: float, evidence: str, *, is_asked: bool) -> str:
    if not is_asked:
        return f"the index exists and none of {evidence} filters by it in a way that it serves"
    if abs(loss_ratio) < 0.0001:
        return f"without it {evidence} would scan as many entries, beside the other indexes"
    change = f"{share(abs(loss_ratio))} {'fewer' if loss_ratio < 0 else 'more'}"
    return f"without it {evidence} would scan {change} entries, beside the other indexes"
