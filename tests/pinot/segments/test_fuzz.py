"""Random damage of real segments: a DamagedSegment or a result, never another error and never a hang."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

import pytest
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_layout import read_segment_layout
from starskip.pinot.segments.segment_reader import segment_facts
from starskip.pinot.segments.window_reader import read_window

pytestmark = pytest.mark.slow

LIMITS = TarLimits(decompressed_bytes=64 << 20, metadata_bytes=4 << 20)
ROUNDS = 60
SEGMENTS = ["tiny_allraw", "tiny_indexed_fmt1", "tiny_varlen", "tiny_raw_w4", "tiny_lz4", "tiny_zstd"]


def damaged(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 3, 30, 300])):
        changed[chance.randrange(len(changed))] = chance.choice([0, 0x7F, 0xFF, chance.randrange(256)])
    if chance.random() < 0.2:
        start = chance.randrange(len(changed))
        del changed[start : start + chance.choice([1, 512, 100_000])]
    return bytes(changed)


def read_all(file: SegmentFile) -> None:
    try:
        layout = read_segment_layout(file, LIMITS, whole=True)
    except DamagedSegment:
        return
    names = [column.name for column in segment_facts(file, layout).columns]
    try:
        runs = [range(layout.metadata.rows)[start : start + 100] for start in (150, 250, 380)]
        window = read_window(file, layout, names, runs, 1 << 20, LIMITS)
    except DamagedSegment:
        return
    assert set(window.columns) | set(window.unreadable) == set(names)


@pytest.mark.parametrize("is_gzip_damaged", [True, False])
@pytest.mark.parametrize("segment", SEGMENTS)
def test_random_damage(
    segment: str,
    is_gzip_damaged: bool,
    segment_files: dict[str, SegmentFile],
    raw_file: Callable[[bytes], SegmentFile],
) -> None:
    chance = random.Random(f"{segment} {is_gzip_damaged}")
    with gzip.open(segment_files[segment].path) as whole:
        content = whole.read()
    for _ in range(ROUNDS):
        if is_gzip_damaged:
            read_all(raw_file(damaged(gzip.compress(content, 1), chance)))
        else:
            read_all(raw_file(damaged(content, chance)))


@pytest.mark.parametrize("segment", SEGMENTS)
def test_random_damage_of_the_indexes_alone(
    segment: str,
    segment_files: dict[str, SegmentFile],
    raw_file: Callable[[bytes], SegmentFile],
) -> None:
    """Headers and metadata stay whole, so that the decoders see the damage."""
    chance = random.Random(segment)
    with gzip.open(segment_files[segment].path) as whole:
        content = whole.read()
    for _ in range(ROUNDS):
        changed = bytearray(content)
        for block in range(0, len(content), 512):
            part = content[block : block + 512]
            is_text = b"ustar" in part or (sum(part) and part.count(b"\n") > 3)
            if not is_text and any(part) and chance.random() < 0.3:
                changed[block + chance.randrange(len(part))] = chance.choice([0, 0x7F, 0x80, 0xFF])
        read_all(raw_file(bytes(changed)))
