"""A block of a b-tree gives the entries of any range of its keys, however often it was asked before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64
from starskip.predicates.ordered_values import order_keys
from starskip.secondary.entries import run_rows
from starskip.secondary.keyed_block import KeyedBlock, keyed_block

KEYS = 700
OFTEN = 6


def block_of(addresses_by_key: list[list[int]]) -> KeyedBlock:
    """The block of keys 0, 1, … with these addresses."""
    keys = [key for key, of_key in enumerate(addresses_by_key) for _ in of_key]
    addresses = [address for of_key in addresses_by_key for address in sorted(of_key)]
    rows = run_rows([pa.array(keys, pa.int64())], ["key"], np.array(addresses, np.uint64), long_list=24)
    return keyed_block(order_keys(rows["key"].combine_chunks()), rows)


@given(st.integers(0, 2**32), st.data())
def test_the_entries_are_those_of_the_keys(seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    # Some keys have so many entries that they are kept as a bitmap; other blocks have hundreds of rows.
    lengths = random.choice([1, 2, 30, 300], KEYS, p=[0.8, 0.18, 0.01, 0.01])
    drawn = random.permutation(40_000)[: lengths.sum()].astype(np.uint64)
    drawn += (drawn % np.uint64(3)) << np.uint64(32)
    by_key = [each.tolist() for each in np.split(drawn, np.cumsum(lengths)[:-1])]
    block = block_of(by_key)
    keys = np.asarray(block.keys)
    for _ in range(OFTEN):
        low, high = sorted(data.draw(st.tuples(st.integers(0, KEYS), st.integers(0, KEYS))))
        start, end = np.searchsorted(keys, [low, high]).tolist()
        expected = BitMap64([address for of_key in by_key[low:high] for address in of_key])
        assert int(block.ends[end] - block.ends[start]) == len(expected)
        assert BitMap64.union(BitMap64(), *block.bitmaps(start, end)) == expected
        among = BitMap64([*random.choice(drawn, 5).tolist(), 7, 1 << 33])
        told = BitMap64.union(BitMap64(), *block.bitmaps(start, end, among))
        assert told & among == expected & among
        assert told <= expected
