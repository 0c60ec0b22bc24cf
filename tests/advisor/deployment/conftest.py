"""Fixtures of the tests on a real Pinot."""

from __future__ import annotations

from changed_table import base as base
from changed_table import running as running
from changed_table import table as table
