"""Open the store that a URL of OpenSearch names: pyproject.toml names this module to Starskip."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.errors import StorageError

from starskip_opensearch.opensearch_storage import OpenSearchStorage
from starskip_opensearch.opensearch_store import OpenSearchStore
from starskip_opensearch.opensearch_url import opensearch_url


@dataclass(frozen=True, slots=True)
class MetadataInOpenSearch(OpenSearchStorage):
    """An OpenSearchStorage whose rows of metadata are documents to be searched."""

    def metadata_store(self) -> OpenSearchStore:
        """Return the store whose manifests lie in this Storage."""
        return OpenSearchStore(self)


def open_storage(location: str, patience_s: float) -> MetadataInOpenSearch:
    """Return the Storage at a URL; nothing is asked of it yet.

    Raises StorageError for a URL that holds a user or password, or that is not understood.
    """
    url = opensearch_url(location)
    if url is None:
        raise StorageError("no URL of OpenSearch", location=location)
    return MetadataInOpenSearch(url, patience_s)
