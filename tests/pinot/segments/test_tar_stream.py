from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from no_more_files import no_more_files
from starskip.errors import SourceOutage
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.tar_stream import tar_members

Make = Callable[..., SegmentFile]
Write = Callable[[bytes], SegmentFile]


def names_and_contents(file: SegmentFile, limits: TarLimits | None = None) -> dict[str, bytes]:
    with closing(tar_members(file.path, limits or TarLimits())) as members:
        return {member.name: member.read(member.size) for member in members}


def refusal(file: SegmentFile, limits: TarLimits | None = None) -> DamagedSegment:
    with pytest.raises(DamagedSegment) as caught:
        names_and_contents(file, limits)
    assert str(caught.value).startswith(f"segment {file.path}: ")
    assert str(caught.value).isprintable()
    return caught.value


def tar_bytes(members: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def header(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("name", ["s.tar.gz", "s.tar"])
def test_contents_in_every_tar_format(form: int, name: str, raw_file: Write) -> None:
    members = {"./s/a": b"1" * 700, "s/b.b": b"", "s/" + "x" * 90: b"y" * 512}
    if form != tarfile.USTAR_FORMAT:
        members["s/" + "長" * 200] = b"long name"
    content = tar_bytes(members, form)
    file = raw_file(gzip.compress(content) if name.endswith("gz") else content)
    expected = {key.removeprefix("./"): value for key, value in members.items()}
    assert names_and_contents(file) == expected


def test_gzip_in_several_parts_with_zero_padding(raw_file: Write) -> None:
    content = tar_bytes({"s/a": b"1" * 5000})
    file = raw_file(gzip.compress(content[:3000]) + gzip.compress(content[3000:]) + b"\0" * 100_000)
    assert names_and_contents(file) == {"s/a": b"1" * 5000}


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/passwd", "a\\..\\evil", "\\evil", "../\x1b[2Jx\nall is well"]
)
def test_a_member_that_climbs(name: str, make_segment: Make) -> None:
    error = refusal(make_segment([header(name)]))
    assert error.reason == "climbing_path"
    assert error.detail == f"a member climbs out of the segment's folder ({name})"


def test_a_member_that_climbs_by_a_pax_name(raw_file: Write) -> None:
    file = raw_file(gzip.compress(tar_bytes({"../" + "e" * 200: b""})))
    assert refusal(file).reason == "climbing_path"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link(kind: bytes, make_segment: Make) -> None:
    error = refusal(make_segment([header("s/link", kind)]))
    assert (error.reason, error.detail) == ("link_in_tar", "holds a link (s/link); segments have none")


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE])
def test_a_device_or_sparse_member(kind: bytes, make_segment: Make) -> None:
    error = refusal(make_segment([header("s/dev", kind)]))
    assert (error.reason, error.detail) == ("special_member", "holds a device or special member (s/dev)")


@pytest.mark.parametrize(
    ("content", "reason", "detail"),
    [
        (b"", "not_a_tar", "is no tar: too short for one header"),
        (b"hello", "not_a_tar", "is no tar: too short for one header"),
        (b"hello" * 1000, "not_a_tar", "is neither a tar nor a gzipped tar"),
        (gzip.compress(b"hello" * 1000, mtime=0), "not_a_tar", "is neither a tar nor a gzipped tar"),
        (gzip.compress(bytes(10240), mtime=0), "empty_tar", "is a tar without members"),
        (bytes(1024), "empty_tar", "is a tar without members"),
        (b"\x1f\x8b\x08", "truncated_gzip", "the gzip is cut short"),
        (b"\x1f\x8b" + b"\xff" * 600, "corrupt_gzip", "the gzip is damaged"),
    ],
)
def test_files_that_are_no_tar(content: bytes, reason: str, detail: str, raw_file: Write) -> None:
    error = refusal(raw_file(content))
    assert error.reason == reason
    assert error.detail.startswith(detail)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_gzip_cut_anywhere(share: float, segment_files: dict[str, SegmentFile], raw_file: Write) -> None:
    content = Path(segment_files["tiny_lz4"].path).read_bytes()
    error = refusal(raw_file(content[: int(len(content) * share)]))
    assert (error.reason, error.detail) == ("truncated_gzip", "the gzip is cut short")


def test_a_gzip_whose_checksum_is_wrong(raw_file: Write) -> None:
    content = bytearray(gzip.compress(tar_bytes({"s/a": b"1" * 100})))
    content[-5] ^= 1
    assert refusal(raw_file(bytes(content))).reason == "corrupt_gzip"


def test_a_plain_tar_cut_inside_a_member_and_before_its_end_mark(raw_file: Write) -> None:
    content = tar_bytes({"s/a": b"1" * 5000})
    assert refusal(raw_file(content[:2000])).detail == "the tar ends inside a member"
    assert refusal(raw_file(content[: 512 + 5120])).detail == "the tar ends before its end mark"


def test_a_damaged_header_in_the_middle(raw_file: Write) -> None:
    content = bytearray(tar_bytes({"s/a": b"", "s/b": b""}))
    content[520] ^= 1
    assert refusal(raw_file(bytes(content))).reason == "corrupt_tar"


def test_a_member_that_claims_terabytes_is_refused_at_its_header(raw_file: Write) -> None:
    info = header("s/columns.psf", size=5 << 40)
    error = refusal(raw_file(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))
    assert error.reason == "too_large"
    assert error.detail == "a member claims 5497558138880 bytes, over the limit of 17179869184"


def test_a_negative_size_is_refused(raw_file: Write) -> None:
    block = bytearray(header("s/a").tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 12
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    assert refusal(raw_file(bytes(block) + bytes(1024))).reason in ("corrupt_tar", "not_a_tar")


def zeros_bomb(claimed: int, real: int) -> bytes:
    squeeze = zlib.compressobj(9, wbits=31)
    parts = [squeeze.compress(header("s/columns.psf", size=claimed).tobuf(tarfile.GNU_FORMAT))]
    parts += [squeeze.compress(bytes(1 << 20)) for _ in range(real >> 20)]
    return b"".join([*parts, squeeze.flush()])


def test_a_bomb_of_zeros_stops_after_the_free_bytes(raw_file: Write) -> None:
    error = refusal(raw_file(zeros_bomb(8 << 30, 80 << 20)))
    assert error.reason == "too_large"
    assert error.detail == "unpacks to more than 250 times its size, as no segment does"


def test_a_bomb_behind_the_end_mark(raw_file: Write) -> None:
    bomb = zlib.compressobj(9, wbits=31)
    content = bomb.compress(tar_bytes({"s/a": b""}))
    content += b"".join(bomb.compress(bytes(1 << 20)) for _ in range(70)) + bomb.flush()
    assert refusal(raw_file(content)).reason == "too_large"


def test_the_absolute_limit(raw_file: Write) -> None:
    file = raw_file(gzip.compress(tar_bytes({"s/a": b"1" * 4000, "s/b": b"2" * 4000})))
    error = refusal(file, TarLimits(decompressed_bytes=5000))
    assert (error.reason, error.detail) == ("too_large", "unpacks to more than 5000 bytes")


def test_too_many_members(make_segment: Make) -> None:
    file = make_segment({f"s/{n}": b"" for n in range(11)})
    assert refusal(file, TarLimits(members=10)).detail == "holds more than 10 members"
    assert len(names_and_contents(file, TarLimits(members=11))) == 11


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_a_name_of_two_mebibytes(kind: bytes, raw_file: Write) -> None:
    block = header("././@PaxHeader", kind, 2 << 20).tobuf(tarfile.GNU_FORMAT)
    error = refusal(raw_file(gzip.compress(block + b"1" * (2 << 20) + bytes(1024))))
    assert (error.reason, error.detail) == ("too_large", "a name in the tar is longer than 1048576 bytes")


@pytest.mark.parametrize(
    "records", [b"9999999 path=x\n", b"0 path=x\n", b"5", b"-1 a=b\n", b"999 size=-4\n", b"15 size=1e9999\n"]
)
def test_damaged_pax_records_end(records: bytes, raw_file: Write) -> None:
    block = header("pax", tarfile.XHDTYPE, len(records)).tobuf(tarfile.GNU_FORMAT)
    member = header("s/a").tobuf(tarfile.GNU_FORMAT)
    content = block + records.ljust(512, b"\0") + member + bytes(1024)
    try:
        assert len(names_and_contents(raw_file(content))) == 1
    except DamagedSegment as error:
        assert error.reason == "corrupt_tar"


def test_a_file_that_is_gone(raw_file: Write) -> None:
    file = SegmentFile("t", "s", "nowhere/s.tar.gz", 0, 0)
    error = refusal(file)
    assert (error.reason, error.detail) == ("unreadable_file", "cannot be read: No such file or directory")


def test_a_disk_that_fails_is_no_damage(raw_file: Write) -> None:
    file = raw_file(gzip.compress(tar_bytes({"s/a": b"1" * 5000})))
    with no_more_files(), pytest.raises(SourceOutage, match="cannot be read now: Too many open files"):
        names_and_contents(file)
    # A file that opens, and whose first byte cannot be read: EIO.
    error = refusal(SegmentFile("t", "s", "/proc/self/mem", 0, 0))
    assert (error.reason, error.detail) == ("unreadable_file", "cannot be read: Input/output error")
