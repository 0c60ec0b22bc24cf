"""Fixtures of the tests of metadata: a table of files that exist in Python alone, places for its metadata."""

from __future__ import annotations

from tables_in_memory import fresh_storage as fresh_storage
from tables_in_memory import lake as lake
from tables_in_memory import storage as storage
from tables_in_memory import table as table
