"""Artefacts as documents of OpenSearch: objects, large contents in pieces, and rows."""
