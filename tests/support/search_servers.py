"""Fixtures of real OpenSearch and Elasticsearch servers, which tests/conftest.py offers to all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from running_opensearch import ELASTICSEARCH, OPENSEARCH, RunningOpenSearch, SearchProduct


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningOpenSearch]:
    """A real OpenSearch; a test that asks for it comes with a file's others, which share it."""
    yield from _running(OPENSEARCH, tmp_path_factory)


@pytest.fixture(scope="session")
def elasticsearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningOpenSearch]:
    """A real Elasticsearch, which has no licensed parts."""
    yield from _running(ELASTICSEARCH, tmp_path_factory)


@pytest.fixture(params=["opensearch", "elasticsearch"])
def search_server(request: pytest.FixtureRequest) -> RunningOpenSearch:
    """Each of the two in turn."""
    running: RunningOpenSearch = request.getfixturevalue(request.param)
    return running


def _running(product: SearchProduct, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningOpenSearch]:
    running = RunningOpenSearch(tmp_path_factory.mktemp(product.name), product)
    try:
        running.start()
        yield running
    finally:
        running.kill()
