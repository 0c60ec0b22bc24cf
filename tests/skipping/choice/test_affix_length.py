"""Lengths of prefixes and suffixes against the stored affixes themselves, and the shape of figure 12."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.skipping.choice.affix_length import affix_length, affix_lengths

texts = st.text("ab\U0001f600", max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.none() | st.lists(texts, max_size=5, unique=True), min_size=1, max_size=4),
    st.lists(st.tuples(st.text("ab\U0001f600", min_size=1, max_size=4), st.integers(1, 5)), max_size=4),
    st.booleans(),
)
def test_each_length_reads_and_takes_what_its_affixes_do(
    files: list[list[str] | None], asked: list[tuple[str, int]], of_suffixes: bool
) -> None:
    patterns, weights = [item for item, _ in asked], [float(weight) for _, weight in asked]
    values = pa.array(files, pa.list_(pa.string()))
    found = affix_lengths(values, patterns, weights, of_suffixes=of_suffixes)
    assert [item.characters for item in found] == sorted({len(pattern) for pattern in patterns})
    for item in found:
        read, size = 0.0, 0
        for file in files:
            cut = {
                text[-item.characters :] if of_suffixes else text[: item.characters] for text in file or []
            }
            size += sum(len(text.encode()) for text in cut)
            for pattern, weight in asked:
                part = pattern[-item.characters :] if of_suffixes else pattern[: item.characters]
                if any(text.endswith(part) if of_suffixes else text.startswith(part) for text in cut):
                    read += weight
        assert item.size_bytes == size
        assert abs(item.read_ratio - read / (sum(weights) * len(files))) < 1e-12
    ratios = [item.read_ratio for item in found]
    assert ratios == sorted(ratios, reverse=True)


def test_short_prefix_reads_as_little_in_a_tenth_of_the_bytes() -> None:
    """Figure 12: an account tells files apart by few characters, and a long tail of the name follows."""
    rng = np.random.default_rng(12)
    files = []
    for _ in range(120):
        accounts = rng.integers(0, 900, 3)
        files.append(
            [f"acct{each:04d}-region-{rng.integers(10**15):015d}" for each in accounts for _ in range(12)]
        )
    flat = [text for file in files for text in file]
    patterns = [text[: rng.integers(1, len(text) + 1)] for text in rng.choice(flat, 400)]
    lengths = affix_lengths(pa.array(files), patterns, [1.0] * len(patterns))
    best = affix_length(lengths, slack_ratio=0.1)
    assert best is not None
    print(best, lengths[-1])
    assert best.read_ratio <= 1.1 * lengths[-1].read_ratio
    assert best.size_bytes * 10 <= lengths[-1].size_bytes
    assert lengths[0].read_ratio > 2 * best.read_ratio


def test_length_that_tells_files_apart_is_taken_and_no_longer_one() -> None:
    files = [[f"{number:03d}-{tail:020d}" for tail in range(20)] for number in range(50)]
    patterns = [files[number][3] for number in range(50)] + ["0", "00", "001-0"]
    lengths = affix_lengths(pa.array(files), patterns, [1.0] * len(patterns))
    best = affix_length(lengths, slack_ratio=0.05)
    assert best is not None
    assert best.characters == 5
    assert best.size_bytes * 20 < lengths[-1].size_bytes
    assert affix_length(()) is None
