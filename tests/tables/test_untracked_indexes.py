from __future__ import annotations

import pytest
from starskip.errors import ConfigError
from starskip.tables.table_overview import ColumnOverview, TableOverview
from starskip.tables.untracked_indexes import untracked_indexes, with_untracked_indexes

TABLE = TableOverview("t", 1, 9, {name: ColumnOverview(name) for name in "ab"}, {"inverted": frozenset("a")})


def test_they_stand_beside_the_indexes_that_are_known() -> None:
    found = with_untracked_indexes({"t": TABLE}, '{"t": ["b"], "elsewhere": ["x"]}', "inverted")
    assert found["t"].indexed("inverted") == {"a", "b"}
    assert with_untracked_indexes({"t": TABLE}, "", "inverted") == {"t": TABLE}


@pytest.mark.parametrize("text", ["{", "[]", '{"t": "a"}', '{"t": [1]}', "[" * 100_000])
def test_what_is_no_table_with_columns_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        untracked_indexes(text)
    assert caught.value.setting == "scoring.untracked_inverted_index"
    assert len(str(caught.value)) < 400
