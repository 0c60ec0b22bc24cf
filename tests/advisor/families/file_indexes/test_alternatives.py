"""Alternatives of a clause against the clause of each subset of the indexes, evaluated by itself."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.families.file_indexes.alternatives import MAX_ALTERNATIVES, alternatives
from starskip.skipping.clause import AllOf, AnyOf, Clause, NoFile, all_of
from starskip.skipping.file_metadata import FileMetadata, Mask

NAMES = "abcd"
FILES = 6


@dataclass(frozen=True)
class Leaf(Clause):
    """A clause of one index that keeps the files of a bit pattern."""

    index: str
    kept: int

    def may_match(self, metadata: FileMetadata) -> Mask:
        metadata.column(self.index, "any")
        return np.array([bool(self.kept >> file & 1) for file in range(metadata.files)])


class Files:
    files = FILES

    def column(self, index: str, name: str) -> pa.Array:
        assert index
        assert name
        return pa.nulls(FILES)


leaves = st.builds(Leaf, st.sampled_from(NAMES), st.integers(0, 2**FILES - 1))
clauses = st.recursive(
    leaves | st.just(NoFile()),
    lambda inner: (
        st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple))
    ),
    max_leaves=8,
)


def with_indexes(clause: Clause, chosen: frozenset[str]) -> Clause | None:
    """The clauses of Generate-Clause where only some indexes exist: an OR needs all of its legs."""
    if isinstance(clause, Leaf):
        return clause if clause.index in chosen else None
    if isinstance(clause, AllOf | AnyOf):
        legs = [with_indexes(leg, chosen) for leg in clause.clauses]
        known = [leg for leg in legs if leg is not None]
        if isinstance(clause, AnyOf):
            return AnyOf(tuple(known)) if len(known) == len(legs) else None
        return all_of(known)
    return clause


def named(clause: Clause) -> frozenset[str]:
    if isinstance(clause, AllOf | AnyOf):
        return frozenset().union(*(named(leg) for leg in clause.clauses))
    return frozenset([clause.index]) if isinstance(clause, Leaf) else frozenset()


@settings(max_examples=80, deadline=None)
@given(clauses)
def test_each_set_of_indexes_skips_what_its_own_clause_does(clause: Clause) -> None:
    found = alternatives(clause, Files())
    for count in range(len(NAMES) + 1):
        for names in itertools.combinations(NAMES, count):
            chosen = frozenset(names)
            own = with_indexes(clause, chosen)
            expected = np.ones(FILES, np.bool_) if own is None else own.may_match(Files())
            read = np.ones(FILES, np.bool_)
            for item in found:
                if item.indexes <= chosen:
                    read &= item.read
            assert read.tolist() == expected.tolist()
    assert frozenset().union(*(item.indexes for item in found)) == named(clause)


def test_index_that_skips_nothing_is_named() -> None:
    (found,) = alternatives(Leaf("a", 2**FILES - 1), Files())
    assert found.indexes == {"a"}
    assert found.read.all()


def test_or_of_many_legs_with_two_indexes_each_stays_small() -> None:
    legs = tuple(AllOf((Leaf("a", 1 << leg % FILES), Leaf("b", 3 << leg % FILES))) for leg in range(200))
    assert len(alternatives(AnyOf(legs), Files())) <= 3


def test_more_alternatives_than_the_limit_never_skip_too_much() -> None:
    legs = tuple(AllOf((Leaf(f"a{leg}", 1), Leaf(f"b{leg}", 2))) for leg in range(12))
    found = alternatives(AnyOf(legs), Files())
    assert 0 < len(found) <= MAX_ALTERNATIVES + 24
    for item in found:
        own = AnyOf(tuple(with_indexes(leg, item.indexes) or Leaf("x", 2**FILES - 1) for leg in legs))
        assert not (own.may_match(Files()) & ~item.read).any()
