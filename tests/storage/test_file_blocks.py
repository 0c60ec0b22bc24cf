"""Blocks of plain, gzip and zstd files, whole and damaged."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from no_more_files import no_more_files
from starskip.errors import SourceOutage
from starskip.storage.files.file_blocks import DamagedFileError, file_blocks

TEXT = b"".join(b"%d line of text %d\n" % (i, random.Random(i).randrange(10**12)) for i in range(20_000))
PACK = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor(write_checksum=True).compress}


def read(path: Path, compression: str, block_bytes: int = 10_000) -> tuple[bytes, str | None]:
    got: list[bytes] = []
    try:
        got.extend(file_blocks(str(path), compression, 0, block_bytes))
    except DamagedFileError as damage:
        return b"".join(got), damage.reason
    return b"".join(got), None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
class TestCompressed:
    def test_whole_file(self, file, compression):
        file.write_bytes(PACK[compression](TEXT))
        assert read(file, compression) == (TEXT, None)

    def test_several_members_are_one_text(self, file, compression):
        file.write_bytes(PACK[compression](TEXT) + PACK[compression](b"") + PACK[compression](b"more"))
        assert read(file, compression) == (TEXT + b"more", None)

    def test_file_of_nothing_packed(self, file, compression):
        file.write_bytes(PACK[compression](b""))
        assert read(file, compression) == (b"", None)

    @pytest.mark.parametrize("share", [0.001, 0.3, 0.9, 0.9999])
    def test_truncated_file_gives_what_is_there(self, file, compression, share):
        packed = PACK[compression](TEXT)
        file.write_bytes(packed[: int(len(packed) * share)])
        got, reason = read(file, compression)
        assert reason == "truncated_file"
        assert TEXT.startswith(got)
        assert len(got) >= (share - 0.4) * len(TEXT)  # a zstd block is all or nothing

    def test_broken_byte_gives_what_is_before_it(self, file, compression):
        packed = bytearray(PACK[compression](TEXT))
        packed[len(packed) * 3 // 4] ^= 0xFF
        file.write_bytes(packed)
        got, reason = read(file, compression)
        assert reason == "damaged_file"
        assert len(got) > len(TEXT) // 3

    def test_wrong_checksum_keeps_the_text(self, file, compression):
        packed = bytearray(PACK[compression](TEXT))
        packed[-5 if compression == "gzip" else -1] ^= 0xFF
        file.write_bytes(packed)
        assert read(file, compression) == (TEXT, "damaged_file")

    def test_garbage_behind_the_stream_is_damage(self, file, compression):
        file.write_bytes(PACK[compression](TEXT) + b"garbage garbage")
        assert read(file, compression) == (TEXT, "damaged_file")

    def test_bomb_is_read_in_small_blocks_and_not_to_its_end(self, file, compression):
        size, mebibytes = 0, 64
        if compression == "gzip":
            with gzip.open(file, "wb", compresslevel=9) as out:
                for _ in range(mebibytes):
                    out.write(bytes(1 << 20))
        else:
            with file.open("wb") as raw, zstandard.ZstdCompressor().stream_writer(raw) as out:
                for _ in range(mebibytes):
                    out.write(bytes(1 << 20))
        tracemalloc.start()
        try:
            with pytest.raises(DamagedFileError) as bomb:
                for block in file_blocks(str(file), compression, 0, 1 << 20):
                    size += len(block)
            assert bomb.value.reason == "compression_bomb"
            assert 16 << 20 < size < 32 << 20
            assert tracemalloc.get_traced_memory()[1] < 32 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_log_lines_that_are_equal_but_for_their_times_are_no_bomb(file, compression):
    line = (
        "2026/11/20 10:00:{:06.3f} ERROR [X] [executor-{}] java.lang.IllegalStateException: no server\\n"
        + (
            "\tat org.apache.pinot.broker.requesthandler.BaseBrokerRequestHandler.handleRequest(X.java:77)\n"
            * 12
        )
    )
    text = "".join(line.format(number % 60_000 / 1_000, number % 16) for number in range(20_000)).encode()
    file.write_bytes(PACK[compression](text))
    assert read(file, compression, 1 << 20) == (text, None)


def test_a_gzipped_log_of_equal_records_is_refused_before_it_is_read(file):
    """2.2 GB in 8 MB, which took more than a minute to be read and set aside record by record."""
    line = b"2026/11/20 10:00:00.000 INFO [X] [executor-1] requestId=1,foo=bar and nothing that is a query\n"
    block = gzip.compress(line * (1 << 18))
    file.write_bytes(block * 90)
    assert len(line) * (1 << 18) * 90 > 2_200_000_000
    with pytest.raises(DamagedFileError, match="bytes hold more than"):
        size = 0
        for each in file_blocks(str(file), "gzip", 0, 1 << 20):
            size += len(each)
            assert size < 32 << 20


def test_gzip_damage_loses_no_byte_before_it(file):
    """Stored blocks, so that the byte of the damage is known: the third block's length is no length."""
    stored = [b"\0" + struct.pack("<HH", 1000, 1000 ^ 0xFFFF) + TEXT[i : i + 1000] for i in (0, 1000)]
    header = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    file.write_bytes(header + b"".join(stored) + b"\0" + struct.pack("<HH", 1000, 7) + TEXT[:1000])
    assert read(file, "gzip", 1 << 20) == (TEXT[:2000], "damaged_file")


def test_zeros_behind_gzip_are_padding(file):
    file.write_bytes(gzip.compress(TEXT) + bytes(70_000))
    assert read(file, "gzip") == (TEXT, None)


def test_zstd_frame_with_a_huge_window_is_refused(file):
    window = zstandard.ZstdCompressionParameters(window_log=30)
    compressor = zstandard.ZstdCompressor(compression_params=window).compressobj()
    file.write_bytes(compressor.compress(TEXT) + compressor.flush())
    assert read(file, "zstd") == (b"", "damaged_file")


def test_vanished_file_is_unreadable(file):
    assert read(file, "none") == (b"", "unreadable_file")


def test_plain_file_from_a_byte_on(file):
    file.write_bytes(TEXT)
    assert b"".join(file_blocks(str(file), "none", 7, 100)) == TEXT[7:]


def test_a_disk_that_fails_is_no_damage(file):
    with no_more_files(), pytest.raises(SourceOutage, match="cannot be read now: Too many open files"):
        read(file, "none")
    # A file that opens, and whose first byte cannot be read: EIO.
    assert read("/proc/self/mem", "none") == (b"", "unreadable_file")
