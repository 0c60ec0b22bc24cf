"""The trigger form as a person meets it: what is typed is neither corrected nor completed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ui, pytest.mark.dags, pytest.mark.filterwarnings("default")]


@pytest.fixture
def form(page: Any, logged_in: Any, tmp_path: Path) -> Iterator[Any]:
    """The form of a person who has logged in and pressed Trigger."""
    tab = logged_in.new_page()
    tab.set_viewport_size({"width": 1440, "height": 1400})
    tab.goto(f"{page.address}/dags/index_advisor_nightly")
    tab.get_by_role("button", name="Trigger Dag").click()
    tab.get_by_text("Trigger Dag - index_advisor_nightly").wait_for()
    yield tab
    tab.screenshot(path=tmp_path / "last.png")
    tab.close()


def field(form: Any, name: str) -> Any:
    return form.locator(f'[id="element_{name}"]')


def test_a_person_chooses_or_types_and_is_told_what_is_in_force(form: Any) -> None:
    tables = field(form, "tables")
    tables.click()
    form.keyboard.type("line")
    form.keyboard.press("Enter")
    # A field that chooses several would have put lineitem here.
    assert tables.input_value() == "line"
    suggested = form.locator("datalist option").evaluate_all("all => all.map(each => each.value)")
    assert {"airlineStats", "lineitem"} <= set(suggested)
    form.get_by_text("as configured: true").wait_for()
    largest = field(form, "advice.max_indexes")
    largest.get_by_text("as configured: 8").wait_for()
    largest.locator("input").first.focus()
    form.keyboard.type("-3")
    form.get_by_text("No options").wait_for()
    form.keyboard.press("Backspace")
    form.keyboard.press("Backspace")
    form.keyboard.type("3")
    form.keyboard.press("Enter")
    largest.get_by_text("3", exact=True).wait_for()


def test_without_an_answer_that_is_needed_nothing_can_be_sent(form: Any) -> None:
    trigger = form.get_by_role("dialog").get_by_role("button", name="Trigger")
    assert trigger.is_enabled()
    field(form, "publish").locator("input").first.focus()
    form.keyboard.press("Backspace")
    form.get_by_text("This field is required").wait_for()
    assert trigger.is_disabled()
