"""A store of documents: an object is one document, put if absent by ``op_type=create``.

Long contents lie in pieces beside it. An object may stand for rows instead: columns in pieces, and one
document a row for searches. Pieces and rows are written after the object and deleted before it, so that a
killed writer leaves none that a vacuum does not find. A long content must exist before its object, so a
second object names its pieces meanwhile. The pieces belong to both objects, and are deleted with the last of
them.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pafs
from starskip.errors import StorageError
from starskip.storage.storage import PutVerdict, StoredObject, name_components

from starskip_opensearch.documents import OBJECTS, PIECES, Documents
from starskip_opensearch.opensearch_client import OpenSearchClient
from starskip_opensearch.opensearch_url import OpenSearchUrl

PIECE_BYTES = 2_000_000
"""Bytes of a piece before they are written in base64; some servers refuse requests of many megabytes."""
_WHOLE_BYTES = 1_000_000
_BYTES_AT_ONCE = 8_000_000
_PAGE = 1_000
_CLOCK_LASTS_S = 60


class StoredPiece(NamedTuple):
    """A piece by its id; requests are cut by ``size_bytes``, an estimate."""

    name: str
    size_bytes: float


@dataclass(frozen=True, slots=True)
class ObjectFields:
    """Fields of an object beside its name; ``pieces``: how many ``owner`` has; ``rows`` of ``block``.

    ``details`` are plain JSON.
    """

    size_bytes: int
    owner: str = ""
    pieces: int = 0
    block: str = ""
    rows: int = 0
    details: Mapping[str, Any] | None = None
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class OpenSearchStorage:
    """Implements Storage for one table; it travels as a URL and opens anew where it arrives.

    ``patience_s``: how long requests are repeated while the server does not answer; 0 for a query that is
    being planned, which then gives up within two seconds.
    """

    url: OpenSearchUrl
    patience_s: float

    @property
    def documents(self) -> Documents:
        """The documents, by a client of this process."""
        return Documents(OpenSearchClient(self.url, self.patience_s))

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        """See ``Storage``."""
        self._id(name)
        if len(content) <= _WHOLE_BYTES:
            return self._put_object(name, ObjectFields(len(content), content=content))
        owner = uuid4().hex
        parts = [content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES)]
        fields = ObjectFields(len(content), owner, len(parts), block=owner)
        meanwhile = f"{name}-{owner}.pieces"
        self.put_fresh([(meanwhile, fields)])
        self.write_pieces(zip(piece_names(owner, 0, len(parts)), parts, strict=True))
        verdict = self._put_object(name, fields)
        self.delete(meanwhile)
        return verdict

    def _put_object(self, name: str, of: ObjectFields) -> PutVerdict:
        documents = self.documents
        documents.require_index(self.url.objects, OBJECTS, {})
        fields = self._fields(name, of)
        if documents.create(self.url.objects, self._id(name), fields):
            return PutVerdict.STORED
        found = documents.get(self.url.objects, self._id(name))
        # A repeated request meets the document that it made itself.
        return PutVerdict.STORED if found and found["put"] == fields["put"] else PutVerdict.ALREADY_EXISTS

    def put_fresh(self, objects: Sequence[tuple[str, ObjectFields]]) -> None:
        """Write objects under names that no other writer can have."""
        documents = self.documents
        documents.require_index(self.url.objects, OBJECTS, {})
        documents.write(self.url.objects, ((self._id(name), self._fields(name, of)) for name, of in objects))
        documents.refresh(self.url.objects)

    def _fields(self, name: str, of: ObjectFields) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "table": self.url.table,
            "name": name,
            "size_bytes": of.size_bytes,
            "modified_ms": self._now_ms(),
            "put": uuid4().hex,
            "details": {"owner": of.owner, "pieces": of.pieces, "rows": of.rows, **(of.details or {})},
        }
        if of.block:
            fields["block"] = of.block
        if of.content is not None:
            fields["content"] = base64.b64encode(of.content).decode()
        return fields

    def write_pieces(self, contents: Iterable[tuple[str, bytes]]) -> None:
        """Write pieces, each under its id."""
        documents = self.documents
        documents.require_index(self.url.pieces, PIECES, {})
        documents.write(
            self.url.pieces,
            ((name, {"content": base64.b64encode(content).decode()}) for name, content in contents),
        )

    def read_pieces(self, pieces: Iterable[StoredPiece]) -> Iterator[bytes | None]:
        """Yield the contents of pieces, None for one that is gone."""
        documents = self.documents
        for some in _at_once(pieces):
            names = [piece.name for piece in some]
            for found in documents.get_many(self.url.pieces, names, ["content"]):
                yield None if found is None else base64.b64decode(found["content"])

    def read(self, name: str) -> bytes | None:
        """See ``Storage``."""
        found = self.documents.get(self.url.objects, self._id(name))
        if found is None:
            return None
        if "content" in found:
            return base64.b64decode(found["content"])
        details = found["details"]
        names = piece_names(details["owner"], 0, details["pieces"])
        pieces = list(self.read_pieces(StoredPiece(each, PIECE_BYTES) for each in names))
        whole = [piece for piece in pieces if piece is not None]
        if len(whole) < len(pieces):
            raise StorageError(f"{self.url}: {name}: parts of it are gone", location=name)
        return b"".join(whole)

    def details(self, names: list[str]) -> list[Mapping[str, Any] | None]:
        """Return ``details`` of objects with their ``block``, None for missing objects."""
        documents, found = self.documents, []
        for at in range(0, len(names), _PAGE):
            ids = [self._id(name) for name in names[at : at + _PAGE]]
            found += documents.get_many(self.url.objects, ids, ["details", "block"])
        return [each and {**each["details"], "block": each.get("block", "")} for each in found]

    def delete(self, name: str) -> None:
        """See ``Storage``; rows and shared pieces go with the last object of their block."""
        documents = self.documents
        found = documents.get(self.url.objects, self._id(name))
        if found is None:
            return
        details, block = found["details"], found.get("block", "")
        is_last = bool(block) and not self._is_named(block, name)
        if is_last or block != details["owner"]:
            documents.delete(self.url.pieces, piece_names(details["owner"], 0, details["pieces"]))
        if is_last:
            documents.delete(self.url.rows, (row_name(block, at) for at in range(details["rows"])))
        documents.delete(self.url.objects, [self._id(name)])
        documents.refresh(self.url.objects)

    def objects_below(self, folder: str) -> Iterator[StoredObject]:
        """See ``Storage``; a page at a time."""
        name_components(folder)
        wanted: list[Any] = [{"term": {"table": self.url.table}}]
        if folder:
            wanted.append({"prefix": {"name": f"{folder}/"}})
        body: dict[str, Any] = {
            "size": _PAGE,
            "query": {"bool": {"filter": wanted}},
            "_source": False,
            "docvalue_fields": ["size_bytes", "modified_ms"],
            "sort": ["name"],
        }
        while True:
            found = self.documents.search(self.url.objects, body, "hits.hits.fields,hits.hits.sort")
            hits = (found or {}).get("hits", {}).get("hits", [])
            for hit in hits:
                (size,), (modified_ms,) = hit["fields"]["size_bytes"], hit["fields"]["modified_ms"]
                yield StoredObject(hit["sort"][0], size, modified_ms * 1_000_000)
            if len(hits) < _PAGE:
                return
            body["search_after"] = hits[-1]["sort"]

    def folders_in(self, folder: str) -> tuple[str, ...]:
        """See ``Storage``."""
        above = f"{folder}/" if folder else ""
        rest = (found.name.removeprefix(above) for found in self.objects_below(folder))
        return tuple(sorted({name.partition("/")[0] for name in rest if "/" in name}))

    @property
    def place(self) -> str:
        """See ``Storage``."""
        return str(self.url)

    def arrow_filesystem(self) -> pafs.FileSystem:
        """See ``Storage``; an object is read whole when it is opened."""
        return pafs.PyFileSystem(_Objects(self))

    def _is_named(self, block: str, but: str) -> bool:
        wanted = [{"term": {"table": self.url.table}}, {"term": {"block": block}}]
        others = [{"term": {"name": but}}]
        body = {"size": 1, "query": {"bool": {"filter": wanted, "must_not": others}}, "_source": False}
        found = self.documents.search(self.url.objects, body, "hits.hits._id")
        return bool((found or {}).get("hits"))

    def _id(self, name: str) -> str:
        if not self.url.table:
            raise StorageError(f"{self.url}: names no table", location=str(self.url))
        return "/".join([self.url.table, *name_components(name)])

    def _now_ms(self) -> int:
        """Return the time by the server's clock, as far as known."""
        local = time.time()
        period = int(time.monotonic() // _CLOCK_LASTS_S)
        return int((local + _ahead_s(self.documents.client, period)) * 1000)


def pieces_of(owner: str, start: int, end: int, size_bytes: float) -> list[StoredPiece]:
    """Return the pieces of ``owner`` from number ``start`` up to ``end``, of about ``size_bytes`` each."""
    return [StoredPiece(name, size_bytes) for name in piece_names(owner, start, end)]


def _at_once(pieces: Iterable[StoredPiece]) -> Iterator[list[StoredPiece]]:
    held: list[StoredPiece] = []
    held_bytes = 0.0
    for piece in pieces:
        if held and (held_bytes + piece.size_bytes > _BYTES_AT_ONCE or len(held) >= _PAGE):
            yield held
            held, held_bytes = [], 0.0
        held.append(piece)
        held_bytes += piece.size_bytes
    if held:
        yield held


def row_name(block: str, position: int) -> str:
    """Return the id of a row's document."""
    return f"{block}-{position}"


def piece_names(owner: str, start: int, end: int) -> list[str]:
    """Return the ids of the pieces of ``owner`` from number ``start`` up to ``end``."""
    return [f"{owner}-{number}" for number in range(start, end)]


@lru_cache(maxsize=64)
def _ahead_s(client: OpenSearchClient, period: int) -> float:
    """Return the seconds that the server's clock is ahead of ours, 0 if it is not asked."""
    del period
    params = {"filter_path": "nodes.*.timestamp"}
    answer = client.request("GET", "/_nodes/_local/stats/indices/docs", None, params, allowed=(401, 403, 404))
    stamps = [each["timestamp"] for each in answer.document.get("nodes", {}).values()]
    return stamps[0] / 1000 - time.time() if stamps and answer.status == 200 else 0.0


class _Objects(pafs.FileSystemHandler):  # type: ignore[misc]
    """Arrow's file system of objects."""

    def __init__(self, storage: OpenSearchStorage) -> None:
        self.storage = storage

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Objects) and other.storage == self.storage

    def __hash__(self) -> int:
        return hash(self.storage)

    def get_type_name(self) -> str:
        return "starskip documents"

    def normalize_path(self, path: str) -> str:
        return path

    def open_input_file(self, path: str) -> pa.NativeFile:
        content = self.storage.read(path)
        if content is None:
            raise FileNotFoundError(path)
        return pa.BufferReader(content)

    open_input_stream = open_input_file

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("Arrow only reads whole objects here")

    get_file_info = _refuse
    get_file_info_selector = _refuse
    create_dir = _refuse
    delete_dir = _refuse
    delete_dir_contents = _refuse
    delete_root_dir_contents = _refuse
    delete_file = _refuse
    move = _refuse
    copy_file = _refuse
    open_output_stream = _refuse
    open_append_stream = _refuse
