"""The trigger form as a person meets it: tables to choose from, and a number that nobody corrects."""

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


def test_tables_are_chosen_and_a_number_out_of_bounds_is_one_clear_error(form: Any) -> None:
    form.get_by_role("combobox", name="Select one or multiple values").first.focus()
    form.keyboard.press("ArrowDown")
    choices = form.get_by_role("option")
    choices.first.wait_for()
    assert choices.all_inner_texts() == ["airlineStats", "lineitem"]
    choices.last.click()
    form.get_by_text("What is built and checked").click()
    number = form.locator('input[name="element_building.verified_instances"]')
    number.fill("1001")
    number.blur()
    # Wherever the field has limits of its own, the nearest stands here now.
    assert number.input_value().replace(",", "") == "1001"
    form.get_by_role("dialog").get_by_role("button", name="Trigger").click()
    refused = "Invalid input for param building.verified_instances: 1001 is greater than the maximum of 1000"
    form.get_by_text(refused).first.wait_for()
