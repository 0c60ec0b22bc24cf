"""A night out of its configuration: the tables of the lake."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from starskip.indexes.star_tree.build.column_types import named_type
from starskip.lake.lake_table import LakeTable
from starskip.night.night_from_config import NightArguments, night_from_config


def test_casts_of_a_lake_table_are_all_types_that_it_can_be_read_as(tmp_path: Path) -> None:
    casts = {"day": "string", "price": "decimal(12,2)", "user": "int32"}
    config = tmp_path / "night.yaml"
    config.write_text(
        f"artefacts: a\nsegments_root: b\nlake_tables: {{sales: {{path: lake/sales, casts: {casts}}}}}\n"
    )
    arguments = NightArguments(date(2026, 11, 20), "test", datetime(2026, 11, 21, 2, tzinfo=UTC))
    night = night_from_config(config, arguments, {})
    assert night.lake_tables == {"sales": LakeTable(str(tmp_path / "lake" / "sales"), casts)}
    assert [str(named_type(name)) for name in casts.values()] == ["string", "decimal128(12, 2)", "int32"]
