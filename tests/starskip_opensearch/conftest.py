"""Fixtures of the tests of metadata in OpenSearch: a table of files that exist in Python alone."""

from __future__ import annotations

from tables_in_memory import lake as lake
from tables_in_memory import table as table
