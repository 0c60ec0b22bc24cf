"""Sets of indexes that a query votes for, by the exclusive and incremental choice.

Automated Inverted Index Recommendation, II.3 B. For each term t of an AND, D_t is the set of indexes on its
columns, and delta_t is the query's saving with D_t. The best D_t, and every D_t that saves more than
``exclusive_ratio`` (g0) of it, make one exclusive vote. Each of these sets grows by itself: while the query
still reads more than ``sufficient`` (C0), or a further term would save more than ``incremental``, the best
further term joins the set, which then saves both. In entries a row, so that 1 is one scan of a single-value
column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.advisor.cost.alternatives import Candidates
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index
from starskip.sql.predicate import And, Predicate, leaves

Ratios = npt.NDArray[np.float64]
IndexSet = frozenset[Index]
NO_INDEXES: IndexSet = frozenset()

MAX_TERMS = 24
"""Terms of an AND that are tried beside others: the terms that save most by themselves."""
MAX_SETS = 32
"""Sets that one disjunct of a shape votes for."""

_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class VoteRules:
    """g0, a share; C0 and the incremental threshold, in scans of a single-value column."""

    exclusive_ratio: float = 0.8
    sufficient_scans: float = 1.0
    incremental_scans: float = 0.05


def proposed_sets(
    disjunct: Predicate,
    candidates: Candidates,
    rules: AccessRules,
    entries_with: Callable[[IndexSet], Ratios],
    vote_rules: VoteRules,
) -> list[IndexSet]:
    """Return the sets that an instance of the disjunct votes for, without the empty set.

    ``entries_with``: L of the disjunct under a set, in entries a row of each instance, [instances].
    """
    terms = disjunct.children if isinstance(disjunct, And) else (disjunct,)
    options = dict.fromkeys(item for term in terms for item in _term_sets(term, candidates, rules))
    alone = {item: entries_with(item) for item in options}
    options_kept = sorted(options, key=lambda item: float(alone[item].mean()))[:MAX_TERMS]
    present = entries_with(NO_INDEXES)
    saved = np.array([present - alone[item] for item in options_kept])
    if not len(saved):
        return []
    best = saved.max(axis=0)
    is_voted = ((saved > vote_rules.exclusive_ratio * best) | (saved == best)) & (saved > _NOTHING)
    found = [item for item, voted in zip(options_kept, is_voted.any(axis=1), strict=True) if voted]
    known = set(found)
    for item in found:
        if len(known) >= MAX_SETS:
            break
        for larger in _further_sets(item, entries_with(item), options_kept, entries_with, vote_rules):
            if larger not in known:
                known.add(larger)
                found.append(larger)
    return found[:MAX_SETS]


def _further_sets(
    item: IndexSet,
    entries: Ratios,
    options: Sequence[IndexSet],
    entries_with: Callable[[IndexSet], Ratios],
    vote_rules: VoteRules,
) -> list[IndexSet]:
    """Return ``item`` with the best further term of each instance that wants one."""
    larger = list(dict.fromkeys(item | option for option in options if not option <= item))
    if not larger or float(entries.max()) <= _NOTHING:
        return []
    gains = np.array([entries - entries_with(each) for each in larger])
    best = gains.argmax(axis=0)
    gain = gains.max(axis=0)
    is_wanted = (entries > vote_rules.sufficient_scans) | (gain > vote_rules.incremental_scans)
    return [larger[position] for position in np.unique(best[is_wanted & (gain > _NOTHING)]).tolist()]


def _term_sets(term: Predicate, candidates: Candidates, rules: AccessRules) -> list[IndexSet]:
    """Return D_t: an index for each leaf of the term that an index could answer, by preferred family."""
    served = [
        [
            item
            for item in candidates.get(leaf.column, ())
            if not item.is_drop and not rules.reorders(item.family) and rules.serves(item.family, leaf)
        ]
        for leaf in leaves(term)
    ]
    kinds = sorted({s.family for of_leaf in served for s in of_leaf})
    sets = []
    for kind in kinds:
        chosen = (min(of_leaf, key=lambda s: (s.family != kind, s)) for of_leaf in served if of_leaf)
        sets.append(frozenset(chosen))
    return list(dict.fromkeys(sets))
