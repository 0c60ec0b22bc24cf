"""The manifest of an artefact's version, as a value and as bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from starskip.errors import DamagedManifest, StorageError

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file by its name in the store; ``rows`` is None for a file that is no table (a report page).

    ``footer``: the digest of a Parquet file's footer (``checked_parquet``), None for other files.
    """

    name: str
    size_bytes: int
    rows: int | None
    footer: str | None = None

    @property
    def file_name(self) -> str:
        """Return the name as given to ``StagedWrite.write_file``, without the 32 digits and the dash."""
        return self.name.rpartition("/")[2].partition("-")[2]


@dataclass(frozen=True, slots=True)
class Part:
    """The part of one table in an artefact: its files, and small plain-JSON properties."""

    files: tuple[DataFile, ...]
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Return the number of rows of its files."""
        return sum(file.rows or 0 for file in self.files)

    @property
    def by_name(self) -> dict[str, DataFile]:
        """Return the files by their names in the store."""
        return {file.name: file for file in self.files}


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of an artefact; ``created_at`` has a time zone, ``parts`` are by table name."""

    version: int
    commit_id: str
    created_at: datetime
    created_by: str
    parts: Mapping[str, Part]


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the manifest as canonical JSON with a checksum of its body.

    Raises ``ValueError`` if a property is not plain JSON (it would not come back as it went in).
    """
    if manifest.created_at.tzinfo is None:
        raise ValueError("created_at of a manifest needs a time zone")
    parts = {
        table: {
            "files": [[file.name, file.size_bytes, file.rows, file.footer] for file in part.files],
            "properties": dict(part.properties),
        }
        for table, part in manifest.parts.items()
    }
    body = {
        "version": manifest.version,
        "commit_id": manifest.commit_id,
        "created_at": manifest.created_at.astimezone(UTC).isoformat(),
        "created_by": manifest.created_by,
        "parts": parts,
    }
    text = _canonical(body)
    if json.loads(text) != body:
        raise ValueError("properties of a manifest must be plain JSON: text as keys, lists, no tuples")
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return _canonical({"format_version": FORMAT_VERSION, "checksum": checksum, "body": body}).encode()


def manifest_from_bytes(content: bytes, *, location: str) -> Manifest:
    """Return the manifest that ``content`` holds; ``location`` names it in errors.

    Raises ``StorageError`` for the format of a later version, and ``DamagedManifest`` for any damage: the
    content must equal, byte for byte, what writing the same manifest gives, its checksum included.
    """
    try:
        document = json.loads(content)
        format_version = document["format_version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(location) from error
    if type(format_version) is not int or format_version < FORMAT_VERSION:
        raise _damaged(location)
    if format_version > FORMAT_VERSION:
        raise StorageError(
            f"{location}: manifest format {format_version!r} is not the format {FORMAT_VERSION} that this "
            "version of Starskip reads; use the version that wrote it",
            location=location,
        )
    try:
        manifest = _manifest(document["body"])
        is_as_written = _is_as_written(content, document["checksum"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(location) from error
    if not is_as_written:
        raise _damaged(location)
    return manifest


def _is_as_written(content: bytes, checksum: str) -> bool:
    # The body's own bytes, cut out: writing it anew to compare would take six times as long as reading it.
    start, end = b'{"body":', f',"checksum":"{checksum}","format_version":{FORMAT_VERSION}}}'.encode()
    body = content[len(start) : -len(end)]
    return content == start + body + end and hashlib.sha256(body).hexdigest() == checksum


def _manifest(body: Mapping[str, Any]) -> Manifest:
    return Manifest(
        version=body["version"],
        commit_id=body["commit_id"],
        created_at=datetime.fromisoformat(body["created_at"]),
        created_by=body["created_by"],
        parts={
            table: Part(tuple(DataFile(*file) for file in part["files"]), part["properties"])
            for table, part in body["parts"].items()
        },
    )


def _canonical(document: Mapping[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _damaged(location: str) -> DamagedManifest:
    return DamagedManifest(
        f"{location}: the manifest is damaged; run the step that wrote it again", location=location
    )
