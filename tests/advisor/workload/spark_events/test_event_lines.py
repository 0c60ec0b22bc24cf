"""Lines of event logs: whole, compressed, cut, too long, and of files that are none."""

from __future__ import annotations

import gzip
import random
import struct
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from starskip.advisor.workload.spark_events import event_lines as of_events
from starskip.advisor.workload.spark_events.event_lines import event_lines

TEXT = b"".join(b'{"Event":"E%d","padding":"%s"}\n' % (n, b"abc" * (n % 50)) for n in range(5_000))
LINES = TEXT.splitlines()


def lz4(text: bytes, *, block_bytes: int = 1 << 16) -> bytes:
    """Write as lz4-java's LZ4BlockOutputStream does: blocks, then an empty one."""
    made = []
    for start in range(0, len(text), block_bytes):
        block = text[start : start + block_bytes]
        packed = pa.compress(block, codec="lz4_raw", asbytes=True)
        method, data = (0x20, packed) if len(packed) < len(block) else (0x10, block)
        made.append(struct.pack("<8sBiii", b"LZ4Block", method | 6, len(data), len(block), 0) + data)
    return b"".join(made) + struct.pack("<8sBiii", b"LZ4Block", 0x10 | 6, 0, 0, 0)


PACKED = {
    "plain": TEXT,
    "zstd": zstandard.compress(TEXT),
    "two frames": zstandard.compress(TEXT[:7_777]) + zstandard.compress(TEXT[7_777:]),
    "gzip": gzip.compress(TEXT),
    "lz4": lz4(TEXT),
}


@pytest.mark.parametrize("kind", PACKED)
def test_all_lines_of_a_whole_file(tmp_path: Path, kind: str) -> None:
    (tmp_path / "log").write_bytes(PACKED[kind])
    lines = list(event_lines(str(tmp_path / "log")))
    assert [line.text for line in lines] == LINES
    assert [line.number for line in lines] == list(range(1, 5_001))
    assert all(line.flaw is None and line.is_ended for line in lines)


def test_blocks_that_lz4_stores_as_they_are(tmp_path: Path) -> None:
    noise = random.Random(4).randbytes(70_000).replace(b"\n", b"x").replace(b"\r", b"x")
    (tmp_path / "log").write_bytes(lz4(b"a" + noise + b"\nb\n"))
    assert [line.text for line in event_lines(str(tmp_path / "log"))] == [b"a" + noise, b"b"]


@pytest.mark.parametrize("kind", ["zstd", "gzip", "lz4"])
def test_a_file_that_is_cut_gives_its_lines_and_says_so(tmp_path: Path, kind: str) -> None:
    (tmp_path / "log").write_bytes(PACKED[kind][: len(PACKED[kind]) * 2 // 3])
    *whole, last = event_lines(str(tmp_path / "log"))
    assert last.flaw == "truncated_file"
    assert [line.text for line in whole] == LINES[: len(whole)]


@pytest.mark.parametrize("kind", ["zstd", "lz4"])
def test_any_byte_may_be_wrong(tmp_path: Path, kind: str) -> None:
    """Nothing but lines and a flaw comes of it: no exception, nothing without bound."""
    file, chance = tmp_path / "log", random.Random(7)
    for _ in range(25):
        damaged = bytearray(PACKED[kind])
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        assert sum(len(line.text) for line in event_lines(str(file))) < 10 * len(TEXT)


def test_a_line_too_long_is_left_out_and_what_follows_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_events, "MAX_LINE_BYTES", 1_000)
    (tmp_path / "log").write_bytes(b"a\n" + b"x" * 5_000 + b"\nb\n" + b"y" * 3_000)
    lines = list(event_lines(str(tmp_path / "log")))
    assert [(line.text[:1], line.flaw) for line in lines] == [
        (b"a", None),
        (b"x", "too_long"),
        (b"b", None),
        (b"y", "too_long"),
    ]
    assert len(lines[1].text) == 2_000


def test_a_line_of_a_gigabyte_in_a_few_kilobytes(tmp_path: Path) -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    with (tmp_path / "log").open("wb") as file:
        for _ in range(1_000):
            file.write(packer.compress(b"x" * (1 << 20)))
        file.write(packer.flush())
    (line,) = event_lines(str(tmp_path / "log"))
    assert line.flaw in ("compression_bomb", "too_long")


def test_the_last_line_of_a_running_application_has_no_end(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b'{"a":1}\r\n\n{"b":')
    first, last = event_lines(str(tmp_path / "log"))
    assert (first.text, first.is_ended) == (b'{"a":1}', True)
    assert (last.text, last.is_ended, last.number) == (b'{"b":', False, 3)


@pytest.mark.parametrize(
    ("head", "said"),
    [(b"\x82SNAPPY\0\0\0\0\1", b"snappy"), (b"ZV\1\0", b"lzf"), (b"\0\1\2\3" * 100, b"not a text")],
)
def test_what_is_not_read_is_named(tmp_path: Path, head: bytes, said: bytes) -> None:
    (tmp_path / "log").write_bytes(head)
    (line,) = event_lines(str(tmp_path / "log"))
    assert line.flaw == "unknown_file_format"
    assert said in line.text


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    (line,) = event_lines(str(tmp_path / "gone"))
    assert line.flaw == "unreadable_file"
