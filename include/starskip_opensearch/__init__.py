"""Metadata of files in OpenSearch: artefacts as documents, and clauses that its queries judge.

Starskip finds it by the scheme of a URL, ``opensearch:``. Its libraries are ``starskip[opensearch]``.
"""
