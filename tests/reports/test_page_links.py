from __future__ import annotations

from urllib.parse import quote, urlsplit

from hypothesis import given
from hypothesis import strategies as st
from starskip.reports.page_links import PageLinks, is_page_name, page_name, table_of_page
from starskip.storage.staged_write import file_safe

TABLES = st.one_of(st.text(max_size=200), st.text("ab.-_/%é<", max_size=6), st.text().map(file_safe))


@given(TABLES)
def test_any_table_has_a_page_name_that_is_one_plain_path_segment(table: str) -> None:
    name = page_name(table)
    assert is_page_name(name)
    assert quote(name, safe="") == name
    assert name not in (".", "..")
    assert page_name(table) == name


@given(TABLES, TABLES)
def test_two_tables_never_share_a_page(one: str, other: str) -> None:
    assert (page_name(one) == page_name(other)) == (one == other)


def test_a_table_that_is_called_like_the_page_of_another_has_a_page_of_its_own() -> None:
    odd = "a/b"
    imitation = page_name(odd)
    assert page_name(imitation) != imitation
    assert table_of_page(page_name(odd), [imitation, odd]) == odd


def test_plain_names_stand_in_addresses_as_they_are() -> None:
    links = PageLinks("/airflow/starskip")
    assert links.report("lineitem", "2026-11-20") == "/airflow/starskip/tables/lineitem/2026-11-20"
    assert links.document("db.orders", "2026-11-20", "report.md").endswith("/db.orders/2026-11-20/report.md")
    assert links.index() == "/airflow/starskip/"


@given(st.text(max_size=300).filter(lambda text: text.isprintable()))
def test_a_filter_stays_within_the_query(like: str) -> None:
    parts = urlsplit(PageLinks("/starskip").night("2026-11-20", like=like))
    assert (parts.scheme, parts.netloc, parts.path, parts.fragment) == (
        "",
        "",
        "/starskip/nights/2026-11-20",
        "",
    )


def test_texts_that_no_page_is_called() -> None:
    for text in ("", ".", "..", "../x", "a/b", "a b", "<script>", "-x", "x" * 200, "a\n", "é"):
        assert not is_page_name(text)
