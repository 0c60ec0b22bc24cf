"""Ask OpenSearch which rows match a query; the same search counts all rows that should exist.

Answers of more than 10,000 rows are read in pages, from one point in time: the matching rows, or the others
where these are fewer. OpenSearch and Elasticsearch differ in the requests for a point in time; each process
finds out once which requests a server takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from starskip.errors import StorageError, StorageOutage
from starskip.skipping.own_types import Mask

from starskip_opensearch.clause_query import Query, negation
from starskip_opensearch.documents import Documents
from starskip_opensearch.opensearch_client import OpenSearchClient

PAGE = 10_000
"""Rows of a page: OpenSearch's own window of results."""
MOST_ROWS = 30_000
"""Most rows that are fetched: with more, fetching the columns of the clause is quicker."""
_BLOCKS_AT_ONCE = 10_000
_PARTS = "hits.total,hits.hits.sort,aggregations,pit_id"
_KEEP_ALIVE = "1m"
_OF_ELASTICSEARCH: set[str] = set()
"""Servers that refused OpenSearch's request: Elasticsearch takes its path for a search without a body."""
_GONE = "rows of metadata are gone; refresh the metadata in full"


class TooManyRows(Exception):
    """More than MOST_ROWS match, and more do not."""


@dataclass(frozen=True, slots=True)
class Block:
    """Documents of ``rows`` at positions from 0, which are rows of a mask from ``start``."""

    name: str
    start: int
    rows: int


def matching_rows(documents: Documents, query: Query, blocks: Sequence[Block], mask: Mask) -> None:
    """Set in ``mask`` which rows of the blocks match.

    Raises TooManyRows, and StorageError if a row is missing.
    """
    for at in range(0, len(blocks), _BLOCKS_AT_ONCE):
        _Search(documents, query, blocks[at : at + _BLOCKS_AT_ONCE], mask).run()


@dataclass(frozen=True, slots=True)
class _Search:
    documents: Documents
    query: Query
    blocks: Sequence[Block]
    mask: Mask

    def run(self) -> None:
        rows = sum(block.rows for block in self.blocks)
        first = self._page(self.documents.url.rows, self.query, {"track_total_hits": True}, counted=True)
        counted = first["aggregations"]["rows"]["value"]
        if counted != rows:
            raise self._damaged()
        found = first["hits"]["total"]["value"]
        for block in self.blocks:
            self.mask[block.start : block.start + block.rows] = False
        hits = first["hits"].get("hits", [])
        if len(hits) == found:
            self._set(hits, True)
            return
        if min(found, rows - found) > MOST_ROWS:
            raise TooManyRows
        is_few = found <= rows - found
        wanted, expected = (self.query, found) if is_few else (negation(self.query), rows - found)
        if not is_few:
            for block in self.blocks:
                self.mask[block.start : block.start + block.rows] = True
        fetched = 0
        for hits in self._pages(wanted):
            self._set(hits, is_few)
            fetched += len(hits)
        if fetched != expected:
            raise self._damaged()

    def _set(self, hits: Sequence[Mapping[str, Any]], value: bool) -> None:
        starts = {block.name: block.start for block in self.blocks}
        for name, of in groupby((hit["sort"] for hit in hits), itemgetter(0)):
            self.mask[starts[name] + np.array([each[1] for each in of], np.int64)] = value

    def _pages(self, query: Query) -> Iterator[Sequence[Mapping[str, Any]]]:
        with _point_in_time(self.documents.client, self.documents.url.rows) as point:
            body: dict[str, Any] = {"pit": point, "track_total_hits": False}
            while True:
                hits = self._page("", query, body)["hits"].get("hits", [])
                yield hits
                if len(hits) < PAGE:
                    return
                body["search_after"] = hits[-1]["sort"]

    def _page(
        self, index: str, query: Query, more: Mapping[str, Any], *, counted: bool = False
    ) -> Mapping[str, Any]:
        among: Query = {"terms": {"block": [block.name for block in self.blocks]}}
        body: dict[str, Any] = {
            "size": PAGE,
            # No field of a row is fetched: its sort value identifies it.
            "_source": False,
            "stored_fields": "_none_",
            "sort": [{"block": "asc"}, {"position": "asc"}],
            **more,
        }
        if counted:
            body |= {"query": {"bool": {"filter": [among]}}, "post_filter": query}
            body["aggs"] = {"rows": {"value_count": {"field": "position"}}}
        else:
            body["query"] = {"bool": {"filter": [among, query]}}
        found = self.documents.search(index, body, _PARTS)
        if found is None and not index:
            place = str(self.documents.url)
            raise StorageOutage(f"{place}: the store was restarted during a search", location=place)
        if found is None:
            raise self._damaged()
        return {**found, "hits": found.get("hits", {})}

    def _damaged(self) -> StorageError:
        place = str(self.documents.url)
        return StorageError(f"{place}: {_GONE}", location=place)


@contextmanager
def _point_in_time(client: OpenSearchClient, index: str) -> Iterator[Mapping[str, str]]:
    """Open a point in time of an index, yield its name for searches, and close it."""
    asked, server = {"keep_alive": _KEEP_ALIVE}, client.url.server
    point = None
    if server not in _OF_ELASTICSEARCH:
        path = f"/{index}/_search/point_in_time"
        point = client.request("POST", path, None, asked, allowed=(400, 405)).document.get("pit_id")
    if point is None:
        point = client.request("POST", f"/{index}/_pit", None, asked).document["id"]
        _OF_ELASTICSEARCH.add(server)
    is_of_elasticsearch = server in _OF_ELASTICSEARCH
    try:
        yield {"id": point, "keep_alive": _KEEP_ALIVE}
    finally:
        with suppress(StorageError):
            ended: tuple[str, Any] = ("/_pit", {"id": point})
            if not is_of_elasticsearch:
                ended = ("/_search/point_in_time", {"pit_id": [point]})
            client.request("DELETE", *ended, allowed=(404,))
