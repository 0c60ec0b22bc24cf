from __future__ import annotations

import pytest
from starskip.advisor.selection.tonight import ROUGH_ERROR_RATIO, model_error_ratio, rough_entries_ratio
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.advisor.workload.unlogged_texts import NOTHING_REDACTED, UnloggedTexts
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape


def shape(sql: str, entries: int) -> ShapeWorkload:
    cut = normalize_sql(sql)
    parsed = query_shape(cut.skeleton)
    found = ShapeWorkload("t", parsed.shape_id, parsed.text, cut.skeleton)
    found.queries, found.entries_scanned_in_filter = 1, entries
    found.add_instance(cut.literals, Instance(1, entries, float(entries) ** 2, 1, 1), 8)
    return found


EXACT = shape("select count(*) from t where a = 1 and not b in (2)", 300)
EARLY = shape("select a from t where a = 1 limit 10", 100)
OWN = shape("select count(*) from t where text_match(a, 'x')", 100)


def test_a_walk_that_sees_everything_has_the_least_error() -> None:
    assert rough_entries_ratio([EXACT]) == 0.0
    assert model_error_ratio([EXACT], NOTHING_REDACTED, 0.01) == pytest.approx(0.01)


@pytest.mark.parametrize("rough", [EARLY, OWN])
def test_what_is_known_roughly_widens_by_its_share_of_the_entries(rough: ShapeWorkload) -> None:
    assert rough_entries_ratio([EXACT, rough]) == pytest.approx(0.25)
    found = model_error_ratio([EXACT, rough], NOTHING_REDACTED, 0.0)
    assert found == pytest.approx(0.25 * ROUGH_ERROR_RATIO)


def test_literals_that_were_not_logged_widen() -> None:
    texts = UnloggedTexts(literals_queries=1, literals_entries_ratio=0.5)
    assert model_error_ratio([EXACT], texts, 0.01) > 0.02


def test_a_table_without_queries_has_the_least_error() -> None:
    assert model_error_ratio([], NOTHING_REDACTED, 0.01) == pytest.approx(0.01)
