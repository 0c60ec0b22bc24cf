"""Open the place of a table's metadata: a folder, a bucket, or OpenSearch."""

from __future__ import annotations

from starskip.storage.opensearch.opensearch_client import PATIENCE_S
from starskip.storage.opensearch.opensearch_storage import OpenSearchStorage
from starskip.storage.opensearch.opensearch_url import opensearch_url
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for


def metadata_storage(location: str, *, patience_s: float = PATIENCE_S) -> Storage:
    """Return the Storage at a location of ``metadata_location``; nothing is asked of it yet.

    ``patience_s``: how long to wait for a server that does not answer. With 0, for a query that is being
    planned, an answer or a StorageOutage comes within two seconds. Raises StorageError for a URL of no known
    kind, or with a user or password.
    """
    url = opensearch_url(location)
    return storage_for(location) if url is None else OpenSearchStorage(url, patience_s)


def files_root(root: str | None) -> str | None:
    """Return ``root`` if metadata below it is kept in files, None if in OpenSearch."""
    return None if root is not None and opensearch_url(root) is not None else root
