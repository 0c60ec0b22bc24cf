"""The page of what a family is given names every field with its type, and only fields that there are."""

from __future__ import annotations

import re
from dataclasses import fields
from inspect import getmembers
from pathlib import Path

import pytest
from starskip.advisor.families.answer import RowSource, TableQueries
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.column_indexes.access_path import StoredColumns
from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.table_config import TableConfig
from starskip.pinot.target_version import TargetVersion
from starskip.sql.predicate import Leaf
from starskip.tables.row_window import ColumnWindow
from starskip.tables.table_overview import ColumnOverview, TableOverview

PAGE = Path(__file__).parents[3] / "docs" / "what-a-family-is-given.md"
GIVEN: tuple[type, ...] = (
    TableQueries,
    ShapeWorkload,
    Instance,
    ShapeEntries,
    TableOverview,
    ColumnOverview,
    TableConfig,
    RowSource,
    Leaf,
    TargetVersion,
    StoredColumns,
    ColumnWindow,
    IndexFormat,
)
SECTIONS = re.split(r"^## `(\w+)`\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


def test_the_page_has_a_section_for_each_value() -> None:
    assert SECTIONS[::2] == [each.__name__ for each in GIVEN]


@pytest.mark.parametrize(
    ("given", "section"),
    list(zip(GIVEN, SECTIONS[1::2], strict=True)),
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_each_public_field_stands_in_the_table(given: type, section: str) -> None:
    known = {each.name: str(each.type) for each in fields(given)}  # type: ignore[arg-type]
    known |= {
        name: str(value.fget.__annotations__["return"])
        for name, value in getmembers(given, lambda value: isinstance(value, property))
        if value.fget is not None
    }
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (.+) \|$", section, flags=re.MULTILINE)
    assert len(rows) == len(known)
    assert {name: kind.replace("\\|", "|") for name, kind, _ in rows} == {
        name: kind for name, kind in known.items() if not name.startswith("_")
    }
