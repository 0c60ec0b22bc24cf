"""Hold a point in time of an index, which the pages of one search read: by OpenSearch or by Elasticsearch.

The two servers differ in the requests for it; each process finds out once which requests a server takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from starskip.errors import StorageError

from starskip_opensearch.opensearch_client import OpenSearchClient

_KEEP_ALIVE = "1m"
_OF_ELASTICSEARCH: set[str] = set()
"""Servers that refused OpenSearch's request: Elasticsearch takes its path for a search without a body."""


@contextmanager
def point_in_time(client: OpenSearchClient, index: str) -> Iterator[Mapping[str, str]]:
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
