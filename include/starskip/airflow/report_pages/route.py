"""Make the routes of the report pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import HTTPException, Query

from starskip.reports.page_links import is_page_name
from starskip.reports.report_lists import RowPage

READING = ["GET", "HEAD"]

Text = Annotated[str, Query(max_length=200)]
"""A short text of an address."""


def page_name_of(name: str) -> str:
    """Return the name of a table's page as an address has it; raise HTTPException if it can be none."""
    if not is_page_name(name):
        raise HTTPException(404)
    return name


def status_of(page: RowPage) -> int:
    """Return the status of a list: 503 if none of its rows can be read."""
    return 503 if page.rows and not any(row.table or row.failed for row in page.rows) else 200
