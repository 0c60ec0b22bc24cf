"""Choose the metadata store that keeps its rows in a Storage."""

from __future__ import annotations

from starskip.file_metadata.metadata_store import MetadataStore
from starskip.file_metadata.opensearch.opensearch_store import OpenSearchStore
from starskip.file_metadata.parquet_store import ParquetStore
from starskip.storage.opensearch.opensearch_storage import OpenSearchStorage
from starskip.storage.storage import Storage


def store_of(storage: Storage) -> MetadataStore:
    """Return the store whose manifests lie in ``storage``."""
    if isinstance(storage, OpenSearchStorage):
        return OpenSearchStore(storage)
    return ParquetStore(storage)
