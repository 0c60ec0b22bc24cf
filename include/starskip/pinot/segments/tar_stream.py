"""Read the members of a tarred segment as a stream: nothing is unpacked, time and memory are bounded.

The standard library parses each header block, but not the stream: ``tarfile`` reads pax headers of
any size into memory, and its loops over them have hung on hostile input (CVE-2024-6232,
CVE-2025-8194).
"""

from __future__ import annotations

import tarfile
from collections.abc import Generator

from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.decompressed_stream import DecompressedStream, TarLimits
from starskip.storage.files.open_file import open_file

_BLOCK_BYTES = 512
_SKIP_BYTES = 1 << 20
_LONGEST_NAME_BYTES = 1 << 20
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_LINKS = (tarfile.LNKTYPE, tarfile.SYMTYPE)
_EXTENSIONS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class TarMember:
    """One regular file of the tar; valid until the next member is asked for."""

    def __init__(self, name: str, size: int, stream: DecompressedStream) -> None:
        self.name = name
        self.size = size
        self._stream = stream
        self._remaining = size

    def read(self, length: int) -> bytes:
        """Return the next ``length`` bytes; the caller stays within ``size``."""
        length = min(length, self._remaining)
        self._remaining -= length
        return _read_exactly(self._stream, length)

    def skip(self, length: int) -> None:
        """Skip the next ``length`` bytes."""
        length = min(length, self._remaining)
        self._remaining -= length
        while length:
            length -= len(_read_exactly(self._stream, min(length, _SKIP_BYTES)))

    def skip_rest(self) -> None:
        """Skip the rest, and the padding to the next block."""
        self.skip(self._remaining)
        _read_exactly(self._stream, -self.size % _BLOCK_BYTES)


def tar_members(path: str, limits: TarLimits) -> Generator[TarMember, None, None]:
    """Yield the regular files of the tar at ``path``; close the iterator to stop early.

    Raises SourceOutage for a store or disk that does not answer, and DamagedSegment: for a file that is gone
    or may not be read, for a file that is no whole tar, for members that could reach outside of
    a folder (climbing names, links, devices), and as soon as a limit is passed. Read to its end,
    the whole file has been checked.
    """
    try:
        with open_file(path) as file:
            yield from _members(DecompressedStream(file, path, limits), path, limits)
    except OSError as error:
        raise DamagedSegment(path, "unreadable_file", f"cannot be read: {error.strerror}") from error


def _members(stream: DecompressedStream, path: str, limits: TarLimits) -> Generator[TarMember, None, None]:
    headers = 0
    overrides: dict[str, str] = {}
    while (header := _next_header(stream, path, first=headers == 0)) is not None:
        headers += 1
        if headers > limits.members:
            raise DamagedSegment(path, "too_many_members", f"holds more than {limits.members} members")
        if header.type in _EXTENSIONS:
            overrides |= _extension(stream, path, header)
            continue
        name = overrides.get("path", header.name)
        size = _size(path, overrides.get("size", header.size), limits)
        overrides = {}
        _refuse_outside(path, name, header.type)
        if header.type == tarfile.DIRTYPE:
            continue
        member = TarMember(name.removeprefix("./"), size, stream)
        yield member
        member.skip_rest()
    if headers == 0:
        raise DamagedSegment(path, "empty_tar", "is a tar without members")
    while stream.read(_SKIP_BYTES):
        pass  # to the end of the gzip, where its checksum is


def _next_header(stream: DecompressedStream, path: str, *, first: bool) -> tarfile.TarInfo | None:
    block = stream.read(_BLOCK_BYTES)
    if first and len(block) < _BLOCK_BYTES:
        raise DamagedSegment(path, "not_a_tar", "is no tar: too short for one header")
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
        return None
    except (tarfile.EmptyHeaderError, tarfile.TruncatedHeaderError) as error:  # type: ignore[attr-defined]
        raise DamagedSegment(path, "truncated_tar", "the tar ends before its end mark") from error
    except (tarfile.HeaderError, ValueError) as error:
        if first:
            raise DamagedSegment(path, "not_a_tar", "is neither a tar nor a gzipped tar") from error
        raise DamagedSegment(path, "corrupt_tar", f"a header of the tar is damaged ({error})") from error


def _size(path: str, size: int | str, limits: TarLimits) -> int:
    try:
        size = int(size)
    except ValueError:
        size = -1
    if size < 0:
        raise DamagedSegment(path, "corrupt_tar", "a member of the tar has no valid size")
    if size > limits.decompressed_bytes:
        raise DamagedSegment(
            path, "too_large", f"a member claims {size} bytes, over the limit of {limits.decompressed_bytes}"
        )
    return size


def _refuse_outside(path: str, name: str, kind: bytes) -> None:
    if kind in _LINKS:
        raise DamagedSegment(path, "link_in_tar", f"holds a link ({name}); segments have none")
    if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
        raise DamagedSegment(path, "climbing_path", f"a member climbs out of the segment's folder ({name})")
    if kind not in _REGULAR and kind != tarfile.DIRTYPE:
        raise DamagedSegment(path, "special_member", f"holds a device or special member ({name})")


def _extension(stream: DecompressedStream, path: str, header: tarfile.TarInfo) -> dict[str, str]:
    """Return the entries of a GNU or pax header for the member after it."""
    if not 0 <= header.size <= _LONGEST_NAME_BYTES:
        raise DamagedSegment(
            path, "too_large", f"a name in the tar is longer than {_LONGEST_NAME_BYTES} bytes"
        )
    content = _read_exactly(stream, header.size)
    _read_exactly(stream, -header.size % _BLOCK_BYTES)
    if header.type == tarfile.GNUTYPE_LONGNAME:
        return {"path": content.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    return _pax_records(content) if header.type == tarfile.XHDTYPE else {}


def _pax_records(content: bytes) -> dict[str, str]:
    """Parse ``length key=value newline`` records, as far as they are well formed."""
    records = {}
    position = 0
    while (space := content.find(b" ", position, position + 8)) > 0 and content[position:space].isdigit():
        end = position + int(content[position:space])
        key, _, value = content[space + 1 : end - 1].partition(b"=")
        if key in (b"path", b"size"):
            records[key.decode()] = value.decode("utf-8", "surrogateescape")
        position = max(end, space + 1)
    return records


def _read_exactly(stream: DecompressedStream, length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise DamagedSegment(stream.path, "truncated_tar", "the tar ends inside a member")
    return content
