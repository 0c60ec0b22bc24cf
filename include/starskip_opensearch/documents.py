"""Indices and documents of a store in OpenSearch: made once, written in bulk, each under its own name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starskip.errors import StorageError, StorageOutage

from starskip_opensearch.opensearch_client import OpenSearchClient
from starskip_opensearch.opensearch_url import OpenSearchUrl

BULK_BYTES = 8_000_000
BULK_DOCUMENTS = 5_000
_BUSY = (429, 502, 503, 504)
_SETTINGS = {
    "number_of_shards": 1,
    "auto_expand_replicas": "0-1",
    # Given, so that a shard that nobody has searched for a while refreshes, too.
    "refresh_interval": "1s",
    # A table of many indexes, or whose schema has changed often, has many fields.
    "mapping.total_fields.limit": 10_000,
}
OBJECTS: Mapping[str, Any] = {
    "mappings": {
        "dynamic": "strict",
        "properties": {
            "table": {"type": "keyword"},
            "name": {"type": "keyword"},
            "size_bytes": {"type": "long"},
            "modified_ms": {"type": "long"},
            "block": {"type": "keyword"},
            "put": {"type": "keyword", "index": False},
            "content": {"type": "binary"},
            "details": {"type": "object", "enabled": False},
        },
    }
}
PIECES: Mapping[str, Any] = {
    "mappings": {"dynamic": "strict", "properties": {"content": {"type": "binary"}}},
}
ROWS: Mapping[str, Any] = {
    # Rows are searched when they are written whole, which refreshes, and never read.
    "settings": {"refresh_interval": "-1"},
    "mappings": {
        "dynamic": "strict",
        "_source": {"enabled": False},
        "properties": {
            "block": {"type": "keyword"},
            "position": {"type": "long"},
            "null": {"type": "keyword"},
        },
    },
}

Document = tuple[str, Mapping[str, Any]]
"""Its id and its fields."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of one store."""

    client: OpenSearchClient

    @property
    def url(self) -> OpenSearchUrl:
        """The store."""
        return self.client.url

    def require_index(self, name: str, like: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        """Make an index ``like`` OBJECTS, PIECES or ROWS if it is not there, and add the fields ``more``.

        It is checked each time: a write to a missing index would make it without its mapping.
        """
        asked = {"filter_path": "*.settings.index.uuid"}
        if self.client.request("GET", f"/{name}/_settings", None, asked, allowed=(404,)).status == 404:
            self._make_index(name, like)
        if more:
            self.client.request("PUT", f"/{name}/_mapping", {"properties": more})

    def create(self, index: str, name: str, fields: Mapping[str, Any]) -> bool:
        """Create a document, seen by the next search; return whether there was none of its name."""
        path = f"/{index}/_create/{quote(name, safe='')}"
        answer = self.client.request("PUT", path, fields, {"refresh": "true"}, allowed=(409,))
        if answer.status == 409:
            # It may have been written by a request whose answer was lost, and be in no search yet.
            self.refresh(index)
        return answer.status != 409

    def get(self, index: str, name: str) -> Mapping[str, Any] | None:
        """Return the fields of a document, None if there is none; it is seen as soon as it is written."""
        answer = self.client.request("GET", f"/{index}/_doc/{quote(name, safe='')}", allowed=(404,))
        return answer.document["_source"] if answer.document.get("found") else None

    def get_many(self, index: str, names: Sequence[str], fields: Sequence[str]) -> list[Any]:
        """Return the fields of documents in their order, None for missing ones."""
        if not names:
            return []
        answer = self.client.request(
            "POST", f"/{index}/_mget", {"ids": list(names)}, {"_source_includes": ",".join(fields)}, (404,)
        )
        documents = answer.document.get("docs", ())
        for each in documents:
            kind = each.get("error", {}).get("type", "index_not_found_exception")
            if kind != "index_not_found_exception":
                raise StorageOutage(
                    f"{self.url}: documents cannot be read now: {kind}", location=str(self.url)
                )
        found = {each["_id"]: each.get("_source") for each in documents}
        return [found.get(name) for name in names]

    def write(self, index: str, documents: Iterable[Document]) -> None:
        """Write documents; they replace documents of the same ids."""
        self._bulk(
            (json.dumps({"index": {"_index": index, "_id": name}}), json.dumps(fields))
            for name, fields in documents
        )

    def delete(self, index: str, names: Iterable[str]) -> None:
        """Delete documents; a missing one is no error."""
        self._bulk((json.dumps({"delete": {"_index": index, "_id": name}}),) for name in names)

    def refresh(self, index: str) -> None:
        """Have the next search see all that was written."""
        self.client.request("POST", f"/{index}/_refresh", allowed=(404,))

    def search(self, index: str, body: Mapping[str, Any], parts: str) -> Mapping[str, Any] | None:
        """Return ``parts`` of the answer of a search of all shards, None if there is no such index.

        Without an ``index`` the body has a point in time.
        """
        params = {"allow_partial_search_results": "false", "filter_path": parts}
        path = f"/{index}/_search" if index else "/_search"
        answer = self.client.request("POST", path, body, params, allowed=(404,))
        return None if answer.status == 404 else answer.document

    def _make_index(self, name: str, like: Mapping[str, Any]) -> None:
        body = {**like, "settings": {"index": {**_SETTINGS, **like.get("settings", {})}}}
        answer = self.client.request("PUT", f"/{name}", body, allowed=(400,))
        kind = answer.document.get("error", {}).get("type") if answer.status == 400 else None
        if kind not in (None, "resource_already_exists_exception"):
            place = str(self.url)
            raise StorageError(f"{place}: index {name} cannot be made: {kind}", location=place)

    def _bulk(self, operations: Iterable[tuple[str, ...]]) -> None:
        for lines in _batches(operations):
            left = lines
            while left:
                body = "".join(f"{line}\n" for operation in left for line in operation)
                left = self._left(left, self.client.request("POST", "/_bulk", body).document)

    def _left(self, lines: list[tuple[str, ...]], answer: Mapping[str, Any]) -> list[tuple[str, ...]]:
        """Return the operations to be sent again; raise StorageError for a refused one."""
        if not answer.get("errors"):
            return []
        statuses = [next(iter(each.values())) for each in answer["items"]]
        busy = [line for line, each in zip(lines, statuses, strict=True) if each["status"] in _BUSY]
        refused = next(
            (each for each in statuses if each["status"] >= 400 and each["status"] not in (*_BUSY, 404)), None
        )
        if refused is not None:
            kind = str(refused.get("error", {}).get("type", refused["status"]))
            raise StorageError(f"{self.url}: a document is refused: {kind}", location=str(self.url))
        if len(busy) == len(lines) and not self.client.patience_s:
            raise StorageOutage(f"{self.url}: the store takes no documents now", location=str(self.url))
        return busy


def _batches(operations: Iterable[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    held: list[tuple[str, ...]] = []
    held_bytes = 0
    for operation in operations:
        held.append(operation)
        held_bytes += sum(map(len, operation))
        if held_bytes >= BULK_BYTES or len(held) >= BULK_DOCUMENTS:
            yield held
            held, held_bytes = [], 0
    if held:
        yield held
